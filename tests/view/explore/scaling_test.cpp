#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>

#include "tests/view/explore/explore_fixtures.hpp"
#include "view/explore/exploration.hpp"

namespace cohort {
namespace {

using testing::Contains;
using testing::ElementsAre;
using testing::HasSubstr;
using testing::IsEmpty;
using testing::SizeIs;

Scaling scale(Exploration& exploration, const std::vector<int>& models) {
  auto scaling = exploration.scaling(exploration.initial_settings(), models, CancelToken());
  EXPECT_TRUE(scaling.has_value()) << scaling.error().message;
  return scaling ? *std::move(scaling) : Scaling{};
}

const ScaledWay* find(const Scaling& scaling, std::string_view name) {
  const auto found =
      std::find_if(scaling.ways.begin(), scaling.ways.end(), [&](const ScaledWay& way) { return way.name == name; });
  return found == scaling.ways.end() ? nullptr : &*found;
}

void expect_sound(const Scaling& scaling) {
  for (const ScaledWay& way : scaling.ways) {
    for (std::size_t i = 0; i < way.points.size(); ++i) {
      const ScaledPoint& point = way.points[i];
      EXPECT_LE(point.least, point.speedup * 1.0001) << way.name << " " << point.models;
      EXPECT_GE(point.most * 1.0001, point.speedup) << way.name << " " << point.models;
      EXPECT_TRUE(i == 0 || point.models > way.points[i - 1].models) << way.name;
    }
  }
}

TEST(Scaling, FollowsEachStrategyOverNumbersOfModels) {
  const auto exploration = explore({recorded("lenet5-b1.trace.json.gz")});
  const Scaling scaling = scale(*exploration, {1, 2, 8});
  expect_sound(scaling);
  for (const char* const name : {"serial", "concurrent", "the planner's choice"}) {
    const ScaledWay* const way = find(scaling, name);
    ASSERT_NE(way, nullptr) << name;
    EXPECT_THAT(way->points, SizeIs(3)) << name;
  }
  const ScaledWay* const fused = find(scaling, "strided batch");
  ASSERT_NE(fused, nullptr);
  EXPECT_THAT(fused->points, SizeIs(2)) << "one model has none to be fused with";
  const ScaledWay& chosen = *find(scaling, "the planner's choice");
  for (const ScaledWay& way : scaling.ways) {
    for (const ScaledPoint& point : way.points) {
      const auto best = std::find_if(chosen.points.begin(), chosen.points.end(),
                                     [&](const ScaledPoint& each) { return each.models == point.models; });
      EXPECT_GE(best->speedup * 1.0001, point.speedup) << way.name << " of " << point.models;
    }
  }
  EXPECT_FALSE(chosen.points.back().name.empty());
}

TEST(Scaling, HasSettingsThatGiveEachPointAgain) {
  const auto exploration = explore({recorded("mlp-b1.trace.json.gz")});
  for (const ScaledWay& way : scale(*exploration, {1, 4}).ways) {
    for (const ScaledPoint& point : way.points) {
      ASSERT_TRUE(point.settings.has_value()) << way.name;
      const ExploreAnswer answer = predict(*exploration, *point.settings);
      EXPECT_EQ(answer.report.step_time, point.step) << way.name << " of " << point.models;
      EXPECT_EQ(answer.report.baseline, point.baseline) << way.name << " of " << point.models;
    }
  }
}

TEST(Scaling, PutsMeasuredPlansBesidePredictedOnes) {
  const auto exploration = explore({recorded("lenet5-b1.trace.json.gz"), recorded("lenet5-b1-n16.measured.json.gz")});
  EXPECT_EQ(exploration->facts().measured_runs, 1U);
  const Scaling scaling = scale(*exploration, {16});
  const ScaledWay* const measured = find(scaling, "measured");
  ASSERT_NE(measured, nullptr);
  EXPECT_TRUE(measured->measured);
  ASSERT_THAT(measured->points, SizeIs(1));
  EXPECT_EQ(measured->points.front().models, 16);
  EXPECT_EQ(measured->points.front().name, "lenet5-b1-n16.measured.json.gz");
  EXPECT_GT(measured->points.front().speedup, 1);
  EXPECT_FALSE(measured->points.front().settings.has_value());
  expect_sound(scaling);
}

TEST(Scaling, SaysWhichMeasuredPlansAreOfOthers) {
  const auto exploration = explore({recorded("mlp-b1.trace.json.gz"), recorded("lenet5-b1-n16.measured.json.gz")});
  const Scaling scaling = scale(*exploration, {2});
  const ScaledWay* const measured = find(scaling, "measured");
  ASSERT_NE(measured, nullptr);
  EXPECT_THAT(measured->points, IsEmpty());
  EXPECT_THAT(measured->missing, ElementsAre(HasSubstr("its members are others")));
}

TEST(Scaling, NamesNumbersThatDoNotFit) {
  const auto exploration = explore({recorded("lenet5-b1.trace.json.gz")});
  ExploreSettings settings = exploration->initial_settings();
  settings.limits.memory = Bytes{1 << 20};
  const auto scaling = exploration->scaling(settings, {1, 64}, CancelToken());
  ASSERT_TRUE(scaling.has_value()) << scaling.error().message;
  const ScaledWay* const serial = find(*scaling, "serial");
  ASSERT_NE(serial, nullptr);
  EXPECT_THAT(serial->points, SizeIs(1));
  EXPECT_THAT(serial->missing, ElementsAre(HasSubstr("64 models: ")));
}

TEST(Scaling, KeepsWhatWasFoundBeforeItWasCancelled) {
  const auto exploration = explore({recorded("mlp-b1.trace.json.gz")});
  CancelToken cancel;
  const auto scaling = exploration->scaling(exploration->initial_settings(), {1, 2, 4}, cancel,
                                            [&](std::size_t done, std::size_t, std::string_view) {
                                              if (done == 1) cancel.cancel();
                                            });
  ASSERT_TRUE(scaling.has_value()) << scaling.error().message;
  EXPECT_TRUE(scaling->interrupted);
  EXPECT_THAT(find(*scaling, "serial")->points, SizeIs(1));
}

TEST(Scaling, FollowsWaysOfATrace) {
  const auto exploration = explore_launch_bound(20);
  const Scaling scaling = scale(*exploration, {1, 2, 4});
  expect_sound(scaling);
  for (const char* const name : {"one stream", "a stream each", "a stream each, as graphs", "the planner's choice"}) {
    const ScaledWay* const way = find(scaling, name);
    ASSERT_NE(way, nullptr) << name;
    EXPECT_THAT(way->points, SizeIs(3)) << name;
    for (const ScaledPoint& point : way->points)
      EXPECT_EQ(predict(*exploration, *point.settings).report.step_time, point.step) << name;
  }
  EXPECT_GT(find(scaling, "a stream each, as graphs")->points.back().speedup,
            find(scaling, "one stream")->points.back().speedup);
}

}  // namespace
}  // namespace cohort
