#include "view/timeline/pack.hpp"

#include <algorithm>
#include <numeric>
#include <utility>

#include "view/timeline/nesting.hpp"

namespace cohort {

void RowSlices::reserve(std::size_t count) {
  starts.reserve(count);
  ends.reserve(count);
  slices.reserve(count);
}

void RowSlices::add(Nanoseconds start, Nanoseconds end, SliceId slice) {
  starts.push_back(start);
  ends.push_back(end);
  slices.push_back(slice);
}

namespace {

bool is_one_lane(const RowSlices& row) {
  for (std::size_t i = 1; i < row.starts.size(); ++i) {
    if (row.starts[i] < row.ends[i - 1]) return false;
  }
  return true;
}

/// By start, outer ones first.
std::vector<std::uint32_t> order_of(const RowSlices& row) {
  std::vector<std::uint32_t> order(row.starts.size());
  std::iota(order.begin(), order.end(), 0U);
  const auto before = [&](std::uint32_t a, std::uint32_t b) {
    if (row.starts[a] != row.starts[b]) return row.starts[a] < row.starts[b];
    if (row.ends[a] != row.ends[b]) return row.ends[a] > row.ends[b];
    return row.slices[a] < row.slices[b];
  };
  if (!std::is_sorted(order.begin(), order.end(), before)) std::sort(order.begin(), order.end(), before);
  return order;
}

class Packer {
 public:
  explicit Packer(std::size_t most_lanes) : most_lanes_(most_lanes) {}

  void add(Nanoseconds start, Nanoseconds end, SliceId slice) {
    if (end > until_) busy_ += end - std::max(start, until_);
    until_ = std::max(until_, end);
    const std::size_t* const holder = nesting_.holder_of(start, end);
    std::size_t lane = holder == nullptr ? 0 : *holder + 1;
    while (lane < lane_ends_.size() && lane_ends_[lane] > start) ++lane;
    if (lane >= most_lanes_) {
      ++left_out_;
      return;
    }
    if (lane == lane_ends_.size()) {
      lane_ends_.push_back(end);
      lanes_.emplace_back();
    }
    lane_ends_[lane] = end;
    lanes_[lane].add(start, end, slice);
    nesting_.open(end, lane);
  }

  PackedRow finish() {
    PackedRow packed;
    for (RowSlices& lane : lanes_) {
      lane.starts.shrink_to_fit();
      lane.ends.shrink_to_fit();
      lane.slices.shrink_to_fit();
      packed.lanes.emplace_back(std::move(lane.starts), std::move(lane.ends), std::move(lane.slices));
    }
    packed.left_out = left_out_;
    packed.busy = busy_;
    return packed;
  }

 private:
  std::size_t most_lanes_;
  std::vector<RowSlices> lanes_;
  std::vector<Nanoseconds> lane_ends_;
  Nesting<std::size_t> nesting_;  ///< lanes of open slices
  std::size_t left_out_ = 0;
  Nanoseconds until_ = Nanoseconds::min();
  Nanoseconds busy_{};
};

}  // namespace

PackedRow pack(RowSlices row, std::size_t most_lanes) {
  if (is_one_lane(row)) {
    PackedRow packed;
    for (std::size_t i = 0; i < row.starts.size(); ++i) packed.busy += row.ends[i] - row.starts[i];
    packed.lanes.emplace_back(std::move(row.starts), std::move(row.ends), std::move(row.slices));
    return packed;
  }
  Packer packer(most_lanes);
  for (const std::uint32_t i : order_of(row)) packer.add(row.starts[i], row.ends[i], row.slices[i]);
  return packer.finish();
}

}  // namespace cohort
