#include "view/timeline/row_layout.hpp"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

namespace cohort {
namespace {

using namespace literals;
using testing::ElementsAre;

class Layout : public testing::Test {
 protected:
  static Timeline made() {
    Trace trace;
    for (const char* process : {"a", "b"}) {
      for (const char* thread : {"stream 0", "stream 1"}) {
        const TrackId track = trace.add_track(process, thread);
        trace.add_slice(track, "x", "task", 0_us, 10_us);
        if (std::string_view(thread) == "stream 1") trace.add_slice(track, "y", "task", 1_us, 2_us);
      }
    }
    return Timeline({{std::make_shared<const Trace>(std::move(trace)), 0_ns, ""}});
  }
  Timeline timeline_ = made();
  RowMetrics metrics_{10, 3, 2, 20, 3};
};

TEST_F(Layout, PutsGroupsNamesAboveTheirRows) {
  const RowLayout layout(timeline_, {}, {}, metrics_);
  std::vector<int> heights;
  for (const RowBox& box : layout.scrolled()) heights.push_back(box.y);
  EXPECT_THAT(heights, ElementsAre(0, 20, 32, 54, 74, 86));
  EXPECT_EQ(layout.scrolled_height(), 108);
  EXPECT_TRUE(layout.scrolled()[3].is_header);
  EXPECT_EQ(RowLayout::at(layout.scrolled(), 33), &layout.scrolled()[2]);
  EXPECT_EQ(RowLayout::at(layout.scrolled(), 108), nullptr);
  EXPECT_EQ(RowLayout::at(layout.scrolled(), -1), nullptr);
}

TEST_F(Layout, FindsLanes) {
  const RowLayout layout(timeline_, {}, {}, metrics_);
  const RowBox& two_lanes = layout.scrolled()[2];
  EXPECT_EQ(RowLayout::lane_at(timeline_, two_lanes, 32), 0U);
  EXPECT_EQ(RowLayout::lane_at(timeline_, two_lanes, 51), 1U);
  EXPECT_EQ(RowLayout::lane_at(timeline_, two_lanes, 52), std::nullopt) << "the gap below";
  EXPECT_EQ(RowLayout::lane_at(timeline_, layout.scrolled()[0], 5), std::nullopt) << "a name";
}

TEST_F(Layout, KeepsPinnedRowsApartAndFoldsRows) {
  const RowLayout layout(timeline_, {RowId{3}}, {RowId{1}}, metrics_);
  ASSERT_EQ(layout.pinned().size(), 1U);
  EXPECT_EQ(layout.pinned_height(), 22);
  EXPECT_EQ(layout.find(RowId{3}), &layout.pinned()[0]);
  EXPECT_EQ(layout.find(RowId{1})->height, 12) << "as high as a title";
  EXPECT_EQ(layout.find(RowId{1})->lane_height, 3);
  EXPECT_THAT(layout.order(), ElementsAre(RowId{3}, RowId{0}, RowId{1}, RowId{2}));
  EXPECT_EQ(RowLayout().find(RowId{0}), nullptr);
}

TEST_F(Layout, FoldsDeepStacksAtFirst) {
  Trace trace;
  const TrackId track = trace.add_track("host", "thread");
  for (int depth = 0; depth < 20; ++depth)
    trace.add_slice(track, "f", "python_function", Nanoseconds(depth), Nanoseconds(100 - 2 * depth));
  trace.add_slice(trace.add_track("host", "other"), "f", "python_function", 0_ns, 5_ns);
  const Timeline timeline({{std::make_shared<const Trace>(std::move(trace)), 0_ns, ""}});
  EXPECT_THAT(rows_folded_at_first(timeline), ElementsAre(RowId{0}));
}

}  // namespace
}  // namespace cohort
