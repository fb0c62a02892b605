#include <fmt/format.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <array>

#include "base/random.hpp"
#include "simulator/engine/flat_run.hpp"
#include "simulator/transform/buffers.hpp"
#include "simulator/transform/capture.hpp"
#include "simulator/transform/edit.hpp"
#include "simulator/transform/graph_launch.hpp"
#include "simulator/transform/launch_lock.hpp"
#include "simulator/transform/merge.hpp"
#include "simulator/transform/replicate.hpp"
#include "simulator/transform/select.hpp"
#include "tests/simulator/gpu_trace_text.hpp"
#include "tests/simulator/graph_text.hpp"
#include "tests/simulator/random_graph.hpp"

namespace cohort {
namespace {

using testing::HasSubstr;

std::string flat(const TaskGraph& graph) {
  const Result<std::vector<TaskTimes>> times = run_flat(graph);
  if (!times) return times.error().message;
  Schedule schedule;
  schedule.tasks = *times;
  return timeline(graph, schedule);
}

Nanoseconds makespan(const Result<std::vector<TaskTimes>>& times) {
  EXPECT_TRUE(times.has_value()) << times.error().message;
  Nanoseconds last{};
  if (times) {
    for (const TaskTimes& each : *times) last = std::max(last, each.end);
  }
  return last;
}

Selection named(const TaskGraph& graph, std::string_view name) { return select_named(graph, name); }

constexpr int kTransformRounds = 60;

TEST(Transform, SelectsByNameAndByTheOpsAround) {
  TaskGraph graph = graph_from("s0: conv 1, relu 1, gemm_tn 1");
  const LabelId layer = graph.add_label("aten::linear");
  graph.scopes.push_back({layer, std::nullopt});
  graph.scopes.push_back({graph.add_label("aten::addmm"), ScopeId(0)});
  graph.tasks[1].scope = ScopeId(1);
  EXPECT_THAT(named(graph, "gemm"), testing::ElementsAre(TaskId(2)));
  EXPECT_THAT(named(graph, "*n"), testing::ElementsAre(TaskId(2)));
  EXPECT_THAT(named(graph, "linear"), testing::ElementsAre(TaskId(1)));
}

TEST(Transform, ScalesTasksAndSaysHowManyChanged) {
  TaskGraph graph = graph_from("s0: a 10, b 6, c 0");
  const Result<Change> change = scale(graph, {TaskId(0), TaskId(2)}, 2);
  ASSERT_TRUE(change) << change.error().message;
  EXPECT_EQ(change->tasks_changed, 1);
  EXPECT_EQ(flat(graph), "a 0-5\nb 5-11\nc 11-11\n");
  EXPECT_FALSE(scale(graph, {TaskId(0)}, 0));
}

TEST(Transform, InsertsATaskAndRefusesOneThatWouldCloseACycle) {
  TaskGraph graph = graph_from(R"(s0: a 10, b 6
                                  s1: c 1)");
  Task task = graph.tasks[2];
  const std::array<Edge, 2> edges{{{TaskId(0), TaskId(3), EdgeKind::kEvent, {}, Anchor::kEnd},
                                   {TaskId(3), TaskId(1), EdgeKind::kEvent, Nanoseconds(2), Anchor::kEnd}}};
  ASSERT_TRUE(insert(graph, task, edges));
  EXPECT_EQ(flat(graph), "a 0-10\nb 13-19\nc 0-1\nc 10-11\n");
  const std::array<Edge, 2> cycle{{{TaskId(1), TaskId(4), EdgeKind::kEvent, {}, Anchor::kEnd},
                                   {TaskId(4), TaskId(0), EdgeKind::kEvent, {}, Anchor::kEnd}}};
  EXPECT_FALSE(insert(graph, task, cycle));
  EXPECT_EQ(graph.tasks.size(), 4);
  EXPECT_EQ(graph.edges.size(), 2);
}

TEST(Transform, RemovesATaskAndBridgesWhatItJoined) {
  const TaskGraph graph = graph_from(R"(s0: a 10
                                        s1: b 6
                                        s2: c 1
                                        a -> b +2
                                        b -> c +3)");
  TaskGraph bridged = graph;
  const Result<Change> change = remove(bridged, {TaskId(1)}, Removal::kBridge);
  ASSERT_TRUE(change);
  EXPECT_EQ(flat(bridged), "a 0-10\nc 15-16\n");
  EXPECT_THAT(change->moved, testing::ElementsAre(TaskId(0), std::nullopt, TaskId(1)));
  TaskGraph cut = graph;
  ASSERT_TRUE(remove(cut, {TaskId(1)}, Removal::kCut));
  EXPECT_EQ(flat(cut), "a 0-10\nc 0-1\n");
}

TEST(Transform, BridgesAChainOfRemovedTasks) {
  TaskGraph graph = graph_from(R"(s0: a 10
                                  s1: b 6
                                  s2: c 1
                                  s3: d 5
                                  a -> b +2
                                  b -> c +3
                                  c -> d +4)");
  ASSERT_TRUE(remove(graph, {TaskId(1), TaskId(2)}, Removal::kBridge));
  EXPECT_EQ(flat(graph), "a 0-10\nd 19-24\n");
}

TEST(Transform, ReschedulesAnOpToAnotherStreamAndClosesTheGap) {
  TaskGraph graph = graph_from(R"(s0: a 10, b 20, c 5
                                  s1: d 3)");
  for (Resource& resource : graph.resources) resource.discipline = Discipline::kOverlapping;
  graph.add_edge(TaskId(0), TaskId(1), EdgeKind::kStreamOrder, Nanoseconds(1));
  graph.add_edge(TaskId(1), TaskId(2), EdgeKind::kStreamOrder, Nanoseconds(1));
  ASSERT_EQ(flat(graph), "a 0-10\nb 11-31\nc 32-37\nd 0-3\n");
  ASSERT_TRUE(reschedule(graph, {TaskId(1)}, ResourceId(1), Nanoseconds(1)));
  EXPECT_EQ(flat(graph), "a 0-10\nb 4-24\nc 11-16\nd 0-3\n");
}

constexpr std::string_view kStep = R"(
  main cudaLaunchKernel       0   5   c1
  main cudaLaunchKernel      10  15   c2
  main cudaDeviceSynchronize 20  45   c3
  s7   a                      8  20   c1
  s7   b                     21  40   c2)";

TaskGraph step_graph() { return build_trace_graph(gpu_trace_from(kStep))->graph; }

TEST(Transform, ReplicatesAStepOnStreamsOfTheirOwnWithOneThreadThatLaunches) {
  TaskGraph graph = step_graph();
  ReplicateOptions options;
  options.members = 2;
  options.stream_sets = 2;
  const Result<Change> change = replicate(graph, options);
  ASSERT_TRUE(change) << change.error().message;
  EXPECT_EQ(change->tasks_added, step_graph().tasks.size());
  const std::string times = flat(graph);
  // The thread launches a for both members, then works for both, then launches b for both.
  EXPECT_THAT(times, HasSubstr("a 8000-20000\n"));
  EXPECT_THAT(times, HasSubstr("a 13000-25000\n"));
  EXPECT_EQ(graph.resources.back().name, "GPU 0 stream 7 #1");
}

TEST(Transform, ReplicatesAStepOneMemberAfterAnother) {
  TaskGraph graph = step_graph();
  ReplicateOptions options;
  options.members = 3;
  options.turns = Turns::kWhole;
  ASSERT_TRUE(replicate(graph, options));
  // 45 us each, host work before the first launch is not part of the step.
  EXPECT_EQ(makespan(run_flat(graph)), Nanoseconds(135'000));
}

TEST(Transform, LetsLaunchesOfSeveralThreadsHoldOneLock) {
  TaskGraph graph = step_graph();
  ReplicateOptions options;
  options.members = 4;
  options.stream_sets = 4;
  options.thread_sets = 4;
  ASSERT_TRUE(replicate(graph, options));
  // Four first launches of 5 us one after another: the last kernel a begins 8 us after the start of the fourth.
  EXPECT_THAT(flat(graph), HasSubstr("a 23000-35000\n"));
}

/// One call that launches x and y on one stream.
constexpr std::string_view kOneLaunchOfTwo = R"(t0: a 2
                                                s0: x 10, y 5
                                                ^a -> x +1
                                                ^a -> y +1
                                                x -> y)";

TaskGraph launches(TaskGraph graph) {
  for (Edge& edge : graph.edges) {
    if (edge.anchor == Anchor::kStart) edge.kind = EdgeKind::kLaunch;
  }
  for (Resource& resource : graph.resources) {
    if (resource.name[0] == 's') resource.discipline = Discipline::kOverlapping;
  }
  return graph;
}

TEST(Transform, KeepsLaunchesOfSeveralOpsWholeWhereMembersShareAStream) {
  TaskGraph graph = launches(graph_from(kOneLaunchOfTwo));
  ReplicateOptions options;
  options.members = 2;
  ASSERT_TRUE(replicate(graph, options));
  EXPECT_EQ(flat(graph), "a 0-2\nx 1-11\ny 11-16\na 2-4\nx 16-26\ny 26-31\n");
  graph = launches(graph_from(kOneLaunchOfTwo));
  options.within_launches = true;
  ASSERT_TRUE(replicate(graph, options));
  EXPECT_EQ(flat(graph), "a 0-2\nx 1-11\ny 21-26\na 2-4\nx 11-21\ny 26-31\n");
}

TEST(Transform, LetsLaunchesTakeTurnsOpByOpWhereSomethingWaitsForAPartOfThem) {
  // The thread waits for x before it launches z, and y, of x's launch, waits for z.
  TaskGraph graph = launches(graph_from(R"(t0: a 2, w 0, b 2
                                           s0: x 10, y 5
                                           s1: z 3
                                           ^a -> x +1
                                           ^a -> y +1
                                           x -> y
                                           x -> w
                                           ^b -> z +1
                                           z -> y)"));
  ReplicateOptions options;
  options.members = 2;
  const Result<Change> change = replicate(graph, options);
  ASSERT_TRUE(change) << change.error().message;
  EXPECT_EQ(flat(graph),
            "a 0-2\nw 11-11\nb 21-23\nx 1-11\ny 25-30\nz 22-25\n"
            "a 2-4\nw 21-21\nb 23-25\nx 11-21\ny 30-35\nz 25-28\n");
}

TEST(Transform, KeepsTheOrderOfAStreamWhereATaskOfItIsShared) {
  // Two members on one stream, each with a copy between its kernels: the second's goes.
  TaskGraph graph = graph_from(R"(s0: p 5, copy 3, q 5, p2 5, copy2 3, q2 5
                                  p -> copy
                                  copy -> q
                                  q -> p2
                                  p2 -> copy2
                                  copy2 -> q2)");
  graph.resources[0].discipline = Discipline::kOverlapping;
  for (Edge& edge : graph.edges) edge.kind = EdgeKind::kStreamOrder;
  ASSERT_TRUE(share(graph, std::vector<Selection>{{TaskId(1), TaskId(4)}}));
  EXPECT_EQ(flat(graph), "p 0-5\ncopy 5-8\nq 8-13\np2 13-18\nq2 18-23\n");
}

TEST(Transform, LetsLaunchesHoldTheirLockInTheirLastPartOnly) {
  TaskGraph graph = graph_from(R"(t0: a 10, c 10
                                  t1: b 10
                                  s0: x 4, z 4
                                  s1: y 4
                                  ^a -> x +8
                                  ^b -> y +8
                                  ^c -> z +2)");
  for (Edge& edge : graph.edges) edge.kind = EdgeKind::kLaunch;
  for (Task& task : graph.tasks) {
    task.kind = graph.labels[to_index(task.label)] < "x" ? TaskKind::kLaunch : TaskKind::kKernel;
  }
  hold_shared_engines(graph, true);
  TaskGraph whole = graph;
  EXPECT_EQ(flat(whole), "a 0-10\nc 20-30\nb 10-20\nx 8-12\nz 22-26\ny 18-22\n");
  for (std::size_t i = 0; i < graph.tasks.size(); ++i) graph.tasks[i].position = static_cast<std::int64_t>(i);
  const Result<Change> change = shorten_locks(graph, 0.4);
  ASSERT_TRUE(change) << change.error().message;
  EXPECT_EQ(change->tasks_added, 3);
  EXPECT_EQ(change->edges_added, 3);
  // b's lock is free when a's part with it ends at 10; y starts 8 after b began, and 2 after its lock. z starts 2 after
  // c, which takes the lock as soon.
  EXPECT_EQ(flat(graph), "a 0-6\nc 10-12\nb 0-6\nx 8-12\nz 14-18\ny 12-16\na 6-10\nc 14-22\nb 10-14\n");
  EXPECT_EQ(graph.tasks[0].kind, TaskKind::kHostWork);
  EXPECT_EQ(graph.tasks[6].kind, TaskKind::kLaunch);
  EXPECT_FALSE(shorten_locks(graph, 1.5));
}

TEST(Transform, MergesCopiesOfAnOpIntoOneWithTheUnionOfTheirDependencies) {
  TaskGraph graph = graph_from(R"(s0: a 10, x 4, c 1
                                  s1: b 12, y 4, d 1)");
  const Result<Change> change = merge(graph, std::vector<Fusion>{{{TaskId(1), TaskId(4)}, Nanoseconds(6), 0}});
  ASSERT_TRUE(change) << change.error().message;
  EXPECT_EQ(change->tasks_removed, 1);
  EXPECT_EQ(flat(graph), "a 0-10\nx 12-18\nc 18-19\nb 0-12\nd 18-19\n");
}

TEST(Transform, RefusesToMergeTasksThatWaitForEachOther) {
  TaskGraph graph = graph_from(R"(s0: a 10
                                  s1: b 12
                                  s2: c 3
                                  a -> b
                                  b -> c)");
  const std::vector<Edge> edges = graph.edges;
  const Result<Change> change = merge(graph, std::vector<Fusion>{{{TaskId(0), TaskId(2)}, Nanoseconds(6), 0}});
  ASSERT_FALSE(change);
  EXPECT_THAT(change.error().message, HasSubstr("wait for each other"));
  EXPECT_EQ(graph.tasks.size(), 3);
  EXPECT_EQ(graph.edges.size(), edges.size());
}

TEST(Transform, SharesOnePreprocessingInstanceWithEveryMember) {
  TaskGraph graph = graph_from(R"(w: decode 10, decode2 10
                                  s0: x 4
                                  s1: y 4
                                  decode -> x
                                  decode2 -> y)");
  ASSERT_EQ(flat(graph), "decode 0-10\ndecode2 10-20\nx 10-14\ny 20-24\n");
  ASSERT_TRUE(share(graph, std::vector<Selection>{{TaskId(0), TaskId(1)}}));
  EXPECT_EQ(flat(graph), "decode 0-10\nx 10-14\ny 10-14\n");
}

TEST(Transform, CollapsesLaunchesToOneGraphAndKeepsTheWait) {
  TaskGraph graph = step_graph();
  GraphLaunchCosts costs;
  costs.call = Nanoseconds(2000);
  costs.node = Nanoseconds(500);
  costs.latency = Nanoseconds(8000);
  costs.gap = Nanoseconds(500);
  const Result<GraphCollapse> collapse = collapse_to_graphs(graph, costs);
  ASSERT_TRUE(collapse) << collapse.error().message;
  EXPECT_EQ(collapse->change.tasks_added, 1);
  EXPECT_EQ(collapse->change.tasks_removed, 3);  // two launches and the work between them
  const std::string times = flat(graph);
  EXPECT_THAT(times, HasSubstr("a 8000-20000\nb 20500-39500\n"));
  EXPECT_THAT(times, HasSubstr("graph launch 0-3000\n"));
  EXPECT_EQ(makespan(run_flat(graph)), Nanoseconds(44'500));
}

TEST(Transform, GraphsOfOneStreamAndOfSeveralAreLaunchedAtCostsOfTheirOwn) {
  const auto graph_launch = [](std::string_view stream_of_b) {
    TaskGraph graph = build_trace_graph(gpu_trace_from(fmt::format(R"(
      main cudaLaunchKernel    0   5  c1
      main cudaLaunchKernel   10  15  c2
      s7   a                   8  12  c1
      {}   b                  18  25  c2)",
                                                                   stream_of_b)))
                          ->graph;
    GraphLaunchCosts costs;
    costs.node = Nanoseconds(500);
    costs.chain_node = Nanoseconds(10);
    EXPECT_TRUE(collapse_to_graphs(graph, costs));
    return flat(graph);
  };
  EXPECT_THAT(graph_launch("s7"), HasSubstr("graph launch 0-2020\n"));
  EXPECT_THAT(graph_launch("s8"), HasSubstr("graph launch 0-3000\n"));
}

TEST(Transform, JoinsRecordedGraphsAsTheyWereRecorded) {
  TaskGraph graph = build_trace_graph(gpu_trace_from(R"(
      main cudaGraphLaunch     0   8  c1
      main cudaGraphLaunch    10  17  c2
      main cudaLaunchKernel   20  25  c3
      s7   a                   9  12  c1
      s7   b                  15  18  c1
      s7   c                  30  33  c2
      s7   d                  35  38  c2
      s7   e                  45  48  c3)"))
                        ->graph;
  GraphLaunchCosts costs;
  costs.call = Nanoseconds(2000);
  costs.node = Nanoseconds(500);
  costs.chain_node = Nanoseconds(500);
  costs.latency = Nanoseconds(9000);
  costs.gap = Nanoseconds(500);
  costs.most_gap = Nanoseconds(50'000);
  ASSERT_TRUE(collapse_to_graphs(graph, costs));
  // The launches of graphs took 6 and 5 us beyond the call; 3 and 2 us lie between their nodes.
  EXPECT_THAT(flat(graph), HasSubstr("graph launch 0-13500\n"));
  EXPECT_THAT(flat(graph), HasSubstr("a 13500-16500\nb 19500-22500\nc 23000-26000\nd 28000-31000\ne 31500-34500\n"));
}

TEST(Transform, KeepsBesideGraphsWhatTheHostDoesThatIsNoLaunch) {
  TaskGraph graph = build_trace_graph(gpu_trace_from(R"(
    main cudaLaunchKernel    0   5  c1
    main cudaLaunchKernel   10  15  c2
    main cudaMalloc         20  60
    main cudaLaunchKernel   70  75  c3
    main cudaLaunchKernel  575 580  c4
    main cudaLaunchKernel  590 595  c5
    s7   a                   8  12  c1
    s7   b                  18  25  c2
    s7   c                  78  90  c3
    s7   d                 583 590  c4
    s7   e                 598 600  c5)"))
                        ->graph;
  const GraphLaunchCosts costs{Nanoseconds(2000), Nanoseconds(500), Nanoseconds(8000), Nanoseconds(500)};
  const Result<GraphCollapse> collapse = collapse_to_graphs(graph, costs);
  ASSERT_TRUE(collapse) << collapse.error().message;
  EXPECT_EQ(collapse->kept, Nanoseconds(40'000 + 500'000));
  EXPECT_EQ(collapse->removed, Nanoseconds(5'000 + 10'000));
  // Launches before the allocation and after the pause of 500 us are a graph each; the one between is alone.
  EXPECT_EQ(flat(graph),
            "begin 0-0\n"
            "a 8000-12000\nb 12500-19500\nc 66000-78000\nd 571000-578000\ne 578500-580500\n"
            "host work 3000-8000\ncudaMalloc 8000-48000\n"
            "host work 48000-58000\ncudaLaunchKernel 58000-63000\n"
            "host work 63000-563000\n"
            "graph launch 0-3000\ngraph launch 563000-566000\n");
}

TEST(Transform, CopiesOfPageableMemoryAreNoPartOfAGraph) {
  const auto launches_of = [](std::string_view memory) {
    TaskGraph graph = build_trace_graph(gpu_trace_from(fmt::format(R"(
      main cudaLaunchKernel    0   5  c1
      main cudaMemcpyAsync    10  15  c2
      main cudaLaunchKernel   20  25  c3
      s7   a                   8  12  c1
      s7   Memcpy_HtoD_({}_->_Device)  18  25  c2
      s7   b                  28  40  c3)",
                                                                   memory)))
                          ->graph;
    EXPECT_TRUE(collapse_to_graphs(graph, {}));
    return std::count_if(graph.tasks.begin(), graph.tasks.end(),
                         [](const Task& task) { return task.kind == TaskKind::kLaunch; });
  };
  EXPECT_EQ(launches_of("Pinned"), 1);
  EXPECT_EQ(launches_of("Pageable"), 3);
}

TEST(Capture, RefusesCallsThatWaitAllocateOrLoad) {
  for (const std::string_view call :
       {"cudaMalloc", "cudaMallocHost_v3020", "cuMemAlloc_v2", "hipHostMalloc", "cudaFree", "cudaFreeHost",
        "cudaHostRegister", "cuModuleLoadData", "cudaMemcpy", "cuMemcpyHtoD_v2", "cudaStreamSynchronize"}) {
    EXPECT_TRUE(refuses_capture(call)) << call;
  }
  for (const std::string_view call :
       {"cudaLaunchKernel", "cuLaunchKernelEx", "cudaMemcpyAsync", "cudaMemsetAsync", "cudaMallocAsync",
        "cudaFreeAsync", "cudaEventRecord", "cudaStreamWaitEvent", "cudaStreamIsCapturing", "cudaGetDevice"}) {
    EXPECT_FALSE(refuses_capture(call)) << call;
  }
}

TEST(Transform, BoundsHowFarProducersRunAhead) {
  TaskGraph graph = graph_from(R"(w: copy 5
                                  s0: net 20
                                  copy -> net)");
  ASSERT_TRUE(repeat(graph, 4, Nanoseconds(0)));
  const Selection producers = named(graph, "copy");
  const Selection consumers = named(graph, "net");
  TaskGraph one = graph;
  ASSERT_TRUE(double_buffer(one, producers, consumers, 1));
  EXPECT_EQ(makespan(run_flat(one)), Nanoseconds(4 * 25));
  TaskGraph two = graph;
  ASSERT_TRUE(double_buffer(two, producers, consumers, 2));
  EXPECT_EQ(makespan(run_flat(two)), Nanoseconds(5 + 4 * 20));
  EXPECT_FALSE(double_buffer(two, producers, consumers, 0));
}

TEST(Transform, AppendsMembersOfAnotherTraceOnResourcesOfTheirOwn) {
  TaskGraph graph = step_graph();
  const TaskGraph other = step_graph();
  const Change change = append(graph, other);
  EXPECT_EQ(change.tasks_added, other.tasks.size());
  EXPECT_EQ(graph.tasks.back().member, 1);
  EXPECT_EQ(makespan(run_flat(graph)), makespan(run_flat(other)));
}

}  // namespace
}  // namespace cohort
