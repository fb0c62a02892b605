// Planning for a GPU from a made-up profile: what streams, fusion and captured graphs are good for there.

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "models/builder.hpp"
#include "simulator/planner/planner.hpp"
#include "simulator/program_gpu.hpp"
#include "simulator/recorded_catalog.hpp"
#include "tests/simulator/fake_profile.hpp"

namespace cohort {
namespace {

using namespace literals;
using testing::HasSubstr;

/// Five layers of `width` outputs for each of two samples.
Model layers(std::int64_t width) {
  ModelBuilder builder("layers");
  TensorId x = builder.input("x", {2, 64});
  for (int i = 0; i < 5; ++i) x = builder.linear("fc" + std::to_string(i), x, width);
  builder.output(x);
  return builder.finish().value();
}

/// Members on a GPU that is not here: an op alone takes `alone`; a fused one is not faster.
class GpuBench {
 public:
  GpuBench(Model model, std::size_t members, Nanoseconds alone)
      : model_(std::move(model)), gpu_(*published_gpu_profile("NVIDIA H100 80GB HBM3")) {
    base_ = fake_base(members);
    const auto times = [alone](const FakeCall& call) -> std::optional<std::int64_t> {
      if (call.strategy == Strategy::kGroupedConvolution || call.strategy == Strategy::kDenseConvolution)
        return std::nullopt;
      return alone.count() * call.width;
    };
    costs_.emplace(fake_records(model_, 1, times));
    catalog_ = std::make_unique<RecordedCatalog>(*costs_, 1);
    models_.assign(members, &model_);
  }

  PlanningResult plan(bool with_figures = true) {
    PlanningCase planning_case{&base_, models_, &*costs_, {}, catalog_.get()};
    planning_case.device.device = "NVIDIA H100 80GB HBM3";
    if (with_figures) planning_case.gpu = &gpu_;
    auto result = plan_model_batch(planning_case, {.most_explained = 1000});
    EXPECT_TRUE(result.has_value()) << result.error().message;
    return result ? *std::move(result) : PlanningResult{};
  }

 private:
  Model model_;
  GpuDemands gpu_;
  Plan base_;
  std::optional<CostTable> costs_;
  std::unique_ptr<RecordedCatalog> catalog_;
  std::vector<const Model*> models_;
};

const PlanCandidate* find(const PlanningResult& result, std::string_view name) {
  for (const PlanCandidate& candidate : result.ranked) {
    if (candidate.name == name) return &candidate;
  }
  return nullptr;
}

TEST(GpuPlanner, SpreadsMembersOfSmallKernelsOverManyStreams) {
  // A kernel of one or two blocks leaves nearly all of the device to others.
  GpuBench bench(layers(64), 16, 20_us);
  const PlanningResult result = bench.plan();
  const PlanCandidate* serial = find(result, "serial");
  const PlanCandidate* spread = find(result, "concurrent x8");
  ASSERT_TRUE(serial != nullptr && spread != nullptr) << print(result, 100);
  EXPECT_GT(spread->speedup, 6) << print(result, 100);
  EXPECT_LE(spread->prediction.lower_bound, spread->prediction.step_time);
  EXPECT_GT(spread->attribution.of(GainCause::kOverlap), 0_ns);
  for (const int streams : {2, 4, 16}) {
    EXPECT_NE(find(result, fmt::format("concurrent x{}", streams)), nullptr) << print(result, 100);
  }
  EXPECT_GT(result.ranked.front().plan.streams, 1);
}

TEST(GpuPlanner, PromisesNothingOfStreamsForKernelsThatFillTheDevice) {
  GpuBench bench(layers(64 * 1024), 4, 2_ms);
  const PlanningResult result = bench.plan();
  const PlanCandidate* spread = find(result, "concurrent x4");
  ASSERT_NE(spread, nullptr) << print(result, 100);
  EXPECT_LT(spread->speedup, 1.5) << print(result, 100);
}

TEST(GpuPlanner, SeesThatCapturedGraphsHelpWhereTheHostCannotKeepUp) {
  GpuBench bench(layers(64), 16, 3_us);
  const PlanningResult result = bench.plan();
  const PlanCandidate* captured = find(result, "concurrent x16");
  const PlanCandidate* single = find(result, "concurrent x16, launched one by one");
  ASSERT_TRUE(captured != nullptr && single != nullptr) << print(result, 100);
  EXPECT_LT(captured->prediction.step_time * 2, single->prediction.step_time);
  // 80 launches of 2.5 us each.
  EXPECT_GE(single->prediction.step_time, 200_us);
  EXPECT_EQ(single->prediction.binding.resource, "host");
  EXPECT_EQ(single->plan.launch, LaunchMode::kSingle);
  EXPECT_EQ(captured->plan.launch, LaunchMode::kGraph);
}

TEST(GpuPlanner, ProposesNoStreamsWhereTheFiguresOfTheDeviceAreNotKnown) {
  GpuBench bench(layers(64), 8, 20_us);
  for (const PlanCandidate& each : bench.plan(false).ranked) EXPECT_EQ(each.plan.streams, 1) << each.name;
}

TEST(GpuPlanner, AttributionAddsUpAndBoundsHold) {
  GpuBench bench(layers(256), 8, 9_us);
  const PlanningResult result = bench.plan();
  ASSERT_GT(result.ranked.size(), 10U);
  for (const PlanCandidate& each : result.ranked) {
    Nanoseconds sum{};
    for (const Nanoseconds saved : each.attribution.saved) sum += saved;
    EXPECT_EQ(sum, result.baseline.step_time - each.prediction.step_time) << each.name;
    EXPECT_LE(each.prediction.lower_bound, each.prediction.step_time) << each.name;
  }
}

TEST(ProgramGpu, TakesWorkFromTheShapesOfACall) {
  OpCall call;
  call.attributes = Gemm{};
  call.inputs = {View{BufferId(0), 0, {2, 64}, {64, 1}}, WeightView{{}, {128, 64}}};
  call.outputs = {View{BufferId(1), 0, {2, 128}, {128, 1}}};
  const CallWork product = work_of(call);
  EXPECT_TRUE(product.is_product);
  EXPECT_EQ(product.flops, Flops{2 * 2 * 128 * 64});
  EXPECT_EQ(product.traffic, Bytes{4 * (2 * 64 + 128 * 64 + 2 * 128)});
  EXPECT_EQ(launch_shape_of(product).blocks, 1);
  call.inputs[0] = View{BufferId(0), 0, {16, 2, 64}, {0, 64, 1}};  // one input, read by all members
  EXPECT_EQ(work_of(call).traffic, product.traffic);
  call.attributes = Reshape{};
  EXPECT_FALSE(work_of(call).is_product);
}

}  // namespace
}  // namespace cohort
