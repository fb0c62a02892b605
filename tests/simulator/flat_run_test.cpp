#include "simulator/engine/flat_run.hpp"

#include <gtest/gtest.h>

#include "base/random.hpp"
#include "tests/simulator/graph_text.hpp"

namespace cohort {
namespace {

std::string flat_timeline(const TaskGraph& graph) {
  const Result<std::vector<TaskTimes>> times = run_flat(graph);
  if (!times) return times.error().message;
  Schedule schedule;
  schedule.tasks = *times;
  return timeline(graph, schedule);
}

TEST(FlatRun, KeepsLaunchOrderEdgesAndDelays) {
  EXPECT_EQ(flat_timeline(graph_from(R"(s0: a 10, b 5, d 1
                                        s1: c 7
                                        a -> c +2
                                        ^c -> d +1
                                        c -> d)")),
            "a 0-10\nb 10-15\nd 19-20\nc 12-19\n");
}

TEST(FlatRun, LetsOpsOfOneStreamOverlapWhereTheyDidWhenRecorded) {
  TaskGraph graph = graph_from("s0: a 10, b 5");
  graph.resources[0].discipline = Discipline::kOverlapping;
  graph.add_edge(TaskId(0), TaskId(1), EdgeKind::kStreamOrder, Nanoseconds(-3));
  EXPECT_EQ(flat_timeline(graph), "a 0-10\nb 7-12\n");
}

TEST(FlatRun, NeverStartsATaskBeforeTheOneItOverlaps) {
  TaskGraph graph = graph_from("s0: a 2, b 5");
  graph.resources[0].discipline = Discipline::kOverlapping;
  graph.add_edge(TaskId(0), TaskId(1), EdgeKind::kStreamOrder, Nanoseconds(-3));
  EXPECT_EQ(flat_timeline(graph), "a 0-2\nb 0-5\n");
}

TEST(FlatRun, GivesAFirstComeResourceToWhicheverTaskIsReadyFirst) {
  TaskGraph graph = graph_from(R"(s0: a 3
                                  lock: x 5, y 4
                                  a -> x)");
  graph.resources[1].discipline = Discipline::kFirstCome;
  EXPECT_EQ(flat_timeline(graph), "a 0-3\nx 4-9\ny 0-4\n");
}

TEST(FlatRun, MakesCallsOfSeveralThreadsWaitForTheLockTheyHold) {
  TaskGraph graph = graph_from(R"(t0: a 4, b 4
                                  t1: c 4)");
  const ResourceId lock = graph.add_resource("lock", ResourceKind::kDriverLock, Discipline::kFirstCome);
  for (Task& task : graph.tasks) task.holds = lock;
  EXPECT_EQ(flat_timeline(graph), "a 0-4\nb 8-12\nc 4-8\n");
}

TEST(FlatRun, TakesDelaysOfAnyLength) {
  TaskGraph graph = graph_from(R"(s0: a 10
                                  s1: b 5
                                  s2: c 1
                                  s3: d 1
                                  s4: e 1)");
  const Nanoseconds hours = std::chrono::hours(5);
  graph.add_edge(TaskId(0), TaskId(1), EdgeKind::kEvent, hours);
  graph.add_edge(TaskId(0), TaskId(2), EdgeKind::kEvent, hours * 2, Anchor::kStart);
  graph.add_edge(TaskId(1), TaskId(3), EdgeKind::kEvent, -hours);
  graph.add_edge(TaskId(1), TaskId(4), EdgeKind::kEvent, Nanoseconds(-2));
  const Result<std::vector<TaskTimes>> times = run_flat(graph);
  ASSERT_TRUE(times);
  EXPECT_EQ((*times)[1].start, Nanoseconds(10) + hours);
  EXPECT_EQ((*times)[2].start, hours * 2);
  EXPECT_EQ((*times)[3].start, (*times)[1].start);  // no earlier than what it overlaps
  EXPECT_EQ((*times)[4].start, (*times)[1].end - Nanoseconds(2));
}

TEST(FlatRun, FollowsPositionsThatDoNotAscendWithIds) {
  TaskGraph graph = graph_from("s0: a 10, b 5, c 1");
  graph.tasks[0].position = 7;
  EXPECT_EQ(flat_timeline(graph), "a 6-16\nb 0-5\nc 5-6\n");
}

TEST(FlatRun, NamesWhatIsOutOfRange) {
  TaskGraph graph = graph_from("s0: a 10, b 5");
  graph.add_edge(TaskId(0), TaskId(9), EdgeKind::kEvent);
  EXPECT_EQ(flat_timeline(graph), "edge 0: from task 0 to task 9 of 2");
  graph.edges.clear();
  graph.tasks[1].resource = ResourceId(4);
  EXPECT_EQ(flat_timeline(graph), "task 1 (b, iteration 0): resource 4 of 1");
}

TEST(FlatRun, RefusesMoreDaysThanSumsHold) {
  constexpr const char* kRefused = "the tasks take 120 days one after another; 100 are the most";
  const Nanoseconds days = kLongestGraph * 3 / 5;
  TaskGraph graph = graph_from("s0: a 1, b 1");
  for (Task& task : graph.tasks) task.duration = days;
  EXPECT_EQ(flat_timeline(graph), kRefused);
  const Result<Schedule> simulated = simulate(graph, {});
  ASSERT_FALSE(simulated);
  EXPECT_EQ(simulated.error().message, kRefused);
  graph.tasks[0].duration = Nanoseconds(0);
  EXPECT_TRUE(run_flat(graph));
  EXPECT_FALSE(check_total_time(graph, 2));
  graph.add_edge(TaskId(0), TaskId(1), EdgeKind::kEvent, days);
  EXPECT_EQ(flat_timeline(graph), kRefused);
}

TEST(FlatRun, CountsOneOfAllMomentsThatAClockHolds) {
  TaskGraph graph = graph_from(R"(clock: begin 0
                                  s0: a 1
                                  s1: b 1
                                  s2: c 1)");
  const Nanoseconds late = kLongestGraph - Nanoseconds(3);
  for (std::uint32_t i = 1; i < 4; ++i) graph.add_edge(TaskId(0), TaskId(i), EdgeKind::kPinned, late, Anchor::kStart);
  const Result<std::vector<TaskTimes>> times = run_flat(graph);
  ASSERT_TRUE(times) << times.error().message;
  EXPECT_EQ((*times)[3].end, late + Nanoseconds(1));
}

TEST(FlatRun, NamesTheTasksOfACycle) {
  EXPECT_EQ(flat_timeline(graph_from(R"(s0: a 1, b 1
                                        b -> a)")),
            "tasks wait for each other: a -> b -> a");
}

TEST(FlatRun, AgreesWithTheEngineOnRandomGraphsOfOneCoreEach) {
  Random random(7);
  for (int round = 0; round < 60; ++round) {
    TaskGraph graph;
    constexpr std::uint64_t kStreams = 4;
    for (std::uint64_t i = 0; i < kStreams; ++i) graph.add_resource("s", ResourceKind::kStream);
    for (int i = 0; i < 40; ++i) {
      Task task;
      task.label = graph.add_label("t");
      task.resource = ResourceId(random.below(kStreams));
      task.duration = Nanoseconds(static_cast<std::int64_t>(random.below(50)));
      task.position = i;
      graph.add_task(task);
    }
    for (int i = 0; i < 60; ++i) {
      const std::uint64_t to = 1 + random.below(39);
      const Anchor anchor = random.below(3) == 0 ? Anchor::kStart : Anchor::kEnd;
      graph.add_edge(TaskId(random.below(to)), TaskId(to), EdgeKind::kEvent,
                     Nanoseconds(static_cast<std::int64_t>(random.below(9))), anchor);
    }
    DeviceProfile device;
    device.cores = kStreams;
    const Result<Schedule> shared = simulate(graph, {device});
    ASSERT_TRUE(shared) << shared.error().message;
    EXPECT_EQ(flat_timeline(graph), timeline(graph, *shared)) << round;
  }
}

}  // namespace
}  // namespace cohort
