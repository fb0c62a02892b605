#include "view/timeline/pack.hpp"

#include <gtest/gtest.h>

#include <algorithm>
#include <map>
#include <random>

namespace cohort {
namespace {

using namespace literals;

RowSlices row_of(const std::vector<std::pair<int, int>>& times) {
  RowSlices row;
  for (std::size_t i = 0; i < times.size(); ++i)
    row.add(Nanoseconds(times[i].first), Nanoseconds(times[i].second), static_cast<SliceId>(i));
  return row;
}

/// Lane of each slice.
std::vector<std::size_t> lanes_of(const PackedRow& packed, std::size_t count) {
  std::vector<std::size_t> lanes(count, 999);
  for (std::size_t l = 0; l < packed.lanes.size(); ++l) {
    for (std::size_t i = 0; i < packed.lanes[l].size(); ++i) lanes[to_index(packed.lanes[l].slice(i))] = l;
  }
  return lanes;
}

TEST(Lanes, KeepWhatFollowsEachOtherOnOneLine) {
  const PackedRow packed = pack(row_of({{0, 10}, {10, 20}, {25, 30}}), 8);
  EXPECT_EQ(lanes_of(packed, 3), (std::vector<std::size_t>{0, 0, 0}));
  EXPECT_EQ(packed.busy, 25_ns);
}

TEST(Lanes, PutNestedSlicesBelowTheirParents) {
  //  0 |outer---------------------|  |4 |
  //  1   |1------------|  |3|
  //  2     |2 |
  const PackedRow packed = pack(row_of({{0, 100}, {5, 50}, {10, 20}, {60, 70}, {110, 120}}), 8);
  EXPECT_EQ(lanes_of(packed, 5), (std::vector<std::size_t>{0, 1, 2, 1, 0}));
  EXPECT_EQ(packed.busy, 110_ns);
}

TEST(Lanes, PutOverlappingSlicesSideBySide) {
  const PackedRow packed = pack(row_of({{0, 10}, {5, 15}, {8, 20}, {12, 30}}), 8);
  EXPECT_EQ(lanes_of(packed, 4), (std::vector<std::size_t>{0, 1, 2, 0}));
  EXPECT_EQ(packed.busy, 30_ns);
}

TEST(Lanes, TakeSlicesInAnyOrder) {
  const PackedRow packed = pack(row_of({{10, 20}, {5, 50}, {60, 70}, {0, 100}}), 8);
  EXPECT_EQ(lanes_of(packed, 4), (std::vector<std::size_t>{2, 1, 1, 0}));
}

TEST(Lanes, NestTheShorterOfTwoThatBeginTogether) {
  const PackedRow packed = pack(row_of({{0, 10}, {0, 30}, {0, 30}}), 8);
  EXPECT_EQ(lanes_of(packed, 3), (std::vector<std::size_t>{2, 0, 1}));
}

TEST(Lanes, CountWhatFindsNone) {
  const PackedRow packed = pack(row_of({{0, 10}, {1, 11}, {2, 12}, {3, 13}, {20, 30}}), 2);
  EXPECT_EQ(packed.lanes.size(), 2U);
  EXPECT_EQ(packed.left_out, 2U);
  EXPECT_EQ(packed.busy, 23_ns);
  EXPECT_EQ(lanes_of(packed, 5), (std::vector<std::size_t>{0, 1, 999, 999, 0}));
}

TEST(Lanes, NeverOverlapAndNeverRiseAboveAParent) {
  for (unsigned seed = 0; seed < 8; ++seed) {
    std::mt19937 random(seed);
    std::vector<std::pair<int, int>> times;
    for (int i = 0; i < 250; ++i) {
      const int start = static_cast<int>(random() % 5'000U);
      times.emplace_back(start, start + static_cast<int>(random() % (random() % 5U == 0 ? 800U : 40U)));
    }
    const PackedRow packed = pack(row_of(times), 400);
    ASSERT_EQ(packed.left_out, 0U);
    for (const Lane& lane : packed.lanes) {
      for (std::size_t i = 1; i < lane.size(); ++i) ASSERT_GE(lane.start(i), lane.end(i - 1));
    }
    const std::vector<std::size_t> lanes = lanes_of(packed, times.size());
    for (std::size_t a = 0; a < times.size(); ++a) {
      for (std::size_t b = 0; b < times.size(); ++b) {
        const bool holds = times[a].first < times[b].first && times[b].second < times[a].second;
        // The innermost holder is above it; an outer one that only overlaps that may lie anywhere else.
        const bool innermost = std::none_of(times.begin(), times.end(), [&](const auto& c) {
          return c != times[a] && c != times[b] && c.first >= times[a].first && c.first <= times[b].first &&
                 c.second >= times[b].second;
        });
        ASSERT_TRUE(!holds || !innermost || lanes[a] < lanes[b]);
      }
    }
    std::vector<bool> busy(6'000);
    for (const auto& [start, end] : times) std::fill(busy.begin() + start, busy.begin() + end, true);
    EXPECT_EQ(packed.busy.count(), std::count(busy.begin(), busy.end(), true));
  }
}

TEST(Lanes, ComeQuicklyForLongStaircases) {
  std::vector<std::pair<int, int>> times;
  for (int i = 0; i < 200'000; ++i) times.emplace_back(i * 2, i * 2 + 3);
  const PackedRow packed = pack(row_of(times), 8);
  EXPECT_EQ(packed.lanes.size(), 2U);
  EXPECT_EQ(packed.left_out, 0U);
}

}  // namespace
}  // namespace cohort
