// Members of several traces on the same host threads.

#include <gtest/gtest.h>

#include <algorithm>
#include <optional>
#include <set>

#include "simulator/engine/flat_run.hpp"
#include "simulator/trace_graph/trace_graph.hpp"
#include "simulator/transform/replicate.hpp"
#include "tests/simulator/gpu_trace_text.hpp"
#include "tests/simulator/random_graph.hpp"

namespace cohort {
namespace {

TaskGraph drawn_graph(std::string_view drawing) {
  TraceGraphOptions options;
  options.in_flight = false;
  Result<TraceGraph> graph = build_trace_graph(gpu_trace_from(drawing), options);
  EXPECT_TRUE(graph) << graph.error().message;
  return graph ? std::move(graph->graph) : TaskGraph{};
}

/// Names of the calls on the thread that makes the one so named, in order.
std::string calls_beside(const TaskGraph& graph, std::string_view name) {
  std::optional<ResourceId> thread;
  std::vector<TaskId> calls;
  for (std::size_t i = 0; i < graph.tasks.size(); ++i) {
    const Task& task = graph.tasks[i];
    if (task.kind != TaskKind::kLaunch && task.kind != TaskKind::kCall) continue;
    calls.push_back(TaskId(i));
    if (graph.label(calls.back()) == name) thread = task.resource;
  }
  std::sort(calls.begin(), calls.end(),
            [&](TaskId a, TaskId b) { return graph.task(a).position < graph.task(b).position; });
  std::string names;
  for (const TaskId call : calls) names += graph.task(call).resource == thread ? graph.label(call) + " " : "";
  return names;
}

/// Two graphs, each so replicated, one behind the other.
TaskGraph together(TaskGraph first, TaskGraph second, const ReplicateOptions& options,
                   std::vector<MemberTasks>& parts) {
  TaskGraph graph;
  for (TaskGraph* each : {&first, &second}) {
    EXPECT_TRUE(replicate(*each, options));
    const std::size_t begin = graph.tasks.size();
    append(graph, *each);
    parts.push_back({begin, graph.tasks.size(), options.members, options.thread_sets});
  }
  return graph;
}

TEST(ShareThreads, LaunchesForTracesInTurnOnTheThreadThatLaunchesFirst) {
  const TaskGraph forward_and_backward = drawn_graph(R"(
    back  cudaLaunchKernelExC  40 45 c3
    front cudaLaunchKernel      0  5 c1
    front cudaLaunchKernel     10 15 c2
    front cudaStreamQuery      90 91 c9
    s7    a                     8 20 c1
    s7    b                    21 30 c2
    s7    c                    48 60 c3)");
  const TaskGraph other = drawn_graph(R"(
    main  cuLaunchKernel        0  5 c1
    s7    d                     8 20 c1)");
  std::vector<MemberTasks> parts;
  TaskGraph graph = together(forward_and_backward, other, {}, parts);
  const Result<Change> change = share_threads(graph, parts, 1);
  ASSERT_TRUE(change) << change.error().message;
  EXPECT_EQ(calls_beside(graph, "cudaStreamQuery"),
            "cudaLaunchKernel cuLaunchKernel cudaLaunchKernel cudaStreamQuery ");
  EXPECT_EQ(calls_beside(graph, "cudaLaunchKernelExC"), "cudaLaunchKernelExC ");
  EXPECT_TRUE(run_flat(graph));
}

TEST(ShareThreads, KeepsEveryTracesOrderAndClosesNoCycle) {
  constexpr int kRounds = 60;
  for (int round = 0; round < kRounds; ++round) {
    SCOPED_TRACE(round);
    Random random(static_cast<std::uint64_t>(round));
    ReplicateOptions options;
    options.members = 1 + static_cast<int>(random.below(3));
    options.stream_sets = options.members;
    const int launch_threads = 1 + static_cast<int>(random.below(4));
    options.thread_sets = std::min(options.members, launch_threads);
    std::vector<MemberTasks> parts;
    TaskGraph graph = together(random_graph(random), random_graph(random), options, parts);
    const std::vector<std::vector<TaskId>> before = queues_of(graph);
    const int sets = std::min(2 * options.members, launch_threads);
    const Result<Change> change = share_threads(graph, parts, sets);
    ASSERT_TRUE(change) << change.error().message;
    const Result<std::vector<TaskTimes>> times = run_flat(graph);
    ASSERT_TRUE(times) << times.error().message;
    for (const std::vector<TaskId>& queue : before) {
      for (std::size_t i = 1; i < queue.size(); ++i) {
        EXPECT_EQ(graph.task(queue[i - 1]).resource, graph.task(queue[i]).resource);
        EXPECT_LE((*times)[to_index(queue[i - 1])].end, (*times)[to_index(queue[i])].start);
      }
    }
    std::set<ResourceId> threads;
    for (const Edge& edge : graph.edges) {
      if (edge.kind == EdgeKind::kLaunch) threads.insert(graph.task(edge.from).resource);
    }
    EXPECT_LE(threads.size(), 2 * static_cast<std::size_t>(sets));  // two threads in each trace
  }
}

}  // namespace
}  // namespace cohort
