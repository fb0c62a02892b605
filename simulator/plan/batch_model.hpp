#pragma once

#include <span>

#include "base/result.hpp"
#include "models/model.hpp"
#include "simulator/plan/plan.hpp"

namespace cohort {

/// A model batch as one Model, for runtimes that know nothing of plans: what the plan fuses is one op on stacked
/// tensors, the other ops stand side by side in launch order. Streams, threads, algorithms, layout and precision have
/// no place in a Model and are left out.
///
/// Inputs and outputs are in the order of the plan's Program. A shared input has the name that the first member's model
/// gives it, with "#2" where that is taken; others are "<member>/<input>", and outputs "<member>/<output>". Weights
/// that members share are there once, unless they are fused.
///
/// Errors: those of lower() for groups; kInvalidInput for a member that trains, as its state has no place in a Model.
Result<LoadedModel> batch_model(const Plan& plan, std::span<const Model* const> models,
                                std::span<const Weights* const> weights);

}  // namespace cohort
