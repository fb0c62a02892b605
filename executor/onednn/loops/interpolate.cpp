#include "executor/onednn/loops/interpolate.hpp"

#include <algorithm>
#include <utility>
#include <vector>

#include "executor/onednn/loops/parallel.hpp"
#include "executor/onednn/loops/strided_walk.hpp"
#include "models/compute/ops.hpp"

namespace cohort::onednn {
namespace {

/// Where a tensor lies that may be resized along some axes only.
struct Lying {
  Shape shape, strides;
};

/// One axis resized, all others as they are.
class AxisPass {
 public:
  AxisPass(const Resize& op, std::size_t axis, const Lying& from, const Lying& to)
      : rest_(reference::without(to.shape, axis),
              {reference::without(to.strides, axis), reference::without(from.strides, axis)}),
        to_step_(to.strides[axis]),
        is_innermost_(from.strides[axis] == 1 && to_step_ == 1) {
    for (const auto& taps : reference::resize_taps(op, axis, from.shape[axis])) {
      Mix& mix = mixes_.emplace_back(Mix{taps_.size(), taps.size()});
      for (const reference::ResizeTap& tap : taps)
        taps_.push_back({tap.at * from.strides[axis], static_cast<float>(tap.weight)});
      most_taps_ = std::max(most_taps_, mix.count);
    }
  }

  void run(int threads, const float* from, float* to) const {
    const auto positions = static_cast<std::int64_t>(mixes_.size());
    const auto taps = static_cast<std::int64_t>(most_taps_);
    if (is_innermost_) {
      in_parallel(threads, rest_.elements(), positions * taps, [&](std::int64_t begin, std::int64_t end) {
        rest_.for_each_run(begin, end, [&](const auto& offsets, std::int64_t count) {
          const auto [to_next, from_next] = rest_.run_steps();
          for (std::int64_t i = 0; i < count; ++i)
            mix_line(from + offsets[1] + i * from_next, to + offsets[0] + i * to_next);
        });
      });
      return;
    }
    in_parallel(threads, positions, rest_.elements() * taps, [&](std::int64_t begin, std::int64_t end) {
      for (std::int64_t at = begin; at < end; ++at) {
        rest_.for_each_run(0, rest_.elements(), [&](const auto& offsets, std::int64_t count) {
          mix_run(mixes_[static_cast<std::size_t>(at)], count, from + offsets[1], to + at * to_step_ + offsets[0]);
        });
      }
    });
  }

 private:
  struct Tap {
    std::int64_t offset = 0;
    float weight = 0;
  };
  /// Which of `taps_` a position is the sum of.
  struct Mix {
    std::size_t first = 0, count = 0;
  };

  /// All positions of the axis, which lie beside each other.
  void mix_line(const float* from, float* to) const {
    for (std::size_t at = 0; at < mixes_.size(); ++at) {
      float sum = 0;
      for (std::size_t i = 0; i < mixes_[at].count; ++i) {
        const Tap& tap = taps_[mixes_[at].first + i];
        sum += tap.weight * from[tap.offset];
      }
      to[at] = sum;
    }
  }

  /// One position of the axis, for a run of what lies beside it.
  void mix_run(const Mix& mix, std::int64_t count, const float* from, float* to) const {
    const auto [to_next, from_next] = rest_.run_steps();
    for (std::int64_t k = 0; mix.count == 0 && k < count; ++k) to[k * to_next] = 0;
    for (std::size_t i = 0; i < mix.count; ++i) {
      const auto [offset, weight] = taps_[mix.first + i];
      const float* const tapped = from + offset;
      if (to_next == 1 && from_next == 1) {
        for (std::int64_t k = 0; k < count; ++k) to[k] = (i == 0 ? 0 : to[k]) + weight * tapped[k];
      } else {
        for (std::int64_t k = 0; k < count; ++k)
          to[k * to_next] = (i == 0 ? 0 : to[k * to_next]) + weight * tapped[k * from_next];
      }
    }
  }

  StridedWalk<2> rest_;
  std::int64_t to_step_;
  bool is_innermost_;
  std::vector<Tap> taps_;
  std::vector<Mix> mixes_;  ///< by position
  std::size_t most_taps_ = 1;
};

/// A dense tensor whose dimensions lie in the order of y's.
Lying dense_as(const View& y, Shape shape) {
  std::vector<std::size_t> order;
  for (std::size_t d = 0; d < shape.size(); ++d) order.push_back(d);
  std::stable_sort(order.begin(), order.end(),
                   [&](std::size_t a, std::size_t b) { return y.strides[a] < y.strides[b]; });
  Shape strides(shape.size());
  std::int64_t step = 1;
  for (const std::size_t d : order) {
    strides[d] = step;
    step *= shape[d];
  }
  return {std::move(shape), std::move(strides)};
}

/// Whether each position along the axis is the one that it was.
bool keeps(const Resize& op, std::size_t axis, std::int64_t extent) {
  if (op.shape[axis] != extent) return false;
  std::int64_t at = 0;
  for (const auto& taps : reference::resize_taps(op, axis, extent)) {
    if (taps.size() != 1 || taps.front().at != at++ || taps.front().weight != 1) return false;
  }
  return true;
}

}  // namespace

OwnWays interpolating_ways(const Resize& op, const OpCall& call, int threads) {
  const View x = view_of(call, 0), &y = call.outputs[0];
  std::vector<std::size_t> axes;
  for (std::size_t d = 0; d < x.shape.size(); ++d) {
    if (!keeps(op, d, x.shape[d])) axes.push_back(d);
  }
  if (axes.empty()) axes.push_back(x.shape.size() - 1);  // as it is
  std::vector<AxisPass> passes;
  Lying lying{x.shape, x.strides};
  std::int64_t most = 0;  // elements of what lies between two passes
  for (std::size_t i = 0; i < axes.size(); ++i) {
    Shape shape = lying.shape;
    shape[axes[i]] = op.shape[axes[i]];
    const bool is_last = i + 1 == axes.size();
    Lying next = is_last ? Lying{y.shape, y.strides} : dense_as(y, std::move(shape));
    if (!is_last) most = std::max(most, element_count(next.shape));
    passes.emplace_back(op, axes[i], lying, next);
    lying = std::move(next);
  }
  const auto loop = [=, passes = std::move(passes)](const HostArguments& arguments) {
    auto* const between = reinterpret_cast<float*>(arguments.workspace);
    const float* from = arguments.inputs[0];
    for (std::size_t i = 0; i < passes.size(); ++i) {
      float* const to = i + 1 == passes.size() ? arguments.outputs[0] : between + (i % 2 == 0 ? 0 : most);
      passes[i].run(threads, from, to);
      from = to;
    }
  };
  const std::int64_t tensors = axes.size() > 2 ? 2 : 1;
  return {{loop, Bytes{most * tensors * std::int64_t{sizeof(float)}}, /*leads=*/false}};
}

}  // namespace cohort::onednn
