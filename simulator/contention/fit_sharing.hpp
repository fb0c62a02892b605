#pragma once

#include <span>
#include <vector>

#include "simulator/contention/fit_profile.hpp"
#include "tracer/microbenchmark_record.hpp"

namespace cohort {

/// The median of a microbenchmark's repetitions.
struct Measurement {
  MicrobenchmarkRecord record;
  bool held_out = false;
};

inline double ns(Nanoseconds time) { return static_cast<double>(time.count()); }

/// The medians of records that follow each other and differ in times only, in their order.
std::vector<Measurement> measurements_of(const Trace& trace);

/// Parts of fit_gpu_profile() that need the engine: the dispatch rule and the cap of resident grids from spin kernels
/// on several streams, slowdown below saturation from pairs. `all` is in the order of recording; rates and launch costs
/// must be fitted before.
void fit_dispatch(std::span<const MicrobenchmarkRecord> spins, GpuFit& fit);
void fit_slowdown(std::span<const Measurement> all, GpuFit& fit);

}  // namespace cohort
