#pragma once

#include <cstdint>
#include <map>
#include <optional>
#include <string>

#include "models/training_spec.hpp"

namespace cohort {

/// Where a member's model comes from, as plans, member files and the command line write it.
struct ModelSource {
  std::string model;  ///< a built-in network's name, or a path ending in .onnx
  std::map<std::string, std::string>
      arguments;  ///< of a built-in network: {"hidden": "256"}; of a file, open dimensions: {"seq": "128"}
  std::int64_t minibatch = 1;
  std::optional<TrainingSpec> training = {};  ///< the step that trains the model, instead of inference
  bool strict_nan = false;                    ///< as of simplify(): no activation is part of the op before it

  friend auto operator<=>(const ModelSource&, const ModelSource&) = default;
};

}  // namespace cohort
