#include <algorithm>
#include <cstdlib>
#include <limits>
#include <numeric>
#include <utility>

#include "executor/cuda/own/grid.hpp"
#include "executor/cuda/own/number.hpp"
#include "executor/cuda/own/training_lowering.hpp"
#include "executor/reference/call.hpp"
#include "executor/reference/tensor_ref.hpp"
#include "models/compute/ops.hpp"

namespace cohort::cuda::own {
namespace {

/// Entries of dimensions that stay, and of those along `axes`, which go.
struct Divided {
  Shape staying, going;
};

Divided divided(const Shape& all, const std::vector<std::int64_t>& axes) {
  Divided result;
  for (std::size_t d = 0; d < all.size(); ++d) {
    const bool goes = std::find(axes.begin(), axes.end(), static_cast<std::int64_t>(d)) != axes.end();
    (goes ? result.going : result.staying).push_back(all[d]);
  }
  return result;
}

std::int64_t closest(const Extents& shape, const Strides& strides) {
  std::int64_t least = std::numeric_limits<std::int64_t>::max();
  for (int d = 0; d < shape.rank; ++d) least = std::min(least, std::abs(strides.of[d]));
  return least;
}

/// Whether each lane is a thread's. Neighbouring threads are to read neighbouring elements: those of one lane, which a
/// warp then shares, or those of neighbouring lanes, as long as that makes enough threads or little work for each.
bool is_for_threads(const Extents& lanes, const Strides& x_lanes, std::int64_t length, std::int64_t step) {
  // More than these would have more threads than 32 bits can number.
  constexpr std::int32_t kMostWarps = std::numeric_limits<std::int32_t>::max() / kWarp - kBlock;
  constexpr std::int32_t kManyLanes = 1 << 14;
  constexpr std::int64_t kShortLane = 4 * kWarp;
  if (lanes.count > kMostWarps) return true;
  return closest(lanes, x_lanes) < step && (lanes.count >= kManyLanes || length <= kShortLane);
}

ReduceOf reduce_kind(ReduceKind kind) {
  static_assert(static_cast<int>(ReduceOf::kProduct) == static_cast<int>(ReduceKind::kProduct));
  static_assert(static_cast<int>(ReduceOf::kLogSumExp) == static_cast<int>(ReduceKind::kLogSumExp));
  return static_cast<ReduceOf>(static_cast<int>(kind));
}

/// Dimensions in the order of a tensor's memory, the closest last.
std::vector<std::size_t> order_of(const Shape& strides) {
  std::vector<std::size_t> order(strides.size());
  std::iota(order.begin(), order.end(), std::size_t{0});
  std::stable_sort(order.begin(), order.end(), [&](std::size_t a, std::size_t b) { return strides[a] > strides[b]; });
  return order;
}

Shape in_order(const Shape& values, const std::vector<std::size_t>& order) {
  Shape result;
  for (const std::size_t d : order) result.push_back(values[d]);
  return result;
}

/// Strides by a result's dimensions, as many as `order` has.
Strides in_order(const Strides& strides, const std::vector<std::size_t>& order) {
  return to_strides(in_order(Shape(strides.of, strides.of + order.size()), order));
}

/// What kernels on the result's dimensions in the order of its memory have in common.
template <class Arguments>
void set_tensors(Arguments& kernel, const OpCall& call, const Operands& operands,
                 const std::vector<std::size_t>& order) {
  kernel.type = operands.y_type;
  kernel.y_shape = to_extents(in_order(operands.y_shape, order));
  kernel.x = operands.inputs[0].data;
  kernel.y = operands.y;
  kernel.x_strides = to_strides(in_order(operands.inputs[0].strides, order));
  kernel.y_strides = to_strides(in_order(operands.y_strides, order));
  kernel.post = post_ops(call, operands);
  for (int i = 0; i < kernel.post.count; ++i) kernel.post.of[i].strides = in_order(kernel.post.of[i].strides, order);
}

/// Where the taps of a Resize stand in table_of(): by dimension offsets in bytes, none where each position takes the
/// element of its number.
struct ResizeTable {
  struct Place {
    std::size_t first = 0, taps = 0;
  };
  std::vector<std::byte> bytes;
  std::vector<std::optional<Place>> places;
};

template <class Value>
void append(std::vector<std::byte>& bytes, const Value& value) {
  const auto* const raw = reinterpret_cast<const std::byte*>(&value);
  bytes.insert(bytes.end(), raw, raw + sizeof value);
}

/// An element that several taps take, at the border, is taken once: then there are at most as many choices of a tap
/// along each dimension as x has elements.
std::vector<ResizeTap> merged(const std::vector<reference::ResizeTap>& taps) {
  std::vector<ResizeTap> result;
  double weight = 0;
  for (const auto& tap : taps) {
    const auto at = static_cast<std::int32_t>(tap.at);
    if (result.empty() || result.back().at != at) {
      result.push_back({at, 0});
      weight = 0;
    }
    weight += tap.weight;
    result.back().weight = static_cast<float>(weight);
  }
  return result;
}

using AxisTaps = std::vector<std::vector<reference::ResizeTap>>;  ///< by position

ResizeTable resize_table(const std::vector<AxisTaps>& axes) {
  ResizeTable table;
  for (const AxisTaps& axis : axes) {
    std::vector<std::int32_t> first{0};
    std::vector<ResizeTap> all;
    bool is_same = true;
    for (const auto& position : axis) {
      const std::vector<ResizeTap> taps = merged(position);
      is_same = is_same && taps.size() == 1 && taps[0].weight == 1 && std::cmp_equal(taps[0].at, first.size() - 1);
      all.insert(all.end(), taps.begin(), taps.end());
      first.push_back(static_cast<std::int32_t>(all.size()));
    }
    table.places.emplace_back();
    if (is_same) continue;
    table.places.back().emplace();
    table.places.back()->first = table.bytes.size();
    for (const std::int32_t each : first) append(table.bytes, each);
    table.places.back()->taps = table.bytes.size();
    for (const ResizeTap& tap : all) append(table.bytes, tap);
  }
  return table;
}

std::vector<AxisTaps> taps_of(const Resize& op, const Shape& x) {
  std::vector<AxisTaps> axes;
  for (std::size_t d = 0; d < x.size(); ++d) axes.push_back(reference::resize_taps(op, d, x[d]));
  return axes;
}

/// The positions of y that an element of x has a part in.
std::vector<AxisTaps> taps_of(const ResizeGradient& op) {
  std::vector<AxisTaps> axes;
  for (const std::int64_t extent : op.shape) axes.emplace_back(static_cast<std::size_t>(extent));
  const std::vector<AxisTaps> forward = taps_of(op.resize, op.shape);
  for (std::size_t d = 0; d < axes.size(); ++d) {
    for (std::size_t i = 0; i < forward[d].size(); ++i) {
      for (const auto& tap : forward[d][i])
        axes[d][static_cast<std::size_t>(tap.at)].push_back({static_cast<std::int64_t>(i), tap.weight});
    }
  }
  return axes;
}

ResizeArguments resized(const ResizeTable& table, const OpCall& call, const Operands& operands) {
  const std::vector<std::size_t> order = order_of(operands.y_strides);
  const auto* const base = static_cast<const std::byte*>(operands.table);
  ResizeArguments kernel;
  set_tensors(kernel, call, operands, order);
  for (std::size_t i = 0; i < order.size(); ++i) {
    const auto& place = table.places[order[i]];
    if (!place) continue;
    kernel.first[i] = reinterpret_cast<const std::int32_t*>(base + place->first);
    kernel.taps[i] = reinterpret_cast<const ResizeTap*>(base + place->taps);
  }
  return kernel;
}

}  // namespace

std::vector<std::byte> table_of(const OpCall& call) {
  if (const auto* const gradient = std::get_if<ResizeGradient>(&call.attributes))
    return resize_table(taps_of(*gradient)).bytes;
  const auto* const resize = std::get_if<Resize>(&call.attributes);
  if (resize == nullptr) return {};
  return resize_table(taps_of(*resize, shape_of(call.inputs[0]))).bytes;
}

KernelArguments kernel_of(const Reduce& op, const OpCall& call, const Operands& operands) {
  const Tensor& x = operands.inputs[0];
  const Divided shape = divided(x.shape, op.axes);
  const Divided strides = divided(x.strides, op.axes);
  const auto of_lanes = [&](const Shape& of_y) { return op.keep_axes ? divided(of_y, op.axes).staying : of_y; };
  ReduceArguments kernel;
  kernel.type = operands.y_type;
  kernel.kind = reduce_kind(op.kind);
  kernel.x = x.data;
  kernel.y = operands.y;
  kernel.x_lanes = to_strides(strides.staying);
  kernel.x_inner = to_strides(strides.going);
  kernel.y_lanes = to_strides(of_lanes(operands.y_strides));
  kernel.post = post_ops(call, operands);
  for (int i = 0; i < kernel.post.count; ++i) {
    Strides& added = kernel.post.of[i].strides;
    added = to_strides(of_lanes(Shape(added.of, added.of + operands.y_shape.size())));
  }
  kernel.lanes = simplify(with_post_ops({&kernel.y_lanes, &kernel.x_lanes}, kernel.post), shape.staying);
  kernel.inner = simplify({&kernel.x_inner}, shape.going);
  kernel.thread_per_lane =
      is_for_threads(kernel.lanes, kernel.x_lanes, kernel.inner.count, closest(kernel.inner, kernel.x_inner));
  return kernel;
}

KernelArguments kernel_of(const ArgMax& op, const OpCall& /*call*/, const Operands& operands) {
  const Tensor& x = operands.inputs[0];
  const auto axis = static_cast<std::size_t>(op.axis);
  ArgMaxArguments kernel;
  kernel.type = x.type;
  kernel.last = op.last;
  kernel.smallest = op.smallest;
  kernel.length = static_cast<std::int32_t>(x.shape[axis]);
  kernel.x_step = x.strides[axis];
  kernel.x = x.data;
  kernel.y = operands.y;
  kernel.x_lanes = to_strides(reference::without(x.strides, axis));
  kernel.y_lanes = to_strides(op.keep_axis ? reference::without(operands.y_strides, axis) : operands.y_strides);
  kernel.lanes = simplify({&kernel.y_lanes, &kernel.x_lanes}, reference::without(x.shape, axis));
  kernel.thread_per_lane = is_for_threads(kernel.lanes, kernel.x_lanes, kernel.length, std::abs(kernel.x_step));
  return kernel;
}

KernelArguments kernel_of(const Resize& op, const OpCall& call, const Operands& operands) {
  ResizeArguments kernel = resized(resize_table(taps_of(op, operands.inputs[0].shape)), call, operands);
  kernel.outside = op.outside;
  return kernel;
}

KernelArguments kernel_of(const ResizeGradient& op, const OpCall& call, const Operands& operands) {
  return resized(resize_table(taps_of(op)), call, operands);
}

/// What padding cuts off is gone before the rest is mirrored or repeated.
KernelArguments kernel_of(const Pad& op, const OpCall& call, const Operands& operands) {
  static_assert(static_cast<int>(PadWith::kConstant) == static_cast<int>(PadMode::kConstant));
  static_assert(static_cast<int>(PadWith::kReflect) == static_cast<int>(PadMode::kReflect));
  static_assert(static_cast<int>(PadWith::kEdge) == static_cast<int>(PadMode::kEdge));
  static_assert(static_cast<int>(PadWith::kWrap) == static_cast<int>(PadMode::kWrap));
  const Tensor& x = operands.inputs[0];
  const std::vector<std::size_t> order = order_of(operands.y_strides);
  PadArguments kernel;
  set_tensors(kernel, call, operands, order);
  kernel.with = static_cast<PadWith>(static_cast<int>(op.mode));
  const auto bits = static_cast<std::uint32_t>(static_cast<std::int32_t>(op.value));
  kernel.value = op.element == ElementType::kFloat32 ? op.value : float_of(bits);
  for (std::size_t i = 0; i < order.size(); ++i) {
    const std::size_t d = order[i];
    const std::int64_t cut = std::max<std::int64_t>(0, -op.begin[d]);
    const std::int64_t kept = x.shape[d] - cut - std::max<std::int64_t>(0, -op.end[d]);
    kernel.shift[i] = op.begin[d] + cut;
    kernel.extent[i] = static_cast<std::int32_t>(std::max<std::int64_t>(0, kept));
    if (kept > 0) kernel.x = advanced(kernel.x, cut * x.strides[d], operands.y_type);
  }
  return kernel;
}

KernelArguments kernel_of(const Tile& /*op*/, const OpCall& call, const Operands& operands) {
  const std::vector<std::size_t> order = order_of(operands.y_strides);
  PadArguments kernel;
  set_tensors(kernel, call, operands, order);
  kernel.with = PadWith::kWrap;
  for (std::size_t i = 0; i < order.size(); ++i)
    kernel.extent[i] = static_cast<std::int32_t>(operands.inputs[0].shape[order[i]]);
  return kernel;
}

}  // namespace cohort::cuda::own
