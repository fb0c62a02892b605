// What a profile keeps of a tracer's recording, and what it says the tracer costs. The tracer is made up.

#include <gtest/gtest.h>

#include <algorithm>
#include <set>

#include "executor/host/host_session.hpp"
#include "executor/profile/kernels.hpp"
#include "executor/profile/profile.hpp"
#include "executor/reference/reference_kernels.hpp"
#include "tests/strategies/batch.hpp"
#include "tracer/device_work.hpp"

namespace cohort::testing {
namespace {

using namespace literals;

constexpr Nanoseconds kCost = 300_us;  // of a step, where it is traced

/// Each step costs more under it. It records a kernel of the first step of what is watched first, replayed three times.
class SlowTracer final : public DeviceTracer {
 public:
  Result<void> start() override {
    if (refuses_) return fail(ErrorCode::kDeviceMissing, "another tool holds it");
    return {};
  }
  TaskSink& watch(const Program& program, std::string_view prefix) override {
    if (first_.empty()) first_ = std::string(prefix) + program.steps[0].task;
    return sink_;
  }
  Result<Trace> stop() override {
    if (loses_) return fail(ErrorCode::kRecordingIncomplete, "the tool lost its records");
    Trace trace;
    const TrackId track = trace.add_track("cuda:0", "stream 7");
    for (std::int64_t replay = 0; replay < 3; ++replay) {
      const std::array<Trace::NamedArg, 4> args{{{kTaskArg, std::string_view(first_)},
                                                 {kWorkArg, std::int64_t{1}},
                                                 {"graph node id", std::int64_t{71}},
                                                 {"correlation", 40 + replay}}};
      trace.add_slice(track, "gemm", "kernel", replay * 10_us, 5_us, args);
    }
    return trace;
  }
  void refuse() { refuses_ = true; }
  void lose() { loses_ = true; }

 private:
  class Sink final : public TaskSink {
   public:
    void begin(StepId /*step*/, StreamId /*stream*/) noexcept override {
      const Nanoseconds end = steady_now() + kCost;
      while (steady_now() < end) {
      }
    }
    void end(StepId /*step*/, StreamId /*stream*/) noexcept override {}
  };
  Sink sink_;
  std::string first_;
  bool refuses_ = false;
  bool loses_ = false;
};

class ProfileTracing : public ::testing::Test {
 protected:
  Trace profile(DeviceTracer* tracer) {
    ProfileOptions options;
    options.passes = 1;
    options.fused_widths = {};
    options.footprints.emplace();
    options.limits = {1, 1, Nanoseconds(0), Nanoseconds(0)};
    options.tracer = tracer;
    auto trace = profile_model(device_, *batch_.loaded[0], options, CancelToken());
    EXPECT_TRUE(trace) << trace.error().message;
    return trace ? std::move(*trace) : Trace{};
  }

  HostBackend device_{make_reference_kernels(1), reference_device_info(1)};
  Batch batch_ = equal_members("mlp", 1, {{"hidden", "16"}, {"inputs", "16"}}, 1);
};

TEST_F(ProfileTracing, StoresTimesUnderTheTracerAndOfJustBeforeIt) {
  SlowTracer tracer;
  const Trace trace = profile(&tracer);
  const WallTimes* const before = trace.info.wall(kWallBeforeTracing);
  const WallTimes* const traced = trace.info.wall(kWallTraced);
  ASSERT_TRUE(before != nullptr && traced != nullptr && trace.info.wall(kWallUntraced) != nullptr);
  EXPECT_EQ(before->samples.size(), traced->samples.size());
  EXPECT_GE(*std::min_element(traced->samples.begin(), traced->samples.end()), kCost);
  EXPECT_LT(*std::min_element(before->samples.begin(), before->samples.end()), kCost);
  EXPECT_EQ(trace.info.wall_times.size(), 3U) << "times with a sink of the executor's alone are replaced";
}

TEST_F(ProfileTracing, HasTimesWithASinkAloneWhereNothingWasRecorded) {
  SlowTracer tracer;
  tracer.refuse();
  for (DeviceTracer* const none : {static_cast<DeviceTracer*>(nullptr), static_cast<DeviceTracer*>(&tracer)}) {
    const Trace trace = profile(none);
    EXPECT_EQ(trace.info.wall(kWallBeforeTracing), nullptr);
    ASSERT_NE(trace.info.wall(kWallTraced), nullptr);
    EXPECT_EQ(trace.info.settings.contains(std::string(kNotRecorded)), none != nullptr);
  }
}

TEST_F(ProfileTracing, KeepsTheTimesWhereTheTracerLosesItsRecords) {
  SlowTracer tracer;
  tracer.lose();
  const Trace trace = profile(&tracer);
  EXPECT_EQ(trace.info.settings.at(std::string(kNotRecorded)), "the tool lost its records");
  EXPECT_EQ(trace.info.wall(kWallBeforeTracing), nullptr);
  ASSERT_NE(trace.info.wall(kWallTraced), nullptr);
  EXPECT_LT(
      *std::min_element(trace.info.wall(kWallTraced)->samples.begin(), trace.info.wall(kWallTraced)->samples.end()),
      kCost);
  const bool timed = std::any_of(trace.slices.begin(), trace.slices.end(),
                                 [&](const Slice& slice) { return profile_record_of(trace, slice).has_value(); });
  EXPECT_TRUE(timed);
}

TEST_F(ProfileTracing, NumbersTheReplaysOfAGraphAsRuns) {
  SlowTracer tracer;
  const Trace trace = profile(&tracer);
  std::set<std::int64_t> runs;
  for (const Slice& slice : trace.slices) {
    if (trace.strings[slice.category] == "kernel") runs.insert(trace.integer_arg(slice, kIterationArg).value_or(-1));
  }
  EXPECT_EQ(runs, (std::set<std::int64_t>{0, 1, 2}));
}

}  // namespace
}  // namespace cohort::testing
