#pragma once

#include <cstdint>
#include <span>
#include <string>
#include <vector>

#include "models/model.hpp"
#include "models/training_spec.hpp"

/// Turns an inference model into its training step, and back.
///
/// Parameters are the floating-point weights that the loss depends on, except scalars (rank 0) and `fixed` weights,
/// which are constants of the network. They share one state "parameters" [R, P], in the order in which ops first read
/// them, each starting at a multiple of kPackAlignment elements, so that an op's packed parameter gradients are a
/// contiguous part of the whole. Running means and variances share one state "statistics" [S], with mean and variance
/// of each batch normalisation side by side.
namespace cohort {

/// A parameter in row 0 of the state "parameters", or a running statistic in "statistics".
struct PackedTensor {
  std::string name;         ///< of the weight
  Shape shape;              ///< row-major
  std::int64_t offset = 0;  ///< elements
  TensorId original{};      ///< the weight in the inference model

  friend bool operator==(const PackedTensor&, const PackedTensor&) = default;
};

/// The step that trains a model: forward pass, loss, gradients, update. Its inputs are those of the inference model
/// that the loss depends on, "labels" or "targets" as TrainingSpec::loss says, "settings" (see Setting) and, where
/// there is dropout, "random"; its output is "loss" [1]. The last ops are an Update and, if there are statistics, a
/// RunningAverage.
struct TrainingModel {
  LoadedModel loaded;  ///< initial states: the inference model's weights, and zeros for the optimizer's rows
  std::vector<PackedTensor> parameters, statistics;
};

/// Whether the first output [N, K, ...] is a softmax over the K classes, perhaps reshaped or transposed since.
bool ends_in_softmax(const Model& model);

/// `inference` must not be simplified. If the network ends in a softmax over classes, cross-entropy reads the softmax's
/// input instead, also where the result is then reshaped or transposed. Batch normalisation uses the minibatch's own
/// statistics; the running ones get the unbiased variance. Ops of the forward pass keep their names, "conv1.dx" and
/// "conv1.dw" are gradients of conv1, the update is "update". Equal models give equal steps. `strict_nan` as of
/// simplify(). Errors: kInvalidInput naming the op that has no gradient, or what the loss does not fit.
Result<TrainingModel> differentiate(const LoadedModel& inference, const TrainingSpec& spec, bool strict_nan = false);

/// The simplified forward pass for inference, on the same states: "parameters" [R, P] and, if there is batch
/// normalisation, "statistics" [S]. Outputs and other inputs are those of `inference`.
/// Errors: as differentiate() of what the states hold.
Result<LoadedModel> evaluation_model(const LoadedModel& inference, const TrainingSpec& spec, bool strict_nan = false);

/// The weights of `inference` with the values that its `training` has reached. The states hold all rows of "parameters"
/// or only row 0, and "statistics", which may be empty.
Weights trained_weights(const LoadedModel& inference, const TrainingModel& training, std::span<const float> parameters,
                        std::span<const float> statistics);

}  // namespace cohort
