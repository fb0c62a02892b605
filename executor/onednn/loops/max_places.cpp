// Places of the maxima of pooling.

#include <array>
#include <vector>

#include "executor/onednn/loops/own_way.hpp"
#include "executor/onednn/loops/parallel.hpp"
#include "executor/onednn/loops/vector.hpp"
#include "models/compute/window_loops.hpp"

namespace cohort::onednn {
namespace {

/// An element of a window in the first channel, and its place in the whole tensor.
struct Tap {
  const float* x;
  std::int32_t place;
};

/// From one channel to the next: of x, of places and of y.
struct ChannelSteps {
  std::int64_t count = 1, x = 1, place = 1, y = 1;
};

/// The first of the largest of `count` channels, at most kLanes, from `c` on; a NaN is larger than all.
COHORT_INLINE void find_places(const std::vector<Tap>& taps, const ChannelSteps& step, std::int64_t c,
                               std::int64_t count, float* y) {
  float most[kLanes];
  std::int32_t places[kLanes] = {};
  bool is_first = true;
  for (const Tap& tap : taps) {
    const float* const x = tap.x + c * step.x;
#pragma omp simd
    for (std::int64_t lane = 0; lane < count; ++lane) {
      const float value = x[lane * step.x];
      const bool is_larger = is_first || !(most[lane] != most[lane] || value <= most[lane]);
      most[lane] = is_larger ? value : most[lane];
      places[lane] = is_larger ? tap.place : places[lane];
    }
    is_first = false;
  }
  for (std::int64_t lane = 0; lane < count; ++lane)
    y[(c + lane) * step.y] = reference::stored(places[lane] + static_cast<std::int32_t>((c + lane) * step.place));
}

COHORT_VECTORS void find_adjoining(const std::vector<Tap>& taps, std::int64_t count, std::int64_t place, float* y) {
  const ChannelSteps step{count, 1, place, 1};
  for (std::int64_t c = 0; c < count; c += kLanes) find_places(taps, step, c, std::min(kLanes, count - c), y);
}

void find_apart(const std::vector<Tap>& taps, const ChannelSteps& step, float* y) {
  for (std::int64_t c = 0; c < step.count; c += kLanes) find_places(taps, step, c, std::min(kLanes, step.count - c), y);
}

}  // namespace

OwnWays own_ways(const MaxPoolIndices& op, const OpCall& call, int threads) {
  const auto* const view = std::get_if<View>(&call.inputs[0]);
  const View& out = call.outputs[0];
  if (view == nullptr || !call.post_ops.empty()) return {};
  const reference::Window3 window = reference::window3(op.window);
  const auto x = reference::with_three_spatial(reference::ConstTensor{nullptr, view->shape, view->strides});
  const auto y = reference::with_three_spatial(reference::ConstTensor{nullptr, out.shape, out.strides});
  reference::ConstTensor places{nullptr, x.shape, reference::row_major_strides(x.shape)};
  if (op.column_major) {
    places.strides[2] = 1;
    places.strides[3] = x.shape[2];
    places.strides[4] = x.shape[2] * x.shape[3];
  }
  const ChannelSteps step{y.shape[1], x.strides[1], places.strides[1], y.strides[1]};
  const std::int64_t positions = y.shape[2] * y.shape[3] * y.shape[4];
  const std::int64_t taps_of_window = window.kernel[0] * window.kernel[1] * window.kernel[2];
  const auto loop = [=](const HostArguments& arguments) {
    in_parallel(
        threads, y.shape[0] * positions, y.shape[1] * taps_of_window, [&](std::int64_t begin, std::int64_t end) {
          std::vector<Tap> taps;
          for (std::int64_t i = begin; i < end; ++i) {
            const std::int64_t sample = i / positions;
            const Shape at{i / (y.shape[3] * y.shape[4]) % y.shape[2], i / y.shape[4] % y.shape[3], i % y.shape[4]};
            const float* const image = arguments.inputs[0] + sample * x.strides[0];
            taps.clear();
            reference::for_each_inside(window, at, x, Shape(3, 0), [&](std::int64_t element, std::int64_t /*kernel*/) {
              taps.push_back({image + element, static_cast<std::int32_t>(sample * places.strides[0])});
            });
            std::size_t next = 0;
            reference::for_each_inside(window, at, places, Shape(3, 0),
                                       [&](std::int64_t place, std::int64_t /*kernel*/) {
                                         taps[next++].place += static_cast<std::int32_t>(place);
                                       });
            float* const to = arguments.outputs[0] + sample * y.strides[0] + at[0] * y.strides[2] +
                              at[1] * y.strides[3] + at[2] * y.strides[4];
            if (step.x == 1 && step.y == 1) {
              find_adjoining(taps, step.count, step.place, to);
            } else {
              find_apart(taps, step, to);
            }
          }
        });
  };
  return {{loop}};
}

}  // namespace cohort::onednn
