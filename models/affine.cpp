#include "models/affine.hpp"

#include <cmath>
#include <tuple>

namespace cohort {

namespace {

/// The value for each channel of y that broadcasting the constant `id` to `y` gives; nothing where
/// it differs within a channel.
std::optional<std::vector<double>> per_channel(const LoadedModel& loaded, TensorId id, const Shape& y) {
  const Tensor& tensor = loaded.model.tensor(id);
  if (tensor.role != TensorRole::kWeight || loaded.weights.of(id) == nullptr) return std::nullopt;
  if (tensor.shape.size() > y.size()) return std::nullopt;
  const std::size_t missing = y.size() - tensor.shape.size();
  for (std::size_t i = 0; i < tensor.shape.size(); ++i) {
    if (tensor.shape[i] != 1 && (i + missing != 1 || tensor.shape[i] != y[1])) return std::nullopt;
  }
  const std::vector<float>& values = *loaded.weights.of(id);
  std::vector<double> channels(static_cast<std::size_t>(y[1]));
  for (std::size_t c = 0; c < channels.size(); ++c) channels[c] = values.size() == 1 ? values[0] : values[c];
  return channels;
}

std::optional<ChannelAffine> affine_of(const LoadedModel& loaded, const Op& op, const BatchNormalization& attributes) {
  std::vector<std::vector<double>> operands;
  for (std::size_t i = 1; i < 5; ++i) {
    const TensorId id = op.inputs[i];
    if (loaded.model.tensor(id).role != TensorRole::kWeight || loaded.weights.of(id) == nullptr) return std::nullopt;
    operands.emplace_back(loaded.weights.of(id)->begin(), loaded.weights.of(id)->end());
  }
  const auto& [scale, shift, mean, variance] = std::tie(operands[0], operands[1], operands[2], operands[3]);
  ChannelAffine affine{scale, shift};
  for (std::size_t c = 0; c < scale.size(); ++c) {
    affine.scale[c] = scale[c] / std::sqrt(variance[c] + static_cast<double>(attributes.epsilon));
    affine.shift[c] = shift[c] - mean[c] * affine.scale[c];
  }
  return affine;
}

std::optional<ChannelAffine> affine_of(const LoadedModel& loaded, const Op& op, const Binary& attributes, TensorId x) {
  const bool x_is_first = op.inputs[0] == x;
  const Shape& y = loaded.model.tensor(op.outputs[0]).shape;
  if (y.size() < 2 || attributes.element != ElementType::kFloat32) return std::nullopt;
  const auto constant = per_channel(loaded, op.inputs[x_is_first ? 1 : 0], y);
  if (!constant) return std::nullopt;
  ChannelAffine affine{std::vector<double>(constant->size(), 1.0), std::vector<double>(constant->size(), 0.0)};
  for (std::size_t c = 0; c < constant->size(); ++c) {
    switch (attributes.kind) {
      case BinaryKind::kAdd:
        affine.shift[c] = (*constant)[c];
        break;
      case BinaryKind::kSub:
        affine.scale[c] = x_is_first ? 1 : -1;
        affine.shift[c] = x_is_first ? -(*constant)[c] : (*constant)[c];
        break;
      case BinaryKind::kMul:
        affine.scale[c] = (*constant)[c];
        break;
      case BinaryKind::kDiv:
        if (!x_is_first || (*constant)[c] == 0) return std::nullopt;
        affine.scale[c] = 1 / (*constant)[c];
        break;
      default:
        return std::nullopt;
    }
  }
  return affine;
}

}  // namespace

std::optional<ChannelAffine> channel_affine_of(const LoadedModel& loaded, const Op& op, TensorId x) {
  if (loaded.model.tensor(op.outputs[0]).shape != loaded.model.tensor(x).shape || !op.post_ops.empty())
    return std::nullopt;
  if (const auto* normalization = std::get_if<BatchNormalization>(&op.attributes))
    return op.inputs[0] == x ? affine_of(loaded, op, *normalization) : std::nullopt;
  if (const auto* binary = std::get_if<Binary>(&op.attributes)) return affine_of(loaded, op, *binary, x);
  return std::nullopt;
}

WeightAndBias fold_affine(const std::vector<float>& weight, const std::vector<float>* bias,
                          const ChannelAffine& affine) {
  const std::size_t channels = affine.scale.size();
  const std::size_t fan_in = weight.size() / channels;
  WeightAndBias folded{std::vector<float>(weight.size()), std::vector<float>(channels)};
  for (std::size_t c = 0; c < channels; ++c) {
    for (std::size_t i = c * fan_in; i < (c + 1) * fan_in; ++i)
      folded.weight[i] = static_cast<float>(static_cast<double>(weight[i]) * affine.scale[c]);
    const double b = bias != nullptr ? static_cast<double>((*bias)[c]) : 0.0;
    folded.bias[c] = static_cast<float>(b * affine.scale[c] + affine.shift[c]);
  }
  return folded;
}

}  // namespace cohort
