#pragma once

#include <cstddef>
#include <optional>

#include "base/result.hpp"
#include "models/model.hpp"
#include "models/source.hpp"
#include "simulator/colocation/process_demand.hpp"
#include "simulator/contention/gpu_profile.hpp"
#include "simulator/plan/precision.hpp"
#include "simulator/plan/tensor_layout.hpp"
#include "tracer/trace.hpp"

namespace cohort {

/// What a GPU does in a step of a model, and how it computes there.
struct TimedSteps {
  StepTimes times;  ///< of one process, as a log or a load test gives them
  Bytes copied;     ///< bytes of input that a sample copies to the GPU in every step
  GpuProfile gpu;   ///< on which they were measured
  Precision precision = Precision::kFloat32;
  Layout layout = Layout::kNchw;
};

/// A profile that was made of them.
struct ProfileOfTimes {
  Trace trace;
  ProcessDemand demand;                  ///< of the model's minibatch
  std::optional<Nanoseconds> host_time;  ///< of a step, where small minibatches show it
  bool follows_shares = true;            ///< ProcessDemands::follows_shares
  std::size_t ops = 0;                   ///< among which the GPU's time was divided
  Nanoseconds least{};                   ///< that they would take at the GPU's full rates
};

/// A profile to plan with, of a GPU and a program that are not here. The GPU's part of a step of the model's minibatch
/// (process_demands()) is divided among its ops in proportion to what each takes roughly (rough_time()), but none takes
/// less than the GPU's full rates allow, or than a kernel does. What several ops in one launch take is not known.
/// Errors: kInvalidInput where no row of the whole GPU, or slice, has the model's minibatch, naming those that are
/// there.
Result<ProfileOfTimes> profile_of_times(const ModelSource& source, const Model& model, const TimedSteps& steps);

}  // namespace cohort
