#pragma once

#include <array>
#include <span>
#include <vector>

#include "simulator/contention/gpu_engine.hpp"

namespace cohort {

/// A kernel that runs again and again on `instances` streams of its own.
struct CoRunner {
  KernelDemand kernel;
  int instances = 1;
};

/// Mean time of one repetition of each runner while all go on side by side: until every instance has run
/// `repetitions` times, counted over those. Errors: as check_fits().
Result<std::vector<double>> co_run_ns(std::span<const CoRunner> runners, const GpuProfile& gpu, int repetitions);

/// When each of several kernels ends that are started once, at the given moments (ascending).
struct Arrival {
  KernelDemand kernel;
  double at_ns = 0;
};
Result<std::vector<double>> ends_ns(std::span<const Arrival> arrivals, const GpuProfile& gpu);

/// What a kernel's work keeps busy while it runs alone for `time`, from 0 to 1 by Throughput.
std::array<double, kThroughputs> utilisation_of(const KernelWork& work, Nanoseconds time, const GpuProfile& gpu);

}  // namespace cohort
