#pragma once

#include <cstddef>
#include <span>
#include <vector>

#include "base/units.hpp"
#include "simulator/colocation/process_demand.hpp"

namespace cohort {

/// How many times as long the host's work takes in each of so many processes under MPS, at least one, as in one alone.
double host_slowdown(std::size_t processes);

/// How several processes share a GPU.
enum class GpuSharing {
  kTogether,  ///< all on the same part of it, under MPS: kernels of several run at the same time
  kApart,     ///< each on multiprocessors of its own; they share memory, copies and the host
};

/// Where 8 of 10 measured values should lie.
struct Within {
  double low = 0;
  double high = 0;
};

/// What processes that run at the same time do to each other.
struct Colocation {
  std::vector<Nanoseconds> steps;  ///< by process: its step beside the others, which go on and on
  std::vector<double> slowdowns;   ///< by process: that over its step alone
  Nanoseconds all{};               ///< one step of each, begun together: until the last has ended
  /// How many times the work of the processes one after another is done in the same time; 1: nothing is gained. Under
  /// kApart against each alone on its share, which is no gain over the whole GPU.
  double gain = 1;
  Within gain_within;
  bool gpu_decides = false;  ///< the GPU is used up; else the host, or the step's own length
};

/// A process of a co-location.
struct Colocated {
  ProcessDemand demand;
  Bytes copied;  ///< bytes of input that a sample copies to the GPU in every step
};

/// Predicts what several processes, at least one, do to each other. Under kTogether, with step times T, GPU work W and
/// N processes, every step takes s times as long,
///     s = ((1 + h (N - 1))^p + (sum of W / T)^p)^(1/p):
/// about 1 while the GPU has time left, and behind a sharp knee as much as all together ask for. `all` is the same for
/// one step of each: ((max T (1 + h (N - 1)))^p + (sum of W)^p)^(1/p). Under kApart a step is longer by what copies,
/// the others' use of DRAM and the host take. Constants and errors: docs/colocation.md.
Colocation colocate(std::span<const Colocated> processes, GpuSharing sharing);

}  // namespace cohort
