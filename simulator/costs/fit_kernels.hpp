#pragma once

#include <string>
#include <vector>

#include "base/result.hpp"
#include "simulator/contention/fit_demand.hpp"
#include "simulator/contention/fit_profile.hpp"
#include "tracer/trace.hpp"

namespace cohort {

/// What a recording tells of one op of a model on a GPU.
struct KernelFit {
  std::string signature;
  LaunchShape launch;  ///< of the kernel that takes most of the op's time
  DemandFit fit;
  std::size_t observations = 0;
};

struct KernelFits {
  std::vector<KernelFit> kernels;      ///< in the order in which they were recorded
  std::vector<FitResidual> residuals;  ///< beside themselves and probes; ops beside ops are held out
  std::vector<std::string> left_out;   ///< signatures that cannot be fitted, with the reason
};

/// The demands of ops that were timed beside themselves and beside probes (cohort profile --beside), on a device whose
/// profile is known. The launch is that of the op's recorded kernels, the probes' demands follow from their work. Ops
/// beside other ops are predicted from the demands found and held against what was measured.
/// Errors: kInvalidInput where the recording has no op beside anything.
Result<KernelFits> fit_kernels(const Trace& profile, const GpuProfile& gpu);

}  // namespace cohort
