#include "simulator/what_if/what_if.hpp"

#include <fmt/format.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <array>
#include <filesystem>
#include <numeric>

#include "simulator/what_if/replay.hpp"
#include "tests/simulator/gpu_trace_text.hpp"
#include "tracer/file/trace_file.hpp"

namespace cohort {
namespace {

using testing::HasSubstr;
using testing::Not;

/// Kernels of 2 us each behind launches of 5 us with 5 us of the framework's work between them: the GPU idles.
std::string launch_bound(int kernels) {
  std::string text = "main #step 0 100000\n";
  for (int i = 0; i < kernels; ++i) {
    text += fmt::format("main @layer{} {} {}\n", i, 10 * i, 10 * i + 6);
    text += fmt::format("main cudaLaunchKernel {} {} c{}\n", 10 * i, 10 * i + 5, i + 1);
    text += fmt::format("s7 small {} {} c{}\n", 10 * i + 7, 10 * i + 9, i + 1);
  }
  text += fmt::format("main cudaDeviceSynchronize {} {} c999\n", 10 * kernels, 10 * kernels + 6);
  return text;
}

/// One copy of the input, then three large kernels launched far ahead.
constexpr std::string_view kCopyAndCompute = R"(
  main cudaMemcpyAsync        0    4  c1
  main cudaLaunchKernel       5    9  c2
  main cudaLaunchKernel      10   14  c3
  main cudaLaunchKernel      15   19  c4
  main cudaDeviceSynchronize 20  706  c5
  s7   Memcpy_HtoD_(Pinned_->_Device) 8 208 c1
  s7   conv                 209  409  c2
  s7   relu                 410  500  c3
  s7   gemm                 501  700  c4)";

struct Case {
  explicit Case(std::vector<Trace> of) : traces(std::move(of)) {
    TraceGraphOptions options;
    options.in_flight = false;
    for (const Trace& trace : traces) {
      Result<TraceGraph> graph = build_trace_graph(trace, options);
      EXPECT_TRUE(graph.has_value()) << graph.error().message;
      what_if_case.traces.push_back(&trace);
      what_if_case.graphs.push_back(std::move(*graph));
    }
  }
  explicit Case(std::string_view text) : Case(std::vector<Trace>{gpu_trace_from(text)}) {}

  WhatIfPrediction predict(const WhatIf& what_if) const {
    Result<WhatIfPrediction> prediction = predict_what_if(what_if_case, what_if);
    EXPECT_TRUE(prediction.has_value()) << prediction.error().message;
    return prediction ? std::move(*prediction) : WhatIfPrediction{};
  }

  std::vector<Trace> traces;
  WhatIfCase what_if_case;
};

/// Every kernel takes this part of the device.
Case filling(Case of, float waves) {
  for (TraceGraph& graph : of.what_if_case.graphs) {
    for (Task& task : graph.graph.tasks) {
      if (task.kind == TaskKind::kKernel) task.waves = waves;
    }
  }
  return of;
}

void expect_sound(const WhatIfPrediction& prediction) {
  // Ends of kernels are rounded one by one.
  const Nanoseconds rounding(static_cast<std::int64_t>(prediction.trace.slices.size()));
  EXPECT_LE(prediction.lower_bound, prediction.step_time + rounding);
  EXPECT_LE(prediction.step_time, prediction.upper_bound);
  Nanoseconds gain{};
  for (const GainPart& part : prediction.gain) gain += part.gain;
  EXPECT_EQ(gain, prediction.baseline - prediction.step_time);
}

WhatIf models(int count) {
  WhatIf what_if;
  what_if.models = count;
  return what_if;
}

TEST(WhatIf, PredictsTheTracedStepWhereNothingIsChanged) {
  const WhatIfPrediction prediction = Case(kCopyAndCompute).predict({});
  EXPECT_EQ(prediction.step_time, Nanoseconds(706'000));
  EXPECT_DOUBLE_EQ(prediction.speedup, 1);
  expect_sound(prediction);
}

TEST(WhatIf, SeesGraphsHelpWhereLaunchesBind) {
  const Case launches(launch_bound(50));
  WhatIf what_if = models(8);
  const WhatIfPrediction single_launches = filling(launches, 0.1F).predict(what_if);
  // One thread launches for all: streams alone gain next to nothing.
  EXPECT_LT(single_launches.speedup, 1.1);
  EXPECT_THAT(single_launches.binding.resource, HasSubstr("thread"));
  EXPECT_GT(single_launches.binding.utilisation, 0.9);
  what_if.graphs = true;
  const WhatIfPrediction graphs = filling(launches, 0.1F).predict(what_if);
  EXPECT_GT(graphs.speedup, 5);
  EXPECT_EQ(graphs.gain.front().cause, "launch removal");
  EXPECT_GT(graphs.gain.front().gain, Nanoseconds(0));
  expect_sound(single_launches);
  expect_sound(graphs);
}

TEST(WhatIf, SaysHowMuchDependsOnContentionAndLowersItsConfidenceByThat) {
  const Case launches(launch_bound(50));
  const WhatIfPrediction host_bound = filling(launches, 0.1F).predict(models(4));
  // The host's thread binds: how kernels share the device hardly matters.
  EXPECT_LE(host_bound.kernels_in_turn - host_bound.without_contention, host_bound.step_time / 20);
  const WhatIfPrediction shared = filling(Case(kCopyAndCompute), 0.5F).predict(models(4));
  EXPECT_LT(shared.without_contention, shared.step_time);
  EXPECT_LE(shared.step_time, shared.kernels_in_turn);
  EXPECT_EQ(shared.confidence(), Confidence::kLow);
  EXPECT_THAT(shared.doubts.front().why, HasSubstr("if none ran beside another"));
  const WhatIfPrediction alone = Case(kCopyAndCompute).predict({});
  EXPECT_EQ(alone.kernels_in_turn, alone.step_time);
  EXPECT_EQ(alone.confidence(), Confidence::kHigh);
}

TEST(WhatIf, TakesCalibratedFiguresOfTheDevice) {
  WhatIf what_if;
  what_if.graphs = true;
  Trace trace = gpu_trace_from(launch_bound(50));
  trace.info.device.name = "";
  const Case launches(std::vector<Trace>{trace});
  const WhatIfPrediction published = launches.predict(what_if);
  what_if.gpu = published_gpu_profile("Tesla V100-SXM2-32GB");
  what_if.gpu->launch.graph_call = Nanoseconds(1'000'000);
  const WhatIfPrediction calibrated = launches.predict(what_if);
  EXPECT_GT(calibrated.step_time, Nanoseconds(1'000'000));
  EXPECT_LT(published.step_time, Nanoseconds(1'000'000));
  EXPECT_EQ(published.confidence(), Confidence::kLow);  // the trace names no device
  // That the framework's work goes with the launches is taken to be so.
  EXPECT_EQ(calibrated.confidence(), Confidence::kMedium);
  ASSERT_EQ(calibrated.doubts.size(), 1);
  EXPECT_EQ(calibrated.doubts[0].why, "245 us of the host's work between launches a step is taken to go with them");
}

TEST(WhatIf, LaunchesFromThreadsBesideEachOtherWhereACalibrationSaysHowLongTheLockIsHeld) {
  WhatIf what_if = models(4);
  what_if.launch_threads = 4;
  what_if.gpu = published_gpu_profile("Tesla V100-SXM2-32GB");
  const Case launches(launch_bound(50));
  const WhatIfPrediction whole = launches.predict(what_if);
  EXPECT_THAT(whole.doubts.back().why + whole.doubts.front().why, HasSubstr("hold one lock for their whole length"));
  what_if.gpu->launch.lock = what_if.gpu->launch.call / 4;
  const WhatIfPrediction part = launches.predict(what_if);
  // 50 launches of 5 us from each of 4 threads, one after another, or a quarter of each.
  EXPECT_GE(whole.step_time, Nanoseconds(1'000'000));
  EXPECT_LT(part.step_time, Nanoseconds(600'000));
  for (const Doubt& doubt : part.doubts) EXPECT_THAT(doubt.why, Not(HasSubstr("one lock")));
  expect_sound(part);
}

TEST(WhatIf, KeepsTheHostsPausesBesideGraphsAndSaysThatItCannotTell) {
  const auto predict = [](int pause) {
    Trace trace = gpu_trace_from(fmt::format(R"(
      main cudaLaunchKernel    0    5  c1
      main cudaLaunchKernel   10   15  c2
      main cudaLaunchKernel   {0} {1}  c3
      main cudaLaunchKernel   {2} {3}  c4
      s7   a                   7    9  c1
      s7   a                  17   19  c2
      s7   a                  {4} {5}  c3
      s7   a                  {6} {7}  c4)",
                                             15 + pause, 20 + pause, 25 + pause, 30 + pause, 22 + pause, 24 + pause,
                                             32 + pause, 34 + pause));
    trace.info.device.name = "Tesla V100-SXM2-16GB";
    WhatIf what_if;
    what_if.graphs = true;
    return Case(std::vector<Trace>{trace}).predict(what_if);
  };
  const WhatIfPrediction feeding = predict(5);
  EXPECT_GT(feeding.speedup, 1.8);
  EXPECT_EQ(feeding.confidence(), Confidence::kMedium);
  const WhatIfPrediction pausing = predict(1000);
  EXPECT_LT(pausing.speedup, 1.1);
  EXPECT_GE(pausing.step_time, Nanoseconds(1'000'000));
  EXPECT_EQ(pausing.confidence(), Confidence::kLow);
  EXPECT_THAT(pausing.doubts.front().why, HasSubstr("1.00 ms of the host's time a step is not for launches"));
}

TEST(WhatIf, GivesEachMemberItsWeightsAndEachStreamItsActivations) {
  Trace trace = gpu_trace_from(kCopyAndCompute);
  const StringId counter = trace.strings.intern("allocated bytes, GPU 0");
  for (const auto& [time, bytes] : {std::pair{1'000, 700.0}, {100'000, 1000.0}, {600'000, 800.0}}) {
    trace.counters.push_back({Nanoseconds(time), TrackId(0), counter, bytes});
  }
  const Case recorded(std::vector<Trace>{trace});
  WhatIf what_if = models(4);
  what_if.streams = 2;
  const BatchMemory memory = recorded.predict(what_if).memory;
  EXPECT_EQ(memory.weights, Bytes{2800});
  EXPECT_EQ(memory.step, Bytes{600});
  EXPECT_EQ(memory.unknown, "");
  const BatchMemory unknown = Case(kCopyAndCompute).predict(what_if).memory;
  EXPECT_FALSE(unknown.total());
  EXPECT_THAT(unknown.unknown, HasSubstr("no allocations"));
}

TEST(WhatIf, GainsNothingFromGraphsWhereKernelsBind) {
  WhatIf what_if = models(4);
  const Case full = filling(Case(kCopyAndCompute), 4);
  const WhatIfPrediction single_launches = full.predict(what_if);
  what_if.graphs = true;
  const WhatIfPrediction graphs = full.predict(what_if);
  EXPECT_NEAR(graphs.speedup, single_launches.speedup, 0.05 * single_launches.speedup);
}

TEST(WhatIf, OverlapsKernelsThatLeaveRoomAndNotThoseThatFillTheDevice) {
  WhatIf what_if = models(4);
  const WhatIfPrediction room = filling(Case(kCopyAndCompute), 0.25F).predict(what_if);
  const WhatIfPrediction none = filling(Case(kCopyAndCompute), 1).predict(what_if);
  EXPECT_GT(room.speedup, 1.9);
  // Copies of one member overlap kernels of another; kernels take their turns.
  EXPECT_LT(none.speedup, 1.5);
  EXPECT_GE(none.step_time, Nanoseconds(4 * 489'000));
  expect_sound(room);
  expect_sound(none);
  what_if.streams = 1;
  const WhatIfPrediction one_stream = filling(Case(kCopyAndCompute), 0.25F).predict(what_if);
  EXPECT_LT(one_stream.speedup, room.speedup);
}

TEST(WhatIf, SharesTheCopyOfTheInput) {
  WhatIf what_if = models(4);
  const Case full = filling(Case(kCopyAndCompute), 0.25F);
  const WhatIfPrediction separate = full.predict(what_if);
  what_if.shared_input = true;
  const WhatIfPrediction shared = full.predict(what_if);
  EXPECT_LT(shared.step_time, separate.step_time);
  EXPECT_EQ(shared.gain.front().cause, "sharing");
  EXPECT_GE(shared.gain.front().gain, Nanoseconds(3 * 195'000));
  expect_sound(shared);
}

TEST(WhatIf, CopiesInputAheadWithBuffers) {
  WhatIf what_if;
  what_if.buffers = 2;
  const WhatIfPrediction prediction = Case(kCopyAndCompute).predict(what_if);
  // The copy of 200 us hides behind the 491 us of kernels of the step before.
  EXPECT_LT(prediction.step_time, prediction.baseline - Nanoseconds(190'000));
  EXPECT_GE(prediction.step_time, Nanoseconds(489'000));
  expect_sound(prediction);
}

TEST(WhatIf, MakesKernelsFasterByTheirNameAndByLayer) {
  WhatIf what_if;
  what_if.scale = {{"conv", 2.0}};
  EXPECT_EQ(Case(kCopyAndCompute).predict(what_if).step_time, Nanoseconds(606'000));
  what_if.scale = {{"layer3", 2.0}};
  EXPECT_EQ(Case(launch_bound(5)).predict(what_if).changes.front().second.tasks_changed, 1);
  what_if.scale = {{"attention", 2.0}};
  const Result<WhatIfPrediction> unknown = predict_what_if(Case(kCopyAndCompute).what_if_case, what_if);
  ASSERT_FALSE(unknown);
  EXPECT_EQ(unknown.error().code, ErrorCode::kNegativeAnswer);
  EXPECT_THAT(unknown.error().message, HasSubstr("attention"));
}

TEST(WhatIf, KnowsMixedPrecisionAndFasterCopies) {
  WhatIf what_if;
  what_if.mixed_precision = true;
  // conv 200 -> 200/3, gemm 199 -> 199/3, relu 90 -> 45.
  EXPECT_NEAR(seconds(Case(kCopyAndCompute).predict(what_if).step_time), 706e-6 - (399.0 * 2 / 3 + 45) * 1e-6, 1e-8);
  what_if = {};
  what_if.copy_speed = 2;
  EXPECT_EQ(Case(kCopyAndCompute).predict(what_if).step_time, Nanoseconds(606'000));
}

TEST(WhatIf, KnowsAFasterInterconnect) {
  constexpr std::string_view kTwoGpus = R"(
    main cudaLaunchKernel       0    4  c1
    main cudaMemcpyPeerAsync    5    9  c2
    main cudaLaunchKernel      10   14  c3
    main cudaDeviceSynchronize 15  420  c4
    s7   ncclDevKernel_AllReduce_Sum_f32_RING_LL 8 208 c1
    s7   Memcpy_PtoP_(Device_->_Device) 209 309 c2
    s7   relu                 310  410  c3)";
  WhatIf what_if;
  what_if.interconnect_speed = 2;
  const WhatIfPrediction prediction = Case(kTwoGpus).predict(what_if);
  EXPECT_EQ(prediction.step_time, Nanoseconds(420'000 - 100'000 - 50'000));
  EXPECT_EQ(prediction.gain.front().cause, "faster tasks");
  EXPECT_EQ(prediction.changes.front().second.tasks_changed, 2);
  const Result<WhatIfPrediction> nothing = predict_what_if(Case(kCopyAndCompute).what_if_case, what_if);
  ASSERT_FALSE(nothing);
  EXPECT_EQ(nothing.error().code, ErrorCode::kNegativeAnswer);
  EXPECT_THAT(nothing.error().message, HasSubstr("copies nothing between GPUs"));
  what_if.interconnect_speed = 0;
  EXPECT_EQ(predict_what_if(Case(kTwoGpus).what_if_case, what_if).error().code, ErrorCode::kUsage);
}

TEST(WhatIf, LeavesKernelsAloneThatComputeIn16BitsAlready) {
  constexpr std::string_view kMixed = R"(
    main cudaLaunchKernel       0    4  c1
    main cudaLaunchKernel       5    9  c2
    main cudaDeviceSynchronize 10  310  c3
    s7   ampere_bf16_s16816gemm_bf16_128x128 8 108 c1
    s7   {}                  109  309  c2)";
  WhatIf what_if;
  what_if.mixed_precision = true;
  const auto step = [&](const char* other) { return Case(fmt::format(kMixed, other)).predict(what_if).step_time; };
  EXPECT_EQ(step("relu"), Nanoseconds(210'000));
  EXPECT_EQ(step("sm80_xmma_gemm_f32f32_tf32f32_f32"), Nanoseconds(310'000 - 133'333));
  const Case done(fmt::format(kMixed, "sm80_xmma_gemm_f16f16_f16f32_f32"));
  const Result<WhatIfPrediction> nothing = predict_what_if(done.what_if_case, what_if);
  ASSERT_FALSE(nothing);
  EXPECT_EQ(nothing.error().code, ErrorCode::kNegativeAnswer);
  EXPECT_THAT(nothing.error().message, HasSubstr("compute in 16 bits already"));
}

TEST(WhatIf, FusesKernelsThatLeaveRoomAndTheirLaunches) {
  WhatIf what_if = models(8);
  what_if.fuse = FuseChoice::kAuto;
  const WhatIfPrediction fused = filling(Case(launch_bound(50)), 0.1F).predict(what_if);
  EXPECT_GT(fused.speedup, 5);
  EXPECT_EQ(fused.gain.back().cause, "fusion");
  expect_sound(fused);
  what_if.fuse = FuseChoice::kNamed;
  what_if.fused = {"layer7"};
  const WhatIfPrediction one = filling(Case(launch_bound(50)), 0.1F).predict(what_if);
  EXPECT_GT(one.step_time, fused.step_time);
  EXPECT_EQ(one.changes.back().second.tasks_removed, 7 * 2);  // a launch and the work before it
}

TEST(WhatIf, FusesOpsOfRecordedGraphsWhereMembersShareStreams) {
  constexpr std::string_view kGraph = R"(
    main cudaGraphLaunch        0   8  c1
    main cudaDeviceSynchronize 10  70  c2
    s7   first                 12  32  c1
    s7   second                33  63  c1)";
  WhatIf what_if = models(4);
  what_if.streams = 2;
  what_if.fuse = FuseChoice::kAuto;
  const WhatIfPrediction prediction = filling(Case(kGraph), 0.1F).predict(what_if);
  expect_sound(prediction);
  int kernels = 0;
  for (const Slice& slice : prediction.trace.slices) {
    const std::string_view name = prediction.trace.name(slice);
    kernels += name == "first" || name == "second" ? 1 : 0;
  }
  EXPECT_EQ(kernels, 2);
}

TEST(WhatIf, KeepsStreamsInOrderWhereGraphsShareTheirInput) {
  WhatIf what_if = models(2);
  what_if.graphs = what_if.shared_input = true;
  what_if.streams = 1;
  const WhatIfPrediction prediction = filling(Case(kCopyAndCompute), 0.25F).predict(what_if);
  // One copy, then kernels of 489 us of each member, one after another.
  EXPECT_GE(prediction.step_time, Nanoseconds(200'000 + 2 * 489'000));
  expect_sound(prediction);
}

TEST(WhatIf, ComposesEverything) {
  WhatIf what_if = models(4);
  what_if.graphs = true;
  what_if.shared_input = true;
  what_if.streams = 2;
  what_if.launch_threads = 2;
  what_if.scale = {{"conv", 1.5}};
  what_if.copy_speed = 2;
  what_if.fuse = FuseChoice::kNamed;
  what_if.fused = {"relu"};
  const WhatIfPrediction prediction = filling(Case(kCopyAndCompute), 0.3F).predict(what_if);
  EXPECT_GT(prediction.speedup, 1.5);
  EXPECT_EQ(prediction.gain.size(), 5);
  EXPECT_NE(prediction.confidence(), Confidence::kHigh);
  expect_sound(prediction);
}

TEST(WhatIf, RunsMembersOfSeveralTracesTogether) {
  const Case two =
      filling(Case(std::vector<Trace>{gpu_trace_from(kCopyAndCompute), gpu_trace_from(launch_bound(20))}), 0.2F);
  const WhatIfPrediction prediction = two.predict({});
  EXPECT_EQ(prediction.members, 2);
  EXPECT_EQ(prediction.baseline, prediction.single);
  EXPECT_GT(prediction.speedup, 1.1);
  expect_sound(prediction);
}

/// Of two cores: one op of 1 us, one of half that.
Trace cpu_trace() {
  Trace trace;
  trace.info.device.kind = "cpu";
  trace.info.device.cores = 2;
  const TrackId track = trace.add_track("cpu", "stream 0");
  const std::array<Trace::NamedArg, 2> args{{{kIterationArg, std::int64_t{0}}, {"threads", std::int64_t{1}}}};
  trace.add_slice(track, "conv", "task", Nanoseconds(0), Nanoseconds(1000), args);
  trace.add_slice(track, "fc", "task", Nanoseconds(1000), Nanoseconds(500), args);
  return trace;
}

TEST(WhatIf, LetsMembersOfACpusTraceShareItsCores) {
  const Case cpu(std::vector<Trace>{cpu_trace()});
  EXPECT_EQ(cpu.predict(models(2)).step_time, Nanoseconds(1500));
  EXPECT_EQ(cpu.predict(models(4)).step_time, Nanoseconds(3000));
  WhatIf what_if;
  what_if.scale = {{"conv", 2.0}};
  EXPECT_EQ(cpu.predict(what_if).step_time, Nanoseconds(1000));
}

TEST(WhatIf, WritesATimelineThatReplays) {
  const WhatIfPrediction prediction = filling(Case(kCopyAndCompute), 0.25F).predict(models(2));
  EXPECT_EQ(prediction.trace.info.kind, TraceKind::kPredicted);
  const Result<Trace> trace = parse_trace(trace_to_json(prediction.trace));
  ASSERT_TRUE(trace) << trace.error().message;
  const Result<TraceGraph> graph = build_trace_graph(*trace);
  ASSERT_TRUE(graph) << graph.error().message;
  const Result<Replay> result = replay(*graph);
  ASSERT_TRUE(result) << result.error().message;
  EXPECT_LT(std::abs(result->relative_error), 0.01);
  EXPECT_EQ(graph->counts.without_launch_record, 0);
}

TEST(WhatIf, IsTheSameEveryTime) {
  const Case room = filling(Case(kCopyAndCompute), 0.25F);
  EXPECT_EQ(trace_to_json(room.predict(models(3)).trace), trace_to_json(room.predict(models(3)).trace));
}

TEST(WhatIf, StaysWithinItsBoundsOnTheRecordedCases) {
  const std::filesystem::path cases = COHORT_TRACE_CASES;
  if (!std::filesystem::exists(cases)) GTEST_SKIP() << "../shared/cases is not here";
  for (const char* name : {"qwen_0.5b_h100.json.gz", "ns_resolution_v100.json.gz"}) {
    SCOPED_TRACE(name);
    const Result<Trace> trace = read_trace(cases / name);
    ASSERT_TRUE(trace) << trace.error().message;
    const Result<StepSelection> step = select_replay_step(*trace, {});
    ASSERT_TRUE(step) << step.error().message;
    TraceGraphOptions options;
    options.in_flight = false;
    options.window = step->step.window;
    Result<TraceGraph> graph = build_trace_graph(*trace, options);
    ASSERT_TRUE(graph) << graph.error().message;
    WhatIfCase what_if_case;
    what_if_case.traces.push_back(&*trace);
    what_if_case.graphs.push_back(std::move(*graph));
    for (const bool graphs : {false, true}) {
      WhatIf what_if = models(2);
      what_if.graphs = graphs;
      const Result<WhatIfPrediction> prediction = predict_what_if(what_if_case, what_if);
      ASSERT_TRUE(prediction) << prediction.error().message;
      expect_sound(*prediction);
      EXPECT_GE(prediction->speedup, 0.95);
      EXPECT_LE(prediction->speedup, 2);
    }
  }
}

TEST(WhatIf, PromisesNoGainOfGraphsWhereARecordingIsSetUpWork) {
  const std::filesystem::path recorded = std::filesystem::path(COHORT_TRACE_CASES) / "event_sync_multi_stream.json.gz";
  if (!std::filesystem::exists(recorded)) GTEST_SKIP() << "../shared/cases is not here";
  const Result<Trace> trace = read_trace(recorded);
  ASSERT_TRUE(trace) << trace.error().message;
  WhatIf what_if;
  what_if.graphs = true;
  const WhatIfPrediction prediction = Case(std::vector<Trace>{*trace}).predict(what_if);
  // 20 ms, of which kernels run for 0.4 ms: cudaMalloc thrice and a pause of 18.6 ms.
  EXPECT_LT(prediction.speedup, 1.1);
  EXPECT_EQ(prediction.confidence(), Confidence::kLow);
  EXPECT_THAT(prediction.doubts.front().why, HasSubstr("a step is not for launches"));
}

TEST(WhatIf, RefusesTracesOfDifferentDevices) {
  const auto recorded_on = [](const char* device) {
    Trace trace = gpu_trace_from(kCopyAndCompute);
    trace.info.device.name = device;
    return trace;
  };
  Case two({recorded_on("Tesla V100-SXM2-32GB"), recorded_on("NVIDIA H100 80GB HBM3")});
  two.what_if_case.names = {"a.json", "b.json"};
  const Result<WhatIfPrediction> prediction = predict_what_if(two.what_if_case, {});
  ASSERT_FALSE(prediction);
  EXPECT_EQ(prediction.error().code, ErrorCode::kInvalidInput);
  EXPECT_EQ(prediction.error().message,
            "b.json was recorded on \"NVIDIA H100 80GB HBM3\", a.json on \"Tesla V100-SXM2-32GB\": what runs together "
            "runs on one device; record both on the same one, or simulate each alone");
  // A recording that does not name its device may be of the same.
  EXPECT_TRUE(predict_what_if(Case({recorded_on("NVIDIA H200"), recorded_on("")}).what_if_case, {}));
}

TEST(WhatIf, RefusesAGpusFiguresForACpusTrace) {
  WhatIf what_if = models(2);
  what_if.gpu = published_gpu_profile("NVIDIA H200");
  const Case cpu(std::vector<Trace>{cpu_trace()});
  const Result<WhatIfPrediction> prediction = predict_what_if(cpu.what_if_case, what_if);
  ASSERT_FALSE(prediction);
  EXPECT_EQ(prediction.error().code, ErrorCode::kUsage);
  EXPECT_THAT(prediction.error().message, HasSubstr("trace 1 was recorded on cpu, which is no GPU"));
}

TEST(WhatIf, DoubtsFiguresOfAnotherDevice) {
  WhatIf what_if = models(2);
  what_if.gpu = published_gpu_profile("NVIDIA A100-SXM4-40GB");
  const auto doubts = [&](const char* recorded) {
    Trace trace = gpu_trace_from(kCopyAndCompute);
    trace.info.device.name = recorded;
    std::string grave;
    for (const Doubt& doubt : Case(std::vector<Trace>{trace}).predict(what_if).doubts)
      grave += doubt.grave ? doubt.why : "";
    return grave;
  };
  EXPECT_THAT(doubts("Tesla V100-SXM2-32GB"),
              HasSubstr("the figures are of \"NVIDIA A100-SXM4-40GB\", the recording is of \"Tesla V100-SXM2-32GB\""));
  for (const char* same : {"NVIDIA A100-SXM4-40GB", "A100-SXM4-40GB", ""})
    EXPECT_THAT(doubts(same), Not(HasSubstr("the figures are of")));
}

TEST(WhatIf, RefusesNumbersOutOfRange) {
  const Case one(kCopyAndCompute);
  for (const int count : {0, -1, 100'000}) {
    const Result<WhatIfPrediction> prediction = predict_what_if(one.what_if_case, models(count));
    ASSERT_FALSE(prediction);
    EXPECT_EQ(prediction.error().code, ErrorCode::kUsage);
  }
}

TEST(WhatIf, RefusesMembersWhoseTimesDoNotAddUp) {
  Case one(kCopyAndCompute);
  one.what_if_case.graphs[0].graph.tasks.back().duration = kLongestGraph / 3;
  EXPECT_TRUE(predict_what_if(one.what_if_case, models(2)));
  const Result<WhatIfPrediction> many = predict_what_if(one.what_if_case, models(4));
  ASSERT_FALSE(many);
  EXPECT_THAT(many.error().message, HasSubstr("days one after another"));
  WhatIf slower;
  slower.scale.emplace_back("conv", 1e-15);
  const Result<WhatIfPrediction> slow = predict_what_if(one.what_if_case, slower);
  ASSERT_FALSE(slow);
  EXPECT_THAT(slow.error().message, HasSubstr("conv made 1e-15 times faster would take months"));
}

}  // namespace
}  // namespace cohort
