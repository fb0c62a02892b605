#include <gtest/gtest.h>

#include <algorithm>
#include <array>
#include <map>
#include <set>

#include "simulator/transform/buffers.hpp"
#include "simulator/transform/edit.hpp"
#include "simulator/transform/graph_launch.hpp"
#include "simulator/transform/launch_lock.hpp"
#include "simulator/transform/merge.hpp"
#include "simulator/transform/replicate.hpp"
#include "simulator/transform/select.hpp"
#include "tests/simulator/graph_checks.hpp"
#include "tests/simulator/random_graph.hpp"

namespace cohort {
namespace {

constexpr int kRounds = 40;

bool is_kernel(const Task& task) { return task.kind == TaskKind::kKernel; }

TEST(TransformProperties, ScalingTouchesTheSelectedTasksAloneAndNeverMakesTheRunLonger) {
  Random random(21);
  for (int round = 0; round < kRounds; ++round) {
    const TaskGraph before = random_graph(random);
    TaskGraph after = before;
    const Selection some = some_of(before, random, 3);
    const Result<Change> change = scale(after, some, 2);
    ASSERT_TRUE(change);
    expect_counted(before, after, *change);
    std::size_t changed = 0;
    for (std::size_t i = 0; i < before.tasks.size(); ++i) {
      const bool selected = std::binary_search(some.begin(), some.end(), TaskId(i));
      const std::int64_t was = before.tasks[i].duration.count();
      EXPECT_EQ(after.tasks[i].duration.count(), selected ? (was + 1) / 2 : was);
      if (after.tasks[i].duration != before.tasks[i].duration) ++changed;
    }
    EXPECT_EQ(change->tasks_changed, changed);
    EXPECT_LE(last_end(run_times(after)), last_end(run_times(before)));
  }
}

TEST(TransformProperties, InsertingIsRefusedExactlyWhereItClosesACycleAndElseMakesNothingEarlier) {
  Random random(22);
  int refused = 0;
  int taken = 0;
  for (int round = 0; round < kRounds * 4; ++round) {
    const TaskGraph before = random_graph(random);
    const auto any = [&] { return TaskId(random.below(before.tasks.size())); };
    const TaskId from = any();
    const TaskId to = any();
    Task task;
    task.label = before.tasks.front().label;
    task.kind = TaskKind::kKernel;
    task.cores = 0;
    task.resource = before.task(from).resource;
    while (before.resources[to_index(task.resource)].discipline != Discipline::kOverlapping) {
      task.resource = ResourceId(random.below(before.resources.size()));
    }
    task.duration = Nanoseconds(7);
    const TaskId made = static_cast<TaskId>(before.tasks.size());
    const std::array<Edge, 2> edges{{{from, made, EdgeKind::kEvent, Nanoseconds(2), Anchor::kEnd},
                                     {made, to, EdgeKind::kEvent, Nanoseconds(1), Anchor::kEnd}}};
    const bool cycle = from == to || reach_of(before)[to_index(to)][to_index(from)];
    TaskGraph after = before;
    const Result<Change> change = insert(after, task, edges);
    ASSERT_EQ(change.has_value(), !cycle);
    ++(cycle ? refused : taken);
    if (cycle) {
      EXPECT_EQ(after.tasks.size(), before.tasks.size());
      EXPECT_EQ(after.edges.size(), before.edges.size());
      continue;
    }
    expect_counted(before, after, *change);
    const auto was = run_times(before);
    const auto is = run_times(after);
    for (std::size_t i = 0; i < was.size(); ++i) EXPECT_GE(is[i].start, was[i].start);
    EXPECT_GE(is.back().start, is[to_index(from)].end + Nanoseconds(2));
    EXPECT_GE(is[to_index(to)].start, is.back().end + Nanoseconds(1));
  }
  EXPECT_GT(refused, 0);
  EXPECT_GT(taken, 0);
}

TEST(TransformProperties, BridgingKeepsWhoWaitsForWhomAndCuttingAddsNothing) {
  Random random(23);
  for (int round = 0; round < kRounds; ++round) {
    const TaskGraph before = random_graph(random);
    const Reach waits = reach_of(before);
    const Selection some = some_of(before, random, 5);
    for (const Removal removal : {Removal::kBridge, Removal::kCut}) {
      TaskGraph after = before;
      const Result<Change> change = remove(after, some, removal);
      ASSERT_TRUE(change);
      expect_counted(before, after, *change);
      EXPECT_EQ(change->tasks_removed, some.size());
      const Reach now = reach_of(after);
      const auto place = moved(before, *change);
      for (std::size_t a = 0; a < place.size(); ++a) {
        for (std::size_t b = 0; b < place.size(); ++b) {
          if (!place[a] || !place[b]) continue;
          const bool still = now[to_index(*place[a])][to_index(*place[b])];
          if (removal == Removal::kBridge) {
            EXPECT_EQ(still, waits[a][b]) << "round " << round << ": " << a << " and " << b;
          } else {
            EXPECT_TRUE(!still || waits[a][b]);
          }
        }
      }
    }
  }
}

TEST(TransformProperties, ReschedulingKeepsTheOrderOfThoseThatStayAndGivesTheMovedOnesAnOrder) {
  Random random(24);
  for (int round = 0; round < kRounds; ++round) {
    const TaskGraph before = random_graph(random);
    constexpr ResourceId to{2};
    const Selection some = select(before, [&](const Task& task) { return is_kernel(task) && random.below(5) == 0; });
    TaskGraph after = before;
    const Result<Change> change = reschedule(after, some, to, Nanoseconds(1));
    ASSERT_TRUE(change);
    expect_counted(before, after, *change);
    const Reach waits = reach_of(before);
    const Reach now = reach_of(after);
    const auto selected = [&](std::size_t task) { return std::binary_search(some.begin(), some.end(), TaskId(task)); };
    std::size_t left = 0;
    for (std::size_t a = 0; a < before.tasks.size(); ++a) {
      if (selected(a) && before.tasks[a].resource != to) ++left;
      for (std::size_t b = 0; b < before.tasks.size(); ++b) {
        if (!is_kernel(before.tasks[a]) || !is_kernel(before.tasks[b])) continue;
        const bool stayed = !selected(a) && !selected(b) && before.tasks[a].resource == before.tasks[b].resource;
        if (stayed && waits[a][b]) {
          EXPECT_TRUE(now[a][b]) << "round " << round;
        }
        const bool both_there = after.tasks[a].resource == to && after.tasks[b].resource == to;
        if (both_there && a != b) {
          EXPECT_NE(now[a][b], now[b][a]) << "round " << round;
        }
      }
    }
    EXPECT_EQ(change->tasks_changed, left);
  }
}

TEST(TransformProperties, AppendingLeavesBothPartsTheirTimes) {
  Random random(25);
  for (int round = 0; round < kRounds; ++round) {
    const TaskGraph first = random_graph(random);
    const TaskGraph other = random_graph(random);
    TaskGraph both = first;
    const Change change = append(both, other);
    expect_counted(first, both, change);
    const auto mine = run_times(first);
    const auto its = run_times(other);
    const auto together = run_times(both);
    for (std::size_t i = 0; i < together.size(); ++i) {
      const TaskTimes& alone = i < mine.size() ? mine[i] : its[i - mine.size()];
      EXPECT_EQ(together[i], alone) << "round " << round << ", task " << i;
      EXPECT_EQ(both.tasks[i].member, i < mine.size() ? 0 : 1);
    }
  }
}

TEST(TransformProperties, ReplicatingGivesEachMemberAllWorkAndItsOrder) {
  Random random(26);
  for (int round = 0; round < kRounds; ++round) {
    TaskGraph before = random_graph(random);
    for (const TaskId kernel : some_of(before, random, 4)) {  // launched long before it ran, or where it began
      Task& task = before.tasks[to_index(kernel)];
      if (is_kernel(task)) task.position += static_cast<std::int64_t>(random.below(60)) - 30;
    }
    const Reach waits = reach_of(before);
    ReplicateOptions options;
    options.members = 3;
    options.within_launches = random.below(2) == 0;
    options.stream_sets = 1 + static_cast<int>(random.below(3));
    options.thread_sets = 1 + static_cast<int>(random.below(3));
    options.turns = random.below(2) == 0 ? Turns::kWhole : Turns::kInterleaved;
    TaskGraph after = before;
    const Result<Change> change = replicate(after, options);
    ASSERT_TRUE(change) << change.error().message;
    expect_counted(before, after, *change);
    const Reach now = reach_of(after);
    const std::size_t tasks = before.tasks.size();
    for (std::size_t m = 0; m < 3; ++m) {
      for (std::size_t a = 0; a < tasks; ++a) {
        EXPECT_EQ(after.tasks[m * tasks + a].duration, before.tasks[a].duration);
        EXPECT_EQ(after.tasks[m * tasks + a].member, static_cast<std::int32_t>(m));
        for (std::size_t b = 0; b < tasks; ++b) {
          if (waits[a][b]) {
            EXPECT_TRUE(now[m * tasks + a][m * tasks + b]);
          }
        }
      }
    }
    if (options.stream_sets == 3 && options.thread_sets == 1) continue;
    // Fewer sets of resources: members wait for each other somewhere.
    bool across = false;
    for (std::size_t a = 0; a < tasks; ++a) {
      for (std::size_t b = tasks; b < now.size(); ++b) across = across || now[a][b];
    }
    EXPECT_TRUE(across || (options.stream_sets >= 2 && options.thread_sets >= 2));
  }
}

TEST(TransformProperties, ShorterLocksKeepAllHostWorkAndWhoWaitsForWhom) {
  Random random(32);
  for (int round = 0; round < kRounds; ++round) {
    TaskGraph before = random_graph(random);
    ReplicateOptions options;
    options.members = options.stream_sets = options.thread_sets = 2;
    ASSERT_TRUE(replicate(before, options));
    const Reach waits = reach_of(before);
    TaskGraph after = before;
    const Result<Change> change = shorten_locks(after, static_cast<double>(random.below(5)) / 4);
    ASSERT_TRUE(change) << change.error().message;
    expect_counted(before, after, *change);
    const Reach now = reach_of(after);
    std::vector<Nanoseconds> busy(before.resources.size());
    for (const Task& task : before.tasks) busy[to_index(task.resource)] += task.duration;
    for (const Task& task : after.tasks) busy[to_index(task.resource)] -= task.duration;
    EXPECT_EQ(busy, std::vector<Nanoseconds>(before.resources.size()));
    for (std::size_t a = 0; a < waits.size(); ++a) {
      for (std::size_t b = 0; b < waits.size(); ++b) {
        EXPECT_TRUE(now[a][b] || !waits[a][b]) << round << ": " << a << " before " << b;
      }
    }
  }
}

/// Three members on streams of their own, and for some kernels the group of their copies.
struct Members {
  TaskGraph graph;
  std::vector<Selection> groups;

  explicit Members(Random& random) : graph(random_graph(random)) {
    ReplicateOptions options;
    options.members = 3;
    options.stream_sets = 3;
    EXPECT_TRUE(replicate(graph, options));
    groups = groups_across_members(
        graph, select(graph, [&](const Task& task) { return is_kernel(task) && *task.step % 3 == 0; }));
  }
};

TEST(TransformProperties, MergingKeepsWhoWaitsForWhom) {
  Random random(27);
  for (int round = 0; round < kRounds / 2; ++round) {
    const Members members(random);
    std::vector<Fusion> fusions;
    for (const Selection& group : members.groups) fusions.push_back({group, Nanoseconds(33), 1});
    TaskGraph after = members.graph;
    const Result<Change> change = merge(after, fusions);
    ASSERT_TRUE(change) << change.error().message;
    expect_counted(members.graph, after, *change);
    std::vector<std::size_t> stands_for(members.graph.tasks.size());
    for (std::size_t i = 0; i < stands_for.size(); ++i) stands_for[i] = i;
    for (const Selection& group : members.groups) {
      for (const TaskId task : group) stands_for[to_index(task)] = to_index(group.front());
    }
    const Reach waits = reach_of(members.graph);
    const Reach now = reach_of(after);
    for (std::size_t a = 0; a < waits.size(); ++a) {
      for (std::size_t b = 0; b < waits.size(); ++b) {
        if (!waits[a][b] || stands_for[a] == stands_for[b]) continue;
        EXPECT_TRUE(now[to_index(*change->moved[stands_for[a]])][to_index(*change->moved[stands_for[b]])]);
      }
    }
    for (const Selection& group : members.groups) {
      EXPECT_EQ(after.task(*change->moved[to_index(group.front())]).duration, Nanoseconds(33));
    }
  }
}

TEST(TransformProperties, SharingDropsTheOthersWorkAndLetsTheirConsumersWaitForTheFirst) {
  Random random(28);
  for (int round = 0; round < kRounds / 2; ++round) {
    const Members members(random);
    TaskGraph after = members.graph;
    const Result<Change> change = share(after, members.groups);
    ASSERT_TRUE(change) << change.error().message;
    expect_counted(members.graph, after, *change);
    std::map<TaskId, TaskId> first_of;
    Nanoseconds dropped{};
    for (const Selection& group : members.groups) {
      for (std::size_t i = 1; i < group.size(); ++i) {
        first_of[group[i]] = group.front();
        dropped += members.graph.task(group[i]).duration;
      }
    }
    Nanoseconds was{};
    Nanoseconds is{};
    for (const Task& task : members.graph.tasks) was += task.duration;
    for (const Task& task : after.tasks) is += task.duration;
    EXPECT_EQ(is, was - dropped);
    const auto times = run_times(after);
    for (const Edge& edge : members.graph.edges) {
      const auto first = first_of.find(edge.from);
      if (first == first_of.end() || first_of.count(edge.to) > 0) continue;
      const TaskTimes& from = times[to_index(*change->moved[to_index(first->second)])];
      EXPECT_GE(times[to_index(*change->moved[to_index(edge.to)])].start,
                (edge.anchor == Anchor::kEnd ? from.end : from.start) + edge.delay);
    }
  }
}

TEST(TransformProperties, GraphLaunchesKeepAllDeviceWorkAndItsOrder) {
  Random random(29);
  GraphLaunchCosts costs;
  costs.latency = Nanoseconds(9);
  costs.call = Nanoseconds(2);
  costs.node = Nanoseconds(1);
  std::size_t regions = 0;
  for (int round = 0; round < kRounds; ++round) {
    const TaskGraph before = random_graph(random);
    TaskGraph after = before;
    const Result<GraphCollapse> collapse = collapse_to_graphs(after, costs);
    ASSERT_TRUE(collapse) << collapse.error().message;
    const Change& change = collapse->change;
    expect_counted(before, after, change);
    regions += change.tasks_added;
    const auto place = moved(before, change);
    const Reach waits = reach_of(before);
    const Reach now = reach_of(after);
    for (std::size_t a = 0; a < before.tasks.size(); ++a) {
      if (!is_kernel(before.tasks[a])) continue;
      ASSERT_TRUE(place[a]);
      EXPECT_EQ(after.task(*place[a]).duration, before.tasks[a].duration);
      for (std::size_t b = 0; b < before.tasks.size(); ++b) {
        if (is_kernel(before.tasks[b]) && waits[a][b]) {
          EXPECT_TRUE(now[to_index(*place[a])][to_index(*place[b])]);
        }
      }
    }
    std::map<TaskId, int> launches;
    const auto times = run_times(after);
    for (const Edge& edge : after.edges) {
      if (edge.kind != EdgeKind::kLaunch) continue;
      ++launches[edge.to];
      if (after.label(edge.from) != "graph launch") continue;
      EXPECT_GE(times[to_index(edge.to)].start, times[to_index(edge.from)].start + costs.latency);
    }
    std::map<TaskId, int> launched;  // or not recorded
    for (const Edge& edge : before.edges) {
      if (edge.kind == EdgeKind::kLaunch) ++launched[edge.to];
    }
    for (std::size_t i = 0; i < before.tasks.size(); ++i) {
      if (is_kernel(before.tasks[i])) {
        EXPECT_EQ(launches[*place[i]], launched[TaskId(i)]);
      }
    }
  }
  EXPECT_GT(regions, 0U);
}

TEST(TransformProperties, RepeatingLeavesTheFirstIterationAsItWas) {
  Random random(30);
  for (int round = 0; round < kRounds; ++round) {
    const TaskGraph before = random_graph(random);
    TaskGraph after = before;
    const Result<Change> change = repeat(after, 3, Nanoseconds(1));
    ASSERT_TRUE(change);
    expect_counted(before, after, *change);
    const auto was = run_times(before);
    const auto is = run_times(after);
    for (std::size_t i = 0; i < was.size(); ++i) EXPECT_EQ(is[i], was[i]);
    // Later copies come no earlier, and resources serve all of them.
    for (std::size_t i = 0; i < was.size(); ++i) EXPECT_GE(is[i + was.size()].start, was[i].start);
    EXPECT_GE(last_end(is), last_end(was));
  }
}

TEST(TransformProperties, ProducersStayWithinTheirBuffersAndMoreBuffersNeverCostTime) {
  Random random(31);
  for (int round = 0; round < kRounds; ++round) {
    TaskGraph graph = random_graph(random);
    // What stream 0 does first is the input of what the other streams do.
    constexpr ResourceId input{2};
    constexpr int kTimes = 4;
    ASSERT_TRUE(repeat(graph, kTimes, Nanoseconds(1)));
    const Selection producers =
        select(graph, [&](const Task& task) { return task.resource == input && is_kernel(task) && *task.step < 10; });
    const Selection consumers =
        select(graph, [&](const Task& task) { return task.resource != input && is_kernel(task) && *task.step >= 30; });
    std::optional<Nanoseconds> with_fewer;
    for (int buffers = 1; buffers <= 3; ++buffers) {
      TaskGraph after = graph;
      const Result<Change> change = double_buffer(after, producers, consumers, buffers);
      ASSERT_TRUE(change) << change.error().message;
      expect_counted(graph, after, *change);
      const auto times = run_times(after);
      std::map<std::int32_t, std::pair<std::int64_t, TaskId>> last;  // by iteration: position and task
      for (const TaskId id : consumers) {
        const Task& task = after.task(id);
        last[task.iteration] = std::max(last[task.iteration], std::pair(task.position, id));
      }
      for (const TaskId id : producers) {
        const auto before = last.find(after.task(id).iteration - buffers);
        if (before == last.end()) continue;
        EXPECT_GE(times[to_index(id)].start, times[to_index(before->second.second)].end);
      }
      if (with_fewer) {
        EXPECT_LE(last_end(times), *with_fewer);
      }
      with_fewer = last_end(times);
    }
  }
}

}  // namespace
}  // namespace cohort
