// Products made for a part of a GPU's multiprocessors: proposed where a profile has timed them so and members then fit
// side by side on the device, by the model of how kernels share it.

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <array>

#include "models/builder.hpp"
#include "simulator/planner/planner.hpp"
#include "simulator/predict/program_gpu.hpp"
#include "tests/simulator/planner_bench.hpp"

namespace cohort {
namespace {

using namespace literals;

/// Of an H100.
constexpr int kAll = 132;

Model product() {
  ModelBuilder builder("product");
  builder.output(builder.linear("fc", builder.input("x", {2, 64}), 64));
  return builder.finish().value();
}

/// Eight members with one product each, which is latency and no more: what it takes does not follow from its blocks,
/// of which one fills a multiprocessor.
class PartsBench {
 public:
  /// Made for so many multiprocessors; 0: all, and then as one launch of several, too, which takes as long as so many.
  void record_product(int multiprocessors, int blocks, Nanoseconds time) {
    record_launch(multiprocessors, Strategy::kSerial, 1, blocks, time);
    for (const int width : {2, 4, 16}) {
      if (multiprocessors == 0) record_launch(0, Strategy::kDenseConvolution, width, blocks * width, time * width);
    }
  }
  void record_launch(int multiprocessors, Strategy strategy, int width, int blocks, Nanoseconds time) {
    const std::string signature = signature_for(multiprocessors, signature_of(model_, model_.ops.front()));
    records_.push_back(record(signature, strategy, width, 1, time.count()));
    const std::string grid = fmt::format("[{},1,1]", blocks);
    const std::array<Trace::NamedArg, 8> args{{{"signature", std::string_view(signature)},
                                               {"strategy", to_string(strategy)},
                                               {"width", std::int64_t{width}},
                                               {"algorithm", std::string_view("only")},
                                               {"grid", std::string_view(grid)},
                                               {"block", std::string_view("[256,1,1]")},
                                               {"registers per thread", std::int64_t{64}},
                                               {"shared memory", std::int64_t{200} << 10}}};
    kernels_.add_slice(track_, "kernel", "kernel", Nanoseconds(0), time, args);
  }

  PlanningResult plan() {
    const std::array<const Trace*, 1> traces{&kernels_};
    GpuDemands gpu(*published_gpu_profile("NVIDIA H100 80GB HBM3"), RecordedLaunches(traces));
    for (const std::int64_t elements : {10, 1000})
      records_.push_back(record(fmt::format("Copy [{}]", elements), Strategy::kSerial, 1, 1, elements));
    const CostTable costs(records_);
    const RecordedCatalog catalog(costs, 1, Precision::kFloat32, kAll);
    const Plan base = fake_base(8);
    const std::vector<const Model*> models(base.members.size(), &model_);
    DeviceProfile device;
    device.device = gpu.profile().device;
    const PlanningCase planning_case{&base, models, &costs, device, &catalog, &gpu};
    auto result = plan_model_batch(planning_case, {.most_simulated = 1000, .most_explained = 1000});
    EXPECT_TRUE(result) << result.error().message;
    return result ? *std::move(result) : PlanningResult{};
  }

 private:
  Model model_ = product();
  std::vector<ProfileRecord> records_;
  Trace kernels_ = [] {
    Trace trace;
    trace.info.kind = TraceKind::kProfile;
    return trace;
  }();
  TrackId track_ = kernels_.add_track("profile", "kernels of ops alone");
};

/// That products of a plan are made for.
int multiprocessors_of(const PlanCandidate& candidate) {
  int most = 0;
  for (const Group& group : candidate.plan.groups) most = std::max(most, group.multiprocessors);
  return most;
}

TEST(MultiprocessorPlanner, HalvesTheDeviceWhereAHalfTakesHardlyLonger) {
  PartsBench bench;
  bench.record_product(0, kAll, 20_us);
  bench.record_product(kAll / 2, kAll / 2, 24_us);
  bench.record_product(kAll / 4, kAll / 4, 60_us);
  const PlanningResult result = bench.plan();
  const PlanCandidate& best = result.ranked.front();
  EXPECT_EQ(multiprocessors_of(best), kAll / 2) << print(result, 100);
  EXPECT_THAT(best.name, testing::HasSubstr("products for 66 multiprocessors"));
  // Two at a time, four times, instead of eight in turn.
  EXPECT_GE(best.prediction.step_time, 96_us);
  EXPECT_LT(best.prediction.step_time, 120_us);
  const auto whole = std::find_if(result.ranked.begin(), result.ranked.end(),
                                  [](const PlanCandidate& each) { return multiprocessors_of(each) == 0; });
  ASSERT_NE(whole, result.ranked.end());
  EXPECT_GE(whole->prediction.step_time, 150_us);
  for (const PlanCandidate& each : result.ranked) {
    EXPECT_LE(each.prediction.lower_bound, each.prediction.step_time) << each.name;
    Nanoseconds saved{};
    for (const Nanoseconds part : each.attribution.saved) saved += part;
    EXPECT_EQ(saved, result.baseline.step_time - each.prediction.step_time) << each.name;
    EXPECT_TRUE(validate(each.plan)) << each.name;
  }
  EXPECT_GT(best.attribution.of(GainCause::kOverlap), 40_us);
}

TEST(MultiprocessorPlanner, LeavesTheWholeDeviceWhereAHalfTakesTwiceAsLong) {
  PartsBench bench;
  bench.record_product(0, kAll, 20_us);
  bench.record_product(kAll / 2, kAll / 2, 44_us);
  const PlanningResult result = bench.plan();
  EXPECT_EQ(multiprocessors_of(result.ranked.front()), 0) << print(result, 100);
}

TEST(MultiprocessorPlanner, LeavesTheWholeDeviceWhereProductsFitSideBySideAnyway) {
  PartsBench bench;
  bench.record_product(0, 8, 20_us);
  bench.record_product(kAll / 2, 8, 22_us);
  const PlanningResult result = bench.plan();
  EXPECT_EQ(multiprocessors_of(result.ranked.front()), 0) << print(result, 100);
}

TEST(MultiprocessorPlanner, TriesNothingThatNoProfileHasTimed) {
  PartsBench bench;
  bench.record_product(0, kAll, 20_us);
  for (const PlanCandidate& each : bench.plan().ranked) EXPECT_EQ(multiprocessors_of(each), 0) << each.name;
}

}  // namespace
}  // namespace cohort
