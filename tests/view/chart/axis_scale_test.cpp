#include "view/chart/axis_scale.hpp"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <limits>
#include <vector>

namespace cohort {
namespace {

using testing::ElementsAre;

std::vector<std::string> labels(const AxisMap& map) {
  std::vector<std::string> result;
  for (const ChartTick& tick : map.ticks()) result.push_back(tick.label);
  return result;
}

TEST(AxisMap, HasRoundTicksInOneUnit) {
  const std::vector<double> values = {0, 1'400'000};
  const AxisMap map({.unit = AxisUnit::kTime}, values, {.from_zero = true, .round_ends = true, .most_ticks = 4});
  EXPECT_THAT(labels(map), ElementsAre("0", "0.5 ms", "1.0 ms", "1.5 ms"));
  EXPECT_DOUBLE_EQ(map.low(), 0);
  EXPECT_DOUBLE_EQ(map.high(), 1'500'000);
  EXPECT_DOUBLE_EQ(map.at(750'000), 0.5);
}

TEST(AxisMap, CountsBytesInPowersOfTwo) {
  const std::vector<double> values = {0, 3.9 * (1 << 20)};
  const AxisMap map({.unit = AxisUnit::kBytes}, values, {.from_zero = true, .round_ends = true, .most_ticks = 5});
  EXPECT_THAT(labels(map), ElementsAre("0", "1 MiB", "2 MiB", "3 MiB", "4 MiB"));
}

TEST(AxisMap, CountsPartsOfAUnitOfBytesInTens) {
  const double mib = 1 << 20;
  const std::vector<double> values = {2.8 * mib, 3.1 * mib};
  EXPECT_THAT(labels(AxisMap({.unit = AxisUnit::kBytes}, values, {.most_ticks = 4})),
              ElementsAre("2.8 MiB", "2.9 MiB", "3.0 MiB", "3.1 MiB"));
  const std::vector<double> few = {0, 900};
  EXPECT_THAT(labels(AxisMap({.unit = AxisUnit::kBytes}, few, {.most_ticks = 4})),
              ElementsAre("0", "256 B", "512 B", "768 B"));
}

TEST(AxisMap, WritesFractionsRatiosAndRates) {
  const std::vector<double> fractions = {-0.2, 0.2};
  EXPECT_THAT(labels(AxisMap({.unit = AxisUnit::kFraction}, fractions, {.round_ends = true, .most_ticks = 5})),
              ElementsAre("-20%", "-10%", "0", "10%", "20%"));
  const std::vector<double> ratios = {0.9, 2.1};
  EXPECT_THAT(labels(AxisMap({.unit = AxisUnit::kRatio}, ratios, {.most_ticks = 3})),
              ElementsAre("1.0x", "1.5x", "2.0x"));
  const std::vector<double> rates = {0, 4.1e6};
  EXPECT_THAT(labels(AxisMap({.unit = AxisUnit::kRate}, rates, {.most_ticks = 3})), ElementsAre("0", "2 M/s", "4 M/s"));
}

TEST(AxisMap, HasPowersOnALogarithmicAxis) {
  const std::vector<double> models = {1, 64};
  const ChartAxis axis{.scale = AxisScale::kLog2};
  EXPECT_THAT(labels(AxisMap(axis, models, {})), ElementsAre("1", "2", "4", "8", "16", "32", "64"));
  EXPECT_THAT(labels(AxisMap(axis, models, {.most_ticks = 4})), ElementsAre("1", "4", "16", "64"));
  const AxisMap map(axis, models, {});
  EXPECT_NEAR(map.at(8), 0.5, 1e-12);
  EXPECT_NEAR(map.at(16) - map.at(8), map.at(4) - map.at(2), 1e-12);
  const std::vector<double> times = {1e3, 1e6};
  EXPECT_THAT(labels(AxisMap({.unit = AxisUnit::kTime, .scale = AxisScale::kLog10}, times, {})),
              ElementsAre("1 us", "10 us", "100 us", "1 ms"));
}

TEST(AxisMap, HasTicksWithinOnePowerToo) {
  const std::vector<double> values = {5.1, 7.2};
  EXPECT_GE(AxisMap({.scale = AxisScale::kLog2}, values, {}).ticks().size(), 3U);
  EXPECT_GE(AxisMap({.scale = AxisScale::kLog10}, values, {}).ticks().size(), 3U);
}

TEST(AxisMap, ContainsEveryValueAndItsTicks) {
  const std::vector<std::vector<double>> cases = {{0},          {5},        {-3},      {0, 0},
                                                  {1e-9, 2e-9}, {-1e12, 3}, {7, 7, 7}, {1e15, 1e15},
                                                  {0.1, 0.3},   {},         {-5, -2},  {123456, 123457}};
  for (const std::vector<double>& values : cases) {
    for (const bool zero : {false, true}) {
      const AxisMap map({}, values, {.from_zero = zero, .round_ends = true, .most_ticks = 6});
      EXPECT_LT(map.low(), map.high());
      for (const double value : values) EXPECT_TRUE(map.contains(value)) << value;
      EXPECT_TRUE(!zero || map.contains(0));
      EXPECT_GE(map.ticks().size(), 2U);
      EXPECT_LE(map.ticks().size(), 9U);
      for (std::size_t i = 0; i < map.ticks().size(); ++i) {
        EXPECT_GE(map.at(map.ticks()[i].value), -1e-9);
        EXPECT_LE(map.at(map.ticks()[i].value), 1 + 1e-9);
        EXPECT_TRUE(i == 0 || map.ticks()[i].label != map.ticks()[i - 1].label);
      }
    }
  }
}

TEST(AxisMap, LeavesOutWhatCannotBeShown) {
  const double infinite = std::numeric_limits<double>::infinity();
  const std::vector<double> values = {infinite, -4, 0, 10, 1000};
  const AxisMap map({.scale = AxisScale::kLog10}, values, {});
  EXPECT_GT(map.low(), 1);
  EXPECT_LT(map.high(), 10000);
  EXPECT_FALSE(can_show({.scale = AxisScale::kLog2}, 0));
  EXPECT_TRUE(can_show({}, 0));
}

TEST(AxisMap, PutsNamesHalfWayBetweenTheirEdges) {
  const AxisMap map({.categories = {"a", "b"}}, std::vector<double>{0, 1}, {});
  EXPECT_THAT(labels(map), ElementsAre("a", "b"));
  EXPECT_DOUBLE_EQ(map.at(0), 0.25);
  EXPECT_DOUBLE_EQ(map.at(1), 0.75);
}

TEST(Limits, AreNearWhereTheyWouldNotPressDataIntoACorner) {
  const std::vector<double> values = {10, 20};
  EXPECT_TRUE(is_near({}, 35, values));
  EXPECT_TRUE(is_near({}, 0, values));
  EXPECT_FALSE(is_near({}, 100, values));
  EXPECT_TRUE(is_near({.scale = AxisScale::kLog10}, 100, values));
  EXPECT_FALSE(is_near({.scale = AxisScale::kLog10}, 1000, values));
}

}  // namespace
}  // namespace cohort
