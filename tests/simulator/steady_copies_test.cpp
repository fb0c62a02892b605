#include "simulator/transform/steady_copies.hpp"

#include <gtest/gtest.h>

#include <algorithm>

#include "simulator/transform/replicate.hpp"
#include "tests/simulator/graph_checks.hpp"
#include "tests/simulator/random_graph.hpp"

namespace cohort {
namespace {

TaskGraph in_turn(TaskGraph one, int members) {
  ReplicateOptions options;
  options.members = members;
  options.turns = Turns::kWhole;
  options.stream_gap = Nanoseconds(2);
  EXPECT_TRUE(replicate(one, options));
  return one;
}

/// Kernels of one stream become copies to the device; of all, where `scattered`.
void add_copies(TaskGraph& graph, Random& random, bool scattered) {
  const LabelId copy = graph.add_label("Memcpy HtoD");
  std::optional<ResourceId> stream;
  for (Task& task : graph.tasks) {
    if (task.kind != TaskKind::kKernel || random.below(4) > 0) continue;
    if (!stream) stream = task.resource;
    if (task.resource != *stream && !scattered) continue;
    task.kind = TaskKind::kCopy;
    task.label = copy;
  }
}

std::optional<Nanoseconds> from_first(const TaskGraph& one, int copies, int wanted) {
  const TaskGraph graph = in_turn(one, copies);
  return makespan_of_copies(graph, run_times(graph), copies, wanted);
}

TEST(SteadyCopies, GiveTheMakespanThatAllCopiesHaveOrNone) {
  Random random(41);
  int settled = 0;
  constexpr int kGraphs = 300;
  for (int round = 0; round < kGraphs; ++round) {
    TaskGraph one = random_graph(random);
    if (random.below(2) == 0) add_copies(one, random, random.below(2) == 0);
    for (const int copies : {2, 3, 9}) {
      const auto makespan = from_first(one, copies, 40);
      if (!makespan) continue;
      ++settled;
      EXPECT_EQ(*makespan, last_end(run_times(in_turn(one, 40)))) << "round " << round << ", " << copies << " copies";
    }
  }
  EXPECT_GT(settled, kGraphs);  // of three times as many
}

/// A step of which the host takes `launch` ns and the device `kernel`.
TaskGraph step_of(int launch, int kernel, bool waits) {
  TaskGraph graph;
  const ResourceId thread = graph.add_resource("thread", ResourceKind::kHostThread);
  const ResourceId stream = graph.add_resource("stream", ResourceKind::kStream, Discipline::kOverlapping);
  Task task;
  task.label = graph.add_label("task");
  task.cores = 0;
  task.resource = thread;
  task.kind = TaskKind::kLaunch;
  task.duration = Nanoseconds(launch);
  const TaskId call = graph.add_task(task);
  task.resource = stream;
  task.kind = TaskKind::kKernel;
  task.duration = Nanoseconds(kernel);
  const TaskId op = graph.add_task(task);
  graph.add_edge(call, op, EdgeKind::kLaunch, Nanoseconds(3));
  if (!waits) return graph;
  task.resource = thread;
  task.kind = TaskKind::kWait;
  task.duration = Nanoseconds(1);
  task.position = 1;
  const TaskId wait = graph.add_task(task);
  graph.add_edge(op, wait, EdgeKind::kSynchronisation, Nanoseconds(0));
  return graph;
}

TEST(SteadyCopies, KnowAHostThatRunsAheadOneThatWaitsAndOneThatHoldsTheDeviceUp) {
  // 10 ns of launches, 3 until a kernel of 100 begins, 2 from one kernel to the next.
  EXPECT_EQ(from_first(step_of(10, 100, false), 3, 1'000), Nanoseconds(13 + 100 + 999 * 102));
  EXPECT_EQ(from_first(step_of(10, 100, true), 3, 1'000), Nanoseconds(1'000 * (10 + 3 + 100 + 1)));
  EXPECT_EQ(from_first(step_of(100, 10, false), 3, 1'000), Nanoseconds(1'000 * 100 + 3 + 10));
}

TEST(SteadyCopies, WaitUntilTheDeviceHasCaughtUp) {
  // The first copy's kernel takes so long that the second's waits; the third is held up by its host alone.
  TaskGraph graph = in_turn(step_of(100, 10, false), 3);
  graph.tasks[1].duration = Nanoseconds(150);
  EXPECT_EQ(makespan_of_copies(graph, run_times(graph), 3, 10), std::nullopt);
}

TEST(SteadyCopies, DoNotGuessAtAnOrderThatNothingKeeps) {
  // Copies on two streams share the engine of their direction; whichever is ready first goes first.
  TaskGraph one = step_of(10, 100, false);
  const ResourceId second = one.add_resource("second", ResourceKind::kStream, Discipline::kOverlapping);
  const LabelId copy = one.add_label("Memcpy HtoD");
  one.tasks[1].kind = TaskKind::kCopy;
  one.tasks[1].label = copy;
  EXPECT_TRUE(from_first(one, 3, 10));
  Task task = one.tasks[1];
  task.resource = second;
  one.add_edge(TaskId(0), one.add_task(task), EdgeKind::kLaunch, Nanoseconds(3));
  EXPECT_EQ(from_first(one, 3, 10), std::nullopt);
}

}  // namespace
}  // namespace cohort
