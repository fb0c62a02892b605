#include <algorithm>

#include "executor/onednn/implementation.hpp"
#include "executor/onednn/operands.hpp"
#include "executor/reference/call.hpp"

namespace cohort::onednn {
namespace {

struct Algorithm {
  dnnl::algorithm algorithm;
  float p = 0;
};

/// Empty where the library has none.
std::optional<Algorithm> algorithm_of(ReduceKind kind) {
  switch (kind) {
    case ReduceKind::kSum:
      return Algorithm{dnnl::algorithm::reduction_sum};
    case ReduceKind::kMean:
      return Algorithm{dnnl::algorithm::reduction_mean};
    case ReduceKind::kProduct:
      return Algorithm{dnnl::algorithm::reduction_mul};
    case ReduceKind::kL1:
      return Algorithm{dnnl::algorithm::reduction_norm_lp_power_p_sum, 1};
    case ReduceKind::kSumOfSquares:
      return Algorithm{dnnl::algorithm::reduction_norm_lp_power_p_sum, 2};
    case ReduceKind::kL2:
      return Algorithm{dnnl::algorithm::reduction_norm_lp_sum, 2};
    default:  // among them kMax and kMin: the library's of infinities alone are finite
      return std::nullopt;
  }
}

/// The output with an extent of one for every axis that is gone.
Descriptor with_all_axes(const Reduce& op, const View& y, std::size_t rank) {
  if (op.keep_axes) return describe(y);
  Shape shape, strides;
  std::size_t next = 0;
  for (std::size_t d = 0; d < rank; ++d) {
    const bool gone = std::find(op.axes.begin(), op.axes.end(), static_cast<std::int64_t>(d)) != op.axes.end();
    shape.push_back(gone ? 1 : y.shape[next]);
    strides.push_back(gone ? 1 : y.strides[next]);
    if (!gone) ++next;
  }
  // Strides of ones have no say, but must not be smaller than what lies within.
  for (std::size_t d = rank; d-- > 0;) {
    if (shape[d] == 1 && d + 1 < rank) strides[d] = shape[d + 1] * strides[d + 1];
  }
  return describe(shape, strides);
}

}  // namespace

bool maps_centres(const Resize& op, const Shape& x) {
  if (op.antialias || op.exclude_outside || op.shape[0] != x[0] || op.shape[1] != x[1]) return false;
  const bool half_pixel = op.positions == ResizePositions::kHalfPixel;
  const bool rounds = op.rounding == ResizeRounding::kPreferFloor || op.rounding == ResizeRounding::kPreferCeil;
  for (std::size_t d = 2; d < x.size(); ++d) {
    const double extents = static_cast<double>(op.shape[d]) / static_cast<double>(x[d]);
    if (op.scale[d] != extents) return false;
    // At whole factors no position lies halfway between two elements, where rounding would matter.
    const bool whole = op.shape[d] % x[d] == 0;
    const bool floors = op.positions == ResizePositions::kAsymmetric && op.rounding == ResizeRounding::kFloor;
    if (op.mode == ResizeMode::kNearest && !(whole && ((half_pixel && rounds) || floors))) return false;
    if (op.mode == ResizeMode::kLinear && !half_pixel) return false;
  }
  return op.mode != ResizeMode::kCubic;
}

Implementations implementations(const Reduce& op, const OpCall& call, const dnnl::engine& engine) {
  const std::optional<Algorithm> way = algorithm_of(op.kind);
  if (!way || op.axes.empty() || !call.post_ops.empty()) return {};
  const Descriptor x = describe_input(call, 0);
  const Descriptor y = with_all_axes(op, call.outputs[0], shape_of(call.inputs[0]).size());
  if (y.dims() == x.dims()) return {};  // nothing to reduce, which the library refuses
  const dnnl::reduction::desc description(way->algorithm, x, y, way->p, 0);
  Implementations list;
  append_implementations(dnnl::reduction::primitive_desc(description, scratchpad_only(), engine, true), "",
                         {bind_input(DNNL_ARG_SRC, 0, x), bind_output(y)}, list);
  return list;
}

Implementations implementations(const Resize& op, const OpCall& call, const dnnl::engine& engine) {
  const Shape& shape = shape_of(call.inputs[0]);
  if (shape.size() < 3 || shape.size() > 5 || !maps_centres(op, shape) || !call.post_ops.empty()) return {};
  const dnnl::algorithm algorithm =
      op.mode == ResizeMode::kNearest ? dnnl::algorithm::resampling_nearest : dnnl::algorithm::resampling_linear;
  const Descriptor x = describe_input(call, 0);
  const Descriptor y = describe(call.outputs[0]);
  const dnnl::resampling_forward::desc description(dnnl::prop_kind::forward_inference, algorithm, x, y);
  Implementations list;
  append_implementations(dnnl::resampling_forward::primitive_desc(description, scratchpad_only(), engine, true), "",
                         {bind_input(DNNL_ARG_SRC, 0, x), bind_output(y)}, list);
  return list;
}

}  // namespace cohort::onednn
