#include "simulator/engine/simulate.hpp"

#include <gtest/gtest.h>

#include "base/random.hpp"
#include "tests/simulator/graph_text.hpp"

namespace cohort {
namespace {

DeviceProfile device_with(int cores, Nanoseconds spin_time, double penalty) {
  DeviceProfile device;
  device.cores = cores;
  device.spin_time = spin_time;
  device.oversubscription_penalty = penalty;
  return device;
}

Schedule schedule_of(std::string_view text, int cores) {
  Result<Schedule> schedule = simulate(graph_from(text), {device_with(cores, Nanoseconds(0), 1)});
  EXPECT_TRUE(schedule.has_value()) << schedule.error().message;
  return schedule ? *schedule : Schedule{};
}

std::vector<std::string> names_of(std::string_view text, const std::vector<TaskId>& tasks) {
  const TaskGraph graph = graph_from(text);
  std::vector<std::string> names;
  for (const TaskId task : tasks) names.push_back(graph.label(task));
  return names;
}

TEST(Simulate, RunsALineOneTaskAfterAnother) {
  EXPECT_EQ(timeline_of("s0: a 10, b 5, c 7", 4), "a 0-10\nb 10-15\nc 15-22\n");
}

TEST(Simulate, RunsADiamondsBranchesSideBySide) {
  EXPECT_EQ(timeline_of(R"(s0: a 10, b 5, d 1
                           s1: c 7
                           a -> b
                           a -> c
                           b -> d
                           c -> d)",
                        2),
            "a 0-10\nb 10-15\nd 17-18\nc 10-17\n");
}

TEST(Simulate, DelaysAnEventBetweenTwoStreams) {
  EXPECT_EQ(timeline_of(R"(s0: a 10, b 5
                           s1: c 7
                           a -> c +3)",
                        2),
            "a 0-10\nb 10-15\nc 13-20\n");
}

TEST(Simulate, CountsAStartAnchoredEdgeFromTheStartOfItsSource) {
  EXPECT_EQ(timeline_of(R"(s0: a 10
                           s1: b 4
                           ^a -> b +2)",
                        2),
            "a 0-10\nb 2-6\n");
}

TEST(Simulate, HoldsTheTasksBehindABlockedHead) {
  EXPECT_EQ(timeline_of(R"(s0: a 10
                           s1: b 1, c 1
                           a -> b)",
                        2),
            "a 0-10\nb 10-11\nc 11-12\n");
}

TEST(Simulate, SharesTheCoresOnceTheyAreExhausted) {
  // 0-15: three tasks at a rate of 2/3; then two whole cores for two tasks; then one task.
  EXPECT_EQ(timeline_of(R"(s0: a 10
                           s1: b 12
                           s2: c 20)",
                        2),
            "a 0-15\nb 0-17\nc 0-25\n");
}

TEST(Simulate, LetsATaskOnNoCoreWaitWithoutTakingAny) {
  EXPECT_EQ(timeline_of(R"(s0: a 10
                           host: wait 30x0)",
                        1),
            "a 0-10\nwait 0-30\n");
}

TEST(Simulate, RunsTasksOfNoDurationInOneMoment) {
  EXPECT_EQ(timeline_of(R"(s0: a 0, b 0, c 5
                           s1: d 0
                           b -> d)",
                        1),
            "a 0-0\nb 0-0\nc 0-5\nd 0-0\n");
}

TEST(Simulate, PenalisesATaskOnSeveralCoresThatMustShareThem) {
  // 2 + 2 cores asked of 2: half the rate. The op besides pays the penalty: 9.2 ms take 32.0 ms
  // beside two busy workers where 1/2 alone would say 18.4.
  EXPECT_EQ(timeline_of(R"(s0: op 9200000x2
                           worker w0: d0 100000000
                           worker w1: d1 100000000)",
                        device_with(2, Nanoseconds(0), 32.0 / 18.4)),
            "op 0-32000000\nd0 0-116000000\nd1 0-116000000\n");
}

TEST(Simulate, KeepsASpinningHelpersCoreBusyUntilItsSpinTimeEnds) {
  // 10-18: op, helper and decode ask for 3 cores of 2 while the next op is not there yet.
  EXPECT_EQ(timeline_of(R"(s0: op 10x2, single 16
                           worker w: decode 6
                           op -> decode)",
                        device_with(2, Nanoseconds(6), 1)),
            "op 0-10\nsingle 10-28\ndecode 10-18\n");
}

TEST(Simulate, EndsSpinningWhenTheNextTaskOnSeveralCoresBegins) {
  const std::string_view text = R"(s0: op 10x2, next 10x2
                                   worker w: decode 5
                                   next -> decode)";
  EXPECT_EQ(timeline_of(text, device_with(2, Nanoseconds(1000), 1)), "op 0-10\nnext 10-20\ndecode 20-25\n");
}

TEST(Simulate, LetsAHelperOfAnotherStreamSpinOn) {
  // The helper of s0 spins beside the op of s1, which therefore shares 2 cores among 3.
  EXPECT_EQ(timeline_of(R"(s0: a 10x2
                           s1: b 10x2
                           a -> b)",
                        device_with(2, Nanoseconds(1000), 1)),
            "a 0-10\nb 10-25\n");
}

TEST(Simulate, MakesTheProducerWaitForAFreeBuffer) {
  // Two buffers: minibatch 2 is made once the step that read minibatch 0 has ended.
  EXPECT_EQ(timeline_of(R"(worker w: in0 2, in1 2, in2 2, in3 2
                           s0: step0 10, step1 10, step2 10, step3 10
                           in0 -> step0
                           in1 -> step1
                           in2 -> step2
                           in3 -> step3
                           step0 -> in2
                           step1 -> in3)",
                        2),
            "in0 0-2\nin1 2-4\nin2 12-14\nin3 22-24\nstep0 2-12\nstep1 12-22\nstep2 22-32\nstep3 32-42\n");
}

TEST(Simulate, SharedInputFeedsTwoMembersAtTheCostOfOne) {
  EXPECT_EQ(timeline_of(R"(worker w: in 6
                           s0: m0 5
                           s1: m1 5
                           in -> m0
                           in -> m1)",
                        2),
            "in 0-6\nm0 6-11\nm1 6-11\n");
  EXPECT_EQ(timeline_of(R"(worker w: in0 6, in1 6
                           s0: m0 5
                           s1: m1 5
                           in0 -> m0
                           in1 -> m1)",
                        2),
            "in0 0-6\nin1 6-12\nm0 6-11\nm1 12-17\n");
}

TEST(Simulate, NamesTheTasksOfACycle) {
  EXPECT_EQ(timeline_of(R"(s0: a 1
                           s1: b 1
                           s2: c 1
                           a -> b
                           b -> c
                           c -> a)",
                        2),
            "tasks wait for each other: a -> b -> c -> a");
}

TEST(Simulate, NamesACycleThroughLaunchOrder) {
  EXPECT_EQ(timeline_of(R"(s0: a 1, b 1
                           s1: c 1
                           b -> c
                           c -> a)",
                        2),
            "tasks wait for each other: a -> b -> c -> a");
}

TEST(Simulate, RefusesATaskWiderThanTheDevice) {
  EXPECT_EQ(timeline_of("s0: a 1x4", 2), "task a asks for 4 cores of a device that has 2");
}

TEST(Simulate, NamesTheTaskWhoseDurationIsNegative) {
  TaskGraph graph = graph_from("s0: a 1");
  graph.tasks[0].duration = Nanoseconds(-1);
  const Result<Schedule> schedule = simulate(graph, {device_with(1, Nanoseconds(0), 1)});
  ASSERT_FALSE(schedule.has_value());
  EXPECT_EQ(schedule.error().message, "task 0 (a, iteration 0): duration of -1 ns");
}

TEST(Simulate, NamesAnEdgeOutOfRange) {
  TaskGraph graph = graph_from("s0: a 1");
  graph.add_edge(TaskId(0), TaskId(7), EdgeKind::kEvent);
  const Result<Schedule> schedule = simulate(graph, {device_with(1, Nanoseconds(0), 1)});
  ASSERT_FALSE(schedule.has_value());
  EXPECT_EQ(schedule.error().message, "edge 0: from task 0 to task 7 of 1");
}

TEST(Simulate, ReportsPathSlackBoundsAndBusyTime) {
  const std::string_view text = R"(s0: a 10, b 5, d 1
                                   s1: c 7
                                   a -> c
                                   c -> d)";
  const Schedule schedule = schedule_of(text, 2);
  EXPECT_EQ(names_of(text, schedule.critical_path), (std::vector<std::string>{"a", "c", "d"}));
  EXPECT_EQ(schedule.makespan, Nanoseconds(18));
  EXPECT_EQ(schedule.longest_path, Nanoseconds(18));
  EXPECT_EQ(schedule.core_time, Nanoseconds(11));
  EXPECT_EQ(schedule.lower_bound, Nanoseconds(18));
  EXPECT_EQ(schedule.serial_sum, Nanoseconds(23));
  EXPECT_EQ(schedule.busy, (std::vector<Nanoseconds>{Nanoseconds(16), Nanoseconds(7)}));
  EXPECT_EQ(schedule.tasks[1].slack, Nanoseconds(2));
  EXPECT_EQ(schedule.tasks[0].slack, Nanoseconds(0));
  EXPECT_EQ(schedule.binding.resource, "s0");
}

TEST(Simulate, BindsOnCoresWhereTheyAreAlwaysBusy) {
  EXPECT_EQ(schedule_of("s0: a 10x2", 2).binding, (Binding{"cores", 1.0}));
}

TEST(Simulate, BindsOnDependenciesWhereNothingIsBusyHalfOfTheTime) {
  const Schedule schedule = schedule_of(R"(s0: a 10
                                           s1: b 10
                                           a -> b +80)",
                                        2);
  EXPECT_EQ(schedule.binding.resource, "dependencies");
}

TEST(Simulate, MakespanIsZeroForAnEmptyGraph) {
  const Schedule schedule = schedule_of("", 2);
  EXPECT_EQ(schedule.makespan, Nanoseconds(0));
  EXPECT_TRUE(schedule.critical_path.empty());
}

TaskGraph random_graph(std::uint64_t seed) {
  Random random(seed);
  TaskGraph graph;
  const std::uint64_t resources = 1 + random.below(6);
  for (std::uint64_t i = 0; i < resources; ++i) graph.add_resource("r" + std::to_string(i), ResourceKind::kStream);
  const std::uint64_t tasks = 1 + random.below(60);
  for (std::uint64_t i = 0; i < tasks; ++i) {
    Task task;
    task.label = graph.add_label("t" + std::to_string(i));
    task.resource = ResourceId(random.below(resources));
    task.cores = static_cast<int>(random.below(4));
    task.duration = Nanoseconds(static_cast<std::int64_t>(random.below(1000)));
    task.position = static_cast<std::int64_t>(i);
    const TaskId id = graph.add_task(task);
    for (std::uint64_t edge = random.below(3); i > 0 && edge > 0; --edge) {
      graph.add_edge(TaskId(random.below(i)), id, EdgeKind::kEvent);
    }
  }
  return graph;
}

TEST(SimulateProperties, MakespanLiesBetweenItsBoundsOnRandomGraphs) {
  for (std::uint64_t seed = 0; seed < 500; ++seed) {
    const TaskGraph graph = random_graph(seed);
    const Result<Schedule> schedule = simulate(graph, {device_with(3, Nanoseconds(0), 1)});
    ASSERT_TRUE(schedule.has_value()) << schedule.error().message;
    EXPECT_GE(schedule->makespan + Nanoseconds(1), schedule->lower_bound) << "seed " << seed;
    EXPECT_LE(schedule->makespan, schedule->serial_sum + Nanoseconds(1)) << "seed " << seed;
  }
}

TEST(SimulateProperties, SpinningAndPenaltiesNeverBreakTheLowerBound) {
  for (std::uint64_t seed = 0; seed < 500; ++seed) {
    const Result<Schedule> schedule = simulate(random_graph(seed), {device_with(3, Nanoseconds(500), 1.7)});
    ASSERT_TRUE(schedule.has_value()) << schedule.error().message;
    EXPECT_GE(schedule->makespan + Nanoseconds(1), schedule->lower_bound) << "seed " << seed;
  }
}

TEST(SimulateProperties, TasksRespectEdgesAndLaunchOrder) {
  for (std::uint64_t seed = 0; seed < 200; ++seed) {
    const TaskGraph graph = random_graph(seed);
    const Result<Schedule> schedule = simulate(graph, {device_with(3, Nanoseconds(50), 1.5)});
    ASSERT_TRUE(schedule.has_value());
    for (const Edge& edge : graph.edges) {
      EXPECT_LE(schedule->tasks[to_index(edge.from)].end, schedule->tasks[to_index(edge.to)].start);
    }
    for (std::size_t a = 0; a < graph.tasks.size(); ++a) {
      for (std::size_t b = a + 1; b < graph.tasks.size(); ++b) {
        if (graph.tasks[a].resource != graph.tasks[b].resource) continue;
        EXPECT_LE(schedule->tasks[a].end, schedule->tasks[b].start);
      }
    }
  }
}

TEST(SimulateProperties, SlackIsNeverNegativeAndZeroOnTheCriticalPath) {
  for (std::uint64_t seed = 0; seed < 200; ++seed) {
    const Result<Schedule> schedule = simulate(random_graph(seed), {device_with(3, Nanoseconds(0), 1)});
    ASSERT_TRUE(schedule.has_value());
    for (const TaskTimes& times : schedule->tasks) EXPECT_GE(times.slack, Nanoseconds(0));
    for (const TaskId task : schedule->critical_path) {
      EXPECT_EQ(schedule->tasks[to_index(task)].slack, Nanoseconds(0)) << "seed " << seed;
    }
  }
}

TEST(SimulateProperties, EqualGraphsGiveEqualSchedules) {
  for (std::uint64_t seed = 0; seed < 50; ++seed) {
    const TaskGraph graph = random_graph(seed);
    const DeviceProfile device = device_with(2, Nanoseconds(100), 1.3);
    EXPECT_EQ(timeline(graph, simulate(graph, {device}).value_or(Schedule{})),
              timeline(graph, simulate(graph, {device}).value_or(Schedule{})));
  }
}

TEST(SimulateProperties, TheOrderInWhichEdgesAreListedDoesNotMatter) {
  for (std::uint64_t seed = 0; seed < 100; ++seed) {
    TaskGraph graph = random_graph(seed);
    const DeviceProfile device = device_with(4, Nanoseconds(100), 1.3);
    const Result<Schedule> before = simulate(graph, {device});
    Random(seed).shuffle(graph.edges);
    const Result<Schedule> after = simulate(graph, {device});
    ASSERT_TRUE(before.has_value() && after.has_value());
    EXPECT_EQ(before->tasks, after->tasks);
    EXPECT_EQ(before->critical_path, after->critical_path);
  }
}

TEST(SimulateProperties, ATaskAloneTakesItsDuration) {
  for (std::uint64_t seed = 0; seed < 50; ++seed) {
    const auto duration = static_cast<std::int64_t>(Random(seed).below(1'000'000'000));
    const std::string text = "s0: a " + std::to_string(duration) + "x2";
    EXPECT_EQ(timeline_of(text, 2), "a 0-" + std::to_string(duration) + "\n");
  }
}

}  // namespace
}  // namespace cohort
