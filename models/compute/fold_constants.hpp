#pragma once

#include "models/model.hpp"

namespace cohort {

/// Computes what ops make of weights alone, once instead of in each step; the results are weights. Ops stay that would
/// make much of little, and those beyond what plain loops compute in a moment. For inference: nothing is trained.
LoadedModel fold_constants(LoadedModel loaded);

}  // namespace cohort
