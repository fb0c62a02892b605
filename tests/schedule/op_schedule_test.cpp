#include "simulator/schedule/op_schedule.hpp"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>

#include "models/networks/networks.hpp"
#include "simulator/plan/lower.hpp"
#include "simulator/schedule/stages.hpp"
#include "tests/plan/test_catalog.hpp"
#include "tests/schedule/random_dag.hpp"

namespace cohort::testing {
namespace {

using ::testing::ElementsAre;

OpTime us(std::int64_t time) {
  return {std::chrono::microseconds(time), std::chrono::microseconds(time), std::nullopt};
}

std::vector<OpSchedule> all_schedules(const OpGraph& graph, const StreamSetting& setting) {
  StageOptions stages{2, setting.streams, 4, 400, 40, true, true};
  return {schedule_list(graph, setting), schedule_chains(graph, assign_least_syncs(graph), setting),
          schedule_chains(graph, assign_least_streams(graph), setting), schedule_opara(graph, setting),
          schedule_stages(graph, setting, core_stage_cost(graph, setting), stages).schedule};
}

TEST(Schedules, RunEveryOpOnceBehindWhatItNeeds) {
  for (std::uint64_t seed = 0; seed < 30; ++seed) {
    const OpGraph graph = random_dag(seed, 24, 0.12F);
    const StreamSetting setting{seed % 2 == 0 ? 2U : 4U, Nanoseconds(700)};
    for (const OpSchedule& schedule : all_schedules(graph, setting)) {
      ASSERT_EQ(schedule.ops.size(), graph.size());
      EXPECT_EQ(schedule.streams, setting.streams);
      std::vector<char> done(graph.size());
      std::uint32_t stage = 0;
      for (const ScheduledOp& op : schedule.ops) {
        EXPECT_EQ(done[op.op], 0) << "op " << op.op << " twice";
        for (const std::uint32_t need : graph.needs[op.op]) EXPECT_NE(done[need], 0) << "seed " << seed;
        EXPECT_LT(op.stream, setting.streams);
        EXPECT_TRUE(!op.wide || graph.times[op.op].wide) << "no such choice";
        EXPECT_GE(op.stage, stage);
        done[op.op] = 1;
        stage = op.stage;
      }
    }
  }
}

TEST(ListSchedule, TakesTheLongestWayToTheEndFirst) {
  // b heads the long way, so it goes before a; c follows b on its stream, without a hand-off.
  const OpGraph graph = op_graph({us(5), us(10), us(20), us(4)}, {{1, 2}, {0, 3}, {2, 3}});
  const OpSchedule schedule = schedule_list(graph, {2, std::chrono::microseconds(1)});
  EXPECT_THAT(schedule.ops, ElementsAre(ScheduledOp{1, 0, false, 0}, ScheduledOp{2, 0, false, 0},
                                        ScheduledOp{0, 1, false, 0}, ScheduledOp{3, 0, false, 0}));
  EXPECT_EQ(schedule.expected, std::chrono::microseconds(34));
}

TEST(ListSchedule, GivesAllCoresToAnOpWithNothingBesideIt) {
  std::vector<OpTime> times{us(10), us(10)};
  times[0].wide = times[1].wide = std::chrono::microseconds(6);
  const OpSchedule schedule = schedule_list(op_graph(times, {{0, 1}}), {2, Nanoseconds(0)});
  EXPECT_THAT(schedule.ops, ElementsAre(ScheduledOp{0, 0, true, 0}, ScheduledOp{1, 0, true, 0}));
  EXPECT_EQ(schedule.expected, std::chrono::microseconds(12));
}

TEST(Opara, PassesAStreamOnOnceAndOpensOnesForTheOthers) {
  // 0 -> 1, 2, 3 -> 4: the first heir keeps stream 0, and op 4 takes that of its first predecessor.
  const OpGraph graph = op_graph(std::vector<OpTime>(5), {{0, 1}, {0, 2}, {0, 3}, {1, 4}, {2, 4}, {3, 4}});
  const StreamAssignment assignment = opara_streams(graph);
  EXPECT_THAT(assignment.streams, ElementsAre(0, 0, 1, 2, 0));
  EXPECT_EQ(assignment.syncs, 4U);
}

TEST(Opara, LaunchesMemoryBoundAndComputeBoundOpsInTurnTheSmallestFirst) {
  OpGraph graph = op_graph(std::vector<OpTime>(6, us(1)), {});
  graph.demand = {{60}, {10}, {30}, {5}, {20}, {40}};
  graph.memory_bound = {0, 1, 1, 0, 0, 1};
  std::vector<std::uint32_t> order;
  for (const ScheduledOp& op : schedule_opara(graph, {2, Nanoseconds(0)}).ops) order.push_back(op.op);
  EXPECT_THAT(order, ElementsAre(1, 3, 2, 4, 5, 0));
}

TEST(ScheduleGroups, LowerToStreamsAndThreadsAsScheduledAndRoundTrip) {
  const auto model = make_network("squeezenet1_1", 1, {});
  ASSERT_TRUE(model) << model.error().message;
  OpGraph graph = op_graph(*model);
  ASSERT_TRUE(has_branches(graph));
  for (OpTime& time : graph.times) time = {Nanoseconds(1000), Nanoseconds(1100), Nanoseconds(700)};
  const testing::TestCatalog catalog(2, true);
  const std::vector<std::uint32_t> members{0, 1};
  for (const OpSchedule& schedule : all_schedules(graph, {2, Nanoseconds(10)})) {
    Plan plan;
    for (const char* name : {"a", "b"}) plan.members.push_back({name, {"squeezenet1_1", {}, 1}, 0});
    plan.streams = static_cast<int>(schedule.streams);
    plan.groups = schedule_groups(schedule, *model, members, {.cores = 2, .prefix = "part "});
    const auto read = parse_plan(write_plan(plan));
    ASSERT_TRUE(read) << read.error().message;
    EXPECT_EQ(*read, plan);
    const std::vector<const Model*> models{&*model, &*model};
    const auto program = lower(plan, models, catalog);
    ASSERT_TRUE(program) << program.error().message;
    for (const ScheduledOp& op : schedule.ops) {
      const std::string task = "1/" + model->ops[op.op].name;
      const auto step = std::find_if(program->steps.begin(), program->steps.end(),
                                     [&](const Step& each) { return each.task == task; });
      if (step == program->steps.end()) continue;  // a reshape in place
      EXPECT_EQ(to_index(step->stream), op.stream) << task;
      EXPECT_EQ(step->cost.threads, op.wide ? 2 : 1) << task;
    }
  }
}

TEST(ScheduleGroups, KeepStagesApartWhereTheyAreAskedTo) {
  const auto model = make_network("squeezenet1_1", 1, {});
  ASSERT_TRUE(model) << model.error().message;
  OpGraph graph = op_graph(*model);
  for (OpTime& time : graph.times) time = {Nanoseconds(1000), Nanoseconds(1000), std::nullopt};
  const StreamSetting setting{2, Nanoseconds(10)};
  StageOptions options;
  options.barriers = true;
  const StageSchedule stages = schedule_stages(graph, setting, core_stage_cost(graph, setting), options);
  const std::vector<std::uint32_t> members{0};
  const std::vector<Group> groups = schedule_groups(stages.schedule, *model, members, {.cores = 2, .prefix = "stage "});
  EXPECT_EQ(groups.size(), stages.stages.size());
  for (std::size_t i = 1; i < groups.size(); ++i) EXPECT_THAT(groups[i].after, ElementsAre(groups[i - 1].name));
}

TEST(ScheduleGroups, PutWhatMembersComputeTogetherOnOneStreamEach) {
  const auto model = make_network("squeezenet1_1", 1, {});
  ASSERT_TRUE(model) << model.error().message;
  OpSchedule schedule;
  schedule.streams = 2;
  for (std::uint32_t op = 0; op < 6; ++op) schedule.ops.push_back({op, op == 2 || op == 3 ? 1U : 0U, op == 5, 0});
  ScheduleGroupOptions options{.cores = 2, .prefix = "part "};
  options.fused.resize(model->ops.size());
  for (const std::size_t op : {1U, 2U, 3U, 5U}) options.fused[op] = Strategy::kGroupedConvolution;
  const std::vector<std::uint32_t> members{0, 1, 2};
  const std::vector<Group> groups = schedule_groups(schedule, *model, members, options);
  const auto ops = [&](std::initializer_list<std::size_t> places) {
    std::vector<std::string> names;
    for (const std::size_t place : places) names.push_back(model->ops[place].name);
    return names;
  };
  ASSERT_EQ(groups.size(), 5U);
  EXPECT_EQ(groups[0], (Group{.name = "part 1",
                              .members = members,
                              .ops = ops({0}),
                              .strategy = Strategy::kConcurrent,
                              .threads = 0,
                              .streams = {},
                              .after = {},
                              .op_streams = {0}}));
  EXPECT_EQ(groups[1], (Group{.name = "part 2",
                              .members = members,
                              .ops = ops({1}),
                              .strategy = Strategy::kGroupedConvolution,
                              .threads = 0,
                              .streams = {0},
                              .after = {}}));
  EXPECT_EQ(groups[2], (Group{.name = "part 3",
                              .members = members,
                              .ops = ops({2, 3}),
                              .strategy = Strategy::kGroupedConvolution,
                              .threads = 0,
                              .streams = {1},
                              .after = {}}));
  EXPECT_EQ(groups[3], (Group{.name = "part 4",
                              .members = members,
                              .ops = ops({4}),
                              .strategy = Strategy::kConcurrent,
                              .threads = 0,
                              .streams = {},
                              .after = {},
                              .op_streams = {0}}));
  EXPECT_EQ(groups[4], (Group{.name = "part 5",
                              .members = members,
                              .ops = ops({5}),
                              .strategy = Strategy::kGroupedConvolution,
                              .threads = 2,
                              .streams = {},
                              .after = {}}));
}

TEST(ScheduleGroups, SpreadMembersOverSetsOfStreams) {
  const auto model = make_network("squeezenet1_1", 1, {});
  ASSERT_TRUE(model) << model.error().message;
  OpGraph graph = op_graph(*model);
  for (OpTime& time : graph.times) time = {Nanoseconds(1000), Nanoseconds(1000), std::nullopt};
  const OpSchedule schedule = schedule_list(graph, {2, Nanoseconds(10)});
  Plan plan;
  for (const char* name : {"a", "b", "c"}) plan.members.push_back({name, {"squeezenet1_1", {}, 1}, 0});
  plan.streams = 6;
  const std::vector<std::uint32_t> members{0, 1, 2};
  plan.groups = schedule_groups(schedule, *model, members, {.cores = 1, .prefix = "part ", .streams = {0, 2, 4}});
  const auto read = parse_plan(write_plan(plan));
  ASSERT_TRUE(read) << read.error().message;
  EXPECT_EQ(*read, plan);
  const std::vector<const Model*> models(3, &*model);
  const auto program = lower(plan, models, testing::TestCatalog(1, true));
  ASSERT_TRUE(program) << program.error().message;
  std::size_t on_second = 0;
  for (const Step& step : program->steps) {
    EXPECT_EQ(to_index(step.stream) / 2, to_index(step.members.front())) << step.task;
    on_second += to_index(step.stream) % 2;
  }
  EXPECT_GT(on_second, 0U);
}

}  // namespace
}  // namespace cohort::testing
