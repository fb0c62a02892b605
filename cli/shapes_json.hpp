#pragma once

#include <nlohmann/json.hpp>
#include <vector>

#include "models/model.hpp"

namespace cohort {

/// {"input": [1, 3, 224, 224]}: a model's tensors by name.
inline nlohmann::ordered_json shapes_json(const Model& model, const std::vector<TensorId>& tensors) {
  nlohmann::ordered_json shapes = nlohmann::ordered_json::object();
  for (const TensorId id : tensors) shapes[model.tensor(id).name] = model.tensor(id).shape;
  return shapes;
}

}  // namespace cohort
