#include "simulator/schedule/stages.hpp"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <bit>

#include "tests/schedule/random_dag.hpp"

namespace cohort::testing {
namespace {

using ::testing::ElementsAre;

OpTime microseconds(std::int64_t time) {
  return {std::chrono::microseconds(time), std::chrono::microseconds(time), std::nullopt};
}

/// The components of a set of ops.
std::vector<StageGroup> components(const OpGraph& graph, std::uint32_t set) {
  std::vector<StageGroup> groups;
  while (set != 0) {
    std::uint32_t component = set & -set;
    for (std::uint32_t before = 0; before != component;) {
      before = component;
      for (std::uint32_t op = 0; op < graph.size(); ++op) {
        if ((component >> op & 1U) == 0) continue;
        for (const auto* list : {&graph.needs[op], &graph.users[op]}) {
          for (const std::uint32_t other : *list) component |= set & (1U << other);
        }
      }
    }
    StageGroup& group = groups.emplace_back();
    for (std::uint32_t op = 0; op < graph.size(); ++op) {
      if ((component >> op & 1U) != 0) group.push_back(op);
    }
    set &= ~component;
  }
  return groups;
}

/// The least time over every way to cut the graph into stages, by trying them all.
Nanoseconds by_trying_all(const OpGraph& graph, const StageCost& cost, const StageOptions& limits, std::uint32_t done) {
  const std::uint32_t all = (1U << graph.size()) - 1;
  if (done == all) return Nanoseconds(0);
  Nanoseconds best = Nanoseconds::max();
  const std::uint32_t left = all & ~done;
  for (std::uint32_t stage = left; stage != 0; stage = (stage - 1) & left) {
    bool possible = true;
    for (std::uint32_t op = 0; op < graph.size(); ++op) {
      if ((stage >> op & 1U) == 0) continue;
      for (const std::uint32_t need : graph.needs[op]) possible = possible && ((done | stage) >> need & 1U) != 0;
    }
    if (!possible) continue;
    const std::vector<StageGroup> groups = components(graph, stage);
    if (groups.size() > limits.most_groups) continue;
    if (std::any_of(groups.begin(), groups.end(), [&](const auto& group) { return group.size() > limits.most_ops; }))
      continue;
    Nanoseconds time{};
    if (groups.size() == 1) {
      for (const std::uint32_t op : groups[0]) time += best_alone(graph.times[op]);
    } else {
      std::vector<const StageGroup*> list;
      for (const StageGroup& group : groups) list.push_back(&group);
      time = cost(list);
    }
    best = std::min(best, time + by_trying_all(graph, cost, limits, done | stage));
  }
  return best;
}

StageOptions without_limits(std::size_t ops, std::size_t groups) {
  return {ops, groups, SIZE_MAX, SIZE_MAX, SIZE_MAX, false, false};
}

TEST(Stages, AreTheLeastOfAllWaysToCutAGraph) {
  std::size_t concurrent = 0;
  for (std::uint64_t seed = 0; seed < 60; ++seed) {
    const OpGraph graph = random_dag(seed, 6, seed % 3 == 0 ? 0.15F : 0.4F);
    const StreamSetting setting{seed % 2 == 0 ? 2U : 3U, Nanoseconds(500)};
    const StageCost cost = core_stage_cost(graph, setting);
    const StageOptions options = seed % 4 < 2 ? without_limits(6, 6) : without_limits(2, 2);
    const StageSchedule found = schedule_stages(graph, setting, cost, options);
    EXPECT_TRUE(found.exact);
    EXPECT_EQ(found.schedule.expected, by_trying_all(graph, cost, options, 0)) << "seed " << seed;
    for (const auto& stage : found.stages) {
      if (stage.size() > 1) ++concurrent;
    }
  }
  EXPECT_GT(concurrent, 40U);
}

TEST(Stages, HoldNothingThatWaitsForALaterOneAndMergeWhatMeets) {
  for (std::uint64_t seed = 0; seed < 40; ++seed) {
    const OpGraph graph = random_dag(seed, 14, 0.2F);
    const StreamSetting setting{2, Nanoseconds(200)};
    const StageSchedule found = schedule_stages(graph, setting, core_stage_cost(graph, setting));
    std::vector<std::size_t> stage_of(graph.size(), SIZE_MAX), group_of(graph.size());
    for (std::size_t s = 0; s < found.stages.size(); ++s) {
      for (std::size_t g = 0; g < found.stages[s].size(); ++g) {
        for (const std::uint32_t op : found.stages[s][g]) {
          EXPECT_EQ(stage_of[op], SIZE_MAX) << "op " << op << " is in two stages";
          stage_of[op] = s;
          group_of[op] = g;
        }
      }
    }
    for (std::uint32_t op = 0; op < graph.size(); ++op) {
      ASSERT_NE(stage_of[op], SIZE_MAX);
      for (const std::uint32_t need : graph.needs[op]) {
        EXPECT_LE(stage_of[need], stage_of[op]);
        EXPECT_TRUE(stage_of[need] < stage_of[op] || group_of[need] == group_of[op]) << "seed " << seed;
      }
    }
  }
}

TEST(Stages, PutsTheBranchesOfADiamondSideBySideAndTheRestOnAllCores) {
  // top -> a, top -> b1 -> b2, both -> sum
  std::vector<OpTime> times{microseconds(10), microseconds(40), microseconds(20), microseconds(20), microseconds(10)};
  times[0].wide = times[4].wide = std::chrono::microseconds(6);
  const OpGraph graph = op_graph(times, {{0, 1}, {0, 2}, {2, 3}, {1, 4}, {3, 4}});
  const StreamSetting setting{2, std::chrono::microseconds(1)};
  const StageSchedule found = schedule_stages(graph, setting, core_stage_cost(graph, setting));
  ASSERT_EQ(found.stages.size(), 3U);
  EXPECT_THAT(found.stages[1], ElementsAre(ElementsAre(1), ElementsAre(2, 3)));
  EXPECT_EQ(found.schedule.expected, std::chrono::microseconds(6 + 40 + 1 + 6));
  EXPECT_THAT(found.schedule.ops,
              ElementsAre(ScheduledOp{0, 0, true, 0}, ScheduledOp{1, 0, false, 1}, ScheduledOp{2, 1, false, 1},
                          ScheduledOp{3, 1, false, 1}, ScheduledOp{4, 0, true, 2}));
}

TEST(Stages, RunInTurnWhereBesideOneAnotherIsSlower) {
  std::vector<OpTime> times(3, microseconds(10));
  for (OpTime& time : times) time.beside = std::chrono::microseconds(21);
  const OpGraph graph = op_graph(times, {});
  const StreamSetting setting{2, Nanoseconds(0)};
  const StageSchedule found = schedule_stages(graph, setting, core_stage_cost(graph, setting));
  EXPECT_EQ(found.schedule.expected, std::chrono::microseconds(30));
  for (const auto& stage : found.stages) EXPECT_EQ(stage.size(), 1U);
}

TEST(Stages, OfAWideGraphAreFoundWithinLimitsThatAreTold) {
  const OpGraph graph = random_dag(7, 120, 0.04F);
  const StreamSetting setting{4, Nanoseconds(500)};
  const StageSchedule found =
      schedule_stages(graph, setting, core_stage_cost(graph, setting), {2, 2, 3, 200, 20, true, false});
  EXPECT_FALSE(found.exact);
  EXPECT_EQ(found.schedule.ops.size(), graph.size());
  Nanoseconds serial{};
  for (const OpTime& time : graph.times) serial += best_alone(time);
  EXPECT_LT(found.schedule.expected, serial);
}

}  // namespace
}  // namespace cohort::testing
