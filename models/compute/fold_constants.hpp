#pragma once

#include "models/model.hpp"

namespace cohort {

/// Computes what ops make of weights alone, once instead of in each step; the results are weights. An op stays if its
/// result is much larger than what it is made of, and once all that was computed took plain loops about a second or
/// what is left of it needs more memory than the model's weights. For inference: nothing is trained.
LoadedModel fold_constants(LoadedModel loaded);

/// fold_constants() and simplify(): how a model runs for inference.
LoadedModel optimize_for_inference(LoadedModel loaded, bool strict_nan = false);

}  // namespace cohort
