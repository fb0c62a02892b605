// Tasks that share what they run on: kernels a GPU, tasks on cores first-come resources.

#include <gtest/gtest.h>

#include "simulator/contention/kernel_demand.hpp"
#include "simulator/engine/flat_run.hpp"
#include "simulator/engine/simulate.hpp"
#include "tests/simulator/graph_text.hpp"
#include "tests/simulator/random_graph.hpp"

namespace cohort {
namespace {

constexpr int kEngineRounds = 60;

SimulationOptions sharing() {
  SimulationOptions options;
  options.share_multiprocessors = true;
  return options;
}

std::string timeline_of(const TaskGraph& graph, const SimulationOptions& options) {
  const Result<Schedule> schedule = simulate(graph, options);
  return schedule ? timeline(graph, *schedule) : schedule.error().message;
}

TEST(EventLoop, SlowsKernelsThatTogetherAskForMoreThanTheDevice) {
  TaskGraph graph = graph_from(R"(s0: a 8
                                  s1: b 8)");
  for (Task& task : graph.tasks) {
    task.kind = TaskKind::kKernel;
    task.cores = 0;
    task.waves = 0.75F;
  }
  EXPECT_EQ(timeline_of(graph, sharing()), "a 0-12\nb 0-12\n");
  for (Task& task : graph.tasks) task.waves = 0.5F;
  EXPECT_EQ(timeline_of(graph, sharing()), "a 0-8\nb 0-8\n");
}

/// A V100 on which a launch of `blocks` blocks of 256 threads takes `time`.
GpuWork work_of(const TaskGraph& graph, std::int64_t blocks, Nanoseconds time) {
  GpuWork work;
  work.profile = *published_gpu_profile("Tesla V100-SXM2-32GB");
  work.tasks.resize(graph.tasks.size());
  LaunchShape shape;
  shape.blocks = blocks;
  shape.threads = 256;
  SoloRun solo;
  solo.time = time;
  work.kernels.push_back(*demand_of(shape, solo, work.profile));
  for (std::size_t i = 0; i < work.tasks.size(); ++i) {
    if (graph.tasks[i].kind == TaskKind::kKernel) work.tasks[i] = KernelTask{0};
  }
  return work;
}

/// As traces are: streams whose tasks edges order.
void order_by_edges(TaskGraph& graph) {
  for (const std::vector<TaskId>& queue : queues_of(graph)) {
    for (std::size_t i = 1; i < queue.size(); ++i) graph.add_edge(queue[i - 1], queue[i], EdgeKind::kStreamOrder);
  }
  for (Resource& resource : graph.resources) {
    if (resource.kind == ResourceKind::kStream) resource.discipline = Discipline::kOverlapping;
  }
}

/// Kernels are the tasks of streams whose names begin with 's'; what launches them is on the others.
TaskGraph launched_graph(std::string_view text) {
  TaskGraph graph = graph_from(text);
  for (Resource& resource : graph.resources) {
    if (resource.name.front() != 's') resource.kind = ResourceKind::kHostThread;
  }
  for (Task& task : graph.tasks) {
    const bool is_kernel = graph.resources[to_index(task.resource)].kind == ResourceKind::kStream;
    task.kind = is_kernel ? TaskKind::kKernel : TaskKind::kLaunch;
    task.cores = 0;
  }
  for (Edge& edge : graph.edges) {
    if (graph.task(edge.from).kind == TaskKind::kLaunch) edge.kind = EdgeKind::kLaunch;
  }
  order_by_edges(graph);
  return graph;
}

/// On a GPU with so many hardware connections, on which each kernel alone takes 1000 ns.
std::string timeline_over(int connections, const TaskGraph& graph) {
  SimulationOptions options;
  options.gpu = work_of(graph, 80, Nanoseconds(1000));
  options.gpu->profile.connections = connections;
  return timeline_of(graph, options);
}

TEST(EventLoop, MakesFalseDependenciesOfRecordedStreamsThatShareAConnection) {
  const std::string_view text = R"(host: la 10, lb 10, lc 10
                                   s0: a 1000, b 1000
                                   s1: c 1000
                                   la -> a
                                   lb -> b
                                   lc -> c)";
  const TaskGraph graph = launched_graph(text);
  EXPECT_EQ(timeline_over(8, graph), "la 0-10\nlb 10-20\nlc 20-30\na 10-1010\nb 1010-2010\nc 30-1030\n");
  EXPECT_EQ(timeline_over(1, graph), "la 0-10\nlb 10-20\nlc 20-30\na 10-1010\nb 1010-2010\nc 1010-2010\n");
}

TEST(EventLoop, KeepsKernelsOfOneGraphLaunchOutOfConnections) {
  // c comes before b in the connection, and waits for it: as launches of their own they would be stuck.
  const std::string_view text = R"(host: l 10
                                   s0: a 1000, b 1000
                                   s1: c 1000
                                   l -> a
                                   l -> c
                                   l -> b
                                   b -> c)";
  const TaskGraph graph = launched_graph(text);
  EXPECT_EQ(timeline_over(1, graph), "l 0-10\na 10-1010\nb 1010-2010\nc 2010-3010\n");
}

TEST(EventLoop, LetsAKernelPassOneThatWaitsForIt) {
  const std::string_view text = R"(host: lc 10, lb 10
                                   s0: b 1000
                                   s1: c 1000
                                   lc -> c
                                   lb -> b
                                   b -> c)";
  const TaskGraph graph = launched_graph(text);
  EXPECT_EQ(timeline_over(1, graph), "lc 0-10\nlb 10-20\nb 20-1020\nc 1020-2020\n");
}

TEST(EventLoop, KeepsTheOrderOfAStreamThatSeveralThreadsLaunchInto) {
  // The second thread launches first, but the stream's order is a, b.
  const std::string_view text = R"(host0: wait 50, la 10
                                   host1: lb 10
                                   s0: a 1000, b 1000
                                   s1: c 1000
                                   la -> a
                                   lb -> b)";
  const TaskGraph graph = launched_graph(text);
  EXPECT_EQ(timeline_over(1, graph), "wait 0-50\nla 50-60\nlb 0-10\na 60-1060\nb 1060-2060\nc 0-1000\n");
}

TEST(EventLoop, EndsTasksThatShareCoresHoweverLateItIs) {
  // A day into the run, a thousandth of a nanosecond is less than times tell apart.
  const TaskGraph graph = graph_from(R"(s0: wait 86400000000000x0, a 1000
                                  s1: hold 86400000000000x0, b 1001
                                  s2: stay 86400000000000x0, c 1003
                                  s3: last 86400000000000x0, d 1003)");
  SimulationOptions options;
  options.device.cores = 3;
  const Result<Schedule> schedule = simulate(graph, options);
  ASSERT_TRUE(schedule) << schedule.error().message;
  EXPECT_EQ(schedule->makespan, Nanoseconds(86'400'000'000'000 + 1336));
}

TEST(EventLoop, HoldsAFirstComeResourceUntilTheTaskThatHasItEnds) {
  // a and b share one core, so that a ends at 2000; c, which was ready since 0, has the lock then.
  TaskGraph graph = graph_from(R"(s0: a 1000
                                  s1: b 1000
                                  s2: c 10x0)");
  const ResourceId lock = graph.add_resource("lock", ResourceKind::kDriverLock, Discipline::kFirstCome);
  graph.tasks[0].holds = graph.tasks[2].holds = lock;
  SimulationOptions options;
  options.device.cores = 1;
  EXPECT_EQ(timeline_of(graph, options), "a 0-2000\nb 0-2000\nc 2000-2010\n");
}

TEST(EventLoop, PlacesBlocksOfKernelsOnStreamsThatEdgesOrder) {
  TaskGraph graph = graph_from(R"(s0: a 100000
                                  s1: b 100000)");
  for (Task& task : graph.tasks) {
    task.kind = TaskKind::kKernel;
    task.cores = 0;
  }
  for (Resource& resource : graph.resources) resource.discipline = Discipline::kOverlapping;
  SimulationOptions options;
  options.gpu = work_of(graph, std::int64_t{80} * 4, Nanoseconds(100'000));  // half of what 80 SMs hold
  const Result<Schedule> beside = simulate(graph, options);
  ASSERT_TRUE(beside) << beside.error().message;
  EXPECT_EQ(beside->makespan, Nanoseconds(100'000));
  options.gpu = work_of(graph, std::int64_t{80} * 8, Nanoseconds(100'000));  // all of it
  const Result<Schedule> in_turn = simulate(graph, options);
  ASSERT_TRUE(in_turn) << in_turn.error().message;
  EXPECT_NEAR(seconds(in_turn->makespan), 200e-6, 3e-6);
}

TEST(EventLoop, TakesQueuesAndEdgesForTheSameOrderOnRandomKernels) {
  Random random(5);
  for (int round = 0; round < 20; ++round) {
    TaskGraph ordered;
    for (int i = 0; i < 3; ++i) ordered.add_resource("s", ResourceKind::kStream);
    const LabelId label = ordered.add_label("kernel");
    for (int i = 0; i < 24; ++i) {
      Task task;
      task.label = label;
      task.kind = TaskKind::kKernel;
      task.cores = 0;
      task.resource = ResourceId(random.below(3));
      task.duration = Nanoseconds(20'000);
      task.position = i;
      ordered.add_task(task);
    }
    TaskGraph overlapping = ordered;
    for (Resource& resource : overlapping.resources) resource.discipline = Discipline::kOverlapping;
    for (const std::vector<TaskId>& queue : queues_of(ordered)) {
      for (std::size_t i = 1; i < queue.size(); ++i) {
        overlapping.add_edge(queue[i - 1], queue[i], EdgeKind::kStreamOrder);
      }
    }
    SimulationOptions options;
    options.gpu = work_of(ordered, 80 * static_cast<std::int64_t>(1 + random.below(8)), Nanoseconds(20'000));
    const Result<Schedule> one = simulate(ordered, options);
    const Result<Schedule> other = simulate(overlapping, options);
    ASSERT_TRUE(one && other);
    EXPECT_NEAR(seconds(one->makespan), seconds(other->makespan), 1e-8) << round;
  }
}

TEST(EventLoop, TakesRecordedDurationsWhereNothingIsShared) {
  Random random(3);
  for (int round = 0; round < kEngineRounds; ++round) {
    TaskGraph graph = random_graph(random);
    for (Task& task : graph.tasks) task.waves = 0.01F;
    const Result<std::vector<TaskTimes>> alone = run_flat(graph);
    const Result<Schedule> shared = simulate(graph, sharing());
    ASSERT_TRUE(alone && shared);
    for (std::size_t i = 0; i < alone->size(); ++i) {
      EXPECT_EQ((*alone)[i].start, shared->tasks[i].start) << round;
      EXPECT_EQ((*alone)[i].end, shared->tasks[i].end) << round;
    }
  }
}

TEST(EventLoop, StaysBetweenItsBounds) {
  Random random(4);
  for (int round = 0; round < kEngineRounds; ++round) {
    const TaskGraph graph = random_graph(random);
    const Result<Schedule> schedule = simulate(graph, sharing());
    ASSERT_TRUE(schedule) << schedule.error().message;
    EXPECT_GE(schedule->makespan + Nanoseconds(1), schedule->lower_bound) << round;
  }
}

}  // namespace
}  // namespace cohort
