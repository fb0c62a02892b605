// Elementwise ops whose operands are of several types.

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <limits>

#include "executor/device_error.hpp"
#include "executor/onednn/loops/own_way.hpp"
#include "executor/onednn/loops/parallel.hpp"
#include "executor/onednn/loops/strided_walk.hpp"
#include "executor/reference/tensor_ref.hpp"

namespace cohort::onednn {
namespace {

using reference::stored;
using reference::whole;

/// y = function(x), with any distance between elements.
template <class Function>
Loop map(const StridedWalk<2>& walk, int threads, const Function& function) {
  return [=, steps = walk.run_steps()](const HostArguments& arguments) {
    walk_in_parallel(walk, threads, [&](const auto& at, std::int64_t count) {
      float* const y = arguments.outputs[0] + at[0];
      const float* const x = arguments.inputs[0] + at[1];
      for (std::int64_t i = 0; i < count; ++i) y[i * steps[0]] = function(x[i * steps[1]]);
    });
  };
}

/// To whole numbers, rounded towards zero; NaN and infinities as the reference has them.
Loop truncate(const StridedWalk<2>& walk, int threads) {
  return [=, steps = walk.run_steps()](const HostArguments& arguments) {
    constexpr float kEnd = 0x1p31F, kInfinity = std::numeric_limits<float>::infinity();
    walk_in_parallel(walk, threads, [&](const auto& at, std::int64_t count) {
      float* const y = arguments.outputs[0] + at[0];
      const float* const x = arguments.inputs[0] + at[1];
      int beyond = 0;  // not bool, and no early end: the compiler uses vectors
      for (std::int64_t i = 0; i < count; ++i) {
        const float value = x[i * steps[1]], magnitude = std::abs(value);
        const bool fits = magnitude < kEnd;
        beyond |= static_cast<int>(!fits) & static_cast<int>(magnitude < kInfinity);
        const std::int32_t whole = static_cast<std::int32_t>(fits ? value : -kEnd);
        y[i * steps[0]] = stored(value == kInfinity ? INT32_MAX : whole);
      }
      if (beyond == 0) return;
      const float* const end = x + count * steps[1];
      const float* value = x;
      while (value != end && !(std::abs(*value) >= kEnd && std::abs(*value) < kInfinity)) value += steps[1];
      throw DeviceError(fmt::format("Cast: a number does not fit 32 bits as a whole one: {}", *value));
    });
  };
}

Loop conversion(const Cast& op, const StridedWalk<2>& walk, int threads) {
  const bool from_float = op.from == ElementType::kFloat32;
  if (op.to_truth && from_float) return map(walk, threads, [](float x) { return stored(x != 0 ? 1 : 0); });
  if (op.to_truth) return map(walk, threads, [](float x) { return stored(whole(x) != 0 ? 1 : 0); });
  if (op.from == op.to) return map(walk, threads, [](float x) { return x; });
  if (!from_float) return map(walk, threads, [](float x) { return static_cast<float>(whole(x)); });
  return truncate(walk, threads);
}

}  // namespace

OwnWays own_ways(const Cast& op, const OpCall& call, int threads) {
  const View x = view_of(call, 0), &y = call.outputs[0];
  if (!call.post_ops.empty() || element_count(y.shape) == 0) return {};
  return {{conversion(op, StridedWalk<2>(y.shape, {y.strides, x.strides}), threads)}};
}

OwnWays own_ways(const Select& /*op*/, const OpCall& call, int threads) {
  const View& y = call.outputs[0];
  if (!call.post_ops.empty() || element_count(y.shape) == 0) return {};
  const auto repeated = [&](std::size_t input) {
    const View view = view_of(call, input);
    return reference::broadcast_strides(view.shape, view.strides, y.shape);
  };
  const StridedWalk<4> walk(y.shape, {y.strides, repeated(0), repeated(1), repeated(2)});
  return {{[=, steps = walk.run_steps()](const HostArguments& arguments) {
    walk_in_parallel(walk, threads, [&](const auto& at, std::int64_t count) {
      const float *const condition = arguments.inputs[0] + at[1], *const a = arguments.inputs[1] + at[2],
                         *const b = arguments.inputs[2] + at[3];
      float* const to = arguments.outputs[0] + at[0];
      for (std::int64_t i = 0; i < count; ++i)
        to[i * steps[0]] = whole(condition[i * steps[1]]) != 0 ? a[i * steps[2]] : b[i * steps[3]];
    });
  }}};
}

namespace {

/// A number of a lane, and where it stands.
struct Placed {
  float value = 0;
  std::int32_t place = 0;
};

/// Puts the first `count` of a lane's elements at its begin, in order; a NaN is ahead of all numbers.
void sort_first(std::vector<Placed>& lane, std::int64_t count, bool smallest) {
  const auto ahead = [smallest](const Placed& a, const Placed& b) {
    const bool a_is_none = a.value != a.value, b_is_none = b.value != b.value;
    if (a_is_none != b_is_none) return a_is_none;
    if (a.value != b.value && !a_is_none) return smallest ? a.value < b.value : a.value > b.value;
    return a.place < b.place;
  };
  const auto end = lane.begin() + static_cast<std::ptrdiff_t>(count);
  if (end != lane.end()) std::nth_element(lane.begin(), end, lane.end(), ahead);
  std::sort(lane.begin(), end, ahead);
}

OwnWays first_places(const ArgMax& op, const View& x, const View& y, int threads) {
  const auto axis = static_cast<std::size_t>(op.axis);
  const StridedWalk<2> walk(reference::without(x.shape, axis),
                            {reference::without(y.strides, axis), reference::without(x.strides, axis)});
  const std::int64_t extent = x.shape[axis], x_step = x.strides[axis], y_step = y.strides[axis];
  return {{[=, steps = walk.run_steps()](const HostArguments& arguments) {
    walk_in_parallel(
        walk, threads,
        [&](const auto& at, std::int64_t lanes) {
          std::vector<Placed> lane(static_cast<std::size_t>(extent));
          for (std::int64_t i = 0; i < lanes; ++i) {
            const float* const from = arguments.inputs[0] + at[1] + i * steps[1];
            float* const to = arguments.outputs[0] + at[0] + i * steps[0];
            for (std::int64_t k = 0; k < extent; ++k)
              lane[static_cast<std::size_t>(k)] = {from[k * x_step], static_cast<std::int32_t>(k)};
            sort_first(lane, op.count, op.smallest);
            for (std::int64_t k = 0; k < op.count; ++k)
              to[k * y_step] = stored(lane[static_cast<std::size_t>(k)].place);
          }
        },
        extent);
  }}};
}

}  // namespace

OwnWays own_ways(const ArgMax& op, const OpCall& call, int threads) {
  const View x = view_of(call, 0), &y = call.outputs[0];
  if (!call.post_ops.empty() || element_count(y.shape) == 0) return {};
  if (op.count > 1) return first_places(op, x, y, threads);
  const auto axis = static_cast<std::size_t>(op.axis);
  const Shape shape = reference::without(x.shape, axis);
  const Shape to = op.keep_axis ? reference::without(y.strides, axis) : y.strides;
  const StridedWalk<2> walk(shape, {to, reference::without(x.strides, axis)});
  const std::int64_t extent = x.shape[axis], step = x.strides[axis];
  const auto position = [=](const float* lane) {
    std::int64_t best = 0;
    float leader = lane[0];
    for (std::int64_t i = 1; i < extent && leader == leader; ++i) {  // the first NaN counts as largest, and as smallest
      const float candidate = lane[i * step];
      const bool ahead = op.smallest ? candidate < leader : candidate > leader;
      if (!ahead && candidate == candidate && !(op.last && candidate == leader)) continue;
      best = i;
      leader = candidate;
    }
    return stored(static_cast<std::int32_t>(best));
  };
  return {{[=, steps = walk.run_steps()](const HostArguments& arguments) {
    walk_in_parallel(
        walk, threads,
        [&](const auto& at, std::int64_t count) {
          for (std::int64_t i = 0; i < count; ++i)
            arguments.outputs[0][at[0] + i * steps[0]] = position(arguments.inputs[0] + at[1] + i * steps[1]);
        },
        extent);
  }}};
}

}  // namespace cohort::onednn
