#include "simulator/planner/workspace.hpp"

#include <gtest/gtest.h>

#include <algorithm>

#include "base/random.hpp"

namespace cohort {
namespace {

using namespace literals;
using Ways = std::vector<std::vector<WorkspaceWay>>;

/// Steps on streams, with what each waits for beyond its stream.
struct Steps {
  std::vector<std::uint32_t> streams;
  std::vector<std::vector<std::uint32_t>> waits;

  [[nodiscard]] StepOrder order() const {
    StepOrder order(streams.size());
    for (std::size_t i = 0; i < streams.size(); ++i) {
      std::vector<StepId> needs;
      for (const std::uint32_t wait : waits[i]) needs.push_back(StepId(wait));
      order.add(StreamId(streams[i]), needs);
    }
    return order;
  }
};

bool ordered(const StepOrder& order, std::size_t a, std::size_t b) {
  return order.stream(StepId(a)) == order.stream(StepId(b)) || order.before(StepId(a), StepId(b));
}

/// Time of the longest chain and the most workspace at a time, by looking at every set of steps.
WorkspaceWay spelled_out(const Ways& ways, const StepOrder& order, const std::vector<std::size_t>& chosen) {
  const std::size_t count = ways.size();
  WorkspaceWay most{};
  for (std::uint32_t set = 1; set < 1U << count; ++set) {
    bool chain = true;
    bool overlapping = true;
    WorkspaceWay sum{};
    for (std::size_t i = 0; i < count; ++i) {
      if ((set >> i & 1U) == 0) continue;
      sum.time += ways[i][chosen[i]].time;
      sum.workspace += ways[i][chosen[i]].workspace;
      for (std::size_t j = i + 1; j < count; ++j) {
        if ((set >> j & 1U) == 0) continue;
        (ordered(order, i, j) ? overlapping : chain) = false;
      }
    }
    if (chain) most.time = std::max(most.time, sum.time);
    if (overlapping) most.workspace = std::max(most.workspace, sum.workspace);
  }
  return most;
}

/// Every combination of ways, those that no other beats.
std::vector<std::pair<Nanoseconds, Bytes>> exhaustive(const Ways& ways, const StepOrder& order) {
  std::vector<std::pair<Nanoseconds, Bytes>> all;
  std::vector<std::size_t> chosen(ways.size(), 0);
  for (bool more = true; more;) {
    const WorkspaceWay outcome = spelled_out(ways, order, chosen);
    all.emplace_back(outcome.time, outcome.workspace);
    more = false;
    for (std::size_t i = 0; i < chosen.size() && !more; ++i) {
      more = ++chosen[i] < ways[i].size();
      if (!more) chosen[i] = 0;
    }
  }
  std::sort(all.begin(), all.end());
  std::vector<std::pair<Nanoseconds, Bytes>> best;
  for (const auto& each : all) {
    if (best.empty() || each.second < best.back().second) best.push_back(each);
  }
  return best;
}

std::vector<std::pair<Nanoseconds, Bytes>> points(const WorkspaceFrontier& frontier) {
  std::vector<std::pair<Nanoseconds, Bytes>> result;
  for (const WorkspaceChoice& choice : frontier.choices) result.emplace_back(choice.time, choice.workspace);
  return result;
}

Ways random_ways(Random& random, std::size_t steps) {
  Ways ways(steps);
  for (auto& step : ways) {
    const std::size_t count = 1 + random.below(3);
    for (std::size_t i = 0; i < count; ++i) {
      step.push_back({Nanoseconds(1 + static_cast<std::int64_t>(random.below(20))),
                      Bytes{static_cast<std::int64_t>(random.below(8))}});
    }
  }
  return ways;
}

Steps random_steps(Random& random, std::size_t count, std::size_t streams) {
  Steps steps;
  for (std::uint32_t i = 0; i < count; ++i) {
    steps.streams.push_back(static_cast<std::uint32_t>(random.below(streams)));
    auto& waits = steps.waits.emplace_back();
    for (std::uint32_t j = 0; j < i; ++j) {
      if (random.below(5) == 0) waits.push_back(j);
    }
  }
  return steps;
}

TEST(Workspace, IsSharedByStepsThatFollowOneAnother) {
  const Ways ways = {{{10_ns, Bytes{100}}, {30_ns, Bytes{0}}}, {{10_ns, Bytes{60}}, {15_ns, Bytes{0}}}};
  const Steps in_turn{{0, 0}, {{}, {}}};
  EXPECT_EQ(points(workspace_frontier(ways, in_turn.order())),
            (std::vector<std::pair<Nanoseconds, Bytes>>{{20_ns, Bytes{100}}, {40_ns, Bytes{60}}, {45_ns, Bytes{0}}}));
  const Steps beside{{0, 1}, {{}, {}}};
  EXPECT_EQ(points(workspace_frontier(ways, beside.order())),
            (std::vector<std::pair<Nanoseconds, Bytes>>{{10_ns, Bytes{160}}, {15_ns, Bytes{100}}, {30_ns, Bytes{0}}}));
}

TEST(Workspace, NamesTheWayOfEachStep) {
  const Ways ways = {{{30_ns, Bytes{0}}, {10_ns, Bytes{100}}}, {{10_ns, Bytes{60}}, {15_ns, Bytes{0}}}};
  const WorkspaceFrontier frontier = workspace_frontier(ways, Steps{{0, 0}, {{}, {}}}.order());
  ASSERT_EQ(frontier.choices.size(), 3U);
  EXPECT_EQ(frontier.choices[0].ways, (std::vector<std::uint32_t>{1, 0}));
  EXPECT_EQ(frontier.choices[1].ways, (std::vector<std::uint32_t>{0, 0}));
  EXPECT_EQ(frontier.choices[2].ways, (std::vector<std::uint32_t>{0, 1}));
  EXPECT_TRUE(workspace_frontier({}, StepOrder(0)).choices.empty());
}

TEST(Workspace, FrontierIsThatOfAnExhaustiveSearch) {
  Random random(7);
  int exact = 0;
  for (int round = 0; round < 400; ++round) {
    const std::size_t count = 2 + random.below(5);
    const StepOrder order = random_steps(random, count, 1 + random.below(3)).order();
    const Ways ways = random_ways(random, count);
    const WorkspaceFrontier frontier = workspace_frontier(ways, order);
    for (const WorkspaceChoice& choice : frontier.choices) {
      const WorkspaceWay real = spelled_out(ways, order, {choice.ways.begin(), choice.ways.end()});
      EXPECT_LE(real.workspace, choice.workspace) << "round " << round;
      if (frontier.exact) {
        EXPECT_EQ(real.workspace, choice.workspace) << "round " << round;
        EXPECT_EQ(real.time, choice.time) << "round " << round;
      }
    }
    if (!frontier.exact) continue;
    ++exact;
    EXPECT_EQ(points(frontier), exhaustive(ways, order)) << "round " << round;
  }
  EXPECT_GT(exact, 300) << "most small orders fall into series and parallel parts";
  EXPECT_LT(exact, 400) << "some do not, and their workspace is an upper bound";
}

TEST(Workspace, OfManyEqualMembersIsFoundInPolynomialTime) {
  // Sixteen members of a hundred steps with four ways each: 4^1600 combinations.
  constexpr std::size_t kMembers = 16;
  constexpr std::size_t kSteps = 100;
  Steps steps;
  Ways ways;
  for (std::uint32_t m = 0; m < kMembers; ++m) {
    for (std::size_t i = 0; i < kSteps; ++i) {
      steps.streams.push_back(m);
      steps.waits.emplace_back();
      ways.push_back({});
      for (std::int64_t w = 0; w < 4; ++w)
        ways.back().push_back({Nanoseconds(100 - 20 * w + static_cast<std::int64_t>(i)), Bytes{w * 16}});
    }
  }
  const WorkspaceFrontier frontier = workspace_frontier(ways, steps.order());
  EXPECT_TRUE(frontier.exact);
  ASSERT_EQ(frontier.choices.size(), 4U);
  EXPECT_EQ(frontier.choices.front().workspace, Bytes{16 * 48});
  EXPECT_EQ(frontier.choices.back().workspace, Bytes{0});
}

}  // namespace
}  // namespace cohort
