#include "executor/reference/call.hpp"

#include <algorithm>
#include <utility>

namespace cohort {
namespace {

bool is_post_operand(const OpCall& call, std::size_t input) {
  return std::any_of(call.post_ops.begin(), call.post_ops.end(), [input](const PostOp& post_op) {
    const auto* const add = std::get_if<AddOperand>(&post_op);
    return add != nullptr && add->operand == input;
  });
}

}  // namespace

const Shape& shape_of(const Operand& operand) {
  return std::visit([](const auto& view) -> const Shape& { return view.shape; }, operand);
}

std::size_t own_input_count(const OpCall& call) {
  std::size_t count = call.inputs.size();
  while (count > input_counts(call.attributes).least && is_post_operand(call, count - 1)) --count;
  return count;
}

Result<void> check_call(const OpCall& call) {
  const std::string_view type = op_type(call.attributes);
  const std::size_t count = own_input_count(call);
  const auto [least, most] = input_counts(call.attributes);
  if (count < least || count > most || call.outputs.size() != 1) {
    return fail(ErrorCode::kInvalidInput, "{}: {} inputs and {} outputs; it takes {} to {} inputs and one output", type,
                count, call.outputs.size(), least, most);
  }
  std::vector<Shape> shapes;
  for (const Operand& operand : call.inputs) shapes.push_back(shape_of(operand));
  const Shape& output = call.outputs[0].shape;
  for (const PostOp& post_op : call.post_ops) {
    const auto* const add = std::get_if<AddOperand>(&post_op);
    if (add == nullptr) continue;
    if (add->operand >= shapes.size() || shapes[add->operand] != output) {
      return fail(ErrorCode::kInvalidInput, "{}: the operand added to the output must be an input of shape {}", type,
                  to_string(output));
    }
  }
  if (std::holds_alternative<Reshape>(call.attributes)) {
    if (element_count(shapes[0]) == element_count(output)) return {};
    return fail(ErrorCode::kInvalidInput, "{}: {} and {} differ in their number of elements", type,
                to_string(shapes[0]), to_string(output));
  }
  shapes.resize(count);
  COHORT_TRY(const Shape expected, infer_shape(call.attributes, shapes));
  if (expected == output) return {};
  return fail(ErrorCode::kInvalidInput, "{}: the output has shape {}; it must be {}", type, to_string(output),
              to_string(expected));
}

Result<void> check_weights(const OpCall& call, std::span<const std::vector<float>> weights) {
  std::size_t next = 0;
  for (const Operand& operand : call.inputs) {
    if (!std::holds_alternative<WeightView>(operand)) continue;
    const std::int64_t count = element_count(shape_of(operand));
    if (next < weights.size() && std::cmp_equal(weights[next].size(), count)) {
      ++next;
      continue;
    }
    return fail(ErrorCode::kInvalidInput, "{}: weight {} has {} values; it must have {}", op_type(call.attributes),
                next, next < weights.size() ? weights[next].size() : 0, count);
  }
  return {};
}

}  // namespace cohort
