#pragma once

#include <algorithm>
#include <array>
#include <cstddef>
#include <cstdint>
#include <numeric>

#include "executor/onednn/loops/parallel.hpp"
#include "simulator/plan/program.hpp"

namespace cohort::onednn {

/// Elements of tensors of one shape in the order in which the first one's lie in memory: dimensions that all tensors
/// step over alike are one, and the last of them is the run that loops are vectorised over.
template <std::size_t kOperands>
class StridedWalk {
 public:
  using Offsets = std::array<std::int64_t, kOperands>;

  StridedWalk(const Shape& shape, const std::array<Shape, kOperands>& strides) {
    std::vector<std::size_t> order;
    for (std::size_t d = 0; d < shape.size(); ++d) {
      if (shape[d] != 1) order.push_back(d);
    }
    std::stable_sort(order.begin(), order.end(),
                     [&](std::size_t a, std::size_t b) { return strides[0][a] > strides[0][b]; });
    for (const std::size_t d : order) {
      bool joins = !extents_.empty();
      for (std::size_t i = 0; joins && i < kOperands; ++i) joins = steps_.back()[i] == strides[i][d] * shape[d];
      if (!joins) {
        extents_.push_back(1);
        steps_.emplace_back();
      }
      extents_.back() *= shape[d];
      for (std::size_t i = 0; i < kOperands; ++i) steps_.back()[i] = strides[i][d];
    }
    if (extents_.empty()) {
      extents_.push_back(1);
      steps_.emplace_back().fill(1);
    }
  }

  [[nodiscard]] std::int64_t elements() const {
    return std::accumulate(extents_.begin(), extents_.end(), std::int64_t{1}, std::multiplies<>());
  }
  /// How far each tensor steps within a run.
  [[nodiscard]] const Offsets& run_steps() const { return steps_.back(); }
  [[nodiscard]] std::int64_t run_length() const { return extents_.back(); }

  /// Calls visit(offsets of the first element, count) for the runs, or parts of runs, that elements [begin, end) are.
  template <class Visit>
  void for_each_run(std::int64_t begin, std::int64_t end, const Visit& visit) const {
    if (begin >= end) return;
    const std::size_t run = extents_.size() - 1;
    Shape index(extents_.size());
    Offsets offsets{};
    std::int64_t rest = begin;
    for (std::size_t d = extents_.size(); d-- > 0;) {
      index[d] = rest % extents_[d];
      rest /= extents_[d];
      for (std::size_t i = 0; i < kOperands; ++i) offsets[i] += index[d] * steps_[d][i];
    }
    while (true) {
      const std::int64_t count = std::min(extents_[run] - index[run], end - begin);
      visit(offsets, count);
      begin += count;
      if (begin >= end) return;
      for (std::size_t i = 0; i < kOperands; ++i) offsets[i] -= index[run] * steps_[run][i];
      index[run] = 0;
      // Counts on as an odometer does: divisions would take longer than a short run.
      for (std::size_t d = run; d-- > 0;) {
        for (std::size_t i = 0; i < kOperands; ++i) offsets[i] += steps_[d][i];
        if (++index[d] < extents_[d]) break;
        for (std::size_t i = 0; i < kOperands; ++i) offsets[i] -= extents_[d] * steps_[d][i];
        index[d] = 0;
      }
    }
  }

  /// How far each tensor steps from a run to the next one of a block, and how many runs a block has.
  [[nodiscard]] Offsets row_steps() const { return extents_.size() > 1 ? steps_[extents_.size() - 2] : Offsets{}; }
  [[nodiscard]] std::int64_t rows() const { return extents_.size() > 1 ? extents_[extents_.size() - 2] : 1; }

  /// Calls visit(offsets of the first element, runs) for the blocks, or parts of blocks, that runs [begin, end) are.
  template <class Visit>
  void for_each_block(std::int64_t begin, std::int64_t end, const Visit& visit) const {
    while (begin < end) {
      const std::int64_t row = begin % rows(), count = std::min(rows() - row, end - begin);
      Offsets offsets{};
      for (std::size_t i = 0; i < kOperands; ++i) offsets[i] = row * row_steps()[i];
      std::int64_t block = begin / rows();
      for (std::size_t d = extents_.size() > 2 ? extents_.size() - 2 : 0; d-- > 0; block /= extents_[d]) {
        for (std::size_t i = 0; i < kOperands; ++i) offsets[i] += block % extents_[d] * steps_[d][i];
      }
      visit(offsets, count);
      begin += count;
    }
  }

 private:
  Shape extents_;  ///< outermost first
  std::vector<Offsets> steps_;
};

/// Calls visit(offsets, count) for all runs of the walk, threads sharing them; an element is as much work as
/// `elements`.
template <std::size_t kOperands, class Visit>
void walk_in_parallel(const StridedWalk<kOperands>& walk, int threads, const Visit& visit, std::int64_t elements = 1) {
  in_parallel(threads, walk.elements(), elements,
              [&](std::int64_t begin, std::int64_t end) { walk.for_each_run(begin, end, visit); });
}

}  // namespace cohort::onednn
