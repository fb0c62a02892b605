#include "simulator/report/run_facts.hpp"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "base/random.hpp"
#include "simulator/what_if/recorded_memory.hpp"
#include "tests/simulator/gpu_trace_text.hpp"
#include "tests/simulator/graph_text.hpp"
#include "tests/simulator/random_graph.hpp"

namespace cohort {
namespace {

Schedule schedule_of(const TaskGraph& graph) {
  Result<Schedule> schedule = simulate(graph, SimulationOptions{});
  EXPECT_TRUE(schedule.has_value()) << schedule.error().message;
  return schedule ? std::move(*schedule) : Schedule{};
}

TEST(RunFacts, ShowWhatACriticalPathIsMadeOf) {
  const TraceGraph trace = *build_trace_graph(gpu_trace_from(R"(
    main cudaLaunchKernel       0   5   c1
    main cudaLaunchKernel      10  15   c2
    main cudaDeviceSynchronize 20  45   c3
    s7   a                      8  20   c1
    s7   b                     21  40   c2)"));
  const RunFacts facts = facts_of(trace.graph, schedule_of(trace.graph));
  // launch, 8 us to a, a, a gap of 1 us, b, 5 us until the call returns.
  ASSERT_EQ(facts.path.size(), 5U);
  EXPECT_EQ(facts.path[1].name, "cudaLaunchKernel");
  EXPECT_EQ(facts.path[1].own, Nanoseconds(5000));
  EXPECT_EQ(facts.path[1].wait, Nanoseconds(3000));
  EXPECT_EQ(facts.path[3].name, "b");
  EXPECT_EQ(facts.path[3].wait, Nanoseconds(5000));
  EXPECT_EQ(facts.parts.front().what, "kernels");
  EXPECT_EQ(facts.parts.front().time, Nanoseconds(31'000));
  EXPECT_NEAR(facts.device_busy, 31.0 / 45, 1e-9);
  ASSERT_TRUE(facts.sm_busy);
  EXPECT_NEAR(*facts.sm_busy, 31.0 / 45, 1e-9);  // no launch shapes: as if they filled the device
  for (const NamedTasks& task : facts.tasks) {
    if (task.name == "a") {
      EXPECT_EQ(task.slack, Nanoseconds(0));
      EXPECT_EQ(task.on_path, Nanoseconds(12'000));
    }
  }
}

TEST(RunFacts, CountDeviceTimeOnceWhereStreamsOverlap) {
  TaskGraph graph = graph_from(R"(s0: a 10
                                  s1: b 6
                                  s2: c 2
                                  a -> c +4)");
  for (Task& task : graph.tasks) {
    task.kind = TaskKind::kKernel;
    task.cores = 0;
    task.waves = 0.5F;
  }
  const RunFacts facts = facts_of(graph, schedule_of(graph));
  EXPECT_DOUBLE_EQ(facts.device_busy, 12.0 / 16);
  EXPECT_DOUBLE_EQ(*facts.sm_busy, 9.0 / 16);
}

TEST(RunFacts, OfAWindowCutThePathOffThere) {
  const TaskGraph graph = graph_from(R"(s0: a 10, b 10, c 10
                                        s1: d 4
                                        a -> d +2)");
  FactsScope scope;
  scope.window = TimeWindow{Nanoseconds(5), Nanoseconds(25)};
  scope.cores = 2;
  SimulationOptions options;
  options.device.cores = 2;
  Result<Schedule> schedule = simulate(graph, options);
  ASSERT_TRUE(schedule.has_value()) << schedule.error().message;
  schedule->critical_path.pop_back();  // c: the window ends within it
  const RunFacts facts = facts_of(graph, *schedule, scope);
  ASSERT_EQ(facts.path.size(), 2U);
  EXPECT_EQ(facts.path[0].name, "a");
  EXPECT_EQ(facts.path[0].start, Nanoseconds(5));
  EXPECT_EQ(facts.path[0].own, Nanoseconds(5));
  Nanoseconds sum{};
  for (const PathPart& part : facts.parts) sum += part.time;
  EXPECT_EQ(sum, Nanoseconds(20));
  EXPECT_DOUBLE_EQ(facts.device_busy, 1);
  EXPECT_DOUBLE_EQ(facts.cores_busy.value_or(0), (20.0 + 4) / 40);
}

TEST(RunFacts, LeadToTheGoalThatIsGiven) {
  //  s0  |=a=|==b==|          b is the goal: a and b are critical, though c ends later;
  //  s1      |====c====|      d may end with the last of all
  //  s2  |d|
  const TaskGraph graph = graph_from(R"(s0: a 10, b 20
                                        s1: c 40
                                        s2: d 3
                                        a -> c)");
  SimulationOptions options;
  options.device.cores = 3;
  options.goal = TaskId(1);
  const Result<Schedule> schedule = simulate(graph, options);
  ASSERT_TRUE(schedule.has_value()) << schedule.error().message;
  EXPECT_EQ(schedule->makespan, Nanoseconds(50));
  EXPECT_EQ(schedule->critical_path, (std::vector<TaskId>{TaskId(0), TaskId(1)}));
  EXPECT_EQ(schedule->tasks[0].slack, Nanoseconds(0));
  EXPECT_EQ(schedule->tasks[1].slack, Nanoseconds(0));
  EXPECT_EQ(schedule->tasks[2].slack, Nanoseconds(0));
  EXPECT_EQ(schedule->tasks[3].slack, Nanoseconds(47));
  options.goal = TaskId(9);
  EXPECT_EQ(simulate(graph, options).error().message, "the goal is task 9 of 4");
}

TEST(RunFacts, AddUpToTheMakespanOnRandomGraphs) {
  Random random(41);
  for (int round = 0; round < 60; ++round) {
    const TaskGraph graph = random_graph(random);
    const Schedule schedule = schedule_of(graph);
    const RunFacts facts = facts_of(graph, schedule);
    Nanoseconds sum{};
    for (const PathPart& part : facts.parts) sum += part.time;
    EXPECT_EQ(sum, schedule.makespan) << "round " << round;
    std::size_t count = 0;
    for (const NamedTasks& task : facts.tasks) {
      count += task.count;
      EXPECT_LE(task.on_path, task.time);
      if (task.on_path > Nanoseconds(0)) {
        EXPECT_EQ(task.slack, Nanoseconds(0)) << "round " << round << ": " << task.name;
      }
    }
    EXPECT_EQ(count, graph.tasks.size());
    EXPECT_GE(facts.device_busy, 0);
    EXPECT_LE(facts.device_busy, 1);
  }
}

TEST(RecordedMemory, TellsWhatOutlivesAStepFromWhatItNeeds) {
  Trace trace;
  const TrackId track = trace.add_track("host", "main");
  const StringId gpu = trace.strings.intern("allocated bytes, GPU 0");
  const StringId other = trace.strings.intern("allocated bytes, GPU 1");
  for (const auto& [time, value] : {std::pair{5, 9000.0}, {10, 1000.0}, {20, 1500.0}, {30, 1200.0}, {40, 50.0}}) {
    trace.counters.push_back({Nanoseconds(time), track, gpu, value});
  }
  trace.counters.push_back({Nanoseconds(20), track, other, 1.0});
  const auto memory = recorded_memory(trace, TimeWindow{Nanoseconds(10), Nanoseconds(40)});
  ASSERT_TRUE(memory);
  EXPECT_EQ(memory->kept, Bytes{1000});
  EXPECT_EQ(memory->step, Bytes{500});
  EXPECT_FALSE(recorded_memory(trace, TimeWindow{Nanoseconds(50), Nanoseconds(60)}));
}

}  // namespace
}  // namespace cohort
