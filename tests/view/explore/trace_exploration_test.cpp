#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>

#include "tests/view/explore/explore_fixtures.hpp"
#include "view/explore/exploration.hpp"

namespace cohort {
namespace {

using testing::HasSubstr;
using testing::IsEmpty;
using testing::SizeIs;

TEST(TraceExploration, SaysWhatATraceIsOf) {
  const auto exploration = explore_launch_bound(20);
  const ExploreFacts& facts = exploration->facts();
  EXPECT_EQ(facts.kind, ExploreFacts::Kind::kTraces);
  EXPECT_EQ(facts.name, "run");
  EXPECT_TRUE(facts.launches);
  EXPECT_FALSE(facts.any_minibatch);
  EXPECT_FALSE(facts.limits_memory);
  EXPECT_FALSE(facts.limits_workspace);
  ASSERT_THAT(facts.ops, SizeIs(1));
  EXPECT_EQ(facts.ops.front().name, "small");
  EXPECT_EQ(facts.ops.front().type, "kernel");
  EXPECT_EQ(facts.ops.front().count, 20U);
  EXPECT_EQ(facts.ops.front().time, Nanoseconds(40'000));
}

TEST(TraceExploration, PredictsWhatIfs) {
  const auto exploration = explore_launch_bound(20);
  ExploreSettings settings = exploration->initial_settings();
  const ExploreAnswer one = predict(*exploration, settings);
  EXPECT_EQ(one.report.members, 1U);
  EXPECT_NEAR(one.report.speedup, 1, 1e-9);
  settings = exploration->with_models(settings, {4});
  settings.streams = 4;
  const ExploreAnswer apart = predict(*exploration, settings);
  EXPECT_EQ(apart.report.members, 4U);
  settings.graphs = true;
  const ExploreAnswer captured = predict(*exploration, settings);
  EXPECT_LT(captured.report.step_time, apart.report.step_time);
  EXPECT_EQ(captured.counted, "steps");
  EXPECT_FALSE(captured.plan.has_value());
  ASSERT_TRUE(captured.trace);
  EXPECT_EQ(captured.trace->info.kind, TraceKind::kPredicted);
  EXPECT_FALSE(captured.changes.empty());
}

TEST(TraceExploration, BeginsWithFourRunsOnFourStreams) {
  const auto exploration = explore_launch_bound(20);
  const ExploreSettings first = exploration->first_settings();
  EXPECT_EQ(first.streams, 4);
  EXPECT_EQ(predict(*exploration, first).report.members, 4U);
}

TEST(TraceExploration, RunsEachMemberInAProcessOfItsOwn) {
  const auto exploration = explore_launch_bound(20);
  ExploreSettings settings = exploration->with_models(exploration->initial_settings(), {4});
  settings.streams = 4;
  const ExploreAnswer one_thread = predict(*exploration, settings);
  settings.processes = Processes::kMps;  // streams and launch threads, whatever they are, do not apply
  settings.launch_threads = 2;
  const ExploreAnswer processes = predict(*exploration, settings);
  EXPECT_LT(2 * processes.report.step_time, one_thread.report.step_time);
  settings.processes = Processes::kTimeSlicing;
  EXPECT_GE(predict(*exploration, settings).report.step_time, processes.report.step_time);
}

TEST(TraceExploration, MakesNamedKernelsFaster) {
  const auto exploration = explore_launch_bound(20);
  ExploreSettings settings = exploration->initial_settings();
  settings.graphs = true;
  const ExploreAnswer before = predict(*exploration, settings);
  settings.scale = {{"small", 2.0}};
  const ExploreAnswer after = predict(*exploration, settings);
  EXPECT_LT(after.report.step_time, before.report.step_time);
  settings.scale = {{"nothing of that name", 2.0}};
  const auto answer = exploration->predict(settings, CancelToken());
  ASSERT_FALSE(answer.has_value());
  EXPECT_THAT(answer.error().message, HasSubstr("nothing of that name"));
}

TEST(TraceExploration, NamesTheFieldThatIsWrong) {
  const auto exploration = explore_launch_bound(5);
  const auto field_of = [&](const auto& change) {
    ExploreSettings settings = exploration->initial_settings();
    change(settings);
    const auto problems = exploration->problems(settings);
    const auto answer = exploration->predict(settings, CancelToken());
    EXPECT_FALSE(answer.has_value());
    return problems.empty() ? std::string() : problems.front().field;
  };
  EXPECT_EQ(field_of([](ExploreSettings& settings) { settings.copy_speed = 0; }), "copy_speed");
  EXPECT_EQ(field_of([](ExploreSettings& settings) { settings.minibatch = 4; }), "minibatch");
  EXPECT_EQ(field_of([](ExploreSettings& settings) { settings.limits.memory = Bytes{1}; }), "memory limit");
  EXPECT_EQ(field_of([](ExploreSettings& settings) { settings.fuse = FuseChoice::kNamed; }), "fused");
  EXPECT_EQ(field_of([](ExploreSettings& settings) { settings.buffers = 0; }), "buffers");
  EXPECT_EQ(field_of([](ExploreSettings& settings) {
              settings.processes = Processes::kMps;
              settings.fuse = FuseChoice::kAuto;
            }),
            "processes");
}

TEST(TraceExploration, HasNoPlan) {
  const auto exploration = explore_launch_bound(5);
  const auto plan = exploration->plan_of(exploration->initial_settings());
  ASSERT_FALSE(plan.has_value());
  EXPECT_THAT(plan.error().message, HasSubstr("run.json is the trace of a run"));
}

TEST(TraceExploration, TakesTheRunOfAPlanAsATraceWithoutAProfile) {
  const auto exploration = explore({recorded("lenet5-b1-n16.measured.json.gz")});
  EXPECT_EQ(exploration->facts().kind, ExploreFacts::Kind::kTraces);
  EXPECT_FALSE(exploration->facts().launches);
  EXPECT_GT(predict(*exploration, exploration->initial_settings()).report.step_time, Nanoseconds(0));
}

}  // namespace
}  // namespace cohort
