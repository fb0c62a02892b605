// Elements moved from place to place: what of it the library has not, or has in plain loops only.

#include <algorithm>
#include <utility>
#include <vector>

#include "executor/onednn/loops/interpolate.hpp"
#include "executor/onednn/loops/own_way.hpp"
#include "executor/onednn/loops/parallel.hpp"
#include "executor/onednn/loops/strided_copy.hpp"
#include "executor/onednn/operands.hpp"
#include "executor/reference/tensor_ref.hpp"
#include "models/compute/ops.hpp"
#include "models/padding.hpp"

namespace cohort::onednn {
namespace {

/// Runs of positions of an axis of y that take adjoining ones of x. `from`: the position in x for each; negative: none.
std::vector<Piece> pieces_of(const std::vector<std::int64_t>& from) {
  std::vector<Piece> pieces;
  for (std::size_t i = 0; i < from.size(); ++i) {
    if (from[i] < 0) continue;
    const auto at = static_cast<std::int64_t>(i);
    if (!pieces.empty() && at == pieces.back().here + pieces.back().count &&
        from[i] == pieces.back().there + pieces.back().count) {
      ++pieces.back().count;
    } else {
      pieces.push_back({.there = from[i], .here = at, .count = 1});
    }
  }
  return pieces;
}

/// Copies x to y, where each position along an axis of y takes one of x along the same axis, or none.
class AxiswiseCopy {
 public:
  AxiswiseCopy(const View& x, const View& y, const std::vector<std::vector<std::int64_t>>& from)
      : x_(x), y_(y), elements_(element_count(y.shape)) {
    // The axis that lies innermost in y is copied piece by piece, the others are counted through.
    for (std::size_t d = 0; d < y.shape.size(); ++d) order_.push_back(d);
    std::stable_sort(order_.begin(), order_.end(),
                     [&](std::size_t a, std::size_t b) { return y.strides[a] > y.strides[b]; });
    for (const std::size_t d : order_) from_.push_back(from[d]);
    pieces_ = pieces_of(from_.back());
  }

  [[nodiscard]] bool leaves_gaps() const {
    return std::any_of(from_.begin(), from_.end(), [](const auto& axis) {
      return std::any_of(axis.begin(), axis.end(), [](std::int64_t at) { return at < 0; });
    });
  }

  void run(int threads, const float* x, float* y) const {
    const std::int64_t lines = elements_ / inner();
    in_parallel(threads, lines, inner(), [&](std::int64_t begin, std::int64_t end) {
      for (std::int64_t line = begin; line < end; ++line) copy_line(line, x, y);
    });
  }

 private:
  [[nodiscard]] std::int64_t inner() const { return static_cast<std::int64_t>(from_.back().size()); }

  void copy_line(std::int64_t line, const float* x, float* y) const {
    for (std::size_t i = order_.size() - 1; i-- > 0;) {
      const auto extent = static_cast<std::int64_t>(from_[i].size());
      const std::int64_t to = line % extent, from = from_[i][static_cast<std::size_t>(to)];
      if (from < 0) return;
      x += from * x_.strides[order_[i]];
      y += to * y_.strides[order_[i]];
      line /= extent;
    }
    const std::int64_t from_step = x_.strides[order_.back()], to_step = y_.strides[order_.back()];
    for (const Piece& piece : pieces_) {
      const float* const from = x + piece.there * from_step;
      float* const to = y + piece.here * to_step;
      if (from_step == 1 && to_step == 1) {
        std::copy_n(from, piece.count, to);
      } else {
        for (std::int64_t i = 0; i < piece.count; ++i) to[i * to_step] = from[i * from_step];
      }
    }
  }

  View x_, y_;
  std::int64_t elements_;
  std::vector<std::size_t> order_;               ///< axes as they lie in y, the outermost first
  std::vector<std::vector<std::int64_t>> from_;  ///< in that order
  std::vector<Piece> pieces_;                    ///< of the last one
};

bool has_elements(const OpCall& call) {
  return call.post_ops.empty() && !call.outputs[0].shape.empty() && element_count(call.outputs[0].shape) > 0;
}

/// What lies in x with `strides`, from element `first` on, in the output.
OwnWays strided(const OpCall& call, const Shape& strides, std::int64_t first, int threads) {
  const View& y = call.outputs[0];
  const StridedWalk<2> walk(y.shape, {y.strides, strides});
  const auto loop = [=](const HostArguments& arguments) {
    copy(walk, threads, arguments.inputs[0] + first, arguments.outputs[0]);
  };
  return {{loop, {}, /*leads=*/false}};
}

}  // namespace

OwnWays own_ways(const Transpose& op, const OpCall& call, int threads) {
  if (!has_elements(call)) return {};
  return strided(call, permuted(op, view_of(call, 0).strides), 0, threads);
}

OwnWays own_ways(const TensorSlice& op, const OpCall& call, int threads) {
  if (!has_elements(call)) return {};
  const Stepped taken = stepped(op.start, op.step, view_of(call, 0).strides);
  return strided(call, taken.strides, taken.first, threads);
}

OwnWays own_ways(const Tile& /*op*/, const OpCall& call, int threads) {
  if (!has_elements(call)) return {};
  const View x = view_of(call, 0), &y = call.outputs[0];
  std::vector<std::vector<std::int64_t>> from(y.shape.size());
  for (std::size_t d = 0; d < from.size(); ++d) {
    for (std::int64_t i = 0; i < y.shape[d]; ++i) from[d].push_back(i % x.shape[d]);
  }
  const AxiswiseCopy copied(x, y, from);
  return {{[=](const HostArguments& arguments) { copied.run(threads, arguments.inputs[0], arguments.outputs[0]); }}};
}

OwnWays own_ways(const Pad& op, const OpCall& call, int threads) {
  if (!has_elements(call)) return {};
  const View x = view_of(call, 0), &y = call.outputs[0];
  std::vector<std::vector<std::int64_t>> from;
  for (std::size_t d = 0; d < y.shape.size(); ++d) from.push_back(padded_from(op, d, x.shape[d]));
  const AxiswiseCopy copied(x, y, from);
  const StridedWalk<1> all(y.shape, {y.strides});
  const bool is_float = op.element == ElementType::kFloat32;
  const float value = is_float ? op.value : reference::stored(static_cast<std::int32_t>(op.value));
  return {{[=, fills = copied.leaves_gaps()](const HostArguments& arguments) {
    if (fills) fill(all, threads, value, arguments.outputs[0]);
    copied.run(threads, arguments.inputs[0], arguments.outputs[0]);
  }}};
}

OwnWays own_ways(const Resize& op, const OpCall& call, int threads) {
  if (!has_elements(call) || op.positions == ResizePositions::kCrop) return {};
  if (op.mode != ResizeMode::kNearest) return interpolating_ways(op, call, threads);
  const View x = view_of(call, 0), &y = call.outputs[0];
  std::vector<std::vector<std::int64_t>> from;
  for (std::size_t d = 0; d < y.shape.size(); ++d) from.push_back(reference::nearest_elements(op, d, x.shape[d]));
  const AxiswiseCopy copied(x, y, from);
  const auto loop = [=](const HostArguments& arguments) {
    copied.run(threads, arguments.inputs[0], arguments.outputs[0]);
  };
  return {{loop, {}, /*leads=*/false}};
}

}  // namespace cohort::onednn
