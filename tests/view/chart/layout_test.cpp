#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cmath>
#include <limits>
#include <string>
#include <vector>

#include "view/chart/drawing.hpp"
#include "view/chart/frame.hpp"
#include "view/chart/label_placer.hpp"

namespace cohort {
namespace {

using testing::Contains;
using testing::Not;

template <class Mark>
std::vector<Mark> all(const Drawing& drawing) {
  std::vector<Mark> marks;
  for (const DrawnMark& mark : drawing.marks) {
    if (const auto* one = std::get_if<Mark>(&mark)) marks.push_back(*one);
  }
  return marks;
}

std::vector<std::string> texts(const Drawing& drawing) {
  std::vector<std::string> result;
  for (const DrawnText& text : all<DrawnText>(drawing)) result.push_back(text.text);
  return result;
}

Chart strategies() {
  Chart chart{.title = "Scaling",
              .x = {.label = "models", .scale = AxisScale::kLog2},
              .y = {.label = "speedup", .unit = AxisUnit::kRatio, .from_zero = true}};
  for (const char* name : {"concurrent", "strided batch"}) {
    ChartSeries series{.name = name};
    for (int n = 1; n <= 16; n *= 2) {
      const double speedup = 1 + std::log2(n) * static_cast<double>(1 + chart.series.size());
      series.points.push_back({.x = 1.0 * n, .y = speedup, .range = ValueRange{0.9 * speedup, 1.1 * speedup}});
    }
    chart.series.push_back(std::move(series));
  }
  chart.series.push_back({.name = "measured",
                          .kind = SeriesKind::kPoints,
                          .points = {{.x = 16, .y = 4, .label = "measured 4.00x", .highlight = true}}});
  chart.limits = {{.value = 1, .label = "no gain"}};
  return chart;
}

Chart stacks(bool lying) {
  Chart chart{
      .x = {.categories = {"first", "second"}}, .y = {.label = "saved", .unit = AxisUnit::kTime}, .lying = lying};
  chart.series = {
      {.name = "fusion", .kind = SeriesKind::kStackedBars, .points = {{.x = 0, .y = 300}, {.x = 1, .y = 100}}},
      {.name = "launches", .kind = SeriesKind::kStackedBars, .points = {{.x = 0, .y = -50}, {.x = 1, .y = 100}}},
      {.name = "overlap", .kind = SeriesKind::kStackedBars, .points = {{.x = 0, .y = 200}, {.x = 1, .y = 100}}}};
  return chart;
}

TEST(Layout, PutsPointsWhereTheirValuesAre) {
  const Drawing drawing = layout(strategies(), {640, 360});
  const HitRegion* one = drawing.region({0, 0});
  const HitRegion* four = drawing.region({0, 2});
  const HitRegion* sixteen = drawing.region({0, 4});
  ASSERT_TRUE(one != nullptr && four != nullptr && sixteen != nullptr);
  EXPECT_NEAR(four->centre.x - one->centre.x, sixteen->centre.x - four->centre.x, 1e-9);
  EXPECT_GT(one->centre.y, four->centre.y);
  EXPECT_EQ(drawing.regions.size(), 11U);
  for (const HitRegion& region : drawing.regions) EXPECT_TRUE(drawing.plot.contains(region.centre));
}

TEST(Layout, DrawsABandAlongALineAndARingAroundAHighlight) {
  const Drawing drawing = layout(strategies(), {640, 360});
  std::size_t bands = 0;
  for (const DrawnPath& path : all<DrawnPath>(drawing)) bands += path.filled && path.positions.size() == 10;
  EXPECT_EQ(bands, 2U);
  std::size_t rings = 0;
  for (const DrawnCircle& circle : all<DrawnCircle>(drawing)) rings += !circle.filled;
  EXPECT_EQ(rings, 1U);
  EXPECT_THAT(texts(drawing), Contains("measured 4.00x"));
  EXPECT_THAT(texts(drawing), Contains("no gain"));
}

TEST(Layout, KeepsTextsApartAndWithinTheDrawing) {
  std::vector<Chart> charts = {strategies(), stacks(false), stacks(true)};
  charts[1].limits = {{.value = 400, .label = "a limit"}, {.value = 410, .label = "another limit close to it"}};
  charts[2].limits = charts[1].limits;
  for (const Chart& chart : charts) {
    for (const DrawnSize size : {DrawnSize{640, 360}, DrawnSize{420, 240}, DrawnSize{300, 180}, DrawnSize{1600, 900}}) {
      const Drawing drawing = layout(chart, size);
      std::vector<DrawnText> level;
      for (DrawnText& text : all<DrawnText>(drawing)) {
        if (!text.upwards) level.push_back(std::move(text));
      }
      for (std::size_t i = 0; i < level.size(); ++i) {
        const DrawnBox box = box_of(level[i]);
        EXPECT_GE(box.x, -1) << level[i].text << " at " << size.width;
        EXPECT_LE(box.right(), size.width + 1) << level[i].text << " at " << size.width;
        for (std::size_t j = 0; j < i; ++j) {
          EXPECT_FALSE(box.overlaps(box_of(level[j])))
              << level[i].text << " over " << level[j].text << " at " << size.width;
        }
      }
    }
  }
}

TEST(Layout, KeepsTheLegendOffTheData) {
  const Drawing drawing = layout(strategies(), {640, 360});
  for (const DrawnText& text : all<DrawnText>(drawing)) {
    if (text.text != "concurrent" && text.text != "strided batch" && text.text != "measured") continue;
    EXPECT_LT(box_of(text).bottom(), drawing.plot.y);
  }
}

TEST(Layout, StacksBarsAwayFromZero) {
  const Drawing drawing = layout(stacks(false), {400, 300});
  const DrawnBox fusion = drawing.region({0, 0})->box.value();
  const DrawnBox launches = drawing.region({1, 0})->box.value();
  const DrawnBox overlap = drawing.region({2, 0})->box.value();
  EXPECT_NEAR(overlap.bottom(), fusion.y, 1e-9) << "overlap stands on fusion";
  EXPECT_NEAR(launches.y, fusion.bottom(), 1e-9) << "what costs hangs below zero";
  EXPECT_NEAR(fusion.height / overlap.height, 1.5, 1e-9);
  EXPECT_DOUBLE_EQ(fusion.x, overlap.x);
}

TEST(Layout, LaysBarsFromLeftToRight) {
  const Drawing drawing = layout(stacks(true), {400, 300});
  const DrawnBox fusion = drawing.region({0, 0})->box.value();
  const DrawnBox overlap = drawing.region({2, 0})->box.value();
  const DrawnBox second = drawing.region({0, 1})->box.value();
  EXPECT_NEAR(overlap.x, fusion.right(), 1e-9);
  EXPECT_GT(second.y, fusion.bottom()) << "the second name stands below the first";
}

TEST(Layout, PutsBarsOfSeveralSeriesSideBySide) {
  Chart chart{.x = {.categories = {"fc1", "fc2"}}};
  chart.series = {{.name = "predicted", .kind = SeriesKind::kBars, .points = {{.x = 0, .y = 1}, {.x = 1, .y = 2}}},
                  {.name = "measured", .kind = SeriesKind::kBars, .points = {{.x = 0, .y = 2}, {.x = 1, .y = 3}}}};
  const Drawing drawing = layout(chart, {400, 300});
  const DrawnBox predicted = drawing.region({0, 0})->box.value();
  const DrawnBox measured = drawing.region({1, 0})->box.value();
  EXPECT_NEAR(measured.x, predicted.right(), 1e-9);
  EXPECT_NEAR(measured.bottom(), predicted.bottom(), 1e-9);
  EXPECT_NEAR(measured.height, 2 * predicted.height, 1e-9);
}

TEST(Layout, ElidesLongNamesAndKeepsThemAsTitles) {
  const std::string name(200, 'k');
  Chart chart{.title = name, .x = {.categories = {name, "b"}}};
  chart.series = {{.name = name, .kind = SeriesKind::kBars, .points = {{.x = 0, .y = 1}, {.x = 1, .y = 2}}}};
  for (const bool lying : {false, true}) {
    chart.lying = lying;
    std::size_t elided = 0;
    for (const DrawnText& text : all<DrawnText>(layout(chart, {400, 300}))) {
      if (text.title != name) continue;
      ++elided;
      EXPECT_LT(text_width(text.text, text.size, text.bold), 400);
    }
    EXPECT_EQ(elided, 3U) << "title, legend and tick";
  }
}

TEST(Layout, SaysWhatToDoWhereNothingIsThere) {
  Chart chart{.title = "Scaling", .if_empty = "Open a profile to see this."};
  EXPECT_THAT(texts(layout(chart, {400, 300})), Contains("Open a profile to see this."));
  chart.series = {{.name = "empty"}};
  EXPECT_THAT(texts(layout(chart, {400, 300})), Contains("Open a profile to see this."));
}

TEST(Layout, NamesALimitThatIsOutOfSight) {
  Chart chart = strategies();
  chart.limits = {{.value = 500, .label = "all the cores"}};
  const Drawing drawing = layout(chart, {640, 360});
  EXPECT_THAT(texts(drawing), Contains("all the cores (beyond this chart)"));
  EXPECT_LT(drawing.region({1, 4})->centre.y, drawing.plot.y + drawing.plot.height / 2);
}

TEST(Layout, LeavesOutPointsThatCannotBeShown) {
  Chart chart{.x = {.scale = AxisScale::kLog10}};
  const double nan = std::numeric_limits<double>::quiet_NaN();
  chart.series = {{.kind = SeriesKind::kPoints, .points = {{.x = 0, .y = 1}, {.x = 10, .y = nan}, {.x = 10, .y = 5}}}};
  const Drawing drawing = layout(chart, {300, 200});
  ASSERT_EQ(drawing.regions.size(), 1U);
  EXPECT_EQ(drawing.regions[0].point, (ChartPointId{0, 2}));
}

TEST(Layout, FitsEverySizeAndIsTheSameEachTime) {
  for (const DrawnSize size : {DrawnSize{0, 0}, DrawnSize{1, 1}, DrawnSize{20, 300}, DrawnSize{300, 20}}) {
    for (const Chart& chart : {strategies(), stacks(true), Chart{}}) {
      const Drawing drawing = layout(chart, size);
      for (const HitRegion& region : drawing.regions) {
        EXPECT_TRUE(std::isfinite(region.centre.x) && std::isfinite(region.centre.y));
      }
      EXPECT_EQ(to_inline_svg(drawing), to_inline_svg(layout(chart, size)));
    }
  }
}

TEST(Hit, FindsTheNearestPointWithinReach) {
  const Drawing drawing = layout(strategies(), {640, 360});
  const DrawnPosition at = drawing.region({1, 3})->centre;
  EXPECT_EQ(drawing.hit({at.x + 3, at.y - 2}), (ChartPointId{1, 3}));
  EXPECT_EQ(drawing.hit({at.x + 3, at.y - 60}, 10), std::nullopt);
}

TEST(Hit, FindsTheBarUnderThePointer) {
  const Drawing drawing = layout(stacks(false), {400, 300});
  const DrawnBox box = drawing.region({2, 1})->box.value();
  EXPECT_EQ(drawing.hit({box.x + 1, box.y + box.height / 2}), (ChartPointId{2, 1}));
  EXPECT_EQ(drawing.hit({box.x - 5, box.y}), std::nullopt);
}

TEST(StepFrom, GoesAlongASeriesAndAcross) {
  const Drawing drawing = layout(strategies(), {640, 360});
  EXPECT_EQ(step_from(drawing, std::nullopt, ChartStep::kNext), (ChartPointId{0, 0}));
  EXPECT_EQ(step_from(drawing, ChartPointId{9, 9}, ChartStep::kPrevious), (ChartPointId{0, 0}));
  EXPECT_EQ(step_from(drawing, ChartPointId{0, 0}, ChartStep::kNext), (ChartPointId{0, 1}));
  EXPECT_EQ(step_from(drawing, ChartPointId{0, 0}, ChartStep::kPrevious), std::nullopt);
  EXPECT_EQ(step_from(drawing, ChartPointId{0, 1}, ChartStep::kLast), (ChartPointId{0, 4}));
  EXPECT_EQ(step_from(drawing, ChartPointId{0, 3}, ChartStep::kSeriesAfter), (ChartPointId{1, 3}));
  EXPECT_EQ(step_from(drawing, ChartPointId{1, 1}, ChartStep::kSeriesAfter), (ChartPointId{2, 0}));
  EXPECT_EQ(step_from(drawing, ChartPointId{2, 0}, ChartStep::kSeriesAfter), std::nullopt);
  EXPECT_EQ(step_from(layout({}, {640, 360}), std::nullopt, ChartStep::kNext), std::nullopt);
}

TEST(StepFrom, GoesDownWhereBarsLie) {
  const Drawing drawing = layout(stacks(true), {400, 300});
  EXPECT_EQ(step_from(drawing, ChartPointId{0, 0}, ChartStep::kNext), (ChartPointId{0, 1}));
  EXPECT_EQ(step_from(drawing, ChartPointId{2, 1}, ChartStep::kSeriesBefore), (ChartPointId{1, 1}));
}

TEST(LabelPlacer, KeepsOffPointsLinesAndOtherLabels) {
  LabelPlacer placer({0, 0, 400, 100});
  placer.block(DrawnPosition{210, 0}, DrawnPosition{210, 100});
  const auto first = placer.place({200, 50}, 8, "label", 10);
  ASSERT_TRUE(first.has_value());
  EXPECT_LT(box_of(*first).right(), 200) << "a line is on the right";
  const auto second = placer.place({200, 50}, 8, "label", 10);
  ASSERT_TRUE(second.has_value());
  EXPECT_FALSE(box_of(*first).overlaps(box_of(*second)));
}

TEST(LabelPlacer, ShortensAndGivesUp) {
  LabelPlacer narrow({0, 0, 100, 60});
  const auto label = narrow.place({50, 30}, 8, "concurrent x2 and more", 10);
  ASSERT_TRUE(label.has_value());
  EXPECT_EQ(label->title, "concurrent x2 and more");
  LabelPlacer full({0, 0, 100, 60});
  full.block(DrawnBox{0, 0, 100, 60});
  EXPECT_FALSE(full.place({50, 30}, 8, "a", 10).has_value());
}

}  // namespace
}  // namespace cohort
