#include <algorithm>

#include "executor/onednn/implementation.hpp"
#include "executor/onednn/operands.hpp"

namespace cohort::onednn {
namespace {

/// A copy from `from` elements behind the input's first, in steps of `strides`, to the output.
Implementations copy(const OpCall& call, const Shape& strides, std::int64_t from, const dnnl::engine& engine) {
  const View& y = call.outputs[0];
  const Descriptor source = describe(y.shape, strides);
  const Descriptor target = describe(y);
  const dnnl::reorder::primitive_desc description(engine, source, engine, target, scratchpad_only());
  const std::string name = description.impl_info_str();
  // The library's plain loops compute with what they move, which may be whole numbers' bits.
  if (name.find("ref") != std::string::npos) return {};
  Binding input = bind_input(DNNL_ARG_FROM, 0, source);
  input.offset = from;
  Binding output = bind_output(target);
  output.argument = DNNL_ARG_TO;
  return {{name, description, {input, output}, std::nullopt}};
}

/// The input's strides, where it is not a constant.
const Shape* strides_of(const OpCall& call) {
  const auto* const x = std::get_if<View>(&call.inputs[0]);
  return x == nullptr || !call.post_ops.empty() ? nullptr : &x->strides;
}

}  // namespace

Implementations implementations(const Transpose& op, const OpCall& call, const dnnl::engine& engine) {
  const Shape* const strides = strides_of(call);
  if (strides == nullptr) return {};
  return copy(call, permuted(op, *strides), 0, engine);
}

Implementations implementations(const TensorSlice& op, const OpCall& call, const dnnl::engine& engine) {
  const Shape* const strides = strides_of(call);
  if (strides == nullptr) return {};
  // The library walks forwards only.
  if (std::any_of(op.step.begin(), op.step.end(), [](std::int64_t step) { return step < 1; })) return {};
  const Stepped taken = stepped(op.start, op.step, *strides);
  return copy(call, taken.strides, taken.first, engine);
}

}  // namespace cohort::onednn
