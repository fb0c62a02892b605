#include "base/overloaded.hpp"
#include "executor/cuda/own/lowering.hpp"

namespace cohort::cuda::own {
namespace {

/// What a kernel on whole numbers is to do.
struct WholeForm {
  WholeKind kind{};
  bool of_whole = false;
  std::size_t inputs = 1;
};

WholeKind whole_kind(BinaryKind kind) {
  static_assert(static_cast<int>(WholeKind::kAdd) == static_cast<int>(BinaryKind::kAdd) + 1);
  static_assert(static_cast<int>(WholeKind::kMod) == static_cast<int>(BinaryKind::kMod) + 1);
  static_assert(static_cast<int>(WholeKind::kBitwiseXor) == static_cast<int>(BinaryKind::kBitwiseXor) + 1);
  static_assert(static_cast<int>(WholeKind::kEqual) == static_cast<int>(BinaryKind::kEqual) + 1);
  static_assert(static_cast<int>(WholeKind::kXor) == static_cast<int>(BinaryKind::kXor) + 1);
  return static_cast<WholeKind>(static_cast<int>(kind) + 1);
}

std::optional<WholeForm> form_of(const OpAttributes& attributes) {
  if (std::holds_alternative<Select>(attributes)) return WholeForm{WholeKind::kSelect, true, 3};
  if (const auto* const binary = std::get_if<Binary>(&attributes)) {
    const bool of_whole = binary->element == ElementType::kInt32;
    if (of_whole || is_predicate(binary->kind)) return WholeForm{whole_kind(binary->kind), of_whole, 2};
  }
  if (const auto* const cast = std::get_if<Cast>(&attributes)) {
    const bool of_whole = cast->from == ElementType::kInt32;
    if (cast->to_truth) return WholeForm{WholeKind::kTruth, of_whole, 1};
    if (cast->from != cast->to) return WholeForm{WholeKind::kCast, of_whole, 1};
  }
  return std::nullopt;
}

}  // namespace

bool holds_whole_numbers(const OpAttributes& op, std::optional<std::size_t> input) {
  constexpr auto kWhole = ElementType::kInt32;
  return std::visit(
      Overloaded{
          [&](const Gather&) { return input == 1U; },
          [&](const Scatter& scatter) { return input == 1U || scatter.element == kWhole; },
          [&](const Select& select) { return input == 0U || select.element == kWhole; },
          [&](const Binary& binary) { return binary.element == kWhole || (!input && is_predicate(binary.kind)); },
          [&](const Cast& cast) { return input ? cast.from == kWhole : cast.to_truth || cast.to == kWhole; },
          [&](const Pad& pad) { return pad.element == kWhole; }, [&](const ArgMax&) { return !input.has_value(); },
          [&](const MaxPoolIndices&) { return !input.has_value(); },
          [&](const SoftmaxCrossEntropy&) { return input == 1U; },
          [&](const SoftmaxCrossEntropyGradient&) { return input == 1U; },
          [&](const GatherGradient&) { return input == 0U; }, [&](const Dropout&) { return input == 2U; },
          [](const auto&) { return false; }},
      op);
}

std::optional<WholeArguments> whole_kernel(const OpCall& call, const Operands& operands) {
  const std::optional<WholeForm> form = form_of(call.attributes);
  if (!form) return std::nullopt;
  WholeArguments kernel;
  kernel.type = holds_whole_numbers(call.attributes) ? operands.inputs[0].type : operands.y_type;
  kernel.kind = form->kind;
  kernel.of_whole = form->of_whole;
  kernel.y = operands.y;
  kernel.y_strides = to_strides(operands.y_strides);
  kernel.post = post_ops(call, operands);
  struct Place {
    const void** data;
    Strides* strides;
  };
  const Place places[] = {
      {&kernel.a, &kernel.a_strides}, {&kernel.b, &kernel.b_strides}, {&kernel.c, &kernel.c_strides}};
  for (std::size_t i = 0; i < form->inputs; ++i) {
    *places[i].data = operands.inputs[i].data;
    *places[i].strides = to_strides(broadcast(operands.inputs[i], operands.y_shape));
  }
  kernel.shape =
      simplify(with_post_ops({&kernel.y_strides, &kernel.a_strides, &kernel.b_strides, &kernel.c_strides}, kernel.post),
               operands.y_shape);
  return kernel;
}

KernelArguments kernel_of(const Scatter& op, const OpCall& call, const Operands& operands) {
  const Tensor &x = operands.inputs[0], &indices = operands.inputs[1], &updates = operands.inputs[2];
  const BinaryKind reduction = op.reduction.value_or(BinaryKind::kAdd);
  ScatterArguments kernel;
  kernel.type = operands.y_type;
  kernel.y_shape = to_extents(operands.y_shape);
  kernel.count = static_cast<std::int32_t>(updates.shape[1]);
  kernel.replaces = !op.reduction;
  kernel.of_whole = op.element == ElementType::kInt32;
  kernel.kind = kind_of(reduction);
  kernel.whole_kind = whole_kind(reduction);
  kernel.is_sorted = std::holds_alternative<WeightView>(call.inputs[1]);
  kernel.order = updates.shape[1] * indices.shape[2];
  kernel.x = x.data;
  kernel.indices = indices.data;
  kernel.updates = updates.data;
  kernel.y = operands.y;
  kernel.x_strides = to_strides(x.strides);
  kernel.index_strides = to_strides(broadcast(indices, updates.shape));
  kernel.update_strides = to_strides(updates.strides);
  kernel.y_strides = to_strides(operands.y_strides);
  kernel.post = post_ops(call, operands);
  return kernel;
}

}  // namespace cohort::cuda::own
