#include "training/search.hpp"

#include <gmock/gmock.h>

#include <set>

namespace cohort {
namespace {

using ::testing::ElementsAre;
using ::testing::IsEmpty;

TrialId trial(std::uint32_t id) { return static_cast<TrialId>(id); }

std::vector<Point> all_of(Search& search) {
  std::vector<Point> points;
  while (auto asked = search.ask()) points.push_back(std::move(asked->point));
  return points;
}

std::vector<Point> rates(int count) {
  std::vector<Point> points;
  for (int i = 0; i < count; ++i) points.push_back({{"learning_rate", 0.1 * (i + 1)}});
  return points;
}

TEST(Grid, HasEveryCombinationTheLastDimensionFastest) {
  Sweep sweep;
  sweep.space = {{"learning_rate", std::vector<ParameterValue>{0.1, 0.2}},
                 {"seed", std::vector<ParameterValue>{std::int64_t{0}, std::int64_t{1}}}};
  const auto points = all_of(*make_search(sweep));
  ASSERT_EQ(points.size(), 4U);
  EXPECT_EQ(points[1], (Point{{"learning_rate", 0.1}, {"seed", std::int64_t{1}}}));
  EXPECT_EQ(points[2], (Point{{"learning_rate", 0.2}, {"seed", std::int64_t{0}}}));
  EXPECT_EQ(all_of(*make_search(Sweep{})).size(), 1U) << "without a dimension there is one member";
}

TEST(RandomSearch, DrawsWithinItsBoundsAndTheSameForASeed) {
  const std::vector<Dimension> dimensions = {{"learning_rate", Interval{1e-4, 1e-1, true, false}},
                                             {"dropout", Interval{0, 0.5, false, false}},
                                             {"arguments.hidden", Interval{4, 6, false, true}},
                                             {"beta1", std::vector<ParameterValue>{0.5, 0.9}}};
  const auto points = all_of(*random_search(dimensions, 300, 1));
  EXPECT_EQ(points, all_of(*random_search(dimensions, 300, 1)));
  EXPECT_NE(points, all_of(*random_search(dimensions, 300, 2)));
  std::set<std::int64_t> widths;
  int small = 0;
  for (const Point& point : points) {
    const double rate = std::get<double>(point[0].second);
    EXPECT_GE(rate, 1e-4);
    EXPECT_LE(rate, 1e-1);
    if (rate < 1e-3) ++small;
    EXPECT_LT(std::get<double>(point[1].second), 0.5);
    widths.insert(std::get<std::int64_t>(point[2].second));
  }
  EXPECT_THAT(widths, ElementsAre(4, 5, 6));
  EXPECT_NEAR(small, 100, 40) << "a third of the decades";
}

TEST(Halving, KeepsTheBetterPartOnceAllHaveTold) {
  const auto search = halving_search(list_search(rates(5)), {2, 0.5, 1, Metric::kAccuracy});
  all_of(*search);
  for (std::uint32_t i = 0; i < 5; ++i) search->tell({trial(i), 1, 0.1 * i});
  EXPECT_THAT(search->stopped(), IsEmpty()) << "a rung is every second epoch";
  for (std::uint32_t i = 0; i < 4; ++i) search->tell({trial(i), 2, 0.1 * i});
  EXPECT_THAT(search->stopped(), IsEmpty()) << "one has not told yet";
  search->tell({trial(4), 2, 0.1});
  EXPECT_THAT(search->stopped(), ElementsAre(trial(0), trial(4))) << "of equal ones the earlier stays";
  for (const std::uint32_t i : {1U, 2U, 3U}) search->tell({trial(i), 4, 0.5 - 0.1 * i});
  EXPECT_THAT(search->stopped(), ElementsAre(trial(3)));
}

TEST(Halving, CountsLossesTheOtherWayAndKeepsTheLeastNumber) {
  const auto search = halving_search(list_search(rates(4)), {1, 0.25, 2, Metric::kLoss});
  all_of(*search);
  for (std::uint32_t i = 0; i < 4; ++i) search->tell({trial(i), 1, 1.0 + i});
  EXPECT_THAT(search->stopped(), ElementsAre(trial(2), trial(3)));
}

TEST(Halving, GoesOnWithoutWhatDiverged) {
  const auto search = halving_search(list_search(rates(3)), {1, 0.5, 1, Metric::kAccuracy});
  all_of(*search);
  search->tell({trial(2), 1, std::nullopt});
  search->tell({trial(0), 1, 0.5});
  search->tell({trial(1), 1, 0.6});
  EXPECT_THAT(search->stopped(), ElementsAre(trial(0)));
}

}  // namespace
}  // namespace cohort
