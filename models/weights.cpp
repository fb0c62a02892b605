#include <cmath>

#include "base/random.hpp"
#include "models/model.hpp"

namespace cohort {

namespace {

struct Range {
  float low = -0.1F;
  float high = 0.1F;
};

constexpr Range kAroundOne{0.5F, 1.5F};

/// How the values of operand `position` of `op` are spread. Those that are divided by, or scale a
/// whole channel, stay around one.
Range range_for(const Model& model, const Op& op, std::size_t position) {
  const Shape& shape = model.tensor(op.inputs[position]).shape;
  const bool is_matrix = std::holds_alternative<Convolution>(op.attributes) ||
                         std::holds_alternative<Gemm>(op.attributes) || std::holds_alternative<Lstm>(op.attributes);
  if (is_matrix && shape.size() >= 2) {
    const auto fan_in = static_cast<float>(element_count(shape) / shape[0]);
    const float bound = std::sqrt(6.0F / fan_in);
    return {-bound, bound};
  }
  if (std::holds_alternative<BatchNormalization>(op.attributes) && (position == 1 || position == 4)) return kAroundOne;
  if (const auto* binary = std::get_if<Binary>(&op.attributes)) {
    if (binary->kind == BinaryKind::kMul || binary->kind == BinaryKind::kDiv) return kAroundOne;
  }
  return {};
}

}  // namespace

Weights random_weights(const Model& model, std::uint64_t seed) {
  std::vector<Range> ranges(model.tensors.size());
  for (const Op& op : model.ops) {
    for (std::size_t i = 0; i < op.inputs.size(); ++i) ranges[to_index(op.inputs[i])] = range_for(model, op, i);
  }
  Weights weights;
  weights.by_tensor.resize(model.tensors.size());
  for (std::size_t i = 0; i < model.tensors.size(); ++i) {
    if (model.tensors[i].role != TensorRole::kWeight) continue;
    Random random(derive_seed(seed, i));
    std::vector<float> values(static_cast<std::size_t>(element_count(model.tensors[i].shape)));
    for (float& value : values) value = random.uniform(ranges[i].low, ranges[i].high);
    weights.by_tensor[i] = std::make_shared<const std::vector<float>>(std::move(values));
  }
  return weights;
}

}  // namespace cohort
