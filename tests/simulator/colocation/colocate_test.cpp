#include "simulator/colocation/colocate.hpp"

#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <filesystem>

#include "base/file.hpp"
#include "base/statistics.hpp"

namespace cohort {
namespace {

using namespace literals;

Colocated process(Nanoseconds step, Nanoseconds work, WorkOrigin origin = WorkOrigin::kGpuBound) {
  return {{{8, 1, "", 1, step, {}, {}, 2}, work, origin}, Bytes{}};
}

TEST(Colocate, OneProcessIsWhatItIsAlone) {
  const std::vector<Colocated> one{process(10_ms, 8_ms)};
  for (const GpuSharing sharing : {GpuSharing::kTogether, GpuSharing::kApart}) {
    const Colocation alone = colocate(one, sharing);
    EXPECT_EQ(alone.steps.front(), 10_ms);
    EXPECT_EQ(alone.all, 10_ms);
    EXPECT_EQ(alone.gain, 1);
  }
}

TEST(Colocate, GainsAsLongAsTheGpuHasTimeLeft) {
  const std::vector<Colocated> idle(4, process(10_ms, 1_ms));
  EXPECT_NEAR(colocate(idle, GpuSharing::kTogether).gain, 3.8, 0.01);  // 1.7% of the host for each further one
  EXPECT_FALSE(colocate(idle, GpuSharing::kTogether).gpu_decides);
  const std::vector<Colocated> busy(4, process(10_ms, 8_ms));
  EXPECT_NEAR(colocate(busy, GpuSharing::kTogether).gain, 10.0 / 8, 0.01);
  EXPECT_TRUE(colocate(busy, GpuSharing::kTogether).gpu_decides);
}

TEST(Colocate, KeepsItsBounds) {
  for (int work = 1; work <= 10; ++work) {
    double before = 0;
    for (std::size_t count = 1; count <= 8; ++count) {
      const std::vector<Colocated> processes(count, process(10_ms, Nanoseconds(work * 1'000'000)));
      const Colocation found = colocate(processes, GpuSharing::kTogether);
      EXPECT_LE(found.gain, static_cast<double>(count));
      EXPECT_LE(found.gain, 10.0 / work + 1e-9);
      EXPECT_LE(found.gain_within.low, found.gain);
      EXPECT_GE(found.gain_within.high, found.gain);
      const auto slowdown = seconds(found.steps.front());
      EXPECT_GE(slowdown, before);
      before = slowdown;
      EXPECT_NEAR(seconds(found.all), seconds(found.steps.front()), 1e-6);  // of equal ones
    }
  }
}

TEST(Colocate, DifferentProcessesAskForTheSumOfTheirWork) {
  const std::vector<Colocated> two{process(10_ms, 9_ms), process(4_ms, 1_ms)};
  const Colocation found = colocate(two, GpuSharing::kTogether);
  EXPECT_NEAR(found.slowdowns[0], 0.9 + 0.25, 0.04);
  EXPECT_NEAR(seconds(found.steps[1]), 4e-3 * found.slowdowns[1], 1e-8);
  EXPECT_NEAR(seconds(found.all), 10.7e-3, 0.5e-3);
}

TEST(Colocate, IsUncertainWhereOneRowIsAllThereIs) {
  const std::vector<Colocated> two(2, process(10_ms, 9500_us, WorkOrigin::kAtMost));
  const Colocation found = colocate(two, GpuSharing::kTogether);
  EXPECT_LT(found.gain_within.low, 1.1);
  EXPECT_GT(found.gain_within.high, 1.9);
}

TEST(Colocate, IsAsUncertainAsTheStepWhereTheWorkIsNotKnown) {
  const Colocation found =
      colocate(std::vector<Colocated>(2, process(1_ms, 300_us, WorkOrigin::kAtMost)), GpuSharing::kTogether);
  EXPECT_LT(found.gain_within.low, 1.1) << "all of the step may be work";
  EXPECT_GT(found.gain_within.high, 1.9);
  const Colocation small =
      colocate(std::vector<Colocated>(2, process(1_ms, 1_us, WorkOrigin::kAtMost)), GpuSharing::kTogether);
  EXPECT_LE(small.gain, small.gain_within.high);
}

TEST(Colocate, IsBoundByTheGpuAloneWhereItsOwnStepIs) {
  const auto bound_by_gpu = [](Nanoseconds work, WorkOrigin origin) {
    return colocate(std::vector<Colocated>(1, process(10_ms, work, origin)), GpuSharing::kTogether).gpu_decides;
  };
  EXPECT_TRUE(bound_by_gpu(9600_us, WorkOrigin::kGpuBound));
  EXPECT_TRUE(bound_by_gpu(9600_us, WorkOrigin::kRecorded));
  EXPECT_FALSE(bound_by_gpu(2_ms, WorkOrigin::kRecorded));
  EXPECT_FALSE(bound_by_gpu(2_ms, WorkOrigin::kOtherShare));
}

TEST(Colocate, ApartSlowsByTheOthersUseOfMemory) {
  Colocated busy = process(10_ms, 10_ms);
  busy.demand.alone.dram = 0.6;
  Colocated quiet = busy;
  quiet.demand.alone.dram = 0.1;
  const Colocation found = colocate(std::vector{busy, quiet}, GpuSharing::kApart);
  EXPECT_GT(found.slowdowns[1], found.slowdowns[0]);
  EXPECT_NEAR(found.slowdowns[0], 1 + 0.055 + 0.0092 + 0.0099, 1e-3);
  busy.copied = Bytes{602'112};
  EXPECT_GT(colocate(std::vector{busy, quiet}, GpuSharing::kApart).slowdowns[0], found.slowdowns[0]);
}

/// What others measured: two networks on five slices of an A100, in 2 to 5 processes.
TEST(Colocate, FollowsWhatParvaGpuMeasured) {
  std::vector<double> errors;
  std::size_t inside = 0;
  for (const char* const network : {"resnet50", "vgg16"}) {
    const auto text = read_file(std::filesystem::path(COHORT_TRACES) / "parvagpu" / (std::string(network) + ".csv"));
    ASSERT_TRUE(text) << text.error().message;
    const auto times = parse_step_times(*text);
    ASSERT_TRUE(times) << times.error().message;
    const Bytes image{602'112};
    const ProcessDemands demands = process_demands(*times, image);
    for (const ProcessDemand& demand : demands.rows) {
      for (int count = 2; count <= 5; ++count) {
        const auto measured = measured_together(*times, demand.alone, count);
        if (!measured || measured->one_died) continue;
        const std::vector<Colocated> processes(static_cast<std::size_t>(count), {demand, image});
        const Colocation found = colocate(processes, GpuSharing::kTogether);
        errors.push_back(std::abs(found.gain / measured->gain - 1));
        if (found.gain_within.low <= measured->gain && measured->gain <= found.gain_within.high) ++inside;
      }
    }
  }
  ASSERT_GT(errors.size(), 200U);
  EXPECT_LT(median(errors), 0.02);
  EXPECT_LT(quantile(errors, 0.9), 0.06);
  const double held = static_cast<double>(inside) / static_cast<double>(errors.size());
  EXPECT_GT(held, 0.7);
}

}  // namespace
}  // namespace cohort
