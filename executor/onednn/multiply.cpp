#include <algorithm>

#include "executor/onednn/implementation.hpp"
#include "executor/onednn/operands.hpp"
#include "executor/reference/call.hpp"

namespace cohort::onednn {
namespace {

/// An operand's extents with strides.
struct FactorExtents {
  Shape shape, strides;
};

FactorExtents extents_of(const Operand& operand) {
  if (const auto* const view = std::get_if<View>(&operand)) return {view->shape, view->strides};
  return {shape_of(operand), dense_strides(shape_of(operand), Layout::kNchw)};
}

/// The operand as its product reads it, with leading ones up to `rank`.
FactorExtents factor(const Operand& operand, bool transposed, std::size_t rank) {
  FactorExtents result = extents_of(operand);
  if (transposed) {
    std::swap(result.shape[result.shape.size() - 1], result.shape[result.shape.size() - 2]);
    std::swap(result.strides[result.strides.size() - 1], result.strides[result.strides.size() - 2]);
  }
  const std::int64_t outer = result.shape.front() * result.strides.front();
  const std::size_t missing = rank - result.shape.size();
  result.shape.insert(result.shape.begin(), missing, 1);
  result.strides.insert(result.strides.begin(), missing, outer);
  return result;
}

/// [..., M, K] seen as [rows, K]; empty where rows do not follow one another at one distance.
std::optional<FactorExtents> as_rows(const FactorExtents& x) {
  const std::size_t last = x.shape.size() - 1;
  std::int64_t rows = 1, distance = x.shape[last];
  for (std::size_t d = last; d-- > 0;) {
    if (x.shape[d] == 1) continue;
    if (rows > 1 && x.strides[d] != rows * distance) return std::nullopt;
    if (rows == 1) distance = x.strides[d];
    rows *= x.shape[d];
  }
  return FactorExtents{{rows, x.shape[last]}, {distance, x.strides[last]}};
}

/// The library takes the distance between rows from strides even of extents of one, which have no say.
Descriptor descriptor_of(FactorExtents x) {
  const std::size_t column = x.shape.size() - 1, row = column - 1;
  if (x.shape[column] == 1) x.strides[column] = 1;
  if (x.shape[row] == 1) x.strides[row] = x.strides[column] == 1 ? x.shape[column] : 1;
  return describe(x.shape, x.strides);
}

bool one_matrix(const FactorExtents& x) {
  return std::all_of(x.shape.begin(), x.shape.end() - 2, [](std::int64_t extent) { return extent == 1; });
}

Implementations product(const FactorExtents& a, const FactorExtents& b, const FactorExtents& y, const OpCall& call,
                        const PostOps& post_ops, const dnnl::engine& engine) {
  // Constants are packed; what is computed lies as it lies.
  const Descriptor weights = is_constant(call, 1) ? describe_any(b.shape) : descriptor_of(b);
  std::vector<Binding> bindings = {bind_input(DNNL_ARG_SRC, 0, descriptor_of(a)),
                                   bind_input(DNNL_ARG_WEIGHTS, 1, descriptor_of(b)), bind_output(descriptor_of(y))};
  bindings.insert(bindings.end(), post_ops.bindings.begin(), post_ops.bindings.end());
  const dnnl::matmul::desc description(descriptor_of(a), weights, descriptor_of(y));
  Implementations list;
  append_implementations(dnnl::matmul::primitive_desc(description, post_ops.attributes, engine, /*allow_empty=*/true),
                         "", bindings, list);
  return list;
}

}  // namespace

Implementations implementations(const MatMul& op, const OpCall& call, const dnnl::engine& engine) {
  const FactorExtents y = extents_of(call.outputs[0]);
  const FactorExtents a = factor(call.inputs[0], op.transpose_a, y.shape.size());
  const FactorExtents b = factor(call.inputs[1], op.transpose_b, y.shape.size());
  if (y.shape.size() > 2 && one_matrix(b)) {
    // All rows meet the same matrix: one large product.
    const std::optional<FactorExtents> rows = as_rows(a), result = as_rows(y);
    const Presentation present = [](const View& view) -> std::optional<Descriptor> {
      const std::optional<FactorExtents> seen = as_rows({view.shape, view.strides});
      return seen ? std::optional<Descriptor>(descriptor_of(*seen)) : std::nullopt;
    };
    const std::optional<PostOps> post_ops = make_post_ops(call, present);
    if (rows && result && post_ops) {
      const auto matrix = static_cast<std::ptrdiff_t>(b.shape.size()) - 2;
      const FactorExtents inner{{b.shape.begin() + matrix, b.shape.end()},
                                {b.strides.begin() + matrix, b.strides.end()}};
      return product(*rows, inner, *result, call, *post_ops, engine);
    }
  }
  const std::optional<PostOps> post_ops = make_post_ops(call);
  if (!post_ops) return {};
  return product(a, b, y, call, *post_ops, engine);
}

}  // namespace cohort::onednn
