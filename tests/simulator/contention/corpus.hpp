#pragma once

#include <string>
#include <vector>

#include "base/random.hpp"
#include "simulator/contention/fit_demand.hpp"
#include "tests/simulator/contention/scenario.hpp"

namespace cohort {

/// An H100 cut down to 16 SMs, with the oracle's own slowdown below saturation.
GpuProfile small_h100();

/// A kernel whose demands are known because we made them.
struct CorpusKernel {
  std::string kind;  ///< "dram", "l2", "issue", "tensor", "shared", "latency", "mixed"
  LaunchShape launch;
  Nanoseconds solo{};
  std::array<double, kThroughputs> utilisation{};
  KernelDemand truth;
};
std::vector<CorpusKernel> make_corpus(std::uint64_t seed, int count, const GpuProfile& gpu);

/// What is measured of a kernel besides its time alone.
struct MeasurementPlan {
  bool replicas = false;  ///< 2 and 4 of itself
  bool probes = false;    ///< beside the calibration's five: each uses one throughput, leaves half of every SM
};

/// Measures with the oracle, each time off by a normal error of `noise` (0.03: 3%).
std::vector<CoRunObservation> observe(const CorpusKernel& kernel, const MeasurementPlan& plan, const GpuProfile& gpu,
                                      double noise, Random& random);

/// A factor near 1, normally distributed (sum of twelve uniforms).
double noisy(double noise, Random& random);

/// Kernels of a corpus side by side, each again and again for about as long.
struct Mix {
  std::vector<std::size_t> kernels;
  std::vector<int> repetitions;
};
std::vector<Mix> make_mixes(std::uint64_t seed, int count, const std::vector<CorpusKernel>& corpus);
/// `demands` by kernel of the corpus.
Scenario scenario_of(const Mix& mix, const std::vector<KernelDemand>& demands, const GpuProfile& gpu);

/// Speedups over one after the other.
struct MixSpeedups {
  double serial_ns = 0;
  double no_contention = 0;  ///< as if every kernel had the device to itself
  double capacity = 0;       ///< min(N, capacity / work), work by the part of the device's blocks that each fills
};
MixSpeedups naive_speedups(const Mix& mix, const std::vector<CorpusKernel>& corpus, const GpuProfile& gpu);

}  // namespace cohort
