#include "view/chart/plan_charts.hpp"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <string>
#include <vector>

namespace cohort {
namespace {

using namespace literals;
using testing::ElementsAre;
using testing::HasSubstr;
using testing::IsEmpty;

PlanCandidate candidate(const std::string& name, Nanoseconds step, Bytes memory) {
  PlanCandidate made;
  made.name = name;
  made.prediction.step_time = step;
  made.prediction.samples_per_second = 8 / seconds(step);
  made.prediction.p99_latency = 2 * step;
  made.prediction.memory.weights = memory;
  made.speedup = seconds(800_us) / seconds(step);
  return made;
}

ParetoPoint on_front(const std::string& name, Nanoseconds step, Bytes memory) {
  ParetoPoint made;
  made.name = name;
  made.step_time = step;
  made.memory.weights = memory;
  return made;
}

PlanningResult three_plans() {
  PlanningResult result;
  result.baseline.step_time = 800_us;
  result.ranked = {candidate("fast", 100_us, 8_MiB), candidate("middle", 200_us, 4_MiB),
                   candidate("beaten", 300_us, 16_MiB)};
  result.pareto = {on_front("fast", 100_us, 8_MiB), on_front("small", 400_us, 1_MiB)};
  return result;
}

std::vector<std::string> labels(const ChartSeries& series) {
  std::vector<std::string> result;
  for (const ChartPoint& point : series.points) result.push_back(point.label);
  return result;
}

TEST(ParetoEntries, AreTheCandidatesAndWhatElseTheFrontHas) {
  const std::vector<ParetoEntry> entries = pareto_entries(three_plans());
  ASSERT_EQ(entries.size(), 4U);
  EXPECT_TRUE(entries[0].chosen);
  EXPECT_FALSE(entries[1].chosen);
  EXPECT_EQ(entries[3].name, "small");
  EXPECT_NEAR(entries[3].samples_per_second, 20'000, 1e-6) << "8 samples in 400 us";
  EXPECT_NEAR(entries[3].speedup.value(), 2, 1e-12);
  EXPECT_FALSE(entries[3].latency.has_value());
}

TEST(ParetoChart, HasAPointForEachPlanAndTheFront) {
  const std::vector<ParetoEntry> entries = pareto_entries(three_plans());
  const Chart chart = pareto_chart(entries, {.memory_limit = 12_MiB, .device_memory = 64_MiB});
  ASSERT_EQ(chart.series.size(), 2U);
  EXPECT_THAT(labels(chart.series[0]), ElementsAre("fast", "middle", "beaten", "small"));
  EXPECT_TRUE(chart.series[0].points[0].highlight);
  EXPECT_FALSE(chart.series[0].points[1].highlight);
  EXPECT_THAT(labels(chart.series[1]), ElementsAre("small", "middle", "fast"));
  ASSERT_EQ(chart.limits.size(), 2U);
  EXPECT_EQ(chart.limits[0].label, "limit 12.0 MiB");
  EXPECT_DOUBLE_EQ(chart.limits[1].value, 64.0 * (1 << 20));
}

TEST(ParetoChart, HasTheLeastStepTimeForEachLatency) {
  const std::vector<ParetoEntry> entries = pareto_entries(three_plans());
  const Chart chart = pareto_chart(
      entries, {.across = ParetoView::Across::kLatency, .up = ParetoView::Up::kStepTime, .latency_limit = 500_us});
  EXPECT_THAT(labels(chart.series[0]), ElementsAre("fast", "middle", "beaten")) << "of the last no latency is known";
  EXPECT_THAT(labels(chart.series[1]), ElementsAre("fast"));
  EXPECT_DOUBLE_EQ(chart.series[0].points[1].x, 400'000);
  EXPECT_DOUBLE_EQ(chart.series[0].points[1].y, 200'000);
  EXPECT_EQ(chart.limits.at(0).label, "limit 500 us");
}

TEST(ParetoChart, SaysWhatToDoWithoutPlans) {
  const Chart chart = pareto_chart({});
  EXPECT_TRUE(chart.empty());
  EXPECT_THAT(chart.if_empty, HasSubstr("Open a profile"));
  EXPECT_THAT(pareto_entries({}), IsEmpty());
}

TEST(ScalingChart, DrawsPredictionsAsLinesAndMeasurementsAsPoints) {
  const std::vector<ScalingCurve> curves = {
      {"fused", {{1, 1.0, ValueRange{0.9, 1.1}}, {2, 1.8, {}, "two", true}}, false}, {"measured", {{2, 1.7}}, true}};
  const Chart chart = scaling_chart(curves);
  ASSERT_EQ(chart.series.size(), 2U);
  EXPECT_EQ(chart.series[0].kind, SeriesKind::kLine);
  EXPECT_EQ(chart.series[0].points[0].range, (ValueRange{0.9, 1.1}));
  EXPECT_TRUE(chart.series[0].points[1].highlight);
  EXPECT_EQ(chart.series[1].kind, SeriesKind::kPoints);
  EXPECT_DOUBLE_EQ(chart.series[1].points[0].x, 2);
  EXPECT_DOUBLE_EQ(chart.limits.at(0).value, 1);
  EXPECT_TRUE(scaling_chart({}).empty());
}

TEST(GainChart, HasOneSeriesACause) {
  Attribution attribution;
  attribution.of(GainCause::kFusion) = 300_ns;
  attribution.of(GainCause::kLaunchRemoval) = -20_ns;
  const std::vector<PlanGain> plans = {{"first", gain_parts(attribution)}, {"second", {{"fusion", 100_ns}}}};
  const Chart chart = gain_chart(plans);
  EXPECT_THAT(chart.x.categories, ElementsAre("first", "second"));
  ASSERT_EQ(chart.series.size(), 2U);
  EXPECT_EQ(chart.series[0].name, "launch removal");
  EXPECT_DOUBLE_EQ(chart.series[0].points.at(0).y, -20);
  EXPECT_EQ(chart.series[1].name, "fusion");
  ASSERT_EQ(chart.series[1].points.size(), 2U);
  EXPECT_DOUBLE_EQ(chart.series[1].points[1].x, 1);
}

TEST(MemoryChart, KeepsWhatIsNotKnownApartTogether) {
  BatchMemory known;
  known.weights = 4_MiB;
  known.step = 3_MiB;
  known.activations = 2_MiB;
  known.workspace = 1_MiB;
  known.device = 64_MiB;
  BatchMemory recorded;
  recorded.weights = 4_MiB;
  recorded.step = 3_MiB;
  const std::vector<NamedMemory> plans = {{"planned", known}, {"recorded", recorded}};
  const Chart chart = memory_chart(plans, 8_MiB);
  std::vector<std::string> names;
  for (const ChartSeries& series : chart.series) names.push_back(series.name);
  EXPECT_THAT(names, ElementsAre("weights", "activations", "workspace", "activations and workspace"));
  EXPECT_DOUBLE_EQ(chart.series[3].points.at(0).x, 1);
  EXPECT_EQ(chart.limits.at(0).label, "limit 8.00 MiB");
  EXPECT_EQ(chart.limits.at(1).label, "device 64.0 MiB");
  EXPECT_TRUE(memory_chart({}, {}).empty());
}

TEST(DifferenceChart, HasTheFirstTasksWithTheirErrors) {
  const std::vector<ComparedTask> tasks = {
      {"0/fc1", "g", 900_ns, 1000_ns}, {"0/fc2", "g", 100_ns, 0_ns}, {"0/fc3", "g", 5_ns, 5_ns}};
  const Chart chart = difference_chart(tasks, 2);
  EXPECT_THAT(chart.x.categories, ElementsAre("0/fc1", "0/fc2"));
  EXPECT_EQ(chart.series.at(0).points.at(0).label, "off by -10.0%");
  EXPECT_EQ(chart.series.at(1).points.at(1).label, "not measured");
  EXPECT_TRUE(difference_chart({}).empty());
}

TEST(ErrorHistogram, CountsTasksAroundAsPredicted) {
  const std::vector<ComparedTask> tasks = {{"a", "g", 100_ns, 100_ns},
                                           {"b", "g", 101_ns, 100_ns},
                                           {"c", "g", 80_ns, 100_ns},
                                           {"d", "g", 5000_ns, 100_ns},
                                           {"e", "g", 7_ns, 0_ns}};
  const Chart chart = error_histogram(tasks);
  ASSERT_EQ(chart.series.size(), 1U);
  double counted = 0;
  for (const ChartPoint& point : chart.series[0].points) counted += point.y;
  EXPECT_DOUBLE_EQ(counted, 4) << "what was not measured has no error";
  const auto middle = std::find_if(chart.series[0].points.begin(), chart.series[0].points.end(),
                                   [](const ChartPoint& point) { return point.x == 0; });
  ASSERT_NE(middle, chart.series[0].points.end());
  EXPECT_DOUBLE_EQ(middle->y, 2);
  EXPECT_THAT(chart.series[0].points.back().label, HasSubstr("or more"));
  EXPECT_TRUE(error_histogram({}).empty());
}

}  // namespace
}  // namespace cohort
