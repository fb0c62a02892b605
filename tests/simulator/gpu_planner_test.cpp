// Planning for a GPU from a made-up profile: what streams, fusion and captured graphs are good for there.

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>

#include "models/builder.hpp"
#include "simulator/planner/planner.hpp"
#include "simulator/predict/program_gpu.hpp"
#include "tests/simulator/planner_bench.hpp"

namespace cohort {
namespace {

using namespace literals;
using testing::HasSubstr;
using testing::Not;

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
      : GpuBench(std::vector<Model>{std::move(model)}, members, alone) {}

  /// Members of the models in turn.
  GpuBench(std::vector<Model> models, std::size_t members, Nanoseconds alone,
           const GpuProfile& gpu = *published_gpu_profile("NVIDIA H100 80GB HBM3"))
      : bench_(std::move(models), members, times(alone), 1), gpu_(gpu) {
    bench_.device.device = gpu.device;
  }

  void ask_for_launch_threads(int count) { bench_.base.launch_threads = count; }

  double predicted_speedup(const Plan& plan) {
    PlanningCase planning_case = bench_.planning_case();
    planning_case.gpu = &gpu_;
    const auto predicted = predict_plan(planning_case, plan, DeviceInfo{});
    EXPECT_TRUE(predicted.has_value()) << predicted.error().message;
    return predicted ? predicted->speedup : 0;
  }

  PlanningResult plan(bool with_figures = true, PlannerOptions options = {.most_simulated = 1000}) {
    PlanningCase planning_case = bench_.planning_case();
    if (with_figures) planning_case.gpu = &gpu_;
    options.most_explained = 1000;
    auto result = plan_model_batch(planning_case, options);
    EXPECT_TRUE(result.has_value()) << result.error().message;
    return result ? *std::move(result) : PlanningResult{};
  }

 private:
  static FakeTimes times(Nanoseconds alone) {
    return [alone](const FakeCall& call) -> std::optional<std::int64_t> { return alone.count() * call.width; };
  }

  PlannerBench bench_;
  GpuDemands gpu_;
};

TEST(GpuPlanner, SpreadsMembersOfSmallKernelsOverManyStreams) {
  // A kernel of one or two blocks leaves nearly all of the device to others.
  GpuBench bench(layers(64), 16, 20_us);
  const PlanningResult result = bench.plan();
  const PlanCandidate* serial = find(result, kOneAfterAnother);
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
  EXPECT_LT(spread->speedup, 1.6) << print(result, 100);
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

TEST(GpuPlanner, ComparesWithOneBaselineHoweverAPlanIsLaunched) {
  GpuBench bench(layers(64), 4, 3_us);
  const PlanningResult result = bench.plan();
  for (const char* name : {"concurrent x4", "concurrent x4, launched one by one"}) {
    const PlanCandidate* const candidate = find(result, name);
    ASSERT_NE(candidate, nullptr) << print(result, 100);
    EXPECT_EQ(in_turn_plan(candidate->plan).launch, LaunchMode::kGraph) << name;
    EXPECT_EQ(baseline_plan(candidate->plan, 0).launch, LaunchMode::kGraph) << name;
    EXPECT_NEAR(bench.predicted_speedup(candidate->plan), candidate->speedup, 1e-6) << name;
  }
}

TEST(GpuPlanner, NamesNoFusedOpsWhereEachStreamHasOneMember) {
  GpuBench bench(layers(64), 8, 3_us);
  for (const PlanCandidate& each : bench.plan().ranked) EXPECT_THAT(each.name, Not(HasSubstr("x8 + "))) << each.name;
}

TEST(GpuPlanner, StreamsOfAGraphStartOneAfterAnother) {
  GpuProfile gpu = *published_gpu_profile("NVIDIA H100 80GB HBM3");
  const auto step_time = [&](Nanoseconds each) {
    gpu.launch.graph_stream = each;
    GpuBench bench({layers(64)}, 8, 3_us, gpu);
    const PlanningResult result = bench.plan();
    const PlanCandidate* const spread = find(result, "concurrent x8");
    EXPECT_NE(spread, nullptr) << print(result, 100);
    return spread == nullptr ? Nanoseconds{} : spread->prediction.step_time;
  };
  EXPECT_EQ(step_time(2_us) - step_time(1_us), 7_us) << "the last stream starts seven streams later than the first";
}

TEST(GpuPlanner, LaunchesFromAsManyThreadsAsAskedForWhereLaunchesAreSingle) {
  GpuBench bench(layers(64), 16, 3_us);
  const PlanningResult one = bench.plan();
  bench.ask_for_launch_threads(4);
  const PlanningResult result = bench.plan();
  const std::string_view name = "concurrent x16, launched one by one";
  ASSERT_TRUE(find(one, name) != nullptr && find(result, name) != nullptr) << print(result, 100);
  EXPECT_EQ(find(result, name)->plan.launch_threads, 4);
  EXPECT_EQ(find(result, "concurrent x2, launched one by one")->plan.launch_threads, 2);
  EXPECT_EQ(find(result, "concurrent x16")->plan.launch_threads, 1) << "a graph is one launch";
  EXPECT_EQ(find(result, kOneAfterAnother)->plan.launch_threads, 1);
  for (const PlanCandidate& each : result.ranked) EXPECT_TRUE(validate(each.plan)) << each.name;
  // Published figures do not say how long launches hold the driver's lock: threads are promised nothing.
  EXPECT_GE(find(result, name)->prediction.step_time, find(one, name)->prediction.step_time - 1_us);
}

TEST(GpuPlanner, ProposesLaunchThreadsWhereTheLockLeavesRoomForThem) {
  GpuProfile gpu = *published_gpu_profile("NVIDIA H100 80GB HBM3");
  const auto best_single = [&](bool search) {
    GpuBench bench({layers(64)}, 16, 3_us, gpu);
    const PlanningResult result = bench.plan(true, {.most_simulated = 1000, .search_launch_threads = search});
    const auto single = std::find_if(result.ranked.begin(), result.ranked.end(), [](const PlanCandidate& each) {
      return each.plan.launch == LaunchMode::kSingle && each.plan.streams > 1;
    });
    EXPECT_NE(single, result.ranked.end()) << print(result, 100);
    return single == result.ranked.end() ? PlanCandidate{} : *single;
  };
  EXPECT_EQ(best_single(true).plan.launch_threads, 1) << "the lock is held for whole launches";
  gpu.launch.lock = 500_ns;
  const PlanCandidate one = best_single(false);
  EXPECT_EQ(one.plan.launch_threads, 1);
  const PlanCandidate several = best_single(true);
  EXPECT_GE(several.plan.launch_threads, 4);
  EXPECT_THAT(several.name, HasSubstr("launch threads"));
  EXPECT_LT(several.prediction.step_time * 2, one.prediction.step_time);
  EXPECT_TRUE(validate(several.plan));
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
    EXPECT_LE(each.prediction.step_time, each.prediction.upper_bound) << each.name;
  }
}

/// x, then towers_without_pools of two convolutions each, added up.
Model towers_without_pools(int count) {
  ModelBuilder builder("towers_without_pools");
  const ModelBuilder::ConvolutionOptions same{.channels = 4, .kernel = 3, .stride = 1, .pad = 1};
  const TensorId x = builder.convolution("conv", builder.input("x", {1, 4, 8, 8}), same);
  TensorId sum{};
  for (int i = 0; i < count; ++i) {
    TensorId y = builder.convolution(fmt::format("conv{}a", i), x, same);
    y = builder.convolution(fmt::format("conv{}b", i), y, same);
    sum = i == 0 ? y : builder.add(fmt::format("sum{}", i), Binary{BinaryKind::kAdd}, {sum, y});
  }
  builder.output(sum);
  return builder.finish().value();
}

TEST(GpuPlanner, RunsProductsOfMembersThatDifferAsOneLaunchEach) {
  // Eight members of two widths: five launches of 20 us each, whose blocks run side by side, instead of forty.
  GpuBench bench({layers(64), layers(96)}, 8, 20_us);
  const PlanningResult result = bench.plan();
  const PlanCandidate* grouped = find(result, "serial + grouped products (fc0 ... fc4)");
  const PlanCandidate* serial = find(result, kOneAfterAnother);
  ASSERT_TRUE(grouped != nullptr && serial != nullptr) << print(result, 100);
  EXPECT_GE(grouped->prediction.step_time, 100_us);
  EXPECT_LT(grouped->prediction.step_time, 130_us);
  EXPECT_GT(serial->prediction.step_time, 800_us);
  EXPECT_GT(grouped->attribution.of(GainCause::kFusion), 600_us);
  ASSERT_FALSE(grouped->plan.groups.empty());
  EXPECT_EQ(grouped->plan.groups[0].strategy, Strategy::kGroupedGemm);
  EXPECT_EQ(grouped->plan.groups[0].members.size(), 8U);
  EXPECT_EQ(grouped->plan.groups[0].ops.size(), 5U);
  EXPECT_LE(grouped->prediction.lower_bound, grouped->prediction.step_time);
  const auto read = parse_plan(write_plan(grouped->plan));
  ASSERT_TRUE(read) << read.error().message;
}

TEST(GpuPlanner, PromisesNothingOfGroupedProductsThatFillTheDevice) {
  GpuBench bench({layers(64 * 1024), layers(65 * 1024)}, 2, 2_ms);
  const PlanningResult result = bench.plan();
  const PlanCandidate* grouped = find(result, "serial + grouped products (fc0 ... fc4)");
  ASSERT_NE(grouped, nullptr) << print(result, 100);
  EXPECT_LT(grouped->speedup, 1.2) << print(result, 100);
}

TEST(GpuPlanner, DoesNotGroupWhatAStridedBatchRuns) {
  GpuBench bench(layers(64), 8, 20_us);
  for (const PlanCandidate& each : bench.plan().ranked) EXPECT_THAT(each.name, testing::Not(HasSubstr("grouped pr")));
}

TEST(GpuPlanner, RunsBranchesOfSmallKernelsSideBySide) {
  // conv, three towers_without_pools side by side, two sums: 20 us + 2 x 20 us + 2 x 20 us; in turn 9 x 20 us.
  GpuBench bench(towers_without_pools(3), 1, 20_us);
  const PlanningResult result = bench.plan();
  const PlanCandidate& best = result.ranked.front();
  EXPECT_THAT(best.name, HasSubstr("branches x"));
  EXPECT_GE(best.prediction.step_time, 100_us);
  EXPECT_LT(best.prediction.step_time, 125_us) << print(result, 100);
  const PlanCandidate* serial = find(result, kOneAfterAnother);
  ASSERT_NE(serial, nullptr);
  EXPECT_GT(serial->prediction.step_time, 180_us);
  EXPECT_GE(std::ranges::count_if(result.ranked, [](const auto& each) { return each.name.starts_with("branches"); }), 2)
      << print(result, 100);
}

TEST(GpuPlanner, LaunchesBranchesInBothWays) {
  GpuBench bench(towers_without_pools(3), 1, 20_us);
  const PlanningResult result = bench.plan();
  std::size_t captured = 0;
  std::size_t single = 0;
  for (const PlanCandidate& each : result.ranked) {
    if (!each.name.starts_with("branches")) continue;
    const bool by_name = each.name.ends_with(", launched one by one");
    EXPECT_EQ(by_name, each.plan.launch == LaunchMode::kSingle) << each.name;
    ++(by_name ? single : captured);
  }
  EXPECT_GT(captured, 0U) << print(result, 100);
  EXPECT_EQ(single, captured) << print(result, 100);
}

TEST(GpuPlanner, GivesBranchesOfManyMembersStreamsOfTheirOwn) {
  GpuBench bench(towers_without_pools(2), 8, 20_us);
  const PlanningResult result = bench.plan();
  const auto is_split = [](const PlanCandidate& each) { return each.name.starts_with("branches"); };
  EXPECT_LE(std::ranges::count_if(result.ranked, is_split), 8) << "the most promising";
  const PlanCandidate* apart = find(result, "concurrent x8");
  ASSERT_NE(apart, nullptr) << print(result, 100);
  EXPECT_THAT(result.ranked.front().name, HasSubstr(" in 8 sets ")) << print(result, 100);
  EXPECT_LT(result.ranked.front().prediction.step_time, apart->prediction.step_time);
}

TEST(GpuPlanner, BoundsWhatItDoesNotSimulate) {
  GpuBench mixed({layers(64), layers(96)}, 4, 9_us);
  GpuBench branched(towers_without_pools(3), 2, 9_us);
  for (GpuBench* bench : {&mixed, &branched}) {
    const PlanningResult all = bench->plan();
    for (const ScreenedCandidate& each : bench->plan(true, {.most_simulated = 1}).screened) {
      EXPECT_GT(each.bound, 0_ns) << each.name;
      if (const PlanCandidate* simulated = find(all, each.name)) {
        EXPECT_LE(each.bound, simulated->prediction.step_time) << each.name;
      }
    }
  }
}

TEST(ProgramGpu, TellsHowMuchOfTheDeviceACallUses) {
  const GpuDemands demands(*published_gpu_profile("NVIDIA H100 80GB HBM3"));
  const CallWork small{Flops{1000}, Bytes{1000}, 64, true};
  EXPECT_GT(demands.share(small, 10_us), 0);
  EXPECT_LT(demands.share(small, 10_us), 0.01);
  CallWork large = small;
  large.outputs = std::int64_t{1} << 30;
  EXPECT_DOUBLE_EQ(demands.share(large, 10_us), 1) << "all room for blocks";
  CallWork wide = small;
  wide.traffic = Bytes{1 << 30};
  EXPECT_DOUBLE_EQ(demands.share(wide, 10_us), 1) << "all of the memory's throughput";
  // Side by side: the longest; beyond what the device has: one after another.
  EXPECT_EQ(demands.together(std::vector<GpuDemands::Part>{{10_us, small}, {9_us, small}}), 10_us);
  EXPECT_EQ(demands.together(std::vector<GpuDemands::Part>{{10_us, large}, {9_us, wide}}), 19_us);
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

TEST(ProgramGpu, CountsTheBytesOfShortTypesAndTheRateOfTensorCores) {
  OpCall call;
  call.attributes = Gemm{};
  call.precision = Precision::kBfloat16;
  call.inputs = {View{BufferId(0), 0, {256, 4096}, {4096, 1}, DataType::kBfloat16},
                 WeightView{{}, {4096, 4096}, DataType::kBfloat16}};
  call.outputs = {View{BufferId(1), 0, {256, 4096}, {4096, 1}, DataType::kFloat32}};
  const CallWork work = work_of(call);
  EXPECT_EQ(work.traffic, Bytes{2 * (256 * 4096 + 4096 * 4096) + 4 * 256 * 4096});
  // Side by side with room for all blocks, the arithmetic is what both share.
  const GpuProfile gpu = *published_gpu_profile("NVIDIA H100 80GB HBM3");
  const GpuDemands demands(gpu);
  const Nanoseconds time = 100_us;
  const auto part_of = [&](Precision precision, double rate) {
    CallWork each{work.flops, Bytes{1}, 64, true, precision};
    EXPECT_DOUBLE_EQ(demands.share(each, time), static_cast<double>(each.flops.value) / rate / 100e-6);
  };
  part_of(Precision::kBfloat16, gpu.tensor.per_second);
  part_of(Precision::kTf32, gpu.tensor.per_second / 2);
}

}  // namespace
}  // namespace cohort
