#include "training/network.hpp"

#include <algorithm>
#include <set>
#include <span>

#include "base/file.hpp"
#include "models/onnx/onnx_file.hpp"
#include "training/fingerprint.hpp"

namespace cohort {
namespace {

/// Weights that are not trained are part of what the network computes.
void add_fixed(Fingerprint& print, const TrainedNetwork& network) {
  std::set<TensorId> trained;
  for (const auto* parts : {&network.training.parameters, &network.training.statistics}) {
    for (const PackedTensor& part : *parts) trained.insert(part.original);
  }
  const LoadedModel& inference = network.inference;
  for (std::uint32_t i = 0; i < inference.model.tensors.size(); ++i) {
    const WeightValues& values = inference.weights.of(TensorId(i));
    if (values != nullptr && trained.count(TensorId(i)) == 0)
      print.add(inference.model.tensors[i].name).add(std::span<const float>(*values));
  }
}

std::string fingerprint_of(const TrainedNetwork& network) {
  const Model& model = network.training.loaded.model;
  Fingerprint print;
  for (const Op& op : model.ops) print.add(op.name).add(signature_of(model, op));
  for (const Tensor& tensor : model.tensors) {
    if (tensor.role == TensorRole::kState) print.add(tensor.name).add(to_string(tensor.shape));
  }
  add_fixed(print, network);
  return print.text();
}

bool has_dropout(const Model& model) {
  return std::any_of(model.ops.begin(), model.ops.end(),
                     [](const Op& op) { return std::holds_alternative<Dropout>(op.attributes); });
}

void fill(Weights& weights, const Model& model, TensorId id, float value) {
  const auto count = static_cast<std::size_t>(element_count(model.tensor(id).shape));
  weights.by_tensor[to_index(id)] = std::make_shared<const std::vector<float>>(count, value);
}

bool is_weight(const Model& model, TensorId id) {
  const Tensor& tensor = model.tensor(id);
  return tensor.role == TensorRole::kWeight && tensor.element == ElementType::kFloat32;
}

}  // namespace

Result<TrainedNetwork> make_network_to_train(const ModelSource& source) {
  TrainedNetwork network;
  network.source = source;
  COHORT_TRY(network.inference, onnx::load_network(source, 0));
  auto ends = network_ends(network.inference.model, source.minibatch);
  if (!ends) return tl::unexpected<Error>(ends.error());
  if (source.training->dropout_from_settings && !has_dropout(network.inference.model))
    return fail(ErrorCode::kInvalidInput, "{}: dropout has no effect: the network has no Dropout with a rate above 0",
                source.model);
  network.ends = *std::move(ends);
  auto training = differentiate(network.inference, *source.training, source.strict_nan);
  if (!training) return in_context(source.model, training.error());
  network.training = *std::move(training);
  ModelSource again = source;
  again.training->recompute = true;
  auto recomputing = differentiate(network.inference, *again.training, source.strict_nan);
  if (!recomputing) return in_context(source.model, recomputing.error());
  network.recomputing = std::move(recomputing->loaded);
  auto evaluation = evaluation_model(network.inference, *source.training, source.strict_nan);
  if (!evaluation) return in_context(source.model, evaluation.error());
  network.evaluation = *std::move(evaluation);
  network.gives_probabilities = ends_in_softmax(network.inference.model);
  network.fingerprint = fingerprint_of(network);
  return network;
}

Weights first_weights(const Model& inference, std::uint64_t seed) {
  Weights weights = random_weights(inference, seed);
  for (const Op& op : inference.ops) {
    const bool matrix = std::holds_alternative<Convolution>(op.attributes) ||
                        std::holds_alternative<ConvTranspose>(op.attributes) ||
                        std::holds_alternative<Gemm>(op.attributes);
    const bool batch = std::holds_alternative<BatchNormalization>(op.attributes);
    const bool normalizes = batch || std::holds_alternative<LayerNormalization>(op.attributes) ||
                            std::holds_alternative<GroupNormalization>(op.attributes);
    const std::size_t own = own_input_count(op);
    for (std::size_t i = 1; i < own; ++i) {
      if (!is_weight(inference, op.inputs[i])) continue;
      if (matrix && i == 2) fill(weights, inference, op.inputs[i], 0);
      if (normalizes) fill(weights, inference, op.inputs[i], i == 1 || i == 4 ? 1.0F : 0.0F);
    }
  }
  return weights;
}

MemberState first_state(const TrainedNetwork& network, const Weights& weights) {
  MemberState state;
  const LoadedModel& training = network.training.loaded;
  const auto take = [&](std::string_view name, const std::vector<PackedTensor>& parts, std::vector<float>& values) {
    for (std::size_t i = 0; i < training.model.tensors.size(); ++i) {
      const Tensor& tensor = training.model.tensors[i];
      if (tensor.role == TensorRole::kState && tensor.name == name)
        values.assign(static_cast<std::size_t>(element_count(tensor.shape)), 0);
    }
    for (const PackedTensor& part : parts) {
      const std::vector<float>& from = *weights.of(part.original);
      std::copy(from.begin(), from.end(), values.begin() + static_cast<std::ptrdiff_t>(part.offset));
    }
  };
  take("parameters", network.training.parameters, state.parameters);
  take("statistics", network.training.statistics, state.statistics);
  return state;
}

Result<std::string> learned_onnx(const TrainedNetwork& network, const MemberState& state) {
  return onnx::serialize_model({network.inference.model, trained_weights(network.inference, network.training,
                                                                         state.parameters, state.statistics)});
}

}  // namespace cohort
