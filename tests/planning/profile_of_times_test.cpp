#include "planning/profile_of_times.hpp"

#include <fmt/format.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <map>

#include "models/builder.hpp"
#include "simulator/costs/cost_table.hpp"
#include "tests/simulator/fake_profile.hpp"
#include "tracer/profile_record.hpp"

namespace cohort {
namespace {

using namespace literals;
using ::testing::HasSubstr;

/// Steps of 1 ms that the host decides up to minibatch 4, and the GPU from 16 on.
constexpr std::string_view kTable = "minibatch,step_ms,gpu_busy_ms\n2,1.0,0.3\n4,1.0,\n16,4.0,\n64,15.0,\n";

TimedSteps steps_of(std::string_view table) {
  TimedSteps steps;
  steps.times = parse_step_times(table).value();
  steps.gpu = *published_gpu_profile("NVIDIA A100-SXM4-40GB");
  return steps;
}

/// By op.
std::map<std::string, Nanoseconds> times_of(const Trace& profile) {
  std::map<std::string, Nanoseconds> times;
  for (const Slice& slice : profile.slices) {
    const auto record = profile_record_of(profile, slice);
    if (record && !record->signature.starts_with("Copy"))
      times[std::string(profile.strings[slice.name])] += record->time;
  }
  return times;
}

TEST(ProfileOfTimes, DividesTheGpusTimeAmongTheOps) {
  const Model model = fake_cnn(2);
  const auto profile = profile_of_times({"cnn", {}, 2}, model, steps_of(kTable));
  ASSERT_TRUE(profile) << profile.error().message;
  EXPECT_EQ(profile->demand.origin, WorkOrigin::kRecorded);
  EXPECT_EQ(profile->demand.gpu_work, 300_us);
  const std::map<std::string, Nanoseconds> times = times_of(profile->trace);
  Nanoseconds sum{};
  for (const auto& [op, time] : times) {
    EXPECT_GE(time, 2_us) << op;
    sum += time;
  }
  EXPECT_NEAR(seconds(sum), seconds(300_us), seconds(10_ns));
  EXPECT_EQ(profile->ops, times.size());
  EXPECT_EQ(times.at("conv2"), times.at("fc2")) << "both are too small for anything but a kernel's least time to tell";
}

TEST(ProfileOfTimes, GivesNoOpLessThanTheGpuAllows) {
  ModelBuilder builder("copies");
  const TensorId x = builder.input("x", {64, 64, 112, 112});
  builder.output(builder.relu("act", builder.convolution("conv", x, {.channels = 256, .kernel = 3, .pad = 1})));
  const Model model = builder.finish().value();
  const auto profile =
      profile_of_times({"copies", {}, 64}, model, steps_of("minibatch,step_ms,gpu_busy_ms\n64,30.0,26.0\n"));
  ASSERT_TRUE(profile) << profile.error().message;
  const std::map<std::string, Nanoseconds> times = times_of(profile->trace);
  const double bytes = 2.0 * 64 * 256 * 112 * 112 * 4;
  EXPECT_GE(seconds(times.at("act")), bytes / 1555e9);
  EXPECT_GT(times.at("conv"), times.at("act"));
}

TEST(ProfileOfTimes, TakesTheWholeGpusRowsWhateverTheColumn) {
  for (const auto& [column, all] : {std::pair("gpcs", "7"), std::pair("sm_percent", "100")}) {
    const std::string table = fmt::format("minibatch,{},step_ms,gpu_busy_ms\n2,1,3.0,2.0\n2,{},1.0,0.3\n", column, all);
    const auto profile = profile_of_times({"cnn", {}, 2}, fake_cnn(2), steps_of(table));
    ASSERT_TRUE(profile) << profile.error().message;
    EXPECT_EQ(profile->demand.gpu_work, 300_us) << column;
  }
}

TEST(ProfileOfTimes, HasCopiesOfThePrecisionsNumbers) {
  TimedSteps steps = steps_of(kTable);
  steps.precision = Precision::kFloat16;
  const auto profile = profile_of_times({"cnn", {}, 2}, fake_cnn(2), steps);
  ASSERT_TRUE(profile) << profile.error().message;
  std::map<std::string, Nanoseconds> copies;
  for (const Slice& slice : profile->trace.slices) {
    const auto record = profile_record_of(profile->trace, slice);
    if (record && record->signature.starts_with("Copy")) copies[record->signature] = record->time;
  }
  EXPECT_LT(copies.at("Copy [16777216] in float16"), copies.at("Copy [16777216]"));
}

TEST(ProfileOfTimes, KeepsTheLeastTimeOfAKernelWhereThereIsTimeForIt) {
  const auto profile =
      profile_of_times({"cnn", {}, 2}, fake_cnn(2), steps_of("minibatch,step_ms,gpu_busy_ms\n2,1.0,0.004\n"));
  ASSERT_TRUE(profile) << profile.error().message;
  Nanoseconds sum{};
  for (const auto& [op, time] : times_of(profile->trace)) sum += time;
  EXPECT_NEAR(seconds(sum), seconds(4_us), seconds(10_ns)) << "which is too little for four kernels";
}

TEST(ProfileOfTimes, RefusesCopiesThatTakeLongerThanTheStep) {
  TimedSteps steps = steps_of(kTable);
  steps.copied = Bytes{std::int64_t{1} << 34};
  const auto profile = profile_of_times({"cnn", {}, 2}, fake_cnn(2), steps);
  ASSERT_FALSE(profile);
  EXPECT_THAT(profile.error().message, HasSubstr("line 2: --copied: 2 samples of 16.0 GiB would take"));
}

TEST(ProfileOfTimes, SaysThatNobodyTimedTheOps) {
  const auto profile = profile_of_times({"cnn", {}, 2}, fake_cnn(2), steps_of(kTable));
  ASSERT_TRUE(profile) << profile.error().message;
  const Trace* const trace = &profile->trace;
  const auto costs = CostTable::from(std::span(&trace, 1));
  ASSERT_TRUE(costs) << costs.error().message;
  EXPECT_THAT(costs->estimated_from(), HasSubstr("times of whole steps (GPU work: recorded)"));
  EXPECT_GT(costs->estimated_within(), 0);
  const auto unsure = profile_of_times({"cnn", {}, 2}, fake_cnn(2), steps_of("minibatch,step_ms\n2,1.0\n"));
  ASSERT_TRUE(unsure) << unsure.error().message;
  EXPECT_EQ(unsure->demand.origin, WorkOrigin::kAtMost);
  const Trace* const other = &unsure->trace;
  EXPECT_GT(CostTable::from(std::span(&other, 1)).value().estimated_within(), costs->estimated_within());
}

TEST(ProfileOfTimes, NamesTheMinibatchesThatTheTableHas) {
  const auto profile = profile_of_times({"cnn", {}, 3}, fake_cnn(3), steps_of(kTable));
  ASSERT_FALSE(profile);
  EXPECT_EQ(profile.error().message,
            "no row is of one process with minibatch 3 on the whole GPU; there are 2, 4, 16, 64 (--minibatch)");
  const auto slices = profile_of_times({"cnn", {}, 2}, fake_cnn(2), steps_of("minibatch,gpcs,step_ms\n2,1,1.0\n"));
  ASSERT_FALSE(slices);
  EXPECT_EQ(slices.error().message, "no row is of one process with minibatch 2 on 7 GPCs");
}

TEST(ProfileOfTimes, TakesTheRowsOfAMigSliceForIt) {
  TimedSteps steps = steps_of("minibatch,gpcs,step_ms,gpu_busy_ms\n2,1,3.0,2.0\n2,7,1.0,0.3\n");
  steps.gpu = *published_gpu_profile("NVIDIA A100-SXM4-40GB MIG 1g.5gb");
  const auto slice = profile_of_times({"cnn", {}, 2}, fake_cnn(2), steps);
  ASSERT_TRUE(slice) << slice.error().message;
  EXPECT_EQ(slice->demand.gpu_work, 2_ms);
  EXPECT_EQ(slice->trace.info.device.settings.at("multiprocessors"), "14");
}

}  // namespace
}  // namespace cohort
