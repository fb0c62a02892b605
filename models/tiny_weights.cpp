#include "models/tiny_weights.hpp"

#include <algorithm>
#include <cmath>
#include <memory>
#include <numeric>
#include <variant>
#include <vector>

namespace cohort {

namespace {

/// Weights from here on are not tiny, whatever the others.
constexpr float kSmall = 0x1p-100F;
constexpr float kPartOfLargest = 0x1p-66F;

template <class... Types>
bool is_one_of(const OpAttributes& op) {
  return (std::holds_alternative<Types>(op) || ...);
}

/// Whether an op only multiplies its input `i`, or adds it to products.
bool multiplies(const OpAttributes& op, std::size_t i) {
  if (i == 0) return std::holds_alternative<MatMul>(op);
  if (std::holds_alternative<BatchNormalization>(op)) return i == 1;  // the scale
  return is_one_of<Convolution, ConvTranspose, Gemm, MatMul, Lstm, Recurrent>(op);
}

/// Float32 weights by tensor that only such ops read, and outputs do not show.
std::vector<bool> weights_of_products(const Model& model) {
  std::vector<bool> are(model.tensors.size());
  for (std::size_t i = 0; i < are.size(); ++i)
    are[i] = model.tensors[i].role == TensorRole::kWeight && model.tensors[i].element == ElementType::kFloat32;
  for (const Op& op : model.ops) {
    for (std::size_t i = 0; i < op.inputs.size(); ++i) {
      if (!multiplies(op.attributes, i)) are[to_index(op.inputs[i])] = false;
    }
  }
  for (const TensorId output : model.outputs) are[to_index(output)] = false;
  return are;
}

}  // namespace

void drop_tiny_weights(LoadedModel& loaded) {
  const std::vector<bool> are_weights = weights_of_products(loaded.model);
  for (std::size_t i = 0; i < are_weights.size(); ++i) {
    if (!are_weights[i] || loaded.weights.by_tensor[i] == nullptr) continue;
    WeightValues& values = loaded.weights.by_tensor[i];
    const auto is_small = [](float w) { return w != 0 && std::fabs(w) < kSmall; };
    if (std::none_of(values->begin(), values->end(), is_small)) continue;
    const float largest = std::accumulate(values->begin(), values->end(), 0.0F,
                                          [](float most, float w) { return std::max(most, std::fabs(w)); });
    const float least = std::min(kSmall, largest * kPartOfLargest);
    const auto is_tiny = [&](float w) { return w != 0 && std::fabs(w) < least; };
    if (std::none_of(values->begin(), values->end(), is_tiny)) continue;
    std::vector<float> others = *values;
    std::replace_if(others.begin(), others.end(), is_tiny, 0.0F);
    values = std::make_shared<const std::vector<float>>(std::move(others));
  }
}

}  // namespace cohort
