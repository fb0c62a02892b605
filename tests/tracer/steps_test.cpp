#include "tracer/steps/steps.hpp"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <array>
#include <filesystem>

#include "tracer/file/trace_file.hpp"
#include "tracer/steps/cut.hpp"
#include "tracer/summary/gpu_summary.hpp"

namespace cohort {
namespace {

using namespace literals;
using ::testing::HasSubstr;

SliceId add(Trace& trace, TrackId track, std::string_view name, std::string_view category, Nanoseconds start,
            Nanoseconds duration, std::int64_t correlation) {
  const std::array<Trace::NamedArg, 1> args{{{"correlation", correlation}}};
  return trace.add_slice(track, name, category, start, duration, args);
}

// Each step marks 20 us on the host and launches a and b; the stream lags.
// t (us)   0         20        40        60        80
// host     [-step 4-][-step 5-][-step 6-][-step 7-]
//          a b       a b       a b       a b
// stream 7    [--a--][b]  [--a--][b]  [--a--][b]  [--a--][b]
// (the first a takes longer, the others wait 4 us before each a)
struct Stepped {
  Trace trace;
  TrackId host;
  TrackId stream;
};

Stepped stepped() {
  Stepped it;
  it.host = it.trace.add_track("python", "thread 1");
  it.stream = it.trace.add_track("GPU 0", "stream 7");
  std::int64_t id = 1;
  for (std::int64_t i = 0; i < 4; ++i) {
    const Nanoseconds at = 1_ms + i * 20_us;
    it.trace.add_slice(it.host, fmt::format("ProfilerStep#{}", i + 4), "user_annotation", at, 20_us);
    add(it.trace, it.host, "cudaLaunchKernel", "cuda_runtime", at + 1_us, 1_us, id);
    add(it.trace, it.stream, "a", "kernel", at + 30_us, 10_us, id++);
    add(it.trace, it.host, "cudaLaunchKernel", "cuda_runtime", at + 3_us, 1_us, id);
    add(it.trace, it.stream, "b", "kernel", at + 41_us, 5_us, id++);
  }
  it.trace.add_slice(it.stream, "ProfilerStep#4", "gpu_user_annotation", 1_ms + 30_us, 16_us);
  return it;
}

TEST(Steps, CanBeCutOutWithWhatTheirCallsLaunched) {
  const Trace whole = stepped().trace;
  const Trace part = cut(whole, find_steps(whole).steps[1]);
  std::vector<std::string> found;
  for (const Slice& slice : part.slices) {
    found.push_back(fmt::format("{} {}", part.name(slice), slice.start.count() / 1000 - 1000));
  }
  // Not the kernels of the step before, which run inside this one's range.
  EXPECT_THAT(
      found, ::testing::ElementsAre("ProfilerStep#5 20", "cudaLaunchKernel 21", "a 50", "cudaLaunchKernel 23", "b 61"));
  EXPECT_EQ(part.integer_arg(part.slices[2], "correlation"), 3);
  EXPECT_EQ(part.info.settings.at("part"), "ProfilerStep#5");
  const auto summary = summarize_gpu(part);
  ASSERT_TRUE(summary.has_value());
  EXPECT_EQ(summary->kernels, 2);
  EXPECT_EQ(summary->orphans, 0);
  for (const Shortcoming& each : summary->shortcomings) EXPECT_THAT(each.what, ::testing::Not(HasSubstr("step")));
}

TEST(Steps, ByAnnotationHoldTheHostsRangeAndWhatItLaunched) {
  const StepList list = find_steps(stepped().trace);
  EXPECT_EQ(list.source, StepSource::kAnnotation);
  ASSERT_EQ(list.steps.size(), 4U);
  EXPECT_EQ(list.steps[1].name, "ProfilerStep#5");
  EXPECT_EQ(list.steps[1].window, (TimeWindow{1_ms + 20_us, 1_ms + 40_us}));
  EXPECT_EQ(list.steps[1].device_work, (TimeWindow{1_ms + 50_us, 1_ms + 66_us}));
  EXPECT_EQ(list.steps[1].kernels, 2);
}

TEST(Steps, ByRepetitionAreCutWhereTheStreamWaitsLongest) {
  const StepList list = find_repeated_steps(stepped().trace);
  EXPECT_EQ(list.source, StepSource::kRepetition);
  ASSERT_EQ(list.steps.size(), 4U);
  EXPECT_EQ(list.steps[0].window, (TimeWindow{1_ms + 30_us, 1_ms + 50_us}));
  EXPECT_EQ(list.steps[3].window, (TimeWindow{1_ms + 90_us, 1_ms + 106_us}));
  EXPECT_EQ(list.steps[2].device_work, (TimeWindow{1_ms + 70_us, 1_ms + 86_us}));
  EXPECT_EQ(list.steps[2].kernels, 2);
}

TEST(Steps, ByRepetitionSkipWhatStandsBeforeTheLongestWait) {
  Trace trace;
  const TrackId stream = trace.add_track("GPU 0", "stream 7");
  for (std::int64_t i = 0; i < 4; ++i) {  // b runs right before a; the long wait is after a
    trace.add_slice(stream, "b", "kernel", i * 100_us, 10_us);
    trace.add_slice(stream, "a", "kernel", i * 100_us + 60_us, 10_us);
  }
  const StepList list = find_repeated_steps(trace);
  ASSERT_EQ(list.steps.size(), 3U);
  EXPECT_EQ(list.steps[0].window, (TimeWindow{60_us, 160_us}));
}

TEST(Steps, AreRepetitionsWhereNothingIsAnnotated) {
  Trace trace;
  const TrackId stream = trace.add_track("GPU 0", "stream 7");
  for (std::int64_t i = 0; i < 6; ++i) trace.add_slice(stream, i % 2 == 0 ? "a" : "b", "kernel", i * 10_us, 5_us);
  EXPECT_EQ(find_steps(trace).source, StepSource::kRepetition);
  EXPECT_EQ(find_steps(trace).steps.size(), 3U);
  EXPECT_TRUE(find_steps(Trace{}).steps.empty());
}

/// Graphs of `layers` times "a b", launched one after another, each behind a kernel "c" of its own.
Trace graph_launches(int launches, int layers) {
  Trace trace;
  const TrackId host = trace.add_track("python", "thread 1");
  const TrackId stream = trace.add_track("GPU 0", "stream 7");
  std::int64_t id = 1;
  Nanoseconds at = 0_us;
  for (int launch = 0; launch < launches; ++launch) {
    add(trace, host, "cudaLaunchKernel", "cuda_runtime", at, 1_us, id);
    add(trace, stream, "c", "kernel", at + 10_us, 2_us, id++);
    add(trace, host, "cudaGraphLaunch", "cuda_runtime", at + 1_us, 3_us, id);
    for (int layer = 0; layer < layers; ++layer) {
      add(trace, stream, "a", "kernel", at + 12_us + layer * 5_us, 3_us, id);
      add(trace, stream, "b", "kernel", at + 15_us + layer * 5_us, 2_us, id);
    }
    ++id;
    at += 20_us + layers * 5_us;
  }
  return trace;
}

TEST(Steps, AreNotTheLayersOfOneGraph) {
  const StepList once = find_steps(graph_launches(1, 8));
  EXPECT_TRUE(once.steps.empty()) << "no call belongs to a layer";
  const Trace trace = graph_launches(3, 8);
  const StepList list = find_steps(trace);
  ASSERT_EQ(list.steps.size(), 3U);
  for (const TraceStep& step : list.steps) {
    EXPECT_EQ(step.kernels, 17);
    EXPECT_EQ(step.device_work->length(), 42_us);
  }
  EXPECT_EQ(list.steps[1].window, (TimeWindow{70_us, 130_us}));
}

TEST(Steps, OfAnAnnotationOnSeveralThreadsAreThoseOfTheThreadWithMost) {
  Stepped it = stepped();
  const TrackId other = it.trace.add_track("python", "thread 2");
  it.trace.add_slice(other, "ProfilerStep#99", "user_annotation", 0_us, 1_us);
  EXPECT_EQ(find_steps(it.trace).steps.size(), 4U);
}

TEST(StepSelection, WithoutOptionsIsTheWholeTrace) {
  const auto all = select_step(stepped().trace, {});
  ASSERT_TRUE(all) << all.error().message;
  EXPECT_EQ(all->source, StepSource::kWholeTrace);
  EXPECT_EQ(all->step.window, (TimeWindow{1_ms, 1_ms + 106_us}));
  EXPECT_EQ(all->step.kernels, 8);
}

TEST(StepSelection, ByIndexTakesConsecutiveSteps) {
  StepOptions options;
  options.index = 1;
  options.count = 2;
  const auto two = select_step(stepped().trace, options);
  ASSERT_TRUE(two) << two.error().message;
  EXPECT_EQ(two->step.name, "ProfilerStep#5 to ProfilerStep#6");
  EXPECT_EQ(two->step.window, (TimeWindow{1_ms + 20_us, 1_ms + 60_us}));
  EXPECT_EQ(two->step.device_work, (TimeWindow{1_ms + 50_us, 1_ms + 86_us}));
  EXPECT_EQ(two->step.kernels, 4);
  EXPECT_EQ(two->found, 4U);
}

TEST(StepSelection, ByAnnotationWithoutAnIndexIsTheTypicalOneAndNotTheFirst) {
  StepOptions options;
  options.annotation = "Profiler*";
  const auto step = select_step(stepped().trace, options);
  ASSERT_TRUE(step) << step.error().message;
  EXPECT_EQ(step->step.name, "ProfilerStep#5");
  EXPECT_EQ(step->index, 1U);
}

TEST(StepSelection, ByWindowIsRelativeToTheFirstSlice) {
  StepOptions options;
  options.window = TimeWindow{2_us, 21_us};
  const auto window = select_step(stepped().trace, options);
  ASSERT_TRUE(window) << window.error().message;
  EXPECT_EQ(window->step.window, (TimeWindow{1_ms + 2_us, 1_ms + 21_us}));
  EXPECT_EQ(window->step.kernels, 1);  // the call at 3 us launched b
  EXPECT_EQ(window->step.device_work, (TimeWindow{1_ms + 41_us, 1_ms + 46_us}));
}

TEST(StepSelection, SaysWhichStepsThereAre) {
  StepOptions options;
  options.index = 4;
  const auto late = select_step(stepped().trace, options);
  ASSERT_FALSE(late);
  EXPECT_EQ(late.error().code, ErrorCode::kInvalidInput);
  EXPECT_THAT(late.error().message, HasSubstr("0 to 3 only (ProfilerStep#4 to ProfilerStep#7)"));
  options = {};
  options.annotation = "forward";
  const auto none = select_step(stepped().trace, options);
  ASSERT_FALSE(none);
  EXPECT_THAT(none.error().message, HasSubstr("'forward'; those found by themselves: ProfilerStep#4"));
}

TEST(StepSelection, TakesRangesWithoutACategoryWhereNoOthersHaveTheName) {
  Trace trace = stepped().trace;  // as JAX and TensorFlow write them
  const TrackId host = trace.add_track("/host:CPU", "python3");
  const TrackId device = trace.add_track("/device:GPU:0", "XLA Modules");
  for (std::int64_t i = 0; i < 3; ++i) {
    trace.add_slice(host, "train", "", 1_ms + i * 20_us, 20_us);
    for (std::int64_t k = 0; k < 2; ++k) trace.add_slice(device, "train", "", 1_ms + (2 * i + k) * 10_us, 5_us);
  }
  StepOptions options;
  options.annotation = "train";
  const auto steps = select_step(trace, options);
  ASSERT_TRUE(steps) << steps.error().message;
  EXPECT_EQ(steps->step.name, "train");
  EXPECT_EQ(steps->found, 3U);
  EXPECT_EQ(steps->step.window.end - steps->step.window.start, 20_us);
}

TEST(StepSelection, RefusesOptionsThatExcludeEachOther) {
  StepOptions both;
  both.annotation = "a";
  both.repetition = true;
  StepOptions window_and_index;
  window_and_index.window = TimeWindow{0_us, 1_us};
  window_and_index.index = 0;
  StepOptions backwards;
  backwards.window = TimeWindow{2_us, 1_us};
  StepOptions far;
  far.window = TimeWindow{Nanoseconds::min(), Nanoseconds::max()};
  for (const StepOptions& options : {both, window_and_index, backwards, far}) {
    const auto refused = select_step(stepped().trace, options);
    ASSERT_FALSE(refused);
    EXPECT_EQ(refused.error().code, ErrorCode::kUsage);
  }
}

TEST(Pattern, LetsAStarStandForAnyText) {
  EXPECT_TRUE(matches_pattern("ProfilerStep#12", "ProfilerStep#*"));
  EXPECT_TRUE(matches_pattern("a", "*a*"));
  EXPECT_TRUE(matches_pattern("xaabay", "x*ab*y"));
  EXPECT_TRUE(matches_pattern("", "*"));
  EXPECT_FALSE(matches_pattern("abc", "ab"));
  EXPECT_FALSE(matches_pattern("abc", "*b"));
  EXPECT_FALSE(matches_pattern("", "a"));
}

/// Counted by hand in the files.
TEST(Steps, AreFoundInRecordedTraces) {
  const auto folder = std::filesystem::path(COHORT_SOURCE_DIR).parent_path() / "shared" / "cases" / "traces";
  if (!std::filesystem::exists(folder)) GTEST_SKIP() << "no " << folder;
  const auto v100 = read_trace(folder / "ns_resolution_v100.json.gz");
  ASSERT_TRUE(v100) << v100.error().message;
  const StepList annotated = find_steps(*v100);
  ASSERT_EQ(annotated.steps.size(), 5U);
  EXPECT_EQ(annotated.steps[2].name, "ProfilerStep#103");
  for (const TraceStep& step : annotated.steps) EXPECT_EQ(step.kernels, 870);
  const StepList repeated = find_repeated_steps(*v100);
  ASSERT_GE(repeated.steps.size(), 4U);
  for (const TraceStep& step : repeated.steps) EXPECT_EQ(step.kernels, 870);
}

}  // namespace
}  // namespace cohort
