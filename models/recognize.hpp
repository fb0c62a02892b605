#pragma once

#include "models/model.hpp"

namespace cohort {

/// Finds functions that exporters write as several ops, and puts one op in the place of the last of each: Gelu (by erf
/// or tanh), Swish, HardSwish, HardSigmoid and Mish; layer normalisation with a constant scale over the last axes; the
/// maximum or minimum of a tensor and a number, which is a Clip; quantising to 8 bits and back, exactly. The new op
/// has the name and output of the op that it replaces. The ops before it stay for whoever reads them; simplify() drops
/// those that nobody reads. Values are the same up to float32 rounding.
void recognize_functions(LoadedModel& loaded);

}  // namespace cohort
