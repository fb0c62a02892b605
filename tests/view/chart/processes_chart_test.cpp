#include "view/chart/processes_chart.hpp"

#include <fmt/format.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <string>
#include <utility>
#include <vector>

#include "view/chart/palette.hpp"

namespace cohort {
namespace {

using testing::ElementsAre;
using testing::HasSubstr;
using testing::SizeIs;

std::vector<Chart> charts_of(const std::string& table, const std::vector<int>& counts) {
  auto times = parse_step_times(table);
  EXPECT_TRUE(times) << times.error().message;
  const TimedModel model = timed_model("tables/net.csv", std::move(*times), {});
  const auto rows = equal_processes(model, {}, counts);
  EXPECT_TRUE(rows) << rows.error().message;
  return processes_charts(model, *rows);
}

std::vector<std::string> names(const Chart& chart) {
  std::vector<std::string> result;
  for (const ChartSeries& series : chart.series) result.push_back(series.name);
  return result;
}

TEST(ProcessesChart, HasALineAMinibatchAndWhatWasMeasured) {
  // Counts in any order; what was measured of three processes equals that of two: one had ended.
  const auto charts =
      charts_of("minibatch,step_ms,processes\n1,10,1\n4,10,1\n64,100,1\n4,12,2\n4,12,3\n64,200,2\n64,290,3\n", {3, 2});
  ASSERT_THAT(charts, SizeIs(1));
  EXPECT_EQ(charts[0].title, "net: equal processes on one GPU");
  EXPECT_THAT(names(charts[0]), ElementsAre("minibatch 1", "minibatch 4", "minibatch 64", "minibatch 4, measured",
                                            "minibatch 64, measured"));
  const ChartSeries& line = charts[0].series[2];
  ASSERT_THAT(line.points, SizeIs(3));
  EXPECT_EQ(line.points[0].x, 1);
  EXPECT_EQ(line.points[0].y, 1);
  EXPECT_EQ(line.points[2].x, 3);
  EXPECT_FALSE(line.points[2].range) << "bands of several lines hide each other";
  EXPECT_THAT(charts[0].series[3].points, SizeIs(1));
  const ChartSeries& measured = charts[0].series[4];
  ASSERT_THAT(measured.points, SizeIs(2));
  EXPECT_EQ(measured.points[0].x, 2);
  EXPECT_DOUBLE_EQ(measured.points[0].y, 1);
  EXPECT_EQ(measured.colour, line.colour);
}

TEST(ProcessesChart, IsOneForEachPartOfTheGpuAndOfTheStep) {
  const auto charts = charts_of("minibatch,gpcs,step_ms,part\n8,3,5,\n8,4,4,\n8,4,1,head\n16,4,7,\n", {2});
  ASSERT_THAT(charts, SizeIs(3));
  EXPECT_THAT(charts[0].title, HasSubstr("3 GPCs"));
  EXPECT_THAT(charts[1].title, HasSubstr("4 GPCs"));
  EXPECT_THAT(names(charts[1]), ElementsAre("minibatch 8", "minibatch 16"));
  EXPECT_THAT(charts[2].title, HasSubstr("4 GPCs, head"));
  ASSERT_THAT(charts[2].series, SizeIs(1));
  EXPECT_TRUE(charts[2].series[0].points[1].range) << "of one line the interval can be drawn";
}

TEST(ProcessesChart, DrawsNoMoreMinibatchesThanThereAreColours) {
  std::string table = "minibatch,step_ms\n";
  for (int minibatch = 1; minibatch <= 20; ++minibatch) table += fmt::format("{},{}\n", minibatch, 10 + minibatch);
  const auto charts = charts_of(table, {2});
  ASSERT_THAT(charts, SizeIs(1));
  ASSERT_THAT(charts[0].series, SizeIs(kSeriesColours));
  EXPECT_EQ(charts[0].series.front().name, "minibatch 1");
  EXPECT_EQ(charts[0].series.back().name, "minibatch 20");
}

}  // namespace
}  // namespace cohort
