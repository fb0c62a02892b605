#include "models/eight_bits.hpp"

#include <algorithm>
#include <cmath>
#include <cstdlib>
#include <optional>
#include <variant>

namespace cohort {
namespace {

constexpr float kSpan = 255;

/// Whether every element is `step` times a whole number from -most to most - 1, but for `tolerance` times the element:
/// none that is small beside others becomes 0.
bool are_multiples(std::span<const float> row, float step, int most, float tolerance) {
  const auto bound = static_cast<float>(most);
  return std::all_of(row.begin(), row.end(), [=](float value) {
    const float level = std::nearbyint(value / step);
    return level >= -bound && level < bound && std::abs(value - level * step) <= tolerance * std::abs(value);
  });
}

/// 1 of whole numbers, which that leaves as they are: their sums stay exact. Else the finest first: where levels are
/// large, a step that is nearly right would not do for all of them. Steps that other numbers cannot be divided by are
/// none.
std::optional<float> step_of(std::span<const float> row, int most) {
  if (are_multiples(row, 1, most, 0)) return 1.0F;
  float largest = 0;
  for (const float value : row) {
    if (!(std::abs(value) <= std::abs(largest))) largest = value;
  }
  constexpr float kSmallest = 1e-30F;
  if (!std::isfinite(largest) || std::abs(largest) < static_cast<float>(most) * kSmallest) return std::nullopt;
  constexpr float kTolerance = 1e-6F;  // a level times a step, and perhaps times a number that was folded
  for (int level = most; level > 0; --level) {
    // There is one whole number more below zero than above: of where it stands for the largest the step is less than 0.
    const float step = (level == most ? -largest : std::abs(largest)) / static_cast<float>(level);
    if (are_multiples(row, step, most, kTolerance)) return step;
  }
  return std::nullopt;
}

bool is_whole_number(float value) { return value == std::floor(value); }

/// Of fewer elements a block says nothing: of any two numbers nearly each is a multiple of something.
constexpr std::int64_t kLeastBlock = 16;

/// Whether w is constant, and blocks of its rows are whole numbers of so many bits times a number.
bool is_quantized(const LoadedModel& loaded, TensorId w, QuantizedWeights as) {
  const auto values = loaded.weights.of(w);
  const Tensor& tensor = loaded.model.tensor(w);
  if (values == nullptr || tensor.role != TensorRole::kWeight || element_count(tensor.shape) == 0) return false;
  return !steps_of_blocks(*values, element_count(tensor.shape) / tensor.shape.back(), as.block, as.bits).empty();
}

/// The longest blocks of which a Gemm's w consists, and of how few bits they are.
std::optional<QuantizedWeights> blocks_of(const LoadedModel& loaded, TensorId w) {
  constexpr std::int64_t kUsual[] = {256, 128, 64, 32, kLeastBlock};
  const std::int64_t length = loaded.model.tensor(w).shape.back();
  if (length < kLeastBlock) return std::nullopt;
  std::vector<std::int64_t> blocks = {length};
  std::copy_if(std::begin(kUsual), std::end(kUsual), std::back_inserter(blocks),
               [&](std::int64_t block) { return block < length; });
  for (const std::int64_t block : blocks) {
    for (const int bits : {4, 8}) {
      if (is_quantized(loaded, w, {block, bits})) return QuantizedWeights{block, bits};
    }
  }
  return std::nullopt;
}

class Marks {
 public:
  explicit Marks(LoadedModel& loaded)
      : loaded_(loaded), writer_(loaded.model.tensors.size(), nullptr), is_whole_(loaded.model.tensors.size()) {
    for (const Op& op : loaded.model.ops) writer_[to_index(op.outputs[0])] = &op;
    find_whole_numbers();
  }

  void run() {
    for (Op& op : loaded_.model.ops) {
      if (auto* const convolution = std::get_if<Convolution>(&op.attributes))
        convolution->eight_bits = operands_of(op);
      else if (auto* const gemm = std::get_if<Gemm>(&op.attributes); gemm != nullptr && !gemm->stacked)
        gemm->eight_bits = operands_of(op);
    }
  }

 private:
  [[nodiscard]] std::optional<EightBits> operands_of(const Op& op) const {
    const std::optional<EightBits> x = levels_of(op.inputs[0]);
    const auto w = x ? loaded_.weights.of(op.inputs[1]) : nullptr;
    const bool is_constant = w != nullptr && loaded_.model.tensor(op.inputs[1]).role == TensorRole::kWeight;
    if (!is_constant || steps_of_rows(*w, loaded_.model.tensor(op.inputs[1]).shape[0]).empty()) return std::nullopt;
    return x;
  }

  /// What `x` was quantised to, where nothing else was done to it since.
  [[nodiscard]] std::optional<EightBits> levels_of(TensorId x) const {
    const Op* op = writer_[to_index(x)];
    while (op != nullptr && only_moves_elements(*op)) op = writer_[to_index(op->inputs[0])];
    const Activation* const last = op != nullptr ? function_at(*op, op->post_ops.size()) : nullptr;
    if (last == nullptr) return std::nullopt;
    if (last->kind == ActivationKind::kFakeQuantize) return eight_bits(last->alpha, last->beta);
    const bool is_bounded = last->kind == ActivationKind::kClip && last->beta - last->alpha == kSpan;
    return is_bounded && is_whole(*op, op->post_ops.size()) ? eight_bits(1, last->alpha) : std::nullopt;
  }

  [[nodiscard]] static std::optional<EightBits> eight_bits(float step, float from) {
    const bool holds_zero = from >= -kSpan && from <= 0 && is_whole_number(from);
    return holds_zero && step > 1e-30F && std::isfinite(step) ? std::optional(EightBits{step, from}) : std::nullopt;
  }

  /// Function `at` of an op: post-ops count from 1, the op itself is 0.
  [[nodiscard]] static const Activation* function_at(const Op& op, std::size_t at) {
    return at > 0 ? std::get_if<Activation>(&op.post_ops[at - 1]) : std::get_if<Activation>(&op.attributes);
  }

  /// Whether what the op has computed up to function `at` are whole numbers, as far as those that it reads are known.
  [[nodiscard]] bool is_whole(const Op& op, std::size_t at) const {
    const auto reads_whole = [&] {
      return std::all_of(op.inputs.begin(), op.inputs.end(), [&](TensorId x) { return is_whole_[to_index(x)]; });
    };
    if (const Activation* const function = function_at(op, at)) {
      if (function->kind == ActivationKind::kRound) return true;
      if (function->kind != ActivationKind::kClip) return false;
      const bool has_whole_bounds = is_whole_number(function->alpha) && is_whole_number(function->beta);
      return has_whole_bounds && (at > 0 ? is_whole(op, at - 1) : reads_whole());
    }
    const auto* const binary = at == 0 ? std::get_if<Binary>(&op.attributes) : nullptr;
    const bool is_sum = binary != nullptr && (binary->kind == BinaryKind::kAdd || binary->kind == BinaryKind::kSub);
    return (is_sum || (at == 0 && only_moves_elements(op))) && reads_whole();
  }

  void find_whole_numbers() {
    for (std::size_t i = 0; i < is_whole_.size(); ++i) {
      const auto& values = loaded_.weights.by_tensor[i];
      is_whole_[i] = values != nullptr && loaded_.model.tensors[i].element == ElementType::kFloat32 &&
                     std::all_of(values->begin(), values->end(), is_whole_number);
    }
    for (const Op& op : loaded_.model.ops) is_whole_[to_index(op.outputs[0])] = is_whole(op, op.post_ops.size());
  }

  LoadedModel& loaded_;
  std::vector<const Op*> writer_;  ///< by tensor
  std::vector<bool> is_whole_;     ///< by tensor: whether all its elements are whole numbers
};

}  // namespace

std::vector<float> steps_of_rows(std::span<const float> weights, std::int64_t rows) {
  return steps_of_blocks(weights, rows, rows > 0 ? static_cast<std::int64_t>(weights.size()) / rows : 0, 8);
}

std::vector<float> steps_of_blocks(std::span<const float> weights, std::int64_t rows, std::int64_t block, int bits) {
  std::vector<float> steps;
  const std::size_t length = rows > 0 ? weights.size() / static_cast<std::size_t>(rows) : 0;
  if (block <= 0 && length > 0) return {};
  for (std::int64_t row = 0; row < rows; ++row) {
    std::span<const float> rest = weights.subspan(static_cast<std::size_t>(row) * length, length);
    do {
      const auto part = rest.first(std::min(static_cast<std::size_t>(block), rest.size()));
      const std::optional<float> step = step_of(part, 1 << (bits - 1));
      if (!step) return {};
      steps.push_back(*step);
      rest = rest.subspan(part.size());
    } while (!rest.empty());
  }
  return steps;
}

bool only_moves_elements(const Op& op) {
  if (!op.post_ops.empty() || op.inputs.size() != 1) return false;
  if (const auto* const pool = std::get_if<Pool>(&op.attributes)) return pool->kind == PoolKind::kMax;
  if (const auto* const resize = std::get_if<Resize>(&op.attributes))
    return resize->mode == ResizeMode::kNearest && resize->positions != ResizePositions::kCrop;
  return std::holds_alternative<Reshape>(op.attributes) || std::holds_alternative<Transpose>(op.attributes) ||
         std::holds_alternative<TensorSlice>(op.attributes);
}

void mark_eight_bits(LoadedModel& loaded) { Marks(loaded).run(); }

void mark_quantized_weights(LoadedModel& loaded) {
  const auto has_quantized_rows = [&](TensorId w) {
    return is_quantized(loaded, w, {loaded.model.tensor(w).shape.back(), 8});
  };
  const auto is_quantized_layer = [&](const Op& op, std::int64_t hidden) {
    return hidden >= kLeastBlock && has_quantized_rows(op.inputs[1]) && has_quantized_rows(op.inputs[2]);
  };
  for (Op& op : loaded.model.ops) {
    if (auto* const gemm = std::get_if<Gemm>(&op.attributes)) {
      gemm->quantized_weights = gemm->eight_bits ? std::nullopt : blocks_of(loaded, op.inputs[1]);
    } else if (auto* const lstm = std::get_if<Lstm>(&op.attributes)) {
      lstm->quantized_weights = is_quantized_layer(op, lstm->hidden);
    } else if (auto* const layer = std::get_if<Recurrent>(&op.attributes)) {
      layer->quantized_weights = is_quantized_layer(op, layer->hidden);
    }
  }
}

}  // namespace cohort
