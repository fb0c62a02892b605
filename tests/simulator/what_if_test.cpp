#include "simulator/what_if/what_if.hpp"

#include <fmt/format.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <filesystem>
#include <numeric>

#include "simulator/what_if/replay.hpp"
#include "tests/simulator/gpu_trace_text.hpp"
#include "tests/simulator/what_if_case.hpp"
#include "tracer/file/trace_file.hpp"

namespace cohort {
namespace {

using testing::HasSubstr;
using testing::Not;

TEST(WhatIf, OfACpuShowsWhateverIterationsWereRecorded) {
  Trace trace = cpu_trace();
  const TrackId track{};
  for (const std::int64_t iteration : {3, 4}) {
    const std::array<Trace::NamedArg, 2> args{{{kIterationArg, iteration}, {"threads", std::int64_t{1}}}};
    trace.add_slice(track, "conv", "task", Nanoseconds(1500 * iteration), Nanoseconds(1000), args);
  }
  const Case recorded({trace});
  WhatIf two;
  two.models = {2};
  const WhatIfPrediction prediction = recorded.predict(two);
  EXPECT_EQ(prediction.trace.slices.size(), 2 * trace.slices.size());
}

TEST(WhatIf, PredictsTheTracedStepWhereNothingIsChanged) {
  const WhatIfPrediction prediction = Case(kCopyAndCompute).predict({});
  EXPECT_EQ(prediction.step_time, Nanoseconds(706'000));
  EXPECT_DOUBLE_EQ(prediction.speedup, 1);
  expect_sound(prediction);
}

TEST(WhatIf, TakesTheSameTimeForEachFurtherMemberInTurn) {
  // Of up to 11 members all are simulated.
  for (const Case& recorded : {Case(kCopyAndCompute), Case(launch_bound(50))}) {
    const auto baseline = [&](int members) { return recorded.predict(models(members)).baseline; };
    const Nanoseconds further = baseline(11) - baseline(10);
    EXPECT_GT(further, Nanoseconds(0));
    for (const int members : {12, 16, 36, 64}) EXPECT_EQ(baseline(members), baseline(11) + (members - 11) * further);
  }
}

TEST(WhatIf, BoundsWhatWasRecordedSideBySide) {
  // Each kernel fills the device and was recorded beside the other: their times have the waiting in them.
  const Case side_by_side = filling(Case("main #step 0 200\n"
                                         "main cudaLaunchKernel 0 5 c1\n"
                                         "main cudaLaunchKernel 5 10 c2\n"
                                         "s7 conv 10 110 c1\n"
                                         "s8 gemm 10 110 c2\n"),
                                    1);
  WhatIf slower;
  slower.scale = {{"*", 0.1}};
  const WhatIfPrediction prediction = side_by_side.predict(slower);
  EXPECT_EQ(prediction.step_time, Nanoseconds(1'010'000));
  EXPECT_LE(prediction.binding.utilisation, 1);
  expect_sound(prediction);
  expect_sound(side_by_side.predict(models(3)));
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

TEST(WhatIf, LaunchesFromThreadsBesideEachOtherWhereACalibrationSaysHowLongTheLockIsHeld) {
  WhatIf what_if = models(4);
  what_if.launch_threads = 4;
  what_if.gpu = published_gpu_profile("Tesla V100-SXM2-32GB");
  const Case launches(launch_bound(50));
  const WhatIfPrediction whole = launches.predict(what_if);
  const auto says_lock = [](const Doubt& doubt) {
    return doubt.why.find("hold one lock for their") != std::string::npos;
  };
  EXPECT_TRUE(std::any_of(whole.doubts.begin(), whole.doubts.end(), says_lock));
  what_if.gpu->launch.lock = what_if.gpu->launch.call / 4;
  const WhatIfPrediction part = launches.predict(what_if);
  // 50 launches of 5 us from each of 4 threads, one after another, or a quarter of each.
  EXPECT_GE(whole.step_time, Nanoseconds(1'000'000));
  EXPECT_LT(part.step_time, Nanoseconds(600'000));
  EXPECT_TRUE(std::none_of(part.doubts.begin(), part.doubts.end(), says_lock));
  expect_sound(part);
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

TEST(WhatIf, CopiesInputOfSeveralGpusSideBySide) {
  // Two GPUs, a copy and a kernel on each.
  const Case two(
      "main #step 0 620\n"
      "main cudaMemcpyAsync   0   5 c1\n"
      "main cudaMemcpyAsync   5  10 c2\n"
      "main cudaLaunchKernel 10  15 c3\n"
      "main cudaLaunchKernel 15  20 c4\n"
      "main cudaDeviceSynchronize 20 615 c5\n"
      "s7 Memcpy_HtoD  10 310 c1 device=0\n"
      "s9 Memcpy_HtoD  12 312 c2 device=1\n"
      "s7 conv        312 610 c3 device=0\n"
      "s9 conv        314 612 c4 device=1\n");
  WhatIf what_if;
  what_if.buffers = 2;
  const WhatIfPrediction prediction = two.predict(what_if);
  // One after another the copies would take 600 us.
  EXPECT_LT(prediction.step_time, Nanoseconds(400'000));
  expect_sound(prediction);
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

TEST(WhatIf, FusesNothingByItselfWhereThatDoesNotPay) {
  // Three times two fifths of the device side by side take 1.2 times as long as one, fused two whole waves.
  const Case room = filling(Case(kCopyAndCompute), 0.4F);
  WhatIf what_if = models(3);
  const WhatIfPrediction apart = room.predict(what_if);
  what_if.fuse = FuseChoice::kNamed;
  what_if.fused = {"conv", "relu", "gemm"};
  const WhatIfPrediction fused = room.predict(what_if);
  ASSERT_GT(fused.step_time, apart.step_time);
  what_if.fuse = FuseChoice::kAuto;
  const WhatIfPrediction chosen = room.predict(what_if);
  EXPECT_EQ(chosen.step_time, apart.step_time);
  EXPECT_EQ(chosen.unfused, fused.step_time - apart.step_time);
  EXPECT_EQ(chosen.gain.size(), apart.gain.size());
  EXPECT_EQ(chosen.changes.back().first, "fuse: nothing, as it does not pay");
  EXPECT_EQ(trace_to_json(chosen.trace), trace_to_json(apart.trace));
  expect_sound(chosen);
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

TEST(WhatIf, StartsNoStepOfTheBaselineWhileAThreadStillWaitsForTheOneBefore) {
  // The main thread waits for the backward pass, which another thread launches: steps in turn do not overlap.
  const Case training(
      "main #step 0 3000\n"
      "main cudaLaunchKernel 0 10 c1\n"
      "main cudaLaunchKernel 940 950 c2\n"
      "autograd cudaLaunchKernel 1000 1010 c3\n"
      "autograd cudaLaunchKernel 2960 2970 c4\n"
      "s7 a 20 30 c1\n"
      "s7 b 960 970 c2\n"
      "s7 c 1020 1030 c3\n"
      "s7 d 2980 2990 c4\n",
      TimeWindow{Nanoseconds(0), Nanoseconds(3'000'000)});
  const Nanoseconds one = training.predict({}).step_time;
  EXPECT_EQ(one, Nanoseconds(2'990'000));
  EXPECT_GT(training.predict(models(4)).baseline, 4 * one - Nanoseconds(100'000));
}

TEST(WhatIf, TakesAStepFromItsBeginningToThatOfTheNextWhereTheyOverlap) {
  // Python goes on for 600 us behind the last launch, and the device for longer.
  const Case host_bound(
      "main #step 0 1000\n"
      "main cudaLaunchKernel 100 110 c1\n"
      "main cudaLaunchKernel 390 400 c2\n"
      "main cudaLaunchKernel 1100 1110 c3\n"
      "s7 a 120 150 c1\n"
      "s7 b 410 1200 c2\n"
      "s7 a 1201 1231 c3\n",
      TimeWindow{Nanoseconds(0), Nanoseconds(1'000'000)});
  EXPECT_EQ(host_bound.predict({}).step_time, Nanoseconds(1'000'000));
  EXPECT_EQ(host_bound.predict(models(4)).baseline, Nanoseconds(4'000'000));
}

TEST(WhatIf, CountsBeginningAndEndOfStepsOnceWhereTheHostRunsAhead) {
  // The host launches a step in 100 us, the device needs 400 us for it: in turn they follow each other every 400 us.
  std::string text;
  for (int i = 0; i < 4; ++i) {
    text += fmt::format("main cudaLaunchKernel {} {} c{}\n", 100 * i, 100 * i + 5, i + 1);
    text += fmt::format("s7 a {} {} c{}\n", 100 + 400 * i, 499 + 400 * i, i + 1);
  }
  const Case ahead = filling(Case(text, TimeWindow{Nanoseconds(100'000), Nanoseconds(200'000)}), 1);
  const WhatIfPrediction four = ahead.predict(models(4));
  EXPECT_NEAR(seconds(four.baseline), 4 * 400e-6, 10e-6);
  EXPECT_NEAR(four.speedup, 1, 0.02);
  expect_sound(four);
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

TEST(WhatIf, LaunchesForAllTracesFromTheSameThreads) {
  const Case two =
      filling(Case(std::vector<Trace>{gpu_trace_from(launch_bound(50)), gpu_trace_from(launch_bound(20))}), 0.05F);
  WhatIf what_if;
  const WhatIfPrediction one_thread = two.predict(what_if);
  EXPECT_NEAR(one_thread.speedup, 1, 0.05);
  EXPECT_THAT(one_thread.binding.resource, HasSubstr("thread"));
  EXPECT_EQ(one_thread.changes.front().first, "share threads");
  what_if.launch_threads = 2;
  const WhatIfPrediction two_threads = two.predict(what_if);
  EXPECT_GT(two_threads.speedup, 1.25);  // of 1.4: 500 us and 200 us of one thread each
  expect_sound(one_thread);
  expect_sound(two_threads);
  // Members of both, two for each thread.
  what_if.models = {2};
  const WhatIfPrediction four = two.predict(what_if);
  EXPECT_GE(four.step_time, Nanoseconds(690'000));
  EXPECT_GT(four.speedup, 1.5);
  expect_sound(four);
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
