#include "view/explore/exploration.hpp"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <set>

#include "planning/plan_files.hpp"
#include "planning/planning_input.hpp"
#include "tests/view/explore/explore_fixtures.hpp"
#include "tracer/checked_plan_record.hpp"

namespace cohort {
namespace {

using testing::ElementsAre;
using testing::HasSubstr;
using testing::IsEmpty;
using testing::SizeIs;

/// 16 members on two workers.
ExploreSettings concurrent(const Exploration& exploration, int models = 16) {
  ExploreSettings settings = exploration.with_models(exploration.initial_settings(), {models});
  settings.streams = 2;
  settings.groups = {all_ops(Strategy::kConcurrent)};
  return settings;
}

/// Names of the tracks that any task of the member is on.
std::set<std::string> tracks_of(const Trace& trace, std::string_view member) {
  std::set<std::string> names;
  for (const Slice& slice : trace.slices) {
    if (trace.text_arg(slice, "members").value_or("") == member)
      names.insert(trace.tracks[to_index(slice.track)].thread);
  }
  return names;
}

TEST(Exploration, SaysWhatAProfileIsOf) {
  const auto exploration = explore({recorded("lenet5-b1.trace.json.gz")});
  const ExploreFacts& facts = exploration->facts();
  EXPECT_EQ(facts.kind, ExploreFacts::Kind::kProfiles);
  EXPECT_EQ(facts.name, "lenet5");
  ASSERT_THAT(facts.models, SizeIs(1));
  EXPECT_EQ(facts.models.front().name, "lenet5");
  EXPECT_EQ(facts.models.front().minibatch, 1);
  EXPECT_THAT(facts.minibatches, ElementsAre(1));
  EXPECT_EQ(facts.most_streams, 2);
  EXPECT_FALSE(facts.launches);
  ASSERT_FALSE(facts.ops.empty());
  EXPECT_EQ(facts.ops.front().name, "conv1");
  EXPECT_EQ(facts.ops.front().type, "Convolution");
  EXPECT_THAT(facts.ops.front().strategies, ElementsAre(Strategy::kDenseConvolution, Strategy::kGroupedConvolution));
}

TEST(Exploration, BeginsWithFourModelsSideBySide) {
  const auto exploration = explore({recorded("lenet5-b1.trace.json.gz")});
  const ExploreSettings first = exploration->first_settings();
  EXPECT_THAT(first.models, ElementsAre(4));
  EXPECT_EQ(first.streams, 2);
  EXPECT_THAT(exploration->problems(first), IsEmpty());
  const ExploreAnswer answer = predict(*exploration, first);
  EXPECT_GT(answer.report.speedup, 1);
  EXPECT_EQ(tracks_of(*answer.trace, "0").size(), 1U);
  EXPECT_NE(tracks_of(*answer.trace, "0"), tracks_of(*answer.trace, "3"));
}

TEST(Exploration, BeginsWithTwoOfEachOfTwoModels) {
  const auto exploration = explore({recorded("lenet5-b1.trace.json.gz"), recorded("mlp-b1.trace.json.gz")});
  EXPECT_THAT(exploration->first_settings().models, ElementsAre(2));
  EXPECT_EQ(predict(*exploration, exploration->first_settings()).report.members, 4U);
}

TEST(Exploration, PredictsMembersInOneWay) {
  const auto exploration = explore({recorded("lenet5-b1.trace.json.gz")});
  const ExploreAnswer answer = predict(*exploration, concurrent(*exploration));
  EXPECT_EQ(answer.report.members, 16U);
  EXPECT_GT(answer.report.speedup, 1);
  ASSERT_TRUE(answer.interval && answer.plan && answer.trace && answer.p99_latency);
  EXPECT_LE(answer.interval->low, answer.report.speedup);
  EXPECT_GE(answer.interval->high, answer.report.speedup);
  EXPECT_LE(answer.report.lower_bound, answer.report.step_time);
  EXPECT_TRUE(answer.plan->resolved.has_value());
  EXPECT_EQ(answer.plan->baselines.size(), 1U);
  EXPECT_EQ(answer.counted, "samples");
}

TEST(Exploration, AnswersTheSameWhateverWasAskedBefore) {
  const auto exploration = explore({recorded("lenet5-b1.trace.json.gz")});
  const ExploreSettings settings = concurrent(*exploration);
  const ExploreAnswer first = predict(*exploration, settings);
  for (const int models : {2, 5}) predict(*exploration, exploration->with_models(settings, {models}));
  const ExploreAnswer again = predict(*exploration, settings);
  EXPECT_EQ(again.report.step_time, first.report.step_time);
  EXPECT_EQ(again.report.baseline, first.report.baseline);
  ASSERT_EQ(again.report.gain.size(), first.report.gain.size());
  for (std::size_t i = 0; i < first.report.gain.size(); ++i)
    EXPECT_EQ(again.report.gain[i].gain, first.report.gain[i].gain) << first.report.gain[i].cause;
  EXPECT_EQ(again.plan, first.plan);
}

TEST(Exploration, GivesAPlanBackAsItWas) {
  const auto exploration = explore({recorded("lenet5-b1.trace.json.gz")});
  const auto plan = read_plan(recorded("lenet5-b1-n16.plan.json"));
  ASSERT_TRUE(plan.has_value());
  const auto settings = exploration->settings_of(*plan);
  ASSERT_TRUE(settings.has_value()) << settings.error().message;
  EXPECT_EQ(*exploration->plan_of(*settings), *plan);
  // A group of each worker is one group of both.
  std::vector<std::string> names;
  for (const ExploreGroup& group : settings->groups) names.push_back(group.name);
  EXPECT_THAT(names, ElementsAre("conv1", "fc1", "rest"));
  EXPECT_TRUE(settings->groups.front().by_stream);
  EXPECT_THAT(settings->groups.front().members, IsEmpty());
}

TEST(Exploration, DropsAlgorithmsOnceAPlanIsChanged) {
  const auto exploration = explore({recorded("lenet5-b1.trace.json.gz")});
  const auto plan = read_plan(recorded("lenet5-b1-n16.plan.json"));
  auto settings = exploration->settings_of(*plan);
  ASSERT_TRUE(settings.has_value());
  settings->groups.front().strategy = Strategy::kGroupedConvolution;
  const auto changed = exploration->plan_of(*settings);
  ASSERT_TRUE(changed.has_value()) << changed.error().message;
  EXPECT_FALSE(changed->resolved.has_value());
  EXPECT_THAT(changed->baselines, IsEmpty());
  EXPECT_EQ(changed->groups.front().strategy, Strategy::kGroupedConvolution);
  EXPECT_GT(predict(*exploration, *settings).report.speedup, 0);
}

TEST(Exploration, MovesAMemberToAnotherStream) {
  const auto exploration = explore({recorded("lenet5-b1.trace.json.gz")});
  ExploreSettings settings = concurrent(*exploration, 4);
  const ExploreAnswer before = predict(*exploration, settings);
  EXPECT_THAT(tracks_of(*before.trace, "0"), ElementsAre("stream 0"));
  settings.member_streams = {1, 0, 1, 1};
  const ExploreAnswer after = predict(*exploration, settings);
  EXPECT_THAT(tracks_of(*after.trace, "0"), ElementsAre("stream 1"));
  EXPECT_THAT(tracks_of(*after.trace, "1"), ElementsAre("stream 0"));
  EXPECT_GT(after.report.step_time, before.report.step_time) << "three members are on one worker";
}

TEST(Exploration, MovesAMemberOutOfItsFusedGroup) {
  const auto exploration = explore({recorded("lenet5-b1.trace.json.gz")});
  auto settings = exploration->settings_of(*read_plan(recorded("lenet5-b1-n16.plan.json")));
  ASSERT_TRUE(settings.has_value());
  settings->member_streams.assign(16, 0);
  for (std::size_t i = 7; i < 16; ++i) settings->member_streams[i] = 1;
  const auto plan = exploration->plan_of(*settings);
  ASSERT_TRUE(plan.has_value()) << plan.error().message;
  EXPECT_THAT(plan->groups[0].members, SizeIs(7));
  EXPECT_THAT(plan->groups[1].members, SizeIs(9));
  EXPECT_EQ(plan->groups.back().streams, settings->member_streams);
  const auto again = exploration->settings_of(*plan);
  ASSERT_TRUE(again.has_value());
  EXPECT_EQ(again->member_streams, settings->member_streams);
  EXPECT_EQ(*exploration->plan_of(*again), *plan);
}

TEST(Exploration, KeepsStreamsOfMembersThatStay) {
  const auto exploration = explore({recorded("lenet5-b1.trace.json.gz")});
  ExploreSettings settings = concurrent(*exploration, 4);
  settings.member_streams = {1, 0, 1, 1};
  const ExploreSettings fewer = exploration->with_models(settings, {2});
  EXPECT_THAT(fewer.member_streams, ElementsAre(1, 0));
  const ExploreSettings more = exploration->with_models(settings, {6});
  EXPECT_THAT(more.member_streams, ElementsAre(1, 0, 1, 1, 0, 0)) << "new ones go where fewest are";
  EXPECT_EQ(predict(*exploration, more).report.members, 6U);
}

TEST(Exploration, KeepsPlansThatWerePlacedByHand) {
  const auto exploration = explore({recorded("lenet5-b1.trace.json.gz")});
  Plan plan = *read_plan(recorded("lenet5-b1-n16.plan.json"));
  plan.resolved.reset();
  plan.baselines.clear();
  plan.groups[0].members = {0, 1, 2};  // of other members than the other groups have on that worker
  plan.groups[2].after = {"conv1-0"};
  const auto settings = exploration->settings_of(plan);
  ASSERT_TRUE(settings.has_value()) << settings.error().message;
  EXPECT_EQ(*exploration->plan_of(*settings), plan);
}

TEST(Exploration, RefusesPlansOfOtherModels) {
  const auto exploration = explore({recorded("mlp-b1.trace.json.gz")});
  const auto settings = exploration->settings_of(*read_plan(recorded("lenet5-b1-n16.plan.json")));
  ASSERT_FALSE(settings.has_value());
  EXPECT_THAT(settings.error().message, HasSubstr("lenet5"));
}

TEST(Exploration, NamesTheFieldThatIsWrong) {
  const auto exploration = explore({recorded("lenet5-b1.trace.json.gz")});
  const ExploreSettings good = concurrent(*exploration);
  EXPECT_THAT(exploration->problems(good), IsEmpty());
  const auto field_of = [&](const ExploreSettings& settings) {
    const auto problems = exploration->problems(settings);
    EXPECT_FALSE(exploration->predict(settings, CancelToken()).has_value());
    return problems.empty() ? std::string() : problems.front().field;
  };
  ExploreSettings wrong = good;
  wrong.models = {0};
  EXPECT_EQ(field_of(wrong), "models");
  wrong = good;
  wrong.models = {1, 2};
  EXPECT_EQ(field_of(wrong), "models");
  wrong = good;
  wrong.streams = 3;
  EXPECT_EQ(field_of(wrong), "streams");
  wrong = good;
  wrong.minibatch = 7;
  EXPECT_EQ(field_of(wrong), "minibatch");
  wrong = good;
  wrong.launch_threads = 2;
  EXPECT_EQ(field_of(wrong), "launch_threads");
  wrong = good;
  wrong.groups.push_back({.name = "fused", .strategy = Strategy::kStridedBatch, .ops = {"fc9"}});
  EXPECT_EQ(field_of(wrong), "groups");
  wrong = good;
  wrong.member_streams = {0, 1};
  EXPECT_EQ(field_of(wrong), "member_streams");
  wrong = good;
  wrong.data = "photos";
  EXPECT_EQ(field_of(wrong), "data");
}

TEST(Exploration, SaysThatALimitIsNotKept) {
  const auto exploration = explore({recorded("lenet5-b1.trace.json.gz")});
  ExploreSettings settings = concurrent(*exploration);
  settings.limits.memory = Bytes{1};
  const auto answer = exploration->predict(settings, CancelToken());
  ASSERT_FALSE(answer.has_value());
  EXPECT_EQ(answer.error().code, ErrorCode::kDoesNotFit);
  EXPECT_THAT(answer.error().message, HasSubstr("memory"));
  settings.limits.memory = Bytes{1 << 30};
  EXPECT_EQ(predict(*exploration, settings).memory_limit, Bytes{1 << 30});
}

TEST(Exploration, StopsOnceCancelled) {
  const auto exploration = explore({recorded("lenet5-b1.trace.json.gz")});
  CancelToken cancel;
  cancel.cancel();
  const ExploreSettings settings = concurrent(*exploration);
  EXPECT_EQ(exploration->predict(settings, cancel).error().code, ErrorCode::kInterrupted);
  EXPECT_EQ(exploration->recommend(settings, {}, cancel).error().code, ErrorCode::kInterrupted);
  EXPECT_EQ(exploration->scaling(settings, {1, 2}, cancel).error().code, ErrorCode::kInterrupted);
  EXPECT_EQ(Exploration::open({recorded("lenet5-b1.trace.json.gz")}, {}, cancel).error().code, ErrorCode::kInterrupted);
  // What was cut short leaves nothing behind.
  const ExploreAnswer answer = predict(*exploration, settings);
  EXPECT_FALSE(answer.report.gain.empty());
}

TEST(Exploration, KeepsWhatWasFoundBeforeItWasCancelled) {
  const auto exploration = explore({recorded("lenet5-b1.trace.json.gz")});
  CancelToken cancel;
  const auto found = exploration->recommend(concurrent(*exploration), {}, cancel,
                                            [&](std::size_t done, std::size_t, std::string_view) {
                                              if (done == 3) cancel.cancel();
                                            });
  ASSERT_TRUE(found.has_value()) << found.error().message;
  EXPECT_TRUE(found->interrupted);
  EXPECT_GT(found->ranked, 0U);
  EXPECT_LT(found->ranked, 6U);
}

TEST(Exploration, LetsProfilesAtSeveralMinibatchesBeChosenFrom) {
  const auto exploration = explore({fake_profile_of("lenet5", 4), fake_profile_of("lenet5", 1)});
  const ExploreFacts& facts = exploration->facts();
  ASSERT_THAT(facts.models, SizeIs(1));
  EXPECT_THAT(facts.models.front().files, SizeIs(2));
  EXPECT_THAT(facts.minibatches, ElementsAre(1, 4));
  ExploreSettings settings = exploration->with_models(exploration->initial_settings(), {3});
  EXPECT_EQ(exploration->plan_of(settings)->members.front().source.minibatch, 1);
  settings.minibatch = 4;
  const auto plan = exploration->plan_of(settings);
  ASSERT_TRUE(plan.has_value()) << plan.error().message;
  EXPECT_THAT(plan->members, SizeIs(3));
  EXPECT_EQ(plan->members.front().source.minibatch, 4);
  EXPECT_EQ(exploration->settings_of(*plan)->minibatch, 4);
  settings.minibatch = 2;
  EXPECT_EQ(exploration->problems(settings).front().field, "minibatch");
}

TEST(Exploration, TakesANumberOfEachModel) {
  const auto exploration = explore({fake_profile_of("lenet5", 1), fake_profile_of("mlp", 1)});
  ASSERT_THAT(exploration->facts().models, SizeIs(2));
  const ExploreSettings settings = exploration->with_models(exploration->initial_settings(), {3, 2});
  const auto plan = exploration->plan_of(settings);
  ASSERT_TRUE(plan.has_value()) << plan.error().message;
  EXPECT_THAT(plan->members, SizeIs(5));
  EXPECT_EQ(exploration->settings_of(*plan)->models, (std::vector<int>{3, 2}));
  EXPECT_EQ(predict(*exploration, settings).report.members, 5U);
}

TEST(Exploration, KnowsPlansThatWereCheckedAsTheCommandLineDoes) {
  NamedTrace profile = fake_profile_of("lenet5", 1);
  const auto unchecked = explore({profile});
  ExploreSettings settings = concurrent(*unchecked, 4);
  const ExploreAnswer before = predict(*unchecked, settings);
  Plan plan = *unchecked->plan_of(settings);
  Trace checked = *profile.trace;
  add_checked_plan(checked, {"concurrent x2", write_plan(plan), 2 * before.report.step_time, before.report.baseline});
  const auto exploration = explore({NamedTrace{profile.file, std::make_shared<const Trace>(std::move(checked))}});
  const ExploreAnswer after = predict(*exploration, settings);
  EXPECT_NEAR(seconds(after.report.step_time), 2 * seconds(before.report.step_time),
              0.02 * seconds(before.report.step_time));
  EXPECT_GT(predict(*exploration, exploration->with_models(settings, {8})).report.step_time,
            predict(*unchecked, unchecked->with_models(settings, {8})).report.step_time)
      << "it is like the one that was run";
  const auto found = exploration->recommend(settings, {}, CancelToken());
  ASSERT_TRUE(found.has_value()) << found.error().message;
  for (const ExploreCandidate& each : found->candidates)
    EXPECT_EQ(predict(*exploration, each.settings).report.step_time, each.step) << each.name;
}

TEST(Exploration, AppliesGraphsAndLaunchThreadsToAGpu) {
  const auto exploration = explore({fake_profile_of("lenet5", 1, true)});
  EXPECT_TRUE(exploration->facts().launches);
  EXPECT_GT(exploration->facts().most_streams, 8);
  ASSERT_TRUE(exploration->facts().device_memory.has_value());
  ExploreSettings settings = exploration->with_models(exploration->initial_settings(), {8});
  settings.groups = {all_ops(Strategy::kConcurrent)};
  settings.streams = 8;
  EXPECT_FALSE(settings.graphs);
  const ExploreAnswer single = predict(*exploration, settings);
  settings.launch_threads = 4;
  EXPECT_EQ(predict(*exploration, settings).plan->launch_threads, 4);
  settings.graphs = true;
  EXPECT_EQ(exploration->problems(settings).front().field, "launch_threads");
  settings.launch_threads = 1;
  const ExploreAnswer captured = predict(*exploration, settings);
  EXPECT_LT(captured.report.step_time, single.report.step_time);
  EXPECT_EQ(captured.plan->launch, LaunchMode::kGraph);
}

TEST(Exploration, SaysWhichFilesDoNotGoTogether) {
  const auto mixed = Exploration::open(
      {recorded("lenet5-b1.trace.json.gz"), recorded("lenet5-b1-n16.predicted.json.gz")}, {}, CancelToken());
  ASSERT_FALSE(mixed.has_value());
  EXPECT_THAT(mixed.error().message, HasSubstr("predicted"));
  const auto twice = Exploration::open({fake_profile_of("mlp", 1), fake_profile_of("mlp", 1)}, {}, CancelToken());
  ASSERT_FALSE(twice.has_value());
  EXPECT_THAT(twice.error().message, HasSubstr("the same mlp"));
  EXPECT_FALSE(Exploration::open(std::vector<NamedTrace>{}, {}, CancelToken()).has_value());
}

}  // namespace
}  // namespace cohort
