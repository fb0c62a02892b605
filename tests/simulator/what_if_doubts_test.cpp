// What makes a what-if's answer less sure, and what is refused for that.

#include <fmt/format.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "simulator/what_if/recording_doubts.hpp"
#include "simulator/what_if/what_if.hpp"
#include "tests/simulator/gpu_trace_text.hpp"
#include "tests/simulator/what_if_case.hpp"

namespace cohort {
namespace {

using testing::HasSubstr;
using testing::Not;

/// All that are grave, or all that are not, one after another.
std::string doubts_of(const WhatIfPrediction& prediction, bool grave) {
  std::string all;
  for (const Doubt& doubt : prediction.doubts) all += doubt.grave == grave ? doubt.why + "; " : "";
  return all;
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
  EXPECT_THAT(prediction.error().message, HasSubstr("trace 1 was recorded on cpu, which is not a GPU"));
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

TEST(WhatIf, IsNotSureOfFusedKernelsThatNobodyTimed) {
  WhatIf what_if = models(8);
  const Case recorded = filling(Case(launch_bound(50)), 0.1F);
  constexpr const char* kAnalytic = "fused times are analytic, none was profiled";
  EXPECT_THAT(doubts_of(recorded.predict(what_if), true), Not(HasSubstr(kAnalytic)));
  what_if.fuse = FuseChoice::kAuto;
  const WhatIfPrediction fused = recorded.predict(what_if);
  EXPECT_THAT(doubts_of(fused, true), HasSubstr(kAnalytic));
  EXPECT_EQ(fused.confidence(), Confidence::kLow);
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
  EXPECT_THAT(doubts_of(alone, true) + doubts_of(alone, false), Not(HasSubstr("ran beside another")));
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
  EXPECT_THAT(doubts_of(calibrated, false),
              HasSubstr("245 us of the host's work between launches a step is taken to go with them"));
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

TEST(WhatIf, DoubtsWhatItsRecordingLacks) {
  // No grids, no steps, one synchronising call without a record.
  const WhatIfPrediction alone = Case(kCopyAndCompute).predict({});
  EXPECT_EQ(alone.confidence(), Confidence::kMedium);
  EXPECT_EQ(doubts_of(alone, false),
            "the recording: no steps: neither ProfilerStep#N nor a repetition: choose a window with --window; set-up "
            "would be predicted along with the work; ");
  const std::string beside = doubts_of(Case(kCopyAndCompute).predict(models(2)), false);
  EXPECT_THAT(beside, HasSubstr("the recording: 3 of 3 kernels without grid and block sizes: how many fit beside each "
                                "other is unknown"));
}

TEST(WhatIf, DoubtsTheRecordingOfTheStepAlone) {
  // Behind the window that is asked for a launch whose kernel is missing.
  const std::string text = std::string(kCopyAndCompute) + "\n  main cudaLaunchKernel 2000 2005 c77";
  Trace trace = gpu_trace_from(text);
  trace.info.settings["profile_memory"] = "1";
  trace.info.dropped["slice without a time"] = 1;
  const RecordingUse use;
  const auto all_of = [&](const std::optional<TimeWindow>& window) {
    std::string all;
    for (const Doubt& doubt : recording_doubts(trace, window, use)) all += doubt.why + "; ";
    return all;
  };
  EXPECT_THAT(all_of(std::nullopt), HasSubstr("1 launch calls whose kernels are missing"));
  const std::string step = all_of(TimeWindow{Nanoseconds(0), Nanoseconds(1'000'000)});
  EXPECT_THAT(step, Not(HasSubstr("kernels are missing")));
  EXPECT_THAT(step, Not(HasSubstr("no steps")));
  EXPECT_THAT(step, HasSubstr("recorded with Python stacks or memory events"));
  EXPECT_THAT(step, HasSubstr("1 records of the file could not be kept"));
}

TEST(WhatIf, DoubtsWorkWithoutCallsOnceAndByWhatItDoesWithIt) {
  const WhatIfPrediction prediction =
      Case(std::string(kCopyAndCompute) + "\n  s7 orphan 702 705 c77").predict(WhatIf{});
  const std::string doubts = doubts_of(prediction, false) + doubts_of(prediction, true);
  EXPECT_THAT(doubts, HasSubstr("1 of 5 ops have no call and follow what is ahead of them on their streams"));
  EXPECT_THAT(doubts, Not(HasSubstr("pieces of device work have no call")));
}

TEST(WhatIf, DoubtsStepsThatAllocateMemoryOrWaitForOtherDevices) {
  const auto graves = [](int malloc, const char* kernel) {
    const std::string text = fmt::format(
        "main cudaMalloc 0 {0} c9\n"
        "main cudaLaunchKernel {0} {1} c1\n"
        "main cudaDeviceSynchronize {1} {2} c2\n"
        "s7 {3} {4} {5} c1\n",
        malloc, malloc + 5, malloc + 115, kernel, malloc + 8, malloc + 108);
    return doubts_of(Case(text).predict({}), true);
  };
  EXPECT_THAT(graves(60, "gemm"), HasSubstr("cudaMalloc take 34% of the critical path"));
  EXPECT_EQ(graves(20, "gemm"), "");
  const std::string collectives = graves(20, "ncclDevKernel_AllReduce_Sum_f32_RING_LL");
  EXPECT_THAT(collectives, HasSubstr("collectives take 74% of the critical path"));
  EXPECT_THAT(collectives, Not(HasSubstr("kernels of collective communication")));
}

TEST(WhatIf, DoubtsStepsOfGapsThatNothingExplains) {
  const auto graves = [](int kernel) {
    const std::string text = fmt::format("main cudaLaunchKernel 0 5 c1\ns7 gemm {} {} c1\n", kernel, kernel + 100);
    return doubts_of(Case(text).predict({}), true);
  };
  EXPECT_THAT(graves(400), HasSubstr("gaps take 79% of the critical path"));
  EXPECT_EQ(graves(10), "");
}

}  // namespace
}  // namespace cohort
