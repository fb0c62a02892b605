// Streams of traces: of several processes, idle ones, those of one graph, and clocks that differ.

#include <fmt/format.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <array>

#include "simulator/what_if/replay.hpp"
#include "tests/simulator/gpu_trace_text.hpp"

namespace cohort {
namespace {

using testing::HasSubstr;

/// The replay, with kernels of this name half as long.
std::string replayed_with_half(const Trace& trace, std::string_view name) {
  Result<TraceGraph> graph = build_trace_graph(trace);
  if (!graph) return graph.error().message;
  for (Task& task : graph->graph.tasks) {
    if (graph->graph.labels[to_index(task.label)] == name) task.duration /= 2;
  }
  return replayed(*graph);
}

TEST(TraceGraphStreams, PassesWaitsOnThroughAStreamWithoutWork) {
  const Trace trace = gpu_trace_from(R"(
    main   cudaLaunchKernel      0   5 c1
    s7     first                10 100 c1
    main   cudaEventRecord       6   7 c2
    main   cudaStreamWaitEvent   8   9 c3
    sync   Stream_Wait_Event     8   9 c3 stream=9 wait_on_stream=7 wait_on_cuda_event_record_corr_id=2
    main   cudaEventRecord      10  11 c4
    main   cudaStreamWaitEvent  12  13 c5
    sync   Stream_Wait_Event    12  13 c5 stream=11 wait_on_stream=9 wait_on_cuda_event_record_corr_id=4
    main   cudaLaunchKernel     14  19 c6
    s11    second              102 110 c6)");
  EXPECT_THAT(replayed_with_half(trace, "none"), HasSubstr("second 102-110"));
  EXPECT_THAT(replayed_with_half(trace, "first"), HasSubstr("second 57-65"));
}

TEST(TraceGraphStreams, KeepsStreamsOfSeveralProcessesApart) {
  Trace trace = gpu_trace_from(R"(
    main   cudaLaunchKernel        0   5 c1
    s7     own                    10 110 c1
    other  cudaLaunchKernel        1   6 c2
    s7     foreign                50 150 c2
    main   cudaStreamSynchronize  20 112 c3
    sync   Stream_Sync            20 112 c3 stream=7)");
  for (Track& track : trace.tracks) track.pid = track.thread == "other" ? 2 : 1;
  EXPECT_THAT(replayed_with_half(trace, "none"), HasSubstr("cudaStreamSynchronize 20-112"));
  EXPECT_THAT(replayed_with_half(trace, "foreign"), HasSubstr("cudaStreamSynchronize 20-112"));
  EXPECT_THAT(replayed_with_half(trace, "own"), HasSubstr("cudaStreamSynchronize 20-62"));
  EXPECT_THAT(replayed_with_half(trace, "own"), HasSubstr("foreign 50-150"));
}

TEST(TraceGraphStreams, StandsDeviceClocksThatAreBehind) {
  EXPECT_EQ(replay_of(R"(
    main   cudaLaunchKernel 1000 1005 c1
    s7     early             980  982 c1)"),
            "early 0-2\ncudaLaunchKernel 0-5\n");
}

TEST(TraceGraphStreams, TakesACorrelationOfZeroForNone) {
  const Result<TraceGraph> graph = build_trace_graph(gpu_trace_from(R"(
    main   cudaLaunchKernel  0   5 c0
    s7     gemm             10  20 c0
    s7     relu             20  30 c0)"));
  ASSERT_TRUE(graph) << graph.error().message;
  EXPECT_EQ(graph->counts.graph_launches, 0);
  EXPECT_EQ(graph->counts.without_launch_record, 2);
}

TEST(TraceGraphStreams, TakesAStepOfOneGraphFromItsLaunchThoughItsStreamsEndApart) {
  const Trace trace = gpu_trace_from(R"(
    main   cudaGraphLaunch  0  10 c1
    s7     gemm            20  30 c1
    s8     gemm            20  30 c1
    s7     relu            30  40 c1
    s8     relu            41  50 c1
    main   cudaGraphLaunch 60  70 c2
    s7     gemm            80  90 c2
    s8     gemm            80  90 c2
    s7     relu            90 100 c2
    s8     relu           101 110 c2)");
  const std::array<std::pair<int, int>, 2> expected = {std::pair(0, 60), std::pair(60, 70)};
  for (std::size_t i = 0; i < expected.size(); ++i) {
    StepOptions options;
    options.repetition = true;
    options.index = i;
    const Result<StepSelection> step = select_replay_step(trace, options);
    ASSERT_TRUE(step) << step.error().message;
    EXPECT_EQ(step->step.window.start, std::chrono::microseconds(expected[i].first));
    EXPECT_EQ(step->step.window.end, std::chrono::microseconds(expected[i].second));
    const Result<TraceGraph> graph = build_trace_graph(trace, {step->step.window, /*in_flight=*/false});
    ASSERT_TRUE(graph) << graph.error().message;
    EXPECT_EQ(graph->counts.ops, 4);
  }
}

TEST(TraceGraphStreams, WaitsForTheDeviceThatIsWaitedForAlone) {
  const auto trace = [](std::string_view of, int end) {
    return gpu_trace_from(fmt::format(R"(
    main   cudaLaunchKernel        0   5 c1
    s7     first                  10  90 c1 device=0
    main   cudaLaunchKernel        6   8 c2
    s9     second                 12 {} c2 device=1
    main   cudaDeviceSynchronize  20 105 c3
    {})",
                                      end, of));
  };
  // As recorded.
  const Trace told = trace("sync Context_Sync 20 105 c3 device=1", 100);
  EXPECT_THAT(replayed_with_half(told, "none"), HasSubstr("cudaDeviceSynchronize 20-105"));
  EXPECT_THAT(replayed_with_half(told, "first"), HasSubstr("cudaDeviceSynchronize 20-105"));
  EXPECT_THAT(replayed_with_half(told, "second"), HasSubstr("cudaDeviceSynchronize 20-61"));
  // By what had ended.
  const Trace untold = trace("", 300);
  EXPECT_THAT(replayed_with_half(untold, "first"), HasSubstr("cudaDeviceSynchronize 20-65"));
  const Result<TraceGraph> graph = build_trace_graph(untold);
  ASSERT_TRUE(graph) << graph.error().message;
  EXPECT_EQ(graph->counts.unresolved_waits, 0U);
}

TEST(TraceGraphStreams, CountsAWaitThatNoDeviceExplains) {
  const Result<TraceGraph> graph = build_trace_graph(gpu_trace_from(R"(
    main   cudaLaunchKernel        0   5 c1
    s7     early                  10  15 c1 device=0
    main   cudaLaunchKernel        6   8 c2
    s9     late                   12 300 c2 device=1
    main   cudaDeviceSynchronize  20 200 c3)"));
  ASSERT_TRUE(graph) << graph.error().message;
  EXPECT_EQ(graph->counts.unresolved_waits, 1U);
}

TEST(TraceGraphStreams, FreesOnOneDeviceWhateverRunsOnAnother) {
  const Trace trace = gpu_trace_from(R"(
    main   cudaLaunchKernel        0   5 c1
    s7     own                    10  90 c1 device=0
    main   cudaLaunchKernel        6   8 c2
    s9     other                  12 300 c2 device=1
    main   cudaFree               20  92 c3)");
  EXPECT_THAT(replayed_with_half(trace, "none"), HasSubstr("cudaFree 20-92"));
  EXPECT_THAT(replayed_with_half(trace, "own"), HasSubstr("cudaFree 20-52"));
}

TEST(TraceGraphStreams, WaitsForNoEventOfAnotherProcess) {
  Trace trace = gpu_trace_from(R"(
    main   cudaLaunchKernel        0   5 c1
    s7     own                    10 100 c1
    other  cudaLaunchKernel        1   6 c2
    s9     foreign                12 101 c2
    main   cudaEventSynchronize   20 102 c3)");
  for (Track& track : trace.tracks) track.pid = track.thread == "other" ? 2 : 1;
  EXPECT_THAT(replayed_with_half(trace, "none"), HasSubstr("cudaEventSynchronize 20-102"));
  EXPECT_THAT(replayed_with_half(trace, "foreign"), HasSubstr("cudaEventSynchronize 20-102"));
  EXPECT_THAT(replayed_with_half(trace, "own"), HasSubstr("cudaEventSynchronize 20-57"));
}

TEST(TraceGraphStreams, TakeTheRecordingOfAnEventOfTheirOwnProcess) {
  // Both processes number their events from the start.
  Trace trace = gpu_trace_from(R"(
    main   cudaLaunchKernel      0   5 c1
    s7     own                  10 100 c1
    main   cudaEventRecord       6   7 c2
    sync   CUDA_Event_Record     6   7 c2 cuda_event_sync_id=1
    other  cudaEventRecord     200 201 c3
    sync   CUDA_Event_Record   200 201 c3 cuda_event_sync_id=1
    main   cudaStreamWaitEvent   8   9 c4
    sync   Stream_Wait_Event     8   9 c4 stream=9 wait_on_stream=7 wait_on_cuda_event_sync_id=1
    main   cudaLaunchKernel     14  19 c5
    s9     behind              102 110 c5
    main   cudaLaunchKernel     20  25 c6
    s7     later               120 300 c6)");
  for (Track& track : trace.tracks) track.pid = track.thread == "other" ? 2 : 1;
  EXPECT_THAT(replayed_with_half(trace, "none"), HasSubstr("behind 102-110"));
  EXPECT_THAT(replayed_with_half(trace, "own"), HasSubstr("behind 57-65"));
}

TEST(TraceGraphStreams, TakeNoGraphOfManyKernelsForAQueueThatIsFull) {
  // Each launch begins when 39 kernels of the graph before have run.
  constexpr int kKernels = 400;
  std::string text;
  for (int graph = 0; graph < 10; ++graph) {
    const int start = 1000 + kKernels * graph;
    text += fmt::format("main cudaGraphLaunch {} {} c{}\n", start - kKernels + 39, start - kKernels + 139, graph + 1);
    for (int i = 0; i < kKernels; ++i)
      text += fmt::format("s7 kernel {} {} c{}\n", start + i, start + i + 1, graph + 1);
  }
  const Result<TraceGraph> graph = build_trace_graph(gpu_trace_from(text));
  ASSERT_TRUE(graph) << graph.error().message;
  EXPECT_EQ(graph->counts.launch_queue, std::nullopt);
  EXPECT_THAT(replayed(*graph), HasSubstr("cudaGraphLaunch 0-100"));
}

}  // namespace
}  // namespace cohort
