#include "views.hpp"

#include <gtest/gtest.h>

#include <algorithm>
#include <bit>
#include <utility>

#include "executor/reference/call.hpp"

namespace cohort::testing {

View packed(std::uint32_t buffer, std::int64_t place, const Shape& shape) {
  return {BufferId{buffer}, place, shape, dense_strides(shape, Layout::kNchw)};
}

View stacked(std::uint32_t buffer, std::int64_t place, std::int64_t models, const Shape& shape, std::int64_t row) {
  View view = packed(buffer, place, shape);
  view.shape.insert(view.shape.begin(), models);
  view.strides.insert(view.strides.begin(), row);
  return view;
}

std::vector<float> whole_numbers(const std::vector<std::int32_t>& values) {
  std::vector<float> result;
  for (const std::int32_t value : values) result.push_back(std::bit_cast<float>(value));
  return result;
}

OpCall with_packed_output(OpAttributes attributes, std::vector<Operand> inputs, std::uint32_t output,
                          std::int64_t place) {
  OpCall call = with_output(std::move(attributes), std::move(inputs), output);
  call.outputs[0] = packed(output, place, call.outputs[0].shape);
  return call;
}

OpCall with_output(OpAttributes attributes, std::vector<Operand> inputs, std::uint32_t output,
                   std::vector<PostOp> post_ops) {
  std::vector<Shape> shapes;
  for (const Operand& operand : inputs) shapes.push_back(shape_of(operand));
  const auto added = std::count_if(post_ops.begin(), post_ops.end(),
                                   [](const PostOp& post_op) { return std::holds_alternative<AddOperand>(post_op); });
  shapes.resize(shapes.size() - static_cast<std::size_t>(added));
  const auto shape = infer_shape(attributes, shapes);
  EXPECT_TRUE(shape.has_value()) << (shape ? "" : shape.error().message);
  return make_call(std::move(attributes), std::move(inputs), dense(output, shape.value_or(Shape{1})),
                   std::move(post_ops));
}

Range range_of(ActivationKind kind, Range usual) {
  switch (kind) {
    case ActivationKind::kSqrt:
    case ActivationKind::kLog:
    case ActivationKind::kReciprocal:
      return {0.5F, usual.high};
    case ActivationKind::kAsin:
    case ActivationKind::kAcos:
    case ActivationKind::kAtanh:
      return {-0.9F, 0.9F};
    case ActivationKind::kAcosh:
      return {1.5F, 3};
    default:
      return usual;
  }
}

Window square_window(std::int64_t kernel, std::int64_t stride, std::int64_t pad, std::int64_t dilation) {
  return {{kernel, kernel}, {stride, stride}, {pad, pad}, {pad, pad}, {dilation, dilation}};
}

}  // namespace cohort::testing
