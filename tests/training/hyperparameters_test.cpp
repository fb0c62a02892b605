#include "training/hyperparameters.hpp"

#include <gtest/gtest.h>

#include <cmath>

namespace cohort {
namespace {

constexpr StepCounts kCounts{10, 100};

float at(const std::array<float, static_cast<std::size_t>(kSettingCount)>& settings, Setting setting) {
  return settings[static_cast<std::size_t>(setting)];
}

TEST(LearningRate, FollowsItsSchedule) {
  Hyperparameters member;
  member.learning_rate = 0.8;
  EXPECT_EQ(learning_rate_at(member, 99, kCounts), 0.8);
  member.schedule = {RateSchedule::Kind::kStep, 3, 0.5};
  EXPECT_EQ(learning_rate_at(member, 29, kCounts), 0.8);
  EXPECT_EQ(learning_rate_at(member, 30, kCounts), 0.4);
  EXPECT_EQ(learning_rate_at(member, 99, kCounts), 0.1);
  member.schedule = {RateSchedule::Kind::kCosine};
  EXPECT_EQ(learning_rate_at(member, 0, kCounts), 0.8);
  EXPECT_NEAR(learning_rate_at(member, 50, kCounts), 0.4, 1e-12);
  EXPECT_LT(learning_rate_at(member, 99, kCounts), 0.001);
}

TEST(LearningRate, RisesWhileItWarmsUp) {
  Hyperparameters member;
  member.learning_rate = 1;
  member.warmup = 0.5;
  member.schedule = {RateSchedule::Kind::kCosine};
  EXPECT_EQ(learning_rate_at(member, 0, kCounts), 0.2);
  EXPECT_EQ(learning_rate_at(member, 4, kCounts), 1.0);
  EXPECT_EQ(learning_rate_at(member, 5, kCounts), 1.0);
  EXPECT_NEAR(learning_rate_at(member, 5 + 95 / 2, kCounts), 0.5, 0.01);
}

TEST(Settings, HoldTheCorrectionsOfAdam) {
  Hyperparameters member;
  const auto first = settings_at(member, 0, kCounts);
  EXPECT_FLOAT_EQ(at(first, Setting::kCorrection1), 0.1F);
  EXPECT_EQ(at(first, Setting::kCorrection2), 1.0F - 0.999F) << "as the update has it, rounded";
  EXPECT_TRUE(std::isinf(at(first, Setting::kClipNorm)));
  member.clip = 2;
  const auto later = settings_at(member, 1, kCounts);
  EXPECT_FLOAT_EQ(at(later, Setting::kCorrection1), 0.19F);
  EXPECT_EQ(at(later, Setting::kClipNorm), 2.0F);
}

TEST(Points, SetWhatTheyName) {
  const Hyperparameters member = with_point({}, {{"learning_rate", 0.5},
                                                 {"seed", std::int64_t{3}},
                                                 {"schedule", RateSchedule{RateSchedule::Kind::kCosine}},
                                                 {"dropout", std::int64_t{0}},
                                                 {"arguments.hidden", std::int64_t{64}}});
  EXPECT_EQ(member.learning_rate, 0.5);
  EXPECT_EQ(member.seed, 3U);
  EXPECT_EQ(member.schedule.kind, RateSchedule::Kind::kCosine);
  EXPECT_EQ(member.dropout, 0.0);
  EXPECT_EQ(member.arguments.at("hidden"), "64");
}

}  // namespace
}  // namespace cohort
