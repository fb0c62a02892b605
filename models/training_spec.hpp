#pragma once

#include <string>
#include <string_view>

#include "base/result.hpp"
#include "models/op_training.hpp"

namespace cohort {

enum class LossKind {
  kCrossEntropy,      ///< softmax cross-entropy of the first output [N, K, ...] and the input "labels" [N, ...]
  kMeanSquaredError,  ///< of the first output and the input "targets" of its shape
  kModelOutput,       ///< the first output is the loss already, as where an ONNX file has a loss op
};

/// How a model is trained: what decides the ops of its training step. Hyperparameters are not here: members that differ
/// in them run the same step (see Setting).
struct TrainingSpec {
  LossKind loss = LossKind::kCrossEntropy;
  Update update;                       ///< rule, momentum, nesterov, clip
  bool dropout_from_settings = false;  ///< dropout rates are Setting::kDropoutRate, not the model's own
  /// The backward pass computes cheap activations anew instead of keeping them: less memory, more time. Of a plan's
  /// members; see recompute_activations().
  bool recompute = false;

  friend auto operator<=>(const TrainingSpec&, const TrainingSpec&) = default;
};

/// "sgd", "momentum", "nesterov", "adam", "adamw".
std::string_view optimizer_name(const Update& update);
/// Errors: kInvalidInput with the known ones.
Result<Update> optimizer_from(std::string_view name);
/// "cross_entropy", "mean_squared_error", "model_output".
std::string_view to_string(LossKind loss);
/// Errors: kInvalidInput with the known ones.
Result<LossKind> loss_from(std::string_view text);

}  // namespace cohort
