#include "view/chart/chart.hpp"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <limits>

namespace cohort {
namespace {

using testing::ElementsAre;
using testing::IsEmpty;

Chart scaling() {
  Chart chart;
  chart.title = "Scaling";
  chart.x = {.label = "models"};
  chart.y = {.label = "speedup", .unit = AxisUnit::kRatio};
  chart.series = {
      {.name = "fused, \"wide\"",
       .points = {{.x = 2, .y = 1.5, .range = ValueRange{1.25, 1.75}, .label = "two, or so"}, {.x = 4, .y = 2.125}}}};
  return chart;
}

TEST(ChartValues, AreWrittenInTheirUnits) {
  EXPECT_EQ(format_value(AxisUnit::kTime, 1'240'000), "1.24 ms");
  EXPECT_EQ(format_value(AxisUnit::kBytes, 12 << 20), "12.0 MiB");
  EXPECT_EQ(format_value(AxisUnit::kRatio, 1.5), "1.50x");
  EXPECT_EQ(format_value(AxisUnit::kFraction, -0.125), "-12.5%");
  EXPECT_EQ(format_value(AxisUnit::kRate, 4'238'691), "4.24 M/s");
  EXPECT_EQ(format_value(AxisUnit::kRate, 999.6), "1 k/s");
  EXPECT_EQ(format_value(AxisUnit::kRate, 999'700), "1 M/s");
  EXPECT_EQ(format_value(AxisUnit::kRate, 999.4), "999/s");
  EXPECT_EQ(format_value(AxisUnit::kNumber, 1234567), "1,234,567");
  EXPECT_EQ(format_value(AxisUnit::kNumber, -123), "-123");
  EXPECT_EQ(format_value(AxisUnit::kNumber, 0.25), "0.25");
  EXPECT_EQ(format_value(AxisUnit::kTime, std::numeric_limits<double>::infinity()), "unknown");
  EXPECT_EQ(format_value(AxisUnit::kNumber, std::numeric_limits<double>::quiet_NaN()), "unknown");
}

TEST(Describe, SaysLabelSeriesAndValuesWithTheirRange) {
  const Chart chart = scaling();
  EXPECT_THAT(describe(chart, {0, 0}),
              ElementsAre("two, or so", "fused, \"wide\"", "models 2", "speedup 1.50x (1.25x to 1.75x)"));
  EXPECT_THAT(describe(chart, {0, 1}), ElementsAre("fused, \"wide\"", "models 4", "speedup 2.12x"));
  EXPECT_THAT(describe(chart, {0, 2}), IsEmpty());
  EXPECT_THAT(describe(chart, {1, 0}), IsEmpty());
}

TEST(Csv, QuotesWhatHasToBeAndLeavesAbsentRangesEmpty) {
  EXPECT_EQ(to_csv(scaling()),
            "series,label,models,speedup,speedup low,speedup high\r\n"
            "\"fused, \"\"wide\"\"\",\"two, or so\",2,1.5,1.25,1.75\r\n"
            "\"fused, \"\"wide\"\"\",,4,2.125,,\r\n");
}

TEST(Csv, NamesUnitsAndCategories) {
  Chart chart;
  chart.x = {.categories = {"fc1", "line\nbreak"}};
  chart.y = {.label = "time", .unit = AxisUnit::kTime};
  chart.series = {{.name = "predicted", .kind = SeriesKind::kBars, .points = {{.x = 0, .y = 1500}, {.x = 1, .y = 2}}}};
  EXPECT_EQ(to_csv(chart),
            "series,label,x,time (ns),time (ns) low,time (ns) high\r\n"
            "predicted,,fc1,1500,,\r\n"
            "predicted,,\"line\nbreak\",2,,\r\n");
}

TEST(ChartEmpty, IsWithoutAnyPoint) {
  Chart chart = scaling();
  EXPECT_FALSE(chart.empty());
  chart.series[0].points.clear();
  EXPECT_TRUE(chart.empty());
}

}  // namespace
}  // namespace cohort
