// Results that lie in memory already: views instead of steps.

#include <algorithm>

#include "simulator/plan/lowering.hpp"
#include "simulator/plan/tensor_layout.hpp"

namespace cohort {

/// Reshapes and transposes that need not move anything.
bool Lowering::alias_result(MemberId member, const Op& op) {
  const Model& model = *models_[to_index(member)];
  const bool is_constant = model.tensor(op.inputs[0]).role == TensorRole::kWeight;
  if (std::holds_alternative<Pack>(op.attributes)) return set_pack(member, op);
  if (is_constant || !op.post_ops.empty()) return false;
  if (std::holds_alternative<Unpack>(op.attributes)) return alias_unpack(member, op);
  if (std::holds_alternative<Reshape>(op.attributes))
    return alias_reshape(values_.of(member, op.inputs[0]), member, op.outputs[0]);
  const auto* const transpose = std::get_if<Transpose>(&op.attributes);
  if (transpose == nullptr) return false;
  const Value& x = values_.of(member, op.inputs[0]);
  View view = x.view;
  for (std::size_t i = 0; i < transpose->permutation.size(); ++i) {
    const auto axis = static_cast<std::size_t>(transpose->permutation[i]);
    view.shape[i] = x.view.shape[axis];
    view.strides[i] = x.view.strides[axis];
  }
  return alias_view(std::move(view), x, member, op.outputs[0]);
}

bool Lowering::alias_reshape(const Value& x, MemberId member, TensorId y) {
  const Shape& shape = values_.tensor(member, y).shape;
  std::optional<Shape> strides = reshaped_strides(x.view, shape);
  if (!strides) return false;
  return alias_view({x.view.buffer, x.view.offset, shape, *std::move(strides), x.view.type}, x, member, y);
}

/// Gives `y` the memory of `x`, as `view` sees it, where that is how `y` would lie or whoever reads it does not mind.
bool Lowering::alias_view(View view, const Value& x, MemberId member, TensorId y) {
  if (reserved_.contains({member, y}) || placed_.contains({member, y})) return false;
  if (!is_dense(view, values_.layout_of(member, y)) && !readers_take_views(member, y)) return false;
  Buffer& buffer = values_.buffers()[to_index(view.buffer)];
  if (values_.is_output(member, y)) {
    if (buffer.kind == BufferKind::kInput) return false;  // an output must outlive the input's slot
    buffer.kind = BufferKind::kOutput;
  }
  values_.set(member, y, {std::move(view), x.producers});
  return true;
}

/// Whether a tensor only goes into matrix products, which read rows or columns at any distance, and into what at
/// worst copies it.
bool Lowering::readers_take_views(MemberId member, TensorId y) const {
  if (values_.is_output(member, y)) return false;
  const std::vector<Op>& ops = models_[to_index(member)]->ops;
  return std::all_of(ops.begin(), ops.end(), [&](const Op& op) {
    if (std::find(op.inputs.begin(), op.inputs.end(), y) == op.inputs.end()) return true;
    return std::holds_alternative<MatMul>(op.attributes) || std::holds_alternative<Transpose>(op.attributes) ||
           std::holds_alternative<Reshape>(op.attributes);
  });
}

bool Lowering::alias_fused_reshape(const Launch& launch, const StackKey& x_key, const StackKey& y_key) {
  const Value* const stack = values_.find_stack(x_key);  // null: read where the members' tensors lie
  if (stack == nullptr || x_key.form != StackForm::kModels || !is_row_major(stack->view)) return false;
  const Value x = *stack;
  for (std::size_t i = 0; i < launch.members.size(); ++i) {
    const Value part{values_.slice(x_key, x.view, i), x.producers};
    if (!alias_reshape(part, launch.members[i], y_key.parts[i].tensor)) return false;
  }
  View whole = x.view;
  whole.shape = values_.tensor(y_key.parts[0].member, y_key.parts[0].tensor).shape;
  whole.shape.insert(whole.shape.begin(), static_cast<std::int64_t>(launch.members.size()));
  whole.strides = dense_strides(whole.shape, Layout::kNchw);
  values_.add_stack(y_key, {whole, x.producers});
  return true;
}

/// A product that only a transpose reads is written in the order of the transpose's result, where the device can:
/// the transpose has nothing left to move then.
void Lowering::write_transposed(MemberId member, const Op& op, OpCall& call) const {
  const TensorId y = op.outputs[0];
  if (!std::holds_alternative<MatMul>(op.attributes) || reserved_.contains({member, y}) || values_.is_output(member, y))
    return;
  const Op* reader = nullptr;
  for (const Op& other : models_[to_index(member)]->ops) {
    if (std::find(other.inputs.begin(), other.inputs.end(), y) == other.inputs.end()) continue;
    if (reader != nullptr) return;
    reader = &other;
  }
  const auto* const transpose = reader == nullptr ? nullptr : std::get_if<Transpose>(&reader->attributes);
  if (transpose == nullptr) return;
  const TensorId result = reader->outputs[0];
  const Shape strides = dense_strides(values_.tensor(member, result).shape, values_.layout_of(member, result));
  const View plain = call.outputs[0];
  for (std::size_t i = 0; i < strides.size(); ++i)
    call.outputs[0].strides[static_cast<std::size_t>(transpose->permutation[i])] = strides[i];
  if (!catalog_.accepts_strides(call)) call.outputs[0] = plain;
}

}  // namespace cohort
