#pragma once

#include <optional>
#include <span>

#include "simulator/contention/co_run.hpp"

namespace cohort {

/// How long a kernel took beside others: beside itself, or beside a probe whose demand is known.
struct CoRunObservation {
  int instances = 1;              ///< of the kernel, each on a stream of its own
  std::optional<CoRunner> probe;  ///< absent: beside itself only
  double time_ns = 0;             ///< of one repetition of the kernel
  double probe_time_ns = 0;       ///< of one repetition of the probe
};

struct DemandFit {
  KernelDemand kernel;
  std::array<double, kThroughputs> utilisation{};  ///< alone; what no observation tells stays 0
  double residual = 0;                             ///< root mean square of log(predicted / observed)
};

/// Finds the demands with which the model explains the observations: coordinate search from several starts, the least
/// sum of demands among equals. Deterministic. Errors: as demand_of() and check_fits().
Result<DemandFit> fit_demand(const LaunchShape& launch, Nanoseconds solo,
                             std::span<const CoRunObservation> observations, const GpuProfile& gpu);

}  // namespace cohort
