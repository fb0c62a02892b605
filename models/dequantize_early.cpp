#include "models/dequantize_early.hpp"

#include <utility>
#include <variant>

#include "models/eight_bits.hpp"
#include "models/model_edit.hpp"

namespace cohort {
namespace {

class Lift : private ModelEdit {
 public:
  explicit Lift(LoadedModel loaded) : ModelEdit(std::move(loaded)) {}

  LoadedModel run() {
    for (std::size_t i = 0; i < op_count(); ++i) {
      if (!is_dequantizing(i) || !is_behind_levels(op(i).inputs[0])) continue;
      for (std::size_t at = i; can_swap(at);) at = swap(at);
    }
    return finish();
  }

 private:
  /// Whether op `i` takes a number off its input, or multiplies it by one above 0, which keeps the order of its values.
  [[nodiscard]] bool is_dequantizing(std::size_t i) const {
    const auto* const binary = std::get_if<Binary>(&op(i).attributes);
    if (binary == nullptr || !op(i).post_ops.empty() || binary->element != ElementType::kFloat32) return false;
    const TensorId number = op(i).inputs[1];
    if (!is_constant(number) || element_count(shape(number)) != 1) return false;
    if (shape(op(i).inputs[0]) != shape(op(i).outputs[0])) return false;
    return binary->kind == BinaryKind::kSub ||
           (binary->kind == BinaryKind::kMul && loaded().weights.of(number)->front() > 0);
  }

  [[nodiscard]] bool is(std::size_t i, ActivationKind kind) const {
    const auto* const activation = i != kNone ? std::get_if<Activation>(&op(i).attributes) : nullptr;
    return activation != nullptr && activation->kind == kind && op(i).post_ops.empty();
  }

  /// Whether op `i` is the last of quantising to 8 bits: it bounds what was rounded, and perhaps moved by a zero point.
  [[nodiscard]] bool bounds_levels(std::size_t i) const {
    if (!is(i, ActivationKind::kClip)) return false;
    const auto& bounds = std::get<Activation>(op(i).attributes);
    if (bounds.beta - bounds.alpha != 255) return false;  // others are no op of their own
    const std::size_t before = writer(op(i).inputs[0]);
    if (before == kNone || is(before, ActivationKind::kRound)) return before != kNone;
    const auto* const binary = std::get_if<Binary>(&op(before).attributes);
    return binary != nullptr && binary->kind == BinaryKind::kAdd &&
           is(writer(op(before).inputs[0]), ActivationKind::kRound);
  }

  /// Whether `x` is levels that were moved or dequantised, and nothing else.
  [[nodiscard]] bool is_behind_levels(TensorId x) const {
    for (std::size_t at = writer(x); at != kNone; at = writer(op(at).inputs[0])) {
      if (bounds_levels(at)) return true;
      if (!only_moves_elements(op(at)) && !is_dequantizing(at)) return false;
    }
    return false;
  }

  [[nodiscard]] bool can_swap(std::size_t i) const {
    const std::size_t before = writer(op(i).inputs[0]);
    if (before == kNone || !only_moves_elements(op(before)) || only_reader(before) != i) return false;
    return shape(op(i).inputs[1]).size() <= shape(op(before).inputs[0]).size();  // or the result would have more axes
  }

  /// Swaps op `i` with the one before it. Returns the latter, which now does what `i` did.
  std::size_t swap(std::size_t i) {
    const std::size_t before = writer(op(i).inputs[0]);
    std::swap(op(before).attributes, op(i).attributes);
    std::swap(op(before).name, op(i).name);
    read_also(before, op(i).inputs[1]);
    read_less(i);
    Tensor& between = model().tensors[to_index(op(before).outputs[0])];
    between.shape = shape(op(before).inputs[0]);
    return before;
  }
};

}  // namespace

LoadedModel dequantize_early(LoadedModel loaded) { return Lift(std::move(loaded)).run(); }

}  // namespace cohort
