#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>

#include "planning/planning_input.hpp"
#include "planning/trace_case.hpp"
#include "tests/view/explore/explore_fixtures.hpp"
#include "view/explore/exploration.hpp"
#include "view/explore/trace_exploration.hpp"

namespace cohort {
namespace {

using testing::Contains;
using testing::ElementsAre;
using testing::HasSubstr;
using testing::IsEmpty;

Recommendation recommend(Exploration& exploration, const ExploreSettings& settings,
                         const RecommendOptions& options = {}) {
  auto found = exploration.recommend(settings, options, CancelToken());
  EXPECT_TRUE(found.has_value()) << found.error().message;
  return found ? *std::move(found) : Recommendation{};
}

TEST(Recommendation, IsThePlannersOwn) {
  const auto exploration = explore({recorded("lenet5-b1.trace.json.gz")});
  const ExploreSettings settings = exploration->with_models(exploration->initial_settings(), {16});
  const Recommendation found = recommend(*exploration, settings);
  PlanningOptions options;
  options.profiles = {recorded("lenet5-b1.trace.json.gz")};
  options.members.counts = {16};
  const auto input = PlanningInput::open(options, {});
  ASSERT_TRUE(input.has_value()) << input.error().message;
  const auto searched = plan_model_batch((*input)->planning_case(), {.search_launch_threads = true});
  ASSERT_TRUE(searched.has_value());
  ASSERT_EQ(found.ranked, searched->ranked.size());
  EXPECT_EQ(found.candidates.front().name, searched->ranked.front().name);
  EXPECT_EQ(*exploration->plan_of(found.candidates.front().settings), searched->ranked.front().plan);
  EXPECT_TRUE(std::holds_alternative<PlanningResult>(found.found));
}

TEST(Recommendation, HasSettingsThatGiveTheSameAgain) {
  const auto exploration = explore({recorded("mlp-b1.trace.json.gz")});
  const Recommendation found = recommend(*exploration, exploration->with_models(exploration->initial_settings(), {6}));
  ASSERT_GT(found.ranked, 3U);
  for (const ExploreCandidate& each : found.candidates) {
    const ExploreAnswer answer = predict(*exploration, each.settings);
    EXPECT_EQ(answer.report.step_time, each.step) << each.name;
    EXPECT_EQ(answer.report.memory.total(), each.memory) << each.name;
  }
}

TEST(Recommendation, HasFrontsThatNoCandidateBeats) {
  const auto exploration = explore({recorded("lenet5-b1.trace.json.gz")});
  const Recommendation found = recommend(*exploration, exploration->with_models(exploration->initial_settings(), {16}));
  ASSERT_FALSE(found.time_memory.empty());
  for (std::size_t i = 1; i < found.time_memory.size(); ++i) {
    const ExploreCandidate& before = found.candidates[found.time_memory[i - 1]];
    const ExploreCandidate& after = found.candidates[found.time_memory[i]];
    EXPECT_GT(after.step, before.step);
    EXPECT_LT(*after.memory, *before.memory);
  }
  for (const ExploreCandidate& each : found.candidates) {
    const bool is_beaten = std::any_of(found.time_memory.begin(), found.time_memory.end(), [&](std::size_t place) {
      const ExploreCandidate& other = found.candidates[place];
      return other.step <= each.step && *other.memory <= *each.memory;
    });
    EXPECT_TRUE(is_beaten) << each.name << " belongs to the front, or is beaten by it";
  }
  ASSERT_FALSE(found.throughput_latency.empty());
  EXPECT_EQ(found.throughput_latency.front(), 0U) << "the best has the most throughput";
}

TEST(Recommendation, ChoosesHowManyModels) {
  const auto exploration = explore({fake_profile_of("mlp", 1)});
  RecommendOptions options;
  options.choose_models = 4;
  const Recommendation found = recommend(*exploration, exploration->initial_settings(), options);
  std::set<std::vector<int>> numbers;
  for (const ExploreCandidate& each : found.candidates) numbers.insert(each.settings.models);
  EXPECT_THAT(numbers, ElementsAre(std::vector{1}, std::vector{2}, std::vector{4}));
  EXPECT_EQ(found.candidates.front().settings.models, std::vector{4}) << "fused members are nearly free here";
}

TEST(Recommendation, TellsWhyAWayIsNotPossible) {
  const auto exploration = explore({recorded("lenet5-b1.trace.json.gz")});
  ExploreSettings settings = exploration->with_models(exploration->initial_settings(), {16});
  settings.limits.memory = Bytes{1};
  const auto found = exploration->recommend(settings, {}, CancelToken());
  ASSERT_FALSE(found.has_value());
  EXPECT_EQ(found.error().code, ErrorCode::kDoesNotFit);
}

TEST(Recommendation, SaysInWordsHowMembersRun) {
  WhatIf what_if;
  EXPECT_EQ(way_in_words(what_if), "each on streams of its own");
  what_if.streams = 1;
  what_if.fuse = FuseChoice::kAuto;
  EXPECT_EQ(way_in_words(what_if), "1 stream, fused where it pays");
  what_if = {};
  what_if.streams = 4;
  what_if.launch_threads = 2;
  EXPECT_EQ(way_in_words(what_if), "4 streams, 2 launch threads");
  what_if = {};
  what_if.processes = Processes::kMps;
  what_if.graphs = true;
  EXPECT_EQ(way_in_words(what_if), "each a process of its own, under MPS, one graph launch a step");
}

TEST(Recommendation, RanksWaysOfATrace) {
  const auto exploration = explore_launch_bound(20);
  const ExploreSettings settings = exploration->with_models(exploration->initial_settings(), {4});
  const Recommendation found = recommend(*exploration, settings);
  ASSERT_GT(found.ranked, 1U);
  EXPECT_TRUE(found.candidates.front().settings.graphs) << "launches are what takes the time";
  EXPECT_THAT(found.candidates.front().explanation, HasSubstr("launch removal saves"));
  for (const ExploreCandidate& each : found.candidates) {
    const ExploreAnswer answer = predict(*exploration, each.settings);
    EXPECT_EQ(answer.report.step_time, each.step) << each.name;
  }
  const auto traces = TraceCase::of({launch_bound_trace(20)}, {{launch_bound_step()}}, nullptr);
  ASSERT_TRUE(traces.has_value());
  WhatIf base;
  base.models = {4};
  const auto ranking = rank_what_ifs((*traces)->what_if_case(), base);
  ASSERT_TRUE(ranking.has_value());
  EXPECT_EQ(found.candidates.front().name, way_in_words(ranking->ranked.front().what_if));
  EXPECT_THAT(found.candidates.front().name, HasSubstr("one graph launch a step"));
  RecommendOptions other;
  other.objective = Objective::kP99Latency;
  EXPECT_FALSE(exploration->recommend(settings, other, CancelToken()).has_value());
}

}  // namespace
}  // namespace cohort
