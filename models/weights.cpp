#include <algorithm>
#include <cmath>

#include "base/random.hpp"
#include "models/model.hpp"

namespace cohort {

namespace {

struct Range {
  float low = -0.1F;
  float high = 0.1F;
  int bits = 0;  ///< of the whole numbers that they are multiples of; 0: of any
};

constexpr Range kAroundOne{0.5F, 1.5F};

bool is_matrix(const Op& op) {
  return std::holds_alternative<Convolution>(op.attributes) || std::holds_alternative<ConvTranspose>(op.attributes) ||
         std::holds_alternative<Gemm>(op.attributes) || std::holds_alternative<MatMul>(op.attributes) ||
         std::holds_alternative<Lstm>(op.attributes) || std::holds_alternative<Recurrent>(op.attributes);
}

/// Bits of the whole numbers that the op's weights are multiples of; 0: of any.
int weight_bits(const Op& op) {
  if (const auto* const convolution = std::get_if<Convolution>(&op.attributes)) return convolution->eight_bits ? 8 : 0;
  if (const auto* const lstm = std::get_if<Lstm>(&op.attributes)) return lstm->quantized_weights ? 8 : 0;
  if (const auto* const layer = std::get_if<Recurrent>(&op.attributes)) return layer->quantized_weights ? 8 : 0;
  const auto* const gemm = std::get_if<Gemm>(&op.attributes);
  if (gemm == nullptr) return 0;
  return gemm->quantized_weights ? gemm->quantized_weights->bits : gemm->eight_bits ? 8 : 0;
}

/// Products that each output element sums over.
std::int64_t fan_in_of(const Op& op, const Shape& shape) {
  if (const auto* product = std::get_if<MatMul>(&op.attributes))
    return shape[shape.size() - (product->transpose_b ? 1 : 2)];
  if (std::holds_alternative<Recurrent>(op.attributes)) return shape.back();
  return element_count(shape) / shape[0];
}

/// How the values of operand `position` of `op` are spread. Those that are divided by, or scale a
/// whole channel, stay around one.
Range range_for(const Model& model, const Op& op, std::size_t position) {
  const Shape& shape = model.tensor(op.inputs[position]).shape;
  if (is_matrix(op) && shape.size() >= 2) {
    const auto fan_in = static_cast<float>(fan_in_of(op, shape));
    const float bound = std::sqrt(6.0F / fan_in);
    return {-bound, bound, weight_bits(op)};
  }
  if (std::holds_alternative<BatchNormalization>(op.attributes) && (position == 1 || position == 4)) return kAroundOne;
  const bool normalizes = std::holds_alternative<LayerNormalization>(op.attributes) ||
                          std::holds_alternative<GroupNormalization>(op.attributes);
  if (normalizes && position == 1) return kAroundOne;
  if (const auto* binary = std::get_if<Binary>(&op.attributes)) {
    if (binary->kind == BinaryKind::kMul || binary->kind == BinaryKind::kDiv) return kAroundOne;
  }
  return {};
}

void quantize(std::vector<float>& values, float step) {
  for (float& value : values) value = step * std::nearbyint(value / step);
}

}  // namespace

Weights random_weights(const Model& model, std::uint64_t seed) {
  std::vector<Range> ranges(model.tensors.size());
  for (const Op& op : model.ops) {
    for (std::size_t i = 0; i < op.inputs.size(); ++i) {
      Range& range = ranges[to_index(op.inputs[i])];
      const int bits = range.bits;  // for another op
      range = range_for(model, op, i);
      if (bits > 0) range.bits = range.bits > 0 ? std::min(range.bits, bits) : bits;
    }
  }
  Weights weights;
  weights.by_tensor.resize(model.tensors.size());
  for (std::size_t i = 0; i < model.tensors.size(); ++i) {
    const TensorRole role = model.tensors[i].role;
    if (role != TensorRole::kWeight && role != TensorRole::kState) continue;
    Random random(derive_seed(seed, i));
    std::vector<float> values(static_cast<std::size_t>(element_count(model.tensors[i].shape)));
    // Whole numbers are indices or conditions: zero is one that always fits.
    const bool is_float = model.tensors[i].element == ElementType::kFloat32;
    for (float& value : values) value = is_float ? random.uniform(ranges[i].low, ranges[i].high) : 0.0F;
    if (const int bits = ranges[i].bits; bits > 0)
      quantize(values, ranges[i].high / static_cast<float>((1 << (bits - 1)) - 1));
    weights.by_tensor[i] = std::make_shared<const std::vector<float>>(std::move(values));
  }
  return weights;
}

}  // namespace cohort
