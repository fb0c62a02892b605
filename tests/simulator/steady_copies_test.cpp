#include "simulator/transform/steady_copies.hpp"

#include <gtest/gtest.h>

#include <algorithm>

#include "simulator/transform/buffers.hpp"
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

/// Some ops of a stream begin before the one ahead of them ends, as recorded ones do.
void overlap_ops(TaskGraph& graph, Random& random) {
  for (Edge& edge : graph.edges) {
    if (edge.kind == EdgeKind::kStreamOrder && random.below(3) == 0) edge.delay = Nanoseconds(-3);
  }
}

/// Some tasks start no earlier than they were recorded.
void pin_some(TaskGraph& graph, Random& random) {
  const std::size_t tasks = graph.tasks.size();
  Task mark;
  mark.label = graph.add_label("begin");
  mark.kind = TaskKind::kMark;
  mark.cores = 0;
  mark.resource = graph.add_resource("clock", ResourceKind::kClock);
  const TaskId begin = graph.add_task(mark);
  for (std::size_t i = 0; i < tasks; ++i) {
    if (random.below(8) == 0)
      graph.add_edge(begin, TaskId(i), EdgeKind::kPinned, Nanoseconds(static_cast<std::int64_t>(random.below(200))));
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
    if (random.below(3) == 0) overlap_ops(one, random);
    if (random.below(3) == 0) pin_some(one, random);
    if (random.below(3) == 0) {
      EXPECT_TRUE(repeat(one, 2, Nanoseconds(2)));
    }
    for (const int copies : {2, 3, 9}) {
      const auto makespan = from_first(one, copies, 40);
      if (!makespan) continue;
      ++settled;
      EXPECT_EQ(*makespan, last_end(run_times(in_turn(one, 40)))) << "round " << round << ", " << copies << " copies";
    }
  }
  EXPECT_GT(settled, kGraphs);  // of three times as many
}

/// A step of one thread and one stream.
class SmallStep {
 public:
  TaskId add(TaskKind kind, int duration) {
    Task task;
    task.label = label_;
    task.cores = 0;
    task.kind = kind;
    task.resource = kind == TaskKind::kKernel ? stream_ : thread_;
    task.duration = Nanoseconds(duration);
    task.position = static_cast<std::int64_t>(graph.tasks.size());
    return graph.add_task(task);
  }

  TaskGraph graph;

 private:
  LabelId label_ = graph.add_label("task");
  ResourceId thread_ = graph.add_resource("thread", ResourceKind::kHostThread);
  ResourceId stream_ = graph.add_resource("stream", ResourceKind::kStream, Discipline::kOverlapping);
};

/// A step of which the host takes `launch` ns and the device `kernel`.
TaskGraph step_of(int launch, int kernel, bool waits) {
  SmallStep step;
  const TaskId call = step.add(TaskKind::kLaunch, launch);
  const TaskId op = step.add(TaskKind::kKernel, kernel);
  step.graph.add_edge(call, op, EdgeKind::kLaunch, Nanoseconds(3));
  if (waits) step.graph.add_edge(op, step.add(TaskKind::kWait, 1), EdgeKind::kSynchronisation, Nanoseconds(0));
  return step.graph;
}

TEST(SteadyCopies, KnowAHostThatRunsAheadOneThatWaitsAndOneThatHoldsTheDeviceUp) {
  // 10 ns of launches, 3 until a kernel of 100 begins, 2 from one kernel to the next.
  EXPECT_EQ(from_first(step_of(10, 100, false), 3, 1'000), Nanoseconds(13 + 100 + 999 * 102));
  EXPECT_EQ(from_first(step_of(10, 100, true), 3, 1'000), Nanoseconds(1'000 * (10 + 3 + 100 + 1)));
  EXPECT_EQ(from_first(step_of(100, 10, false), 3, 1'000), Nanoseconds(1'000 * 100 + 3 + 10));
}

/// A stream with an op that nothing but the copy before holds up, and behind it one that waits for its launch alone.
TaskGraph step_of_two_ops() {
  SmallStep step;
  const TaskId launch = step.add(TaskKind::kLaunch, 1);
  step.add(TaskKind::kKernel, 10);
  const TaskId second = step.add(TaskKind::kKernel, 10);
  step.graph.add_edge(launch, second, EdgeKind::kLaunch, Nanoseconds(100), Anchor::kStart);
  return step.graph;
}

TEST(SteadyCopies, HaveNotSettledWhereTheFirstLacksWhatHoldsTheOthers) {
  // Nothing holds the first op of the first copy; that of each later one waits for the last op of the copy before.
  const TaskGraph one = step_of_two_ops();
  EXPECT_EQ(from_first(one, 2, 10), std::nullopt);
  EXPECT_EQ(from_first(one, 3, 10), last_end(run_times(in_turn(one, 10))));
}

TEST(SteadyCopies, DoNotGuessAtAnOrderThatNothingKeeps) {
  // Copies on two streams share the engine of their direction; whichever is ready first goes first.
  TaskGraph one = step_of(10, 100, false);
  const ResourceId second = one.add_resource("second", ResourceKind::kStream, Discipline::kOverlapping);
  const LabelId copy = one.add_label("Memcpy HtoD");
  one.tasks[1].kind = TaskKind::kCopy;
  one.tasks[1].label = copy;
  EXPECT_EQ(from_first(one, 3, 10), last_end(run_times(in_turn(one, 10))));
  Task task = one.tasks[1];
  task.resource = second;
  one.add_edge(TaskId(0), one.add_task(task), EdgeKind::kLaunch, Nanoseconds(3));
  EXPECT_EQ(from_first(one, 3, 10), std::nullopt);
}

}  // namespace
}  // namespace cohort
