#include "simulator/trace_graph/trace_graph.hpp"

#include <fmt/format.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <array>
#include <cmath>
#include <filesystem>

#include "simulator/engine/flat_run.hpp"
#include "simulator/engine/simulate.hpp"
#include "simulator/what_if/replay.hpp"
#include "tests/simulator/gpu_trace_text.hpp"
#include "tracer/file/trace_file.hpp"

namespace cohort {
namespace {

TraceGraph graph_of(std::string_view text, const TraceGraphOptions& options = {}) {
  Result<TraceGraph> graph = build_trace_graph(gpu_trace_from(text), options);
  EXPECT_TRUE(graph.has_value()) << graph.error().message;
  return graph ? std::move(*graph) : TraceGraph{};
}

/// Every kernel `times` as fast.
TraceGraph faster(TraceGraph graph, int times) {
  for (Task& task : graph.graph.tasks) {
    if (task.kind == TaskKind::kKernel) task.duration /= times;
  }
  return graph;
}

constexpr std::string_view kLaunchAndWait = R"(
  main cudaLaunchKernel       0   5   c1
  main cudaLaunchKernel      10  15   c2
  main cudaDeviceSynchronize 20 130   c3
  main cudaLaunchKernel     150 155   c4
  s7   gemm                   8  60   c1
  s7   relu                  61 125   c2
  s7   gemm                 158 200   c4)";

TEST(TraceGraph, ReplaysLaunchesAndAWaitAsRecorded) {
  EXPECT_EQ(replay_of(kLaunchAndWait),
            "gemm 8-60\nrelu 61-125\ngemm 158-200\n"
            "cudaLaunchKernel 0-5\ncudaLaunchKernel 10-15\ncudaDeviceSynchronize 20-130\ncudaLaunchKernel 150-155\n");
}

TEST(TraceGraph, ShortensTheWaitWithinABlockingCallWhenEveryKernelIsHalved) {
  // 52 and 64 us of kernels become 26 and 32; the call returns 5 us after the last one, as recorded.
  EXPECT_EQ(replayed(faster(graph_of(kLaunchAndWait), 2)),
            "gemm 8-34\nrelu 35-67\ngemm 100-121\n"
            "cudaLaunchKernel 0-5\ncudaLaunchKernel 10-15\ncudaDeviceSynchronize 20-72\ncudaLaunchKernel 92-97\n");
}

/// Waves of a kernel of 80 blocks of 512 threads on 40 SMs.
float waves_of_80_blocks(std::string_view properties) {
  const Result<Trace> trace = parse_trace(fmt::format(R"({{"schemaVersion": 1, "deviceProperties": [
    {{"id": 0, "name": "a GPU of no catalogue", "numSms": 40, {}"warpSize": 32}}], "traceEvents": [
    {{"ph": "X", "cat": "cuda_runtime", "name": "cudaLaunchKernel", "pid": 1, "tid": 1, "ts": 1, "dur": 5,
     "args": {{"correlation": 1}}}},
    {{"ph": "X", "cat": "kernel", "name": "gemm", "pid": 0, "tid": 7, "ts": 8, "dur": 60,
     "args": {{"correlation": 1, "stream": 7, "grid": [80, 1, 1], "block": [512, 1, 1], "registers per thread": 32}}}}]}})",
                                                      properties));
  if (!trace) ADD_FAILURE() << trace.error().message;
  const Result<TraceGraph> graph = build_trace_graph(*trace, {});
  if (!graph) ADD_FAILURE() << graph.error().message;
  for (const Task& task : graph->graph.tasks) {
    if (task.kind == TaskKind::kKernel) return task.waves;
  }
  return 0;
}

TEST(TraceGraph, FillsADeviceOfNoCatalogueAsItsComputeCapabilitySays) {
  EXPECT_FLOAT_EQ(waves_of_80_blocks(R"("computeMajor": 7, "computeMinor": 5, )"), 1) << "1024 threads an SM";
  EXPECT_FLOAT_EQ(waves_of_80_blocks(R"("computeMajor": 8, "computeMinor": 6, )"), 2.0F / 3) << "1536";
  EXPECT_FLOAT_EQ(waves_of_80_blocks(R"("computeMajor": 9, "computeMinor": 0, )"), 0.5F) << "2048";
  EXPECT_FLOAT_EQ(waves_of_80_blocks(""), 0.5F) << "as most";
}

TEST(TraceGraph, NeverStartsAKernelBeforeItsLaunch) {
  // With kernels of no length the launches decide: 8 us after each.
  EXPECT_THAT(replayed(faster(graph_of(kLaunchAndWait), 1000)), testing::StartsWith("gemm 8-8.052\nrelu 18-18.064\n"));
}

TEST(TraceGraph, KeepsOverlapOfOpsOnOneStream) {
  const TraceGraph graph = graph_of(R"(
    main cudaLaunchKernelExC  0  5   c1
    main cudaLaunchKernelExC  6 10   c2
    s7   a                    8 60   c1
    s7   b                   59.1 80 c2)");
  EXPECT_EQ(graph.counts.overlaps, 1);
  EXPECT_THAT(replayed(graph), testing::StartsWith("a 8-60\nb 59.1-80\n"));
  EXPECT_THAT(replayed(faster(graph, 2)), testing::StartsWith("a 8-34\nb 33.1-43.55\n"));
}

TEST(TraceGraph, DropsDriverCallsWithinRuntimeCallsAndKeepsWhatTheyLaunched) {
  const TraceGraph graph = graph_of(R"(
    main cudaLaunchKernel  0 10  c1
    main cuLaunchKernel    2  8  c2
    s7   a                12 20  c2)");
  EXPECT_EQ(graph.counts.nested_calls, 1);
  EXPECT_EQ(graph.counts.without_launch_record, 0);
  EXPECT_EQ(replayed(graph), "a 12-20\ncudaLaunchKernel 0-10\n");
}

TEST(TraceGraph, PinsDeviceWorkWithoutALaunchRecordAndCountsIt) {
  const TraceGraph graph = graph_of(R"(
    s7   early             3  9  c99
    main cudaLaunchKernel  5 10  c1
    s7   a                12 20  c1)");
  EXPECT_EQ(graph.counts.without_launch_record, 1);
  EXPECT_EQ(replayed(graph), "early 0-6\na 9-17\ncudaLaunchKernel 2-7\n");
}

constexpr std::string_view kEvents = R"(
  main cudaLaunchKernel     0   5  c1
  main cudaEventRecord      6   7  c2
  main cudaStreamWaitEvent  8   9  c3
  main cudaLaunchKernel    10  15  c4
  main cudaLaunchKernel    16  20  c5
  sync Stream_Wait_Event    8   9  c3 stream=9 wait_on_stream=7 wait_on_cuda_event_record_corr_id=2 wait_on_cuda_event_id=1
  s7   a                    8 100  c1
  s9   b                  102 130  c4
  s7   c                  101 140  c5)";

TEST(TraceGraph, MakesTheNextOpOfAStreamWaitForTheEventItWasGiven) {
  EXPECT_THAT(replay_of(kEvents), testing::StartsWith("a 8-100\nc 101-140\nb 102-130\n"));
  // b begins 2 us after the end of a, however long a takes.
  EXPECT_THAT(replayed(faster(graph_of(kEvents), 4)), testing::HasSubstr("b 33-40\n"));
}

TEST(TraceGraph, TakesTheRecordingOfAnEventThatTheWaitNamesWhereIdsRepeat) {
  // Event 1 is recorded on stream 7 twice; the wait names the first recording, so b waits for a, not for c.
  const TraceGraph graph = graph_of(R"(
    main cudaLaunchKernel     0   5  c1
    main cudaEventRecord      6   7  c2
    main cudaLaunchKernel    10  14  c3
    main cudaEventRecord     15  16  c4
    main cudaStreamWaitEvent 17  18  c5
    main cudaLaunchKernel    19  22  c6
    sync Stream_Wait_Event   17  18  c5 stream=9 wait_on_stream=7 wait_on_cuda_event_record_corr_id=2
    s7   a                    8 100  c1
    s7   c                  101 300  c3
    s9   b                  103 130  c6)");
  EXPECT_THAT(replayed(graph), testing::HasSubstr("b 103-130\n"));
  EXPECT_THAT(replayed(faster(graph, 2)), testing::HasSubstr("b 57-70.5\n"));
}

TEST(TraceGraph, WaitsForAnEventsOpAlone) {
  const TraceGraph graph = graph_of(R"(
    main cudaLaunchKernel      0   5  c1
    main cudaEventRecord       6   7  c2
    main cudaLaunchKernel     10  14  c3
    main cudaEventSynchronize 20 106  c4
    sync Event_Sync           20 106  c4 wait_on_stream=7 wait_on_cuda_event_record_corr_id=2 stream=-1
    s7   a                     8 100  c1
    s7   b                   101 300  c3)");
  EXPECT_EQ(graph.counts.waits, 1);
  EXPECT_THAT(replayed(graph), testing::HasSubstr("cudaEventSynchronize 20-106\n"));
  EXPECT_THAT(replayed(faster(graph, 2)), testing::HasSubstr("cudaEventSynchronize 20-60\n"));
}

TEST(TraceGraph, WaitsForOneStreamAlone) {
  const TraceGraph graph = graph_of(R"(
    main cudaLaunchKernel       0   5  c1
    main cudaLaunchKernel      10  14  c2
    main cudaStreamSynchronize 20 104  c3
    sync Stream_Sync           20 104  c3 stream=7
    s7   a                      8 100  c1
    s9   b                     18 300  c2)");
  EXPECT_THAT(replayed(faster(graph, 2)), testing::HasSubstr("cudaStreamSynchronize 20-58\n"));
}

TEST(TraceGraph, BlocksOnCopiesOfPageableMemory) {
  const TraceGraph graph = graph_of(R"(
    main cudaLaunchKernel             0   5  c1
    main cudaMemcpyAsync              6 112  c2
    s7   a                            8 100  c1
    s7   Memcpy_DtoH_(Device_->_Pageable) 101 110 c2)");
  EXPECT_EQ(graph.counts.waits, 1);
  EXPECT_THAT(replayed(faster(graph, 2)), testing::HasSubstr("cudaMemcpyAsync 6-66\n"));
}

TEST(TraceGraph, WaitsForWorkThatEndsALittleAfterTheCallAsClocksDiffer) {
  const auto replayed_twice_as_fast = [](std::string_view call, std::string_view work, int end) {
    return replayed(faster(graph_of(fmt::format(R"(
    main cudaLaunchKernel             0   2  c1
    main cudaLaunchKernel             3   5  c{}
    main {}                           6 100  c{}
    s7   before                       7  50  c1
    s7   {}                          51 {}  c2)",
                                                work == "last" ? 2 : 3, call, work == "last" ? 3 : 2, work, end)),
                           2));
  };
  const std::string_view copy = "Memcpy_DtoH_(Device_->_Pageable)";
  EXPECT_THAT(replayed_twice_as_fast("cudaMemcpy", copy, 99), testing::HasSubstr("cudaMemcpy 6-78.5"));
  EXPECT_THAT(replayed_twice_as_fast("cudaMemcpy", copy, 101), testing::HasSubstr("cudaMemcpy 6-78.5"));
  EXPECT_THAT(replayed_twice_as_fast("cudaEventSynchronize", "last", 99),
              testing::HasSubstr("cudaEventSynchronize 6-54.5"));
  EXPECT_THAT(replayed_twice_as_fast("cudaEventSynchronize", "last", 101),
              testing::HasSubstr("cudaEventSynchronize 6-53.5"));
}

TEST(TraceGraph, FollowsTheBranchesOfAGraphLaunch) {
  const std::string_view text = R"(
    main cudaGraphLaunch  0   9  c1
    s7   a               12 100  c1
    s7   b              101 200  c1
    s8   c              102 150  c1
    s7   d              201 230  c1)";
  const TraceGraph graph = graph_of(text);
  EXPECT_EQ(graph.counts.graph_launches, 1);
  EXPECT_THAT(replayed(graph), testing::StartsWith("a 12-100\nb 101-200\nc 102-150\nd 201-230\n"));
  // c was held up by a, not by the launch.
  EXPECT_THAT(replayed(faster(graph, 4)), testing::StartsWith("a 12-34\nb 35-59.75\nc 36-48\nd 60.75-68\n"));
}

TEST(TraceGraph, OrdersOverlappingLaunchesOfTwoThreadsByCompletion) {
  const TraceGraph graph = graph_of(R"(
    one  cudaLaunchKernel  0  10  c1
    two  cudaLaunchKernel  2  14  c2
    one  cudaLaunchKernel 20  24  c3
    s7   a                16  30  c1
    s9   b                18  30  c2
    s7   c                31  40  c3)");
  EXPECT_THAT(replayed(graph), testing::HasSubstr("cudaLaunchKernel 2-14\n"));
  TraceGraph shorter = graph;
  for (Task& task : shorter.graph.tasks) {
    if (task.kind == TaskKind::kLaunch) task.duration /= 2;
  }
  EXPECT_THAT(replayed(shorter), testing::HasSubstr("cudaLaunchKernel 2-9\n"));
}

TEST(TraceGraph, MakesTheLegacyDefaultStreamABarrierForBlockingStreams) {
  const TraceGraph graph = graph_of(R"(
    main cudaStreamCreate  0   1  c1
    main cudaLaunchKernel  2   5  c2
    main cudaLaunchKernel  6   9  c3
    main cudaLaunchKernel 10  14  c4
    s9   a                10 100  c2
    s7   b               102 120  c3
    s9   c               122 130  c4)");
  EXPECT_THAT(replayed(faster(graph, 2)), testing::HasSubstr("b 57-66\nc 68-72\n"));
}

TEST(TraceGraph, HasADefaultStreamForEachDevice) {
  // Stream 7 of one device is no default stream of another's; stream 8 there is.
  const TraceGraph graph = graph_of(R"(
    main cudaStreamCreate  0   1  c1
    main cudaLaunchKernel  2   5  c2
    main cudaLaunchKernel  6   9  c3
    main cudaLaunchKernel 10  14  c4
    s7   a                10 100  c2 device=0
    s8   b               102 120  c3 device=1
    s9   c               122 130  c4 device=1)");
  EXPECT_THAT(replayed(faster(graph, 2)), testing::HasSubstr("a 10-55\nb 102-111\nc 113-117\n"));
}

TEST(TraceGraph, ExplainsAnIdleThreadByTheOneThatWokeIt) {
  const std::string_view text = R"(
    main     cudaLaunchKernel       0    10 c1
    autograd cudaLaunchKernel      20    30 c2
    autograd cudaStreamSynchronize 40  2040 c3
    main     cudaLaunchKernel    2060  2070 c4
    s7       a                     12  2030 c1
    s7       b                   2031  2035 c2
    s7       c                   2068  2080 c4)";
  const TraceGraph graph = graph_of(text);
  EXPECT_EQ(graph.counts.handoffs, 1);
  EXPECT_THAT(replayed(graph), testing::HasSubstr("cudaLaunchKernel 2060-2070\n"));
  EXPECT_THAT(replayed(faster(graph, 2)), testing::HasSubstr("cudaLaunchKernel 1049-1059\n"));
}

TEST(TraceGraph, LeavesOutWhatWasLaunchedBeforeAWindowWhereAskedTo) {
  TraceGraphOptions options;
  options.window = TimeWindow{Nanoseconds(9000), Nanoseconds(18000)};
  EXPECT_EQ(graph_of(kLaunchAndWait, options).counts.launched_before, 1);
  options.in_flight = false;
  const TraceGraph graph = graph_of(kLaunchAndWait, options);
  EXPECT_EQ(graph.counts.launched_before, 0);
  EXPECT_EQ(graph.counts.ops, 1);
}

TEST(TraceGraph, StartsAnIsolatedWindowsWorkAsSoonAsItsLaunchAllows) {
  // b queued behind a, which was launched before the window: alone it begins a usual latency after its launch.
  TraceGraphOptions options;
  options.window = TimeWindow{Nanoseconds(10'000), Nanoseconds(40'000)};
  options.in_flight = false;
  EXPECT_EQ(replayed(graph_of(R"(
    main cudaLaunchKernel       0    5 c1
    main cudaLaunchKernel      10   15 c2
    main cudaDeviceSynchronize 20 1105 c3
    s7   a                      8 1000 c1
    s7   b                   1001 1100 c2)",
                              options)),
            "b 8-107\ncudaLaunchKernel 0-5\ncudaDeviceSynchronize 10-112\n");
}

TEST(TraceGraph, LastsUntilTheHostHasDoneAllOfAStep) {
  TraceGraphOptions options;
  options.window = TimeWindow{Nanoseconds(0), Nanoseconds(400'000)};
  options.in_flight = false;
  const auto length = [&] {
    const TraceGraph graph = faster(graph_of(R"(
    main     cudaLaunchKernel        0   5 c1
    main     cudaStreamSynchronize  10 112 c2
    autograd cudaLaunchKernel        6   9 c3
    s7       a                       8 100 c1
    s8       b                      12  90 c3)",
                                             options),
                                    2);
    return makespan_of(run_flat(graph.graph).value());
  };
  EXPECT_EQ(length(), Nanoseconds(66'000));  // 46 us of a, and what lies around it
  options.whole_steps = true;                // and 288 us of the thread of the last call, not of the other one
  EXPECT_EQ(length(), Nanoseconds(66'000 + 288'000));
}

TEST(TraceGraph, KeepsAStepBehindAllThatWasLaunchedBeforeItWhereTheHostRunsAhead) {
  // The window is over before the device begins with what was launched in it; b runs in between, and is in neither.
  TraceGraphOptions options;
  options.window = TimeWindow{Nanoseconds(20'000), Nanoseconds(40'000)};
  const TraceGraph graph = graph_of(R"(
    main cudaLaunchKernel  0   5 c1
    main cudaLaunchKernel 10  15 c2
    main cudaLaunchKernel 20  25 c3
    main cudaLaunchKernel 30  35 c4
    main cudaLaunchKernel 50  55 c5
    s7   a                 8  38 c1
    s7   b                39  99 c2
    s7   c               100 140 c3
    s7   d               141 160 c4
    s7   e               161 200 c5)",
                                    options);
  EXPECT_EQ(graph.counts.launched_before, 2);
  EXPECT_EQ(graph.counts.device_span, Nanoseconds(60'000));
  EXPECT_EQ(replayed(graph), "a 0-18\nb 19-79\nc 80-120\nd 121-140\ncudaLaunchKernel 0-5\ncudaLaunchKernel 10-15\n");
  const Result<Replay> same = replay(graph);
  ASSERT_TRUE(same.has_value());
  EXPECT_EQ(same->traced, Nanoseconds(140'000));
  EXPECT_EQ(same->relative_error, 0);
}

TEST(TraceGraph, KeepsAStepBehindWorkWithoutALaunchRecordWhereTheHostRunsAhead) {
  // a and b have no call; both are over before the device begins with what the window launched. d comes after it.
  TraceGraphOptions options;
  options.window = TimeWindow{Nanoseconds(20'000), Nanoseconds(40'000)};
  const TraceGraph graph = graph_of(R"(
    main cudaLaunchKernel 20  25 c3
    s7   a                30  38 c98
    s7   b                39  99 c99
    s7   c               100 140 c3
    s7   d               141 160 c97)",
                                    options);
  EXPECT_EQ(graph.counts.without_launch_record, 2);
  EXPECT_EQ(replayed(graph), "a 10-18\nb 19-79\nc 80-120\ncudaLaunchKernel 0-5\n");
}

TEST(TraceGraph, LeavesThreadsThatOnlyLookOnOutOfAnIsolatedStep) {
  const std::string_view text = R"(
    main     cudaLaunchKernel      0    5 c1
    watchdog cudaEventQuery      900  901 c2
    s7       a                     8  100 c1)";
  TraceGraphOptions options;
  EXPECT_EQ(replayed(graph_of(text, options)), "a 8-100\ncudaLaunchKernel 0-5\ncudaEventQuery 900-901\n");
  options.in_flight = false;
  EXPECT_EQ(replayed(graph_of(text, options)), "a 8-100\ncudaLaunchKernel 0-5\n");
}

/// The ops and layers around a task, the innermost first.
std::vector<std::string> path_of(const TraceGraph& graph, std::size_t task) {
  std::vector<std::string> names;
  for (auto scope = graph.graph.tasks[task].scope; scope; scope = graph.graph.scopes[to_index(*scope)].parent) {
    names.push_back(graph.graph.labels[to_index(graph.graph.scopes[to_index(*scope)].label)]);
  }
  return names;
}

TEST(TraceGraph, KnowsTheOpsAroundEachKernel) {
  const TraceGraph graph = graph_of(R"(
    main #step              0 50
    main @aten::linear      1 20
    main @aten::addmm       2 18
    main cudaLaunchKernel   3  9  c1
    main cudaLaunchKernel  30 35  c2
    s7   gemm              12 40  c1
    s7   relu              41 60  c2)");
  EXPECT_THAT(path_of(graph, 1), testing::ElementsAre("aten::addmm", "aten::linear", "step"));
  EXPECT_THAT(path_of(graph, 2), testing::ElementsAre("step"));
}

TEST(TraceGraph, PutsABackwardOpIntoTheLayersOfTheForwardOpWhoseGradientItComputes) {
  const TraceGraph graph = graph_of(R"(
    main   #block                  0 30
    main   #fc1                    1 20
    main   @aten::linear           2 18 Sequence~number=7
    main   @aten::addmm            3 17 Sequence~number=7 Fwd~thread~id=0
    main   cudaLaunchKernel        4  9 c1
    main   #fc2                   21 29
    main   @aten::relu            22 28 Sequence~number=8
    main   cudaLaunchKernel       23 25 c2
    engine @evaluate:Relu         30 39 Sequence~number=8 Fwd~thread~id=1
    engine cudaLaunchKernel       31 33 c3
    engine @evaluate:Addmm        40 60 Sequence~number=7 Fwd~thread~id=1
    engine @AddmmBackward0        41 59 Sequence~number=7 Fwd~thread~id=1
    engine @aten::mm              42 58
    engine cudaLaunchKernel       43 48 c4
    engine @evaluate:Unknown      60 70 Sequence~number=99 Fwd~thread~id=1
    engine cudaLaunchKernel       61 63 c5
    s7     gemm                   12 20 c1
    s7     relu                   26 28 c2
    s7     relu_grad              34 38 c3
    s7     gemm_grad              50 60 c4
    s7     other                  64 66 c5)");
  EXPECT_THAT(path_of(graph, 1), testing::ElementsAre("aten::addmm", "aten::linear", "fc1", "block"));
  EXPECT_THAT(path_of(graph, 3), testing::ElementsAre("evaluate:Relu", "fc2", "block"));
  EXPECT_THAT(path_of(graph, 4), testing::ElementsAre("aten::mm", "AddmmBackward0", "evaluate:Addmm", "fc1", "block"));
  EXPECT_THAT(path_of(graph, 5), testing::ElementsAre("evaluate:Unknown"));
}

TEST(TraceGraph, TakesNoOpThatTheEnginesThreadComputesAgainForTheForwardOne) {
  // With checkpoints the engine's thread runs forward ops itself, and counts them for itself.
  const TraceGraph graph = graph_of(R"(
    main   #first                  0 10
    main   @aten::linear           1  9 Sequence~number=0
    main   cudaLaunchKernel        2  4 c1
    main   #second                11 20
    main   @aten::linear          12 19 Sequence~number=1
    engine #second                21 29
    engine @aten::linear          22 28 Sequence~number=0
    engine @evaluate:Addmm        30 40 Sequence~number=0 Fwd~thread~id=1
    engine cudaLaunchKernel       31 33 c2
    s7     gemm                    6 10 c1
    s7     gemm_grad              36 40 c2)");
  EXPECT_THAT(path_of(graph, 2), testing::ElementsAre("evaluate:Addmm", "first"));
}

TEST(TraceGraph, SaysThatAnEmptyWindowHoldsNothing) {
  TraceGraphOptions options;
  options.window = TimeWindow{Nanoseconds(900'000), Nanoseconds(901'000)};
  const Result<TraceGraph> graph = build_trace_graph(gpu_trace_from(kLaunchAndWait), options);
  ASSERT_FALSE(graph);
  EXPECT_EQ(graph.error().message,
            "no call and no device work begins in the window: choose another step with --step or another --window");
}

TEST(TraceGraph, ReplaysTracksOfTasksWithTheBarrierBetweenIterations) {
  Trace trace;
  const TrackId one = trace.add_track("cpu", "stream 0");
  const TrackId two = trace.add_track("cpu", "stream 1");
  const auto add = [&](TrackId track, std::string_view name, std::int64_t start, std::int64_t end, std::int64_t i) {
    const std::array<Trace::NamedArg, 1> args{{{kIterationArg, i}}};
    trace.add_slice(track, name, "task", Nanoseconds(start * 1000), Nanoseconds((end - start) * 1000), args);
  };
  add(one, "a", 0, 10, 0);
  add(one, "b", 12, 20, 0);
  add(two, "c", 1, 40, 0);
  add(one, "a", 43, 53, 1);
  add(two, "c", 44, 80, 1);
  const Result<TraceGraph> graph = build_trace_graph(trace);
  ASSERT_TRUE(graph) << graph.error().message;
  EXPECT_EQ(replayed(*graph), "a 0-10\nb 12-20\na 43-53\nc 1-40\nc 44-80\n");
  TraceGraph shorter = *graph;
  for (Task& task : shorter.graph.tasks) {
    if (shorter.graph.labels[to_index(task.label)] == "c") task.duration /= 2;
  }
  EXPECT_EQ(replayed(shorter), "a 0-10\nb 12-20\na 23.5-33.5\nc 1-20.5\nc 24.5-42.5\n");
}

TEST(TraceGraph, ReplaysEveryRecordedTraceOfTheCasesWithinItsTarget) {
  const std::filesystem::path cases = COHORT_TRACE_CASES;
  if (!std::filesystem::exists(cases)) GTEST_SKIP() << "../shared/cases is not here";
  constexpr double kMostSpanError = 0.01;
  constexpr double kMostStartError = 0.02;
  for (const auto& entry : std::filesystem::directory_iterator(cases)) {
    SCOPED_TRACE(entry.path().filename().string());
    const Result<Trace> trace = read_trace(entry.path());
    ASSERT_TRUE(trace) << trace.error().message;
    const Result<StepSelection> step = select_replay_step(*trace, {});
    ASSERT_TRUE(step) << step.error().message;
    TraceGraphOptions options;
    if (step->source != StepSource::kWholeTrace) options.window = step->step.window;
    const Result<TraceGraph> graph = build_trace_graph(*trace, options);
    ASSERT_TRUE(graph) << graph.error().message;
    const Result<Replay> result = replay(*graph);
    ASSERT_TRUE(result) << result.error().message;
    EXPECT_LT(std::abs(result->relative_error), kMostSpanError);
    EXPECT_LT(seconds(result->start_error_p99) / seconds(result->traced), kMostStartError);
  }
}

}  // namespace
}  // namespace cohort
