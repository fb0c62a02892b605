#pragma once

#include <vector>

#include "models/model.hpp"

namespace cohort::reference {

/// Elements of a model's outputs, dense in logical order, computed op by op by plain loops. `inputs`
/// holds one tensor's elements for each of Model::inputs. States have their first values, those in Weights; where the
/// op that updates one writes an output, that is what the state would be next.
/// Errors: kInvalidInput naming the op where a whole number is out of range.
Result<std::vector<std::vector<float>>> evaluate(const LoadedModel& loaded, std::vector<std::vector<float>> inputs);

}  // namespace cohort::reference
