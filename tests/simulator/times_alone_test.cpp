// What kernels that were recorded beside others take alone: recordings are made by the model of contention itself, so
// that the truth is known.

#include "simulator/what_if/times_alone.hpp"

#include <fmt/format.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <array>
#include <cmath>
#include <map>
#include <string>
#include <vector>

#include "simulator/costs/recorded_gpu_work.hpp"
#include "simulator/engine/simulate.hpp"
#include "simulator/what_if/what_if.hpp"
#include "tests/simulator/gpu_trace_text.hpp"
#include "tests/simulator/what_if_case.hpp"

namespace cohort {
namespace {

using testing::HasSubstr;
using testing::Not;

constexpr std::string_view kDevice = "NVIDIA H100 80GB HBM3";

constexpr Nanoseconds kLaunch(2'000);

struct Kernel {
  int stream = 0;
  std::string name;  ///< tells what it uses: "gemm..." tensor cores, others DRAM
  int blocks = 1;
  Nanoseconds alone{};
};

void add_kernel(Trace& trace, TrackId track, const Kernel& kernel, Nanoseconds start, Nanoseconds duration,
                std::int64_t call) {
  const std::string grid = fmt::format("[{},1,1]", kernel.blocks);
  const std::array<Trace::NamedArg, 4> args{{{"grid", std::string_view(grid)},
                                             {"block", std::string_view("[256,1,1]")},
                                             {"stream", std::int64_t{kernel.stream}},
                                             {"correlation", call}}};
  trace.add_slice(track, kernel.name, "kernel", start, duration, args);
}

/// When each runs, launched one after another, streams in order.
std::vector<TaskTimes> run_together(const std::vector<Kernel>& kernels, const GpuProfile& gpu) {
  Trace trace;
  const TrackId track = trace.add_track("GPU 0", "all");
  TaskGraph graph;
  std::map<int, TaskId> last;  // by stream
  Task start;
  start.label = graph.add_label("start");
  start.kind = TaskKind::kMark;
  start.resource = graph.add_resource("clock", ResourceKind::kClock);
  start.cores = 0;
  const TaskId origin = graph.add_task(start);
  for (std::size_t i = 0; i < kernels.size(); ++i) {
    add_kernel(trace, track, kernels[i], Nanoseconds(0), kernels[i].alone, 0);
    Task task;
    task.label = graph.add_label(kernels[i].name);
    task.kind = TaskKind::kKernel;
    task.cores = 0;
    task.resource = graph.add_resource("stream", ResourceKind::kStream, Discipline::kOverlapping);
    task.duration = kernels[i].alone;
    task.step = static_cast<std::uint32_t>(i);
    const auto shape = launch_shape(trace, trace.slices[i]);
    constexpr double kOnSm = 8;  // blocks of 256 threads
    task.waves = static_cast<float>(static_cast<double>(shape->blocks) / (kOnSm * gpu.sms));
    const TaskId id = graph.add_task(task);
    graph.add_edge(origin, id, EdgeKind::kLaunch, kLaunch * static_cast<int>(i));
    if (const auto before = last.find(kernels[i].stream); before != last.end()) {
      graph.add_edge(before->second, id, EdgeKind::kStreamOrder);
    }
    last[kernels[i].stream] = id;
  }
  const RecordedTasks all{&trace, 1, graph.tasks.size()};
  SimulationOptions options;
  options.gpu = *recorded_gpu_work(graph, std::span(&all, 1), gpu);
  std::vector<TaskTimes> times = simulate(graph, options)->tasks;
  times.erase(times.begin());
  return times;
}

/// The same as a recording.
Trace recording_of(const std::vector<Kernel>& kernels, const GpuProfile& gpu) {
  const std::vector<TaskTimes> times = run_together(kernels, gpu);
  constexpr Nanoseconds kLatency(7'000);
  Trace trace;
  trace.info.device.name = kDevice;
  const TrackId host = trace.add_track("python", "main");
  std::map<int, TrackId> streams;
  for (std::size_t i = 0; i < kernels.size(); ++i) {
    const auto call = static_cast<std::int64_t>(i + 1);
    const std::array<Trace::NamedArg, 1> args{{{"correlation", call}}};
    trace.add_slice(host, "cudaLaunchKernel", "cuda_runtime", kLaunch * static_cast<int>(i), kLaunch - Nanoseconds(200),
                    args);
    const int stream = kernels[i].stream;
    if (streams.count(stream) == 0) streams[stream] = trace.add_track("GPU 0", fmt::format("stream {}", stream));
    add_kernel(trace, streams[stream], kernels[i], kLatency + times[i].start, times[i].end - times[i].start, call);
  }
  return trace;
}

std::vector<Kernel> mixed_streams() {
  std::vector<Kernel> kernels;
  for (int i = 0; i < 6; ++i) {
    kernels.push_back({0, fmt::format("copy{}", i), 100 + 150 * i, Nanoseconds(20'000 + 3'000 * i)});
    kernels.push_back({1, fmt::format("add{}", i), 900 - 130 * i, Nanoseconds(30'000 - 2'500 * i)});
    kernels.push_back({2, fmt::format("gemm{}", i), 60 + 40 * i, Nanoseconds(15'000 + 7'000 * (i % 3))});
  }
  return kernels;
}

/// Mean of |a / b - 1|.
double mean_error(const std::vector<double>& a, const std::vector<double>& b) {
  double sum = 0;
  for (std::size_t i = 0; i < a.size(); ++i) sum += std::abs(a[i] / b[i] - 1);
  return sum / static_cast<double>(a.size());
}

TEST(TimesAlone, AreThoseOfKernelsThatSlowedEachOther) {
  const GpuProfile gpu = *published_gpu_profile(kDevice);
  const std::vector<Kernel> kernels = mixed_streams();
  const Trace trace = recording_of(kernels, gpu);
  const Result<TimesAlone> times = times_alone(*build_trace_graph(trace), trace, &gpu);
  ASSERT_TRUE(times) << times.error().message;
  EXPECT_GT(times->share, 0.9);
  EXPECT_LT(times->unexplained, 0.01);
  std::vector<double> alone;
  std::vector<double> recorded;
  std::vector<double> found;
  for (std::size_t i = 0; i < kernels.size(); ++i) {
    const std::size_t slice = 2 * i + 1;  // after its call's
    alone.push_back(static_cast<double>(kernels[i].alone.count()));
    recorded.push_back(static_cast<double>(trace.slices[slice].duration.count()));
    found.push_back(recorded[i] * times->part[slice]);
  }
  EXPECT_GT(mean_error(recorded, alone), 0.3) << "or there is nothing to find";
  EXPECT_LT(mean_error(found, alone), 0.02);
}

TEST(TimesAlone, AreTheRecordedOnesWhereNothingRanBesideAKernel) {
  const GpuProfile gpu = *published_gpu_profile(kDevice);
  std::vector<Kernel> kernels = mixed_streams();
  for (Kernel& kernel : kernels) kernel.stream = 0;
  const Trace trace = recording_of(kernels, gpu);
  const Result<TimesAlone> times = times_alone(*build_trace_graph(trace), trace, &gpu);
  ASSERT_TRUE(times) << times.error().message;
  EXPECT_TRUE(times->part.empty());
  EXPECT_EQ(times->share, 0);
}

TEST(TimesAlone, OfADeviceWithoutFiguresAreThoseThatFillItInTurn) {
  // Each kernel fills the device, so that of two at a time each had half of it.
  const Trace trace = gpu_trace_from(R"(
    main cudaLaunchKernel 0   2 c1
    main cudaLaunchKernel 2   4 c2
    main cudaLaunchKernel 4   6 c3
    s7   a               10 210 c1
    s8   b               10 210 c2
    s7   c              211 311 c3)");
  const Result<TimesAlone> times = times_alone(*build_trace_graph(trace), trace, nullptr);
  ASSERT_TRUE(times) << times.error().message;
  EXPECT_LT(times->unexplained, 0.01);
  ASSERT_EQ(times->part.size(), 6);
  EXPECT_NEAR(times->part[3], 0.5, 0.01);
  EXPECT_NEAR(times->part[4], 0.5, 0.01);
  EXPECT_EQ(times->part[5], 1);
}

TEST(WhatIfOfADeviceWithoutFigures, SlowsNoKernelTwice) {
  const Case side_by_side(R"(
    main cudaLaunchKernel 0   2 c1
    main cudaLaunchKernel 2   4 c2
    s7   a               10 210 c1
    s8   b               10 210 c2)");
  WhatIf two = models(2);
  two.streams = 1;
  EXPECT_NEAR(side_by_side.predict(two).speedup, 1, 0.05);
}

TEST(TimesAlone, StayWhereTheyIncludeWaitingForOtherDevices) {
  const GpuProfile gpu = *published_gpu_profile(kDevice);
  std::vector<Kernel> kernels = mixed_streams();
  for (Kernel& kernel : kernels) {
    if (kernel.stream == 1) kernel.name = "ncclDevKernel_AllReduce_Sum_f32_RING_LL";
  }
  const Trace trace = recording_of(kernels, gpu);
  const Result<TimesAlone> times = times_alone(*build_trace_graph(trace), trace, &gpu);
  ASSERT_TRUE(times) << times.error().message;
  int corrected = 0;
  for (std::size_t i = 0; i < kernels.size(); ++i) {
    const double part = times->part[2 * i + 1];
    if (kernels[i].stream == 1) {
      EXPECT_EQ(part, 1) << i;
    } else {
      corrected += part < 0.95 ? 1 : 0;
    }
  }
  EXPECT_GT(corrected, 3);
}

/// Members of a recording whose streams ran side by side are slowed once, by all that runs.
TEST(TimesAlone, LetWhatIfsSlowKernelsOnce) {
  const GpuProfile gpu = *published_gpu_profile(kDevice);
  const std::vector<Kernel> kernels = mixed_streams();
  const Case recorded({recording_of(kernels, gpu)});
  const WhatIfPrediction prediction = recorded.predict(models(2));
  expect_sound(prediction);
  std::vector<Kernel> both;
  for (const Kernel& kernel : kernels) {
    both.push_back(kernel);
    both.push_back(kernel);
    both.back().stream += 3;
  }
  Nanoseconds truth{};
  for (const TaskTimes& times : run_together(both, gpu)) truth = std::max(truth, times.end);
  EXPECT_NEAR(seconds(prediction.step_time) / seconds(truth), 1, 0.05);
  std::string doubts;
  for (const Doubt& doubt : prediction.doubts) doubts += doubt.why + "; ";
  EXPECT_THAT(doubts, HasSubstr("what they take alone is worked out with the model of contention"));
  EXPECT_THAT(doubts, Not(HasSubstr("include waiting for each other")));
}

}  // namespace
}  // namespace cohort
