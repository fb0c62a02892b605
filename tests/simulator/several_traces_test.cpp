// What-ifs over traces that have different numbers of members.

#include <fmt/format.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <set>
#include <string>
#include <utility>
#include <vector>

#include "simulator/what_if/rank_what_ifs.hpp"
#include "simulator/what_if/what_if.hpp"
#include "tests/simulator/gpu_trace_text.hpp"
#include "tests/simulator/what_if_case.hpp"
#include "tracer/file/trace_file.hpp"

namespace cohort {
namespace {

using testing::Contains;
using testing::HasSubstr;
using testing::Not;
using testing::UnorderedElementsAre;

/// A step of 40 us: a launch of 10, a kernel of 30, a wait for it.
constexpr std::string_view kLongKernel = R"(
  main cudaLaunchKernel       0  10  c1
  main cudaDeviceSynchronize 10  40  c2
  s7   a                     10  40  c1)";

/// A step of 30 us: a launch of 20, a kernel of 10, a wait for it.
constexpr std::string_view kLongLaunch = R"(
  main cudaLaunchKernel       0  20  c1
  main cudaDeviceSynchronize 20  30  c2
  s7   b                     20  30  c1)";

Case two_traces(std::string_view first, std::string_view second) {
  return filling(Case({gpu_trace_from(first), gpu_trace_from(second)}), 0.1F);
}

/// "a of 0: 10-40", in microseconds: kernels and their launches, and of which member.
std::vector<std::string> timeline(const WhatIfPrediction& prediction) {
  std::vector<std::string> lines;
  for (const Slice& slice : prediction.trace.slices) {
    const std::string_view name = prediction.trace.name(slice);
    if (name == "cudaDeviceSynchronize") continue;
    lines.push_back(fmt::format("{} of {}: {}-{}", name == "cudaLaunchKernel" ? "launch" : name,
                                prediction.trace.integer_arg(slice, "member").value_or(-1),
                                slice.start / Nanoseconds(1000), slice.end() / Nanoseconds(1000)));
  }
  return lines;
}

TEST(SeveralTraces, RunTwoOfOneBesideOneOfAnotherAsDrawn) {
  // Of equal parts of a trace's launches the first trace's come first; calls that wait come last and take 10 us each.
  //
  //     thread    |a0|b2--|a1|wait|wait|        |wait|
  //     stream       |== a0 ==|
  //     stream #1             |== a1 ==|
  //     of trace 2        |b2|
  const WhatIfPrediction prediction = two_traces(kLongKernel, kLongLaunch).predict(models({2, 1}));
  EXPECT_THAT(timeline(prediction),
              UnorderedElementsAre("launch of 0: 0-10", "launch of 2: 10-30", "launch of 1: 30-40", "a of 0: 10-40",
                                   "b of 2: 30-40", "a of 1: 40-70"));
  EXPECT_EQ(prediction.members, 3U);
  EXPECT_EQ(prediction.single, Nanoseconds(40'000 + 30'000));
  EXPECT_EQ(prediction.baseline, Nanoseconds(2 * 40'000 + 30'000));
  EXPECT_EQ(prediction.upper_bound, prediction.baseline);
  EXPECT_EQ(prediction.step_time, Nanoseconds(80'000));
  EXPECT_DOUBLE_EQ(prediction.speedup, 110.0 / 80);
  EXPECT_DOUBLE_EQ(prediction.steps_per_second, 3 / 80e-6);
  expect_sound(prediction);
}

TEST(SeveralTraces, RunOneBesideTwoOfAnotherAsDrawn) {
  const WhatIfPrediction prediction = two_traces(kLongKernel, kLongLaunch).predict(models({1, 2}));
  EXPECT_THAT(timeline(prediction),
              UnorderedElementsAre("launch of 0: 0-10", "launch of 1: 10-30", "launch of 2: 30-50", "a of 0: 10-40",
                                   "b of 1: 30-40", "b of 2: 50-60"));
  EXPECT_EQ(prediction.baseline, Nanoseconds(40'000 + 2 * 30'000));
  EXPECT_EQ(prediction.upper_bound, prediction.baseline);
  EXPECT_EQ(prediction.step_time, Nanoseconds(80'000));
  expect_sound(prediction);
}

TEST(SeveralTraces, AreToldApartInTimelinesByTheirNumbers) {
  const WhatIfPrediction prediction = two_traces(kLongKernel, kLongLaunch).predict(models({3, 2}));
  std::vector<std::string> streams;
  for (const Track& track : prediction.trace.tracks) {
    if (track.process == "device") streams.push_back(track.thread);
  }
  EXPECT_THAT(streams, UnorderedElementsAre("GPU 0 stream 7", "GPU 0 stream 7 #1", "GPU 0 stream 7 #2",
                                            "GPU 0 stream 7 of trace 2", "GPU 0 stream 7 #1 of trace 2"));
}

TEST(SeveralTraces, TakeOneNumberForTheSameNumberOfEach) {
  const Case two = two_traces(kCopyAndCompute, kCopyAndCompute);
  WhatIf plain;
  WhatIf graphs;
  graphs.graphs = true;
  graphs.streams = 2;
  WhatIf fused;
  fused.shared_input = true;
  fused.fuse = FuseChoice::kNamed;
  fused.fused = {"relu"};
  fused.launch_threads = 2;
  for (WhatIf what_if : {plain, graphs, fused}) {
    what_if.models = {3};
    const WhatIfPrediction one = two.predict(what_if);
    what_if.models = {3, 3};
    const WhatIfPrediction listed = two.predict(what_if);
    EXPECT_EQ(trace_to_json(one.trace), trace_to_json(listed.trace));
    EXPECT_EQ(one.members, 6U);
    EXPECT_EQ(one.members, listed.members);
    EXPECT_EQ(one.baseline, listed.baseline);
    EXPECT_EQ(one.step_time, listed.step_time);
    EXPECT_EQ(one.lower_bound, listed.lower_bound);
    EXPECT_EQ(one.upper_bound, listed.upper_bound);
    EXPECT_EQ(one.gain.size(), listed.gain.size());
    EXPECT_EQ(one.doubts.size(), listed.doubts.size());
    expect_sound(listed);
  }
}

TEST(SeveralTraces, StayWithinTheirBoundsHoweverManyMembersEachHas) {
  const Case two = two_traces(kCopyAndCompute, launch_bound(20));
  const Nanoseconds first = two.predict({}).single - Case(launch_bound(20)).predict({}).single;
  const Nanoseconds second = two.predict({}).single - first;
  for (const auto& [a, b] : {std::pair{1, 4}, {4, 1}, {2, 3}}) {
    for (const int threads : {1, 2, 8}) {
      for (const bool graphs : {false, true}) {
        WhatIf what_if = models({a, b});
        what_if.launch_threads = threads;
        what_if.graphs = graphs;
        what_if.streams = 2;
        SCOPED_TRACE(fmt::format("{} and {}, {} threads{}", a, b, threads, graphs ? ", graphs" : ""));
        const WhatIfPrediction prediction = two.predict(what_if);
        EXPECT_EQ(prediction.members, static_cast<std::size_t>(a + b));
        EXPECT_EQ(prediction.baseline, a * first + b * second);
        expect_sound(prediction);
      }
    }
  }
}

TEST(SeveralTraces, LaunchFromNoMoreThreadsThanAllMembersHave) {
  const Case two = two_traces(launch_bound(30), launch_bound(30));
  WhatIf what_if = models({3, 1});
  what_if.launch_threads = 4;
  const WhatIfPrediction four = two.predict(what_if);
  what_if.launch_threads = 8;
  EXPECT_EQ(four.step_time, two.predict(what_if).step_time);
  what_if.launch_threads = 1;
  EXPECT_GT(two.predict(what_if).step_time, four.step_time);
}

TEST(SeveralTraces, ShareInputAndFuseWhereTheyHaveSeveralMembers) {
  // Only the first copies an input, and only it has a convolution.
  const Case two = two_traces(kCopyAndCompute, launch_bound(5));
  WhatIf shared = models({3, 1});
  shared.shared_input = true;
  const WhatIfPrediction prediction = two.predict(shared);
  EXPECT_EQ(prediction.gain.front().cause, "sharing");
  EXPECT_GE(prediction.gain.front().gain, Nanoseconds(2 * 195'000));
  expect_sound(prediction);
  WhatIf fused = models({3, 1});
  fused.fuse = FuseChoice::kNamed;
  fused.fused = {"conv"};
  EXPECT_EQ(two.predict(fused).gain.back().cause, "fusion");
  for (WhatIf what_if : {shared, fused}) {
    what_if.models = {1, 3};
    const Result<WhatIfPrediction> refused = predict_what_if(two.what_if_case, what_if);
    ASSERT_FALSE(refused);
    EXPECT_EQ(refused.error().code, ErrorCode::kNegativeAnswer);
    what_if.models = {1, 1};
    EXPECT_EQ(two.predict(what_if).gain.size(), 1U) << "overlap alone";
  }
}

TEST(SeveralTraces, NeedTheMemoryOfAllTheirMembers) {
  const auto allocating = [](std::string_view text, double kept, double most) {
    Trace trace = gpu_trace_from(text);
    const StringId counter = trace.strings.intern("allocated bytes, GPU 0");
    for (const auto& [time, bytes] : {std::pair{1'000, kept}, {20'000, most}})
      trace.counters.push_back({Nanoseconds(time), TrackId(0), counter, bytes});
    return trace;
  };
  const Case two({allocating(kLongKernel, 700, 1000), allocating(kLongLaunch, 100, 150)});
  WhatIf what_if = models({3, 1});
  what_if.streams = 2;
  const BatchMemory memory = two.predict(what_if).memory;
  EXPECT_EQ(memory.weights, Bytes{3 * 700 + 100});
  EXPECT_EQ(memory.step, Bytes{2 * 300 + 50});
}

TEST(SeveralTraces, WeighTheHostsPausesByTheirMembers) {
  const auto pausing = [](int pause) {
    Trace trace = gpu_trace_from(fmt::format(R"(
      main cudaLaunchKernel    0    5  c1
      main cudaLaunchKernel   {0} {1}  c2
      s7   a                   7    9  c1
      s7   a                  {2} {3}  c2)",
                                             10 + pause, 15 + pause, 17 + pause, 19 + pause));
    trace.info.device.name = "Tesla V100-SXM2-16GB";
    return trace;
  };
  const Case two({pausing(1000), pausing(5)});
  const auto grave = [&](std::vector<int> counts) {
    WhatIf what_if = models(std::move(counts));
    what_if.graphs = true;
    std::string all;
    for (const Doubt& doubt : two.predict(what_if).doubts) all += doubt.grave ? doubt.why + "; " : "";
    return all;
  };
  EXPECT_THAT(grave({1, 1}), HasSubstr("of the host's time a step is not for launches"));
  EXPECT_THAT(grave({1, 200}), Not(HasSubstr("of the host's time a step is not for launches")));
}

TEST(SeveralTraces, AreRankedUpToTheStreamsAndThreadsThatTheirMembersHave) {
  const Case two = two_traces(launch_bound(10), launch_bound(5));
  const Result<WhatIfRanking> ranking = rank_what_ifs(two.what_if_case, models({4, 1}));
  ASSERT_TRUE(ranking) << ranking.error().message;
  std::set<int> streams;
  std::set<std::string> names;
  for (const RankedWhatIf& each : ranking->ranked) {
    EXPECT_TRUE(names.insert(each.name).second) << each.name << " stands there twice";
    EXPECT_EQ(each.prediction.members, 5U);
    EXPECT_EQ(each.prediction.baseline, ranking->ranked[0].prediction.baseline);
    if (each.what_if.processes != Processes::kOne) continue;
    ASSERT_TRUE(each.what_if.streams);
    EXPECT_LE(each.what_if.launch_threads, *each.what_if.streams + 1) << each.name;
    streams.insert(*each.what_if.streams);
  }
  EXPECT_THAT(streams, UnorderedElementsAre(1, 2, 4));
  EXPECT_THAT(names, Contains("--streams 1 --graphs"));
}

TEST(SeveralTraces, RefuseNumbersThatAreNeitherOneNorOneForEach) {
  const auto refusal = [](const Case& of, std::vector<int> counts) {
    const Result<WhatIfPrediction> refused = predict_what_if(of.what_if_case, models(std::move(counts)));
    EXPECT_FALSE(refused);
    if (refused) return std::string();
    EXPECT_EQ(refused.error().code, ErrorCode::kUsage);
    return refused.error().message;
  };
  const Case two = two_traces(kLongKernel, kLongLaunch);
  EXPECT_THAT(refusal(two, {3, 2, 1}), HasSubstr("--models: 3 values for 2 traces"));
  EXPECT_THAT(refusal(two, {}), HasSubstr("--models: 0 values for 2 traces"));
  EXPECT_THAT(refusal(Case(kLongKernel), {2, 2}), HasSubstr("--models: 2 values for 1 trace; give one"));
  EXPECT_EQ(refusal(two, {3, 0}), "--models 0: 1 to 4096");
  EXPECT_EQ(refusal(two, {-2, 3}), "--models -2: 1 to 4096");
  const Result<WhatIfRanking> ranking = rank_what_ifs(two.what_if_case, models({3, 2, 1}));
  ASSERT_FALSE(ranking);
  EXPECT_EQ(ranking.error().code, ErrorCode::kUsage);
}

TEST(SeveralTraces, CountTheirMembers) {
  EXPECT_FALSE(models(1).any());
  EXPECT_TRUE(models({2, 1}).any());
  EXPECT_EQ(models({2, 1}).most_models(), 2);
  EXPECT_EQ(models(3).members(2), 6U);
  EXPECT_EQ(models({2, 5}).members(2), 7U);
}

}  // namespace
}  // namespace cohort
