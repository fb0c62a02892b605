#pragma once

#include <array>
#include <cstdint>
#include <optional>
#include <string>
#include <string_view>

#include "base/units.hpp"
#include "tracer/trace.hpp"

namespace cohort {

/// What one microbenchmark measured, from which a device profile is fitted. Every kernel is warmed up first;
/// repetitions are records of their own, one after the other, and fit() takes their medians. No trace runs meanwhile:
/// times are taken on the device between two CUDA events around the whole set (host times by a steady clock), because
/// traced times of kernels that run together include waiting.
enum class Microbenchmark {
  /// `launches` empty kernels, one launch call each, `instances` streams in turn. `time`: first start to last end.
  /// `host_time`: all launch calls, issued back to back. Record 1, 2, 4, ... 128 streams, each with every number of
  /// launches in kEmptyKernelLaunches: what one costs is the slope between them. Beside a `partner`, that spins until
  /// all are launched: the device's part alone, on one stream, without `host_time`.
  kEmptyKernels,
  /// One empty kernel on an idle device. `time`: from before the launch call until the host sees it done.
  /// `host_time`: the launch call alone.
  kLaunchLatency,
  /// One replay of a graph of `launches` empty kernels in `instances` equal chains. `time`: on the device;
  /// `host_time`: the launch call of the graph. Record several numbers of nodes, with 1 chain and with 8.
  kEmptyGraph,
  /// `instances` kernels on as many streams, each of `launch` shape; each block spins for `block_time` by the device's
  /// clock, touching no memory. Record (with 1, 2 and 4 instances): half of an SM's blocks on every SM; all blocks of
  /// every SM; one wave and a half; blocks with half of the shared memory; 1 block. Also 129 and 256 instances of 1
  /// block of 32 threads, spinning for longer than all the launches take.
  /// For the dispatch rule: one instance of 1 block of 32 threads launched after `partner_instances` = 2 of a kernel
  /// of one block an SM, on every SM, with the shared memory of 0.9 SM, so that the small block finds room beside it;
  /// the partner is recorded alone under its own name. `time` is the small kernel's, from the beginning of all.
  kSpin,
  /// A kernel that copies `work.dram` bytes (read plus written, many times the L2) with `launch.blocks` blocks of one
  /// SM each: 1, 2, 4, ... up to all SMs.
  kCopySweep,
  /// Dependent chains of one kind of work, `launch.blocks` blocks an SM or fewer; `kernel` says which ("fma",
  /// "tensor bf16", "tensor tf32", "shared", "l2"), `work` what all blocks together did. Record 1, 2, 4, ... warps an
  /// SM, all SMs.
  kChain,
  /// `kernel` x `instances` beside `partner` x `partner_instances`, one stream each, begun together: `time` and
  /// `partner_time` are each side's own span. Both sides run long enough that the other's end matters little (over
  /// 95% overlap). Each side alone stands before it, as kReplicas of one instance, the partner last: that is what tells
  /// the partner's shape. An argument "held out" of 1 keeps a pair from the fit, to test it. Record copy x copy, copy x
  /// fma, copy x tensor, l2 x l2, l2 x copy, shared x fma, fma x fma at half occupancy each.
  kPair,
  /// A copy of `bytes` by a copy engine, `direction` and `pinned` as said, alone.
  kTransfer,
  /// The same beside `partner` (a kernel's name): `time` is the copy's, `partner_time` the kernel's.
  kTransferBesideKernel,
  /// A kernel of a model beside itself: `instances` (1, 2, 4) on streams of their own, buffers of their own, many
  /// repetitions each; `time` is the span divided by the repetitions. `kernel` is its op's signature.
  kReplicas,
};
/// Numbers of empty kernels to launch in a row. No more than a stream takes before a launch waits for the device, which
/// is about a thousand: beyond that a call's time is the device's.
inline constexpr std::array kEmptyKernelLaunches{64, 256, 768};

/// Empty kernels launched by several threads at a time, each on a stream of its own: a slice with this name that lasts
/// as long as the longest thread took, and the two numbers as arguments.
inline constexpr std::string_view kThreadedLaunchesRecord = "empty kernels from threads";
inline constexpr std::string_view kLaunchThreadsArg = "launch threads";
inline constexpr std::string_view kLaunchesOfThreadArg = "launches a thread";

/// Graphs of empty kernels whose chains wait for each other: a slice with this name as long as the device took.
inline constexpr std::string_view kCrossingGraphRecord = "empty graph with crossing edges";
inline constexpr std::string_view kGraphChainsArg = "chains";
inline constexpr std::string_view kGraphNodesArg = "nodes";
inline constexpr std::string_view kGraphHostTimeArg = "host ns";  ///< of the launch

/// A counter that is read before and after every block of a calibration: what holds the clocks back, as bits (NVML,
/// nvmlClocksEventReasons).
inline constexpr std::string_view kThrottleReasonsCounter = "throttle reasons";

std::string_view to_string(Microbenchmark benchmark);
std::optional<Microbenchmark> microbenchmark_from(std::string_view text);

enum class CopyDirection { kHostToDevice, kDeviceToHost, kDeviceToDevice };
std::string_view to_string(CopyDirection direction);
std::optional<CopyDirection> copy_direction_from(std::string_view text);

/// How a kernel was launched, as CUPTI and cudaFuncGetAttributes tell.
struct LaunchShape {
  std::int64_t blocks = 0;  ///< of the whole grid
  int threads = 0;          ///< a block
  int registers = 0;        ///< a thread
  Bytes shared_memory;      ///< a block, static and dynamic, without what the system reserves
  int cluster = 1;          ///< blocks a cluster

  friend bool operator==(const LaunchShape&, const LaunchShape&) = default;
};

/// What all blocks of one kernel do together; 0 where it is not known.
struct KernelWork {
  Flops fma;     ///< on the ordinary pipes
  Flops tensor;  ///< on the tensor cores
  Bytes shared;  ///< through shared memory
  Bytes l2;      ///< between SMs and L2
  Bytes dram;    ///< between L2 and DRAM

  friend bool operator==(const KernelWork&, const KernelWork&) = default;
};

/// One measurement, as a slice of a trace. The GPU kit writes these, fit() reads them.
struct MicrobenchmarkRecord {
  Microbenchmark benchmark = Microbenchmark::kEmptyKernels;
  std::string kernel;  ///< "empty", "spin", "copy", "fma", "tensor bf16", "shared", "l2", or an op's signature
  LaunchShape launch;
  KernelWork work;
  int instances = 1;  ///< streams, each with a kernel of its own (chains of a graph)
  int launches = 1;   ///< kernels over all streams (nodes of a graph)
  Nanoseconds block_time{};
  std::string partner;  ///< the other kernel of a pair; empty without
  int partner_instances = 0;
  Nanoseconds partner_time{};
  std::optional<CopyDirection> direction;  ///< of a transfer
  bool pinned = true;                      ///< host memory of a transfer
  Bytes bytes;                             ///< of a transfer
  Nanoseconds host_time{};
  Nanoseconds time{};

  friend bool operator==(const MicrobenchmarkRecord&, const MicrobenchmarkRecord&) = default;
};

inline constexpr std::string_view kMicrobenchmarkCategory = "microbenchmark";

/// Appends the record as a slice named after its kernel that starts at `start`.
SliceId add_microbenchmark_record(Trace& trace, TrackId track, Nanoseconds start, const MicrobenchmarkRecord& record);
/// Absent where the slice is not a microbenchmark record, or misses an argument.
std::optional<MicrobenchmarkRecord> microbenchmark_record_of(const Trace& trace, const Slice& slice);

}  // namespace cohort
