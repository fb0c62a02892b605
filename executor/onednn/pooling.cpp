#include <omp.h>

#include <algorithm>

#include "executor/onednn/implementation.hpp"
#include "executor/onednn/loops/not_finite.hpp"
#include "executor/onednn/operands.hpp"
#include "executor/onednn/windows.hpp"
#include "executor/reference/call.hpp"

namespace cohort::onednn {
namespace {

/// Padding at the end with which the window's last position is the output's last, where ceil_mode
/// lets it reach over the padding asked for.
dnnl::memory::dims pad_end(const Window& window, const Shape& x, const Shape& y) {
  dnnl::memory::dims result = window.pad_end;
  for (std::size_t d = 0; d < result.size(); ++d) {
    const std::int64_t reach = window.dilation[d] * (window.kernel[d] - 1) + 1;
    const std::int64_t needed = (y[d + 2] - 1) * window.stride[d] + reach - x[d + 2] - window.pad_begin[d];
    result[d] = std::max(result[d], needed);
  }
  return result;
}

dnnl::algorithm pool_algorithm(const Pool& op) {
  if (op.kind == PoolKind::kMax) return dnnl::algorithm::pooling_max;
  return op.count_include_pad ? dnnl::algorithm::pooling_avg_include_padding
                              : dnnl::algorithm::pooling_avg_exclude_padding;
}

}  // namespace

Implementations implementations(const Pool& op, const OpCall& call, const dnnl::engine& engine) {
  const dnnl::memory::dims ends = pad_end(op.window, shape_of(call.inputs[0]), call.outputs[0].shape);
  // oneDNN counts what ceil_mode adds as padding, too.
  if (op.kind == PoolKind::kAverage && op.count_include_pad && ends != op.window.pad_end) return {};
  const std::optional<PostOps> post_ops = make_post_ops(call);
  if (!post_ops) return {};
  const auto [x, y] = describe_alike(call);
  std::vector<Binding> bindings = {bind_input(DNNL_ARG_SRC, 0, x), bind_output(y)};
  bindings.insert(bindings.end(), post_ops->bindings.begin(), post_ops->bindings.end());
  const dnnl::pooling_v2_forward::desc description(dnnl::prop_kind::forward_inference, pool_algorithm(op), x, y,
                                                   op.window.stride, op.window.kernel, skipped(op.window.dilation),
                                                   op.window.pad_begin, ends);
  Implementations list;
  append_implementations(
      dnnl::pooling_v2_forward::primitive_desc(description, post_ops->attributes, engine, /*allow_empty=*/true), "",
      bindings, list);
  if (op.kind == PoolKind::kAverage) return list;
  // Its kernels compare, and no comparison with a NaN holds.
  const Loop check = compute_anew_where_lost(call, omp_get_max_threads());
  if (!check) return {};
  for (Implementation& way : list) way.after = check;
  return list;
}

/// Of averages only: the library's gradient of maxima needs what its forward pass writes down.
Implementations implementations(const PoolGradient& op, const OpCall& call, const dnnl::engine& engine) {
  const View& dx = call.outputs[0];
  const Window& window = op.pool.window;
  const dnnl::memory::dims ends = pad_end(window, dx.shape, shape_of(call.inputs[0]));
  if (op.pool.kind == PoolKind::kMax || !call.post_ops.empty()) return {};
  if (op.pool.count_include_pad && ends != window.pad_end) return {};
  const Descriptor from = describe_input(call, 0), to = describe(dx);
  const dnnl::algorithm algorithm = pool_algorithm(op.pool);
  const dnnl::pooling_v2_forward::primitive_desc forward(
      {dnnl::prop_kind::forward_training, algorithm, to, from, window.stride, window.kernel, skipped(window.dilation),
       window.pad_begin, ends},
      engine, /*allow_empty=*/true);
  Implementations list;
  if (!forward) return list;
  const dnnl::pooling_v2_backward::desc description(algorithm, to, from, window.stride, window.kernel,
                                                    skipped(window.dilation), window.pad_begin, ends);
  append_implementations(
      dnnl::pooling_v2_backward::primitive_desc(description, scratchpad_only(), engine, forward, true), "",
      {bind_input(DNNL_ARG_DIFF_DST, 0, from), bind_output_as(DNNL_ARG_DIFF_SRC, to)}, list);
  return list;
}

}  // namespace cohort::onednn
