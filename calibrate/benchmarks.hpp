#pragma once

#include <array>
#include <string>
#include <string_view>
#include <vector>

#include "calibrate/device.hpp"
#include "calibrate/recorder.hpp"
#include "calibrate/workload.hpp"

// The benchmarks by group. Each is warmed up, measures every repetition between CUDA events without a trace, and
// returns early when the calibration is cancelled.

namespace cohort::calibrate {

struct Bench {
  Recorder& recorder;
  const DeviceFacts& facts;
  const Buffers& buffers;
};

void empty_kernels(const Bench& bench);
void launch_latency(const Bench& bench);
void launch_threads(const Bench& bench);
void empty_graphs(const Bench& bench);
void crossing_graphs(const Bench& bench);

void spins(const Bench& bench);
void small_behind_whole(const Bench& bench);
void many_small_grids(const Bench& bench);
void dispatch_logs(const Bench& bench);

void copy_sweep(const Bench& bench);
void chains(const Bench& bench);
void pairs(const Bench& bench);
void replicas(const Bench& bench);

void transfers(const Bench& bench);
void transfers_beside_kernels(const Bench& bench);

/// Shapes of spinning kernels that show the dispatch rule: half of an SM's blocks on every SM, all blocks, one wave and
/// a half, blocks that take half of the shared memory, and one block alone.
std::vector<Shape> spin_shapes(const DeviceFacts& facts);
/// One block an SM, on every SM, with so much of the shared memory that no second one fits, and room for a small block.
Shape whole_sm_shape(const DeviceFacts& facts);

/// Kernels that each use up one of the device's throughputs.
inline constexpr std::array<std::string_view, 5> kProbes = {"copy", "l2", "fma", "tensor bf16", "shared"};

/// Whether a kernel of kProbes, or "tensor tf32", does its work on the device.
bool can_run(const DeviceFacts& facts, std::string_view kernel);
/// A kernel of kProbes whose blocks, of 256 threads unless those are too many, fill `share` of every SM's threads.
Workload probe_workload(const DeviceFacts& facts, const Buffers& buffers, std::string_view kernel, double share);

/// Two workloads that run side by side, and how.
struct PairCase {
  std::string a;  ///< of kProbes
  std::string b;
  double share_a = 0.5;  ///< of an SM's threads that a's blocks fill
  double share_b = 0.5;
  bool held_out = false;  ///< kept from fitting, to test it
};
/// Every probe beside every other and itself; half of the cases are held out, of every kind of pair.
std::vector<PairCase> pair_cases();

}  // namespace cohort::calibrate
