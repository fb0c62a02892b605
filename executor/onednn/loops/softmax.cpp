// Softmax along axes that the library has plain loops for: short ones, and such as others lie between. Several lanes,
// each along the axis, run side by side.

#include <algorithm>
#include <cmath>
#include <limits>

#include "executor/onednn/loops/own_way.hpp"
#include "executor/onednn/loops/parallel.hpp"
#include "executor/onednn/loops/strided_walk.hpp"
#include "executor/onednn/loops/vector.hpp"

namespace cohort::onednn {
namespace {

/// An operand: where its first lane begins, and elements from one lane to the next and from one entry to the next.
template <class Element>
struct LaneRef {
  Element* data;
  std::int64_t lane, entry;
};

/// Of at most kLanes lanes. A NaN is never the largest, but makes the sum a NaN.
COHORT_INLINE void softmax_lanes(LaneRef<const float> x, LaneRef<float> y, std::int64_t entries, std::int64_t lanes,
                                 bool logarithm) {
  float largest[kLanes], sum[kLanes], log_sum[kLanes] = {};
  std::fill_n(largest, lanes, -std::numeric_limits<float>::infinity());
  std::fill_n(sum, lanes, 0.0F);
  for (std::int64_t i = 0; i < entries; ++i) {
    const float* const from = x.data + i * x.entry;
#pragma omp simd
    for (std::int64_t l = 0; l < lanes; ++l) {
      const float value = from[l * x.lane];
      largest[l] = value > largest[l] ? value : largest[l];
    }
  }
  for (std::int64_t i = 0; i < entries; ++i) {
    const float* const from = x.data + i * x.entry;
    float* const to = y.data + i * y.entry;
    float powers[kLanes];
#pragma omp simd
    for (std::int64_t l = 0; l < lanes; ++l) {
      powers[l] = vector_exp(from[l * x.lane] - largest[l]);
      sum[l] += powers[l];
    }
    for (std::int64_t l = 0; l < lanes && !logarithm; ++l) to[l * y.lane] = powers[l];
  }
  if (logarithm) {
    for (std::int64_t l = 0; l < lanes; ++l) log_sum[l] = std::log(sum[l]);
  }
  for (std::int64_t i = 0; i < entries; ++i) {
    const float* const from = x.data + i * x.entry;
    float* const to = y.data + i * y.entry;
#pragma omp simd
    for (std::int64_t l = 0; l < lanes; ++l)
      to[l * y.lane] = logarithm ? from[l * x.lane] - largest[l] - log_sum[l] : to[l * y.lane] / sum[l];
  }
}

/// Lanes that adjoin are told apart from others: their entries are loaded as one.
COHORT_VECTORS void softmax(LaneRef<const float> x, LaneRef<float> y, std::int64_t entries, std::int64_t count,
                            bool logarithm) {
  const bool adjoin = x.lane == 1 && y.lane == 1;
  for (std::int64_t first = 0; first < count; first += kLanes) {
    const std::int64_t lanes = std::min(kLanes, count - first);
    const LaneRef<const float> from{x.data + first * x.lane, x.lane, x.entry};
    const LaneRef<float> to{y.data + first * y.lane, y.lane, y.entry};
    if (adjoin && lanes == kLanes) {
      softmax_lanes({from.data, 1, x.entry}, {to.data, 1, y.entry}, entries, kLanes, logarithm);
    } else if (lanes == kLanes) {
      softmax_lanes(from, to, entries, kLanes, logarithm);
    } else {
      softmax_lanes(from, to, entries, lanes, logarithm);
    }
  }
}

}  // namespace

OwnWays stand_ins(const Softmax& op, const OpCall& call, int threads) {
  if (!call.post_ops.empty()) return {};
  const View x = view_of(call, 0), &y = call.outputs[0];
  const auto axis = static_cast<std::size_t>(op.axis);
  Shape lanes = y.shape;
  lanes[axis] = 1;
  const StridedWalk<2> walk(lanes, {y.strides, x.strides});
  const std::int64_t y_lane = walk.run_steps()[0], x_lane = walk.run_steps()[1];
  OwnWay way;
  way.stands_in = true;
  way.loop = [=, entries = y.shape[axis], x_entry = x.strides[axis], y_entry = y.strides[axis],
              logarithm = op.logarithm](const HostArguments& arguments) {
    walk_in_parallel(
        walk, threads,
        [&](const auto& at, std::int64_t count) {
          softmax({arguments.inputs[0] + at[1], x_lane, x_entry}, {arguments.outputs[0] + at[0], y_lane, y_entry},
                  entries, count, logarithm);
        },
        4 * entries);
  };
  return {std::move(way)};
}

}  // namespace cohort::onednn
