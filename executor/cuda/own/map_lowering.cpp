#include <algorithm>
#include <numeric>

#include "executor/cuda/own/training_lowering.hpp"
#include "executor/reference/call.hpp"

namespace cohort::cuda::own {
namespace {

Tensor channel_vector(const Tensor& values, const Shape& shape) {
  Shape as(shape.size(), 1);
  as[1] = shape[1];
  Shape strides(shape.size(), 0);
  strides[1] = 1;
  return {values.data, as, strides, values.type};
}

PostOps::One activation_of(const Activation& activation) {
  PostOps::One one;
  one.kind = post_kind(activation.kind);
  one.alpha = activation.alpha;
  one.beta = activation.beta;
  return one;
}

std::vector<KernelArguments> concat_kernels(const Concat& op, const OpCall& call, const Operands& operands) {
  const auto axis = static_cast<std::size_t>(op.axis);
  std::vector<KernelArguments> kernels;
  std::int64_t begin = 0;
  for (std::size_t i = 0; i < own_input_count(call); ++i) {
    Operands part = operands;
    part.y_shape = operands.inputs[i].shape;
    part.y = advanced(part.y, begin * operands.y_strides[axis], operands.y_type);
    PostOps post = post_ops(call, operands);
    for (int p = 0; p < post.count; ++p) {
      const void*& operand = post.of[p].operand;
      if (operand != nullptr) operand = advanced(operand, begin * post.of[p].strides.of[axis], operands.y_type);
    }
    kernels.emplace_back(map_of(MapKind::kCopy, {operands.inputs[i]}, part, post));
    begin += part.y_shape[axis];
  }
  return kernels;
}

KernelArguments conversion(const Operands& operands) {
  const Tensor& x = operands.inputs[0];
  ConvertArguments kernel;
  kernel.x_type = x.type;
  kernel.y_type = operands.y_type;
  kernel.x = x.data;
  kernel.y = operands.y;
  kernel.x_strides = to_strides(x.strides);
  kernel.y_strides = to_strides(operands.y_strides);
  kernel.shape = simplify({&kernel.y_strides, &kernel.x_strides}, operands.y_shape);
  return kernel;
}

KernelArguments reshape_kernel(const OpCall& call, const Operands& operands) {
  const Tensor& x = operands.inputs[0];
  if (x.type != operands.y_type) return conversion(operands);
  if (x.shape == operands.y_shape) return map_of(MapKind::kCopy, {x}, operands, post_ops(call, operands));
  ReshapeArguments kernel;
  kernel.type = operands.y_type;
  kernel.x_shape = to_extents(x.shape);
  kernel.y_shape = to_extents(operands.y_shape);
  kernel.x = x.data;
  kernel.y = operands.y;
  kernel.x_strides = to_strides(x.strides);
  kernel.y_strides = to_strides(operands.y_strides);
  kernel.post = post_ops(call, operands);
  return kernel;
}

}  // namespace

MapKind kind_of(BinaryKind kind) {
  static_assert(static_cast<int>(MapKind::kAdd) == static_cast<int>(BinaryKind::kAdd) + 1);
  static_assert(static_cast<int>(MapKind::kMod) == static_cast<int>(BinaryKind::kMod) + 1);
  return static_cast<MapKind>(static_cast<int>(kind) + 1);
}

MapArguments map_of(MapKind kind, const std::vector<Tensor>& from, const Operands& to, const PostOps& post) {
  MapArguments map;
  map.type = to.y_type;
  map.kind = kind;
  map.y = to.y;
  map.y_strides = to_strides(to.y_strides);
  map.post = post;
  map.a = from[0].data;
  map.a_strides = to_strides(broadcast(from[0], to.y_shape));
  if (from.size() > 1) {
    map.b = from[1].data;
    map.b_strides = to_strides(broadcast(from[1], to.y_shape));
  }
  if (from.size() > 2) {
    map.c = from[2].data;
    map.c_strides = to_strides(broadcast(from[2], to.y_shape));
  }
  map.shape =
      simplify(with_post_ops({&map.y_strides, &map.a_strides, &map.b_strides, &map.c_strides}, map.post), to.y_shape);
  return map;
}

MapArguments copy_of(const Tensor& from, void* to, const Shape& to_strides) {
  Operands operands;
  operands.y = to;
  operands.y_shape = from.shape;
  operands.y_strides = to_strides;
  operands.y_type = from.type;
  return map_of(MapKind::kCopy, {from}, operands, {});
}

PostKind post_kind(ActivationKind kind) {
  static_assert(static_cast<int>(PostKind::kRelu) == static_cast<int>(ActivationKind::kRelu) + 1);
  static_assert(static_cast<int>(PostKind::kGelu) == static_cast<int>(ActivationKind::kGelu) + 1);
  static_assert(static_cast<int>(PostKind::kFakeQuantize) == static_cast<int>(ActivationKind::kFakeQuantize) + 1);
  return static_cast<PostKind>(static_cast<int>(kind) + 1);
}

Shape broadcast(const Tensor& x, const Shape& shape) {
  Shape strides(shape.size(), 0);
  const std::size_t missing = shape.size() - x.shape.size();
  for (std::size_t d = 0; d < x.shape.size(); ++d) strides[missing + d] = x.shape[d] == 1 ? 0 : x.strides[d];
  return strides;
}

Extents simplify(const std::vector<Strides*>& all, const Shape& shape) {
  std::vector<std::size_t> order;
  for (std::size_t d = 0; d < shape.size(); ++d) {
    if (shape[d] > 1) order.push_back(d);
  }
  std::vector<Strides> before;
  for (const Strides* strides : all) before.push_back(*strides);
  std::stable_sort(order.begin(), order.end(),
                   [&](std::size_t a, std::size_t b) { return before[0].of[a] > before[0].of[b]; });
  Extents extents;
  for (const std::size_t d : order) {
    const auto extent = static_cast<std::int32_t>(shape[d]);
    const int last = extents.rank - 1;
    bool joins = extents.rank > 0;
    for (std::size_t i = 0; joins && i < all.size(); ++i) joins = all[i]->of[last] == before[i].of[d] * extent;
    const int to = joins ? last : extents.rank++;
    extents.of[to] = joins ? extents.of[to] * extent : extent;
    for (std::size_t i = 0; i < all.size(); ++i) all[i]->of[to] = before[i].of[d];
    extents.count *= extent;
  }
  return extents;
}

std::vector<Strides*> with_post_ops(std::vector<Strides*> others, PostOps& post) {
  for (int i = 0; i < post.count; ++i) others.push_back(&post.of[i].strides);
  return others;
}

Strides to_strides(const Shape& strides) {
  Strides result;
  std::copy(strides.begin(), strides.end(), result.of);
  return result;
}

Extents to_extents(const Shape& shape) {
  Extents result;
  result.rank = static_cast<std::int32_t>(shape.size());
  for (std::size_t d = 0; d < shape.size(); ++d) {
    result.of[d] = static_cast<std::int32_t>(shape[d]);
    result.count *= result.of[d];
  }
  return result;
}

PostOps post_ops(const OpCall& call, const Operands& operands, std::size_t first) {
  PostOps result;
  for (std::size_t i = first; i < call.post_ops.size(); ++i) {
    PostOps::One& one = result.of[result.count++];
    if (const auto* const activation = std::get_if<Activation>(&call.post_ops[i])) {
      one = activation_of(*activation);
      continue;
    }
    const Tensor& operand = operands.inputs[std::get<AddOperand>(call.post_ops[i]).operand];
    one.kind = PostKind::kAdd;
    one.operand = operand.data;
    one.strides = to_strides(operand.strides);
  }
  return result;
}

MapArguments epilogue(const OpCall& call, const Operands& operands, const void* bias, std::size_t first) {
  const PostOps post = post_ops(call, operands, first);
  const Tensor y{operands.y, operands.y_shape, operands.y_strides, operands.y_type};
  if (bias == nullptr) return map_of(MapKind::kCopy, {y}, operands, post);
  return map_of(MapKind::kAdd, {y, channel_vector({bias, {}, {}, operands.y_type}, operands.y_shape)}, operands, post);
}

std::vector<KernelArguments> map_kernels(const OpCall& call, const Operands& operands) {
  if (const auto* const concat = std::get_if<Concat>(&call.attributes)) return concat_kernels(*concat, call, operands);
  if (std::holds_alternative<Reshape>(call.attributes)) return {reshape_kernel(call, operands)};
  PostOps post = post_ops(call, operands);
  if (const auto* const transpose = std::get_if<Transpose>(&call.attributes))
    return {map_of(MapKind::kCopy, {rearranged(*transpose, operands.inputs[0])}, operands, post)};
  if (const auto* const slice = std::get_if<TensorSlice>(&call.attributes))
    return {map_of(MapKind::kCopy, {rearranged(*slice, operands.inputs[0])}, operands, post)};
  if (const auto whole = whole_kernel(call, operands)) return {*whole};
  const bool copies = std::holds_alternative<Expand>(call.attributes) || std::holds_alternative<Cast>(call.attributes);
  if (copies) return {map_of(MapKind::kCopy, {operands.inputs[0]}, operands, post)};
  if (const auto* const activation = std::get_if<Activation>(&call.attributes)) {
    std::copy_backward(post.of, post.of + post.count, post.of + post.count + 1);
    post.of[0] = activation_of(*activation);
    ++post.count;
    return {map_of(MapKind::kCopy, {operands.inputs[0]}, operands, post)};
  }
  if (const auto* const binary = std::get_if<Binary>(&call.attributes))
    return {map_of(kind_of(binary->kind), {operands.inputs[0], operands.inputs[1]}, operands, post)};
  const auto& normalization = std::get<BatchNormalization>(call.attributes);
  if (!is_folded(call)) return {normalization_by_views(normalization, operands)};
  // packed() made input 1 the factor and input 2 the addend of each channel.
  const Tensor factor = channel_vector(operands.inputs[1], operands.y_shape);
  const Tensor addend = channel_vector(operands.inputs[2], operands.y_shape);
  return {map_of(MapKind::kAffine, {operands.inputs[0], factor, addend}, operands, post)};
}

}  // namespace cohort::cuda::own
