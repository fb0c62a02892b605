// Launches of several members' ops on a GPU: which of a catalogue's ways a plan takes, by recorded times of such
// launches, else by what each op takes alone in the same way.

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

Model layer(std::int64_t hidden) {
  ModelBuilder builder("layer");
  const TensorId x = builder.input("x", {6, 2, 16});
  const TensorId w = builder.weight("w", {4 * hidden, 16});
  const TensorId r = builder.weight("r", {4 * hidden, hidden});
  builder.output(builder.add("lstm", Lstm{hidden}, {x, w, r, builder.weight("b", {4 * hidden})}));
  return builder.finish().value();
}

/// One product with a ReLU fused to it.
Model product(std::int64_t width) {
  ModelBuilder builder("product");
  const TensorId x = builder.input("x", {2, 64});
  builder.output(builder.relu("relu", builder.linear("fc", x, width)));
  Model model = builder.finish().value();
  Weights weights = random_weights(model, 0);
  return simplify({std::move(model), std::move(weights)}).model;
}

std::string signature_of_only_op(const Model& model) { return signature_of(model, model.ops.front()); }

/// Single calls in the ways that were recorded, launches of several in given ones.
class CatalogOfGroups final : public OpCatalog {
 public:
  CatalogOfGroups(const CostTable& costs, std::vector<Alternative> groups)
      : recorded_(costs, 1), groups_(std::move(groups)) {}

  Result<std::vector<Alternative>> alternatives(const OpCall& call, int threads) const override {
    return call.parts.empty() ? recorded_.alternatives(call, threads) : groups_;
  }
  [[nodiscard]] bool accepts_strides(const OpCall& /*call*/) const override { return true; }
  [[nodiscard]] int cores() const override { return 1; }

 private:
  RecordedCatalog recorded_;
  std::vector<Alternative> groups_;
};

Alternative group_way(std::string name, std::string alone) {
  return {std::move(name), 1, Bytes{}, Bytes{}, true, std::move(alone)};
}

/// Eight members of the models in turn on an H100 that is not here.
class GroupBench {
 public:
  GroupBench(std::vector<Model> models, std::vector<Alternative> groups)
      : models_(std::move(models)), groups_(std::move(groups)), base_(fake_base(8)) {
    for (std::size_t i = 0; i < base_.members.size(); ++i) by_member_.push_back(&models_[i % models_.size()]);
    device_.device = gpu_.profile().device;
    device_.cores = 1;
  }

  /// Of the only op of model `i`, alone or in a fused form; of a launch of several the signature is the launch's.
  void record_time(std::size_t i, Strategy strategy, int width, std::string algorithm, Nanoseconds time) {
    std::string signature = signature_of_only_op(models_[i]);
    if (strategy == Strategy::kGroupedGemm) signature = grouped_signature({{signature, width}});
    records_.push_back(record(std::move(signature), strategy, width, 1, time.count()));
    records_.back().algorithm = std::move(algorithm);
  }
  /// Of launches of so many equal ops.
  void record_group(std::size_t i, const std::string& algorithm, Nanoseconds of_4, Nanoseconds of_16) {
    record_time(i, Strategy::kGroupedGemm, 4, algorithm, of_4);
    record_time(i, Strategy::kGroupedGemm, 16, algorithm, of_16);
  }

  PlanningResult plan() {
    for (const std::int64_t elements : {10, 1000})
      records_.push_back(record(fmt::format("Copy [{}]", elements), Strategy::kSerial, 1, 1, elements));
    const CostTable costs(records_);
    const CatalogOfGroups catalog(costs, groups_);
    const PlanningCase planning_case{&base_, by_member_, &costs, device_, &catalog, &gpu_};
    auto result = plan_model_batch(planning_case);
    EXPECT_TRUE(result) << result.error().message;
    return result ? *std::move(result) : PlanningResult{};
  }

 private:
  std::vector<Model> models_;
  std::vector<Alternative> groups_;
  std::vector<ProfileRecord> records_;
  Plan base_;
  DeviceProfile device_;
  GpuDemands gpu_{*published_gpu_profile("NVIDIA H100 80GB HBM3")};
  std::vector<const Model*> by_member_;
};

/// By which way the candidate runs its only launch; empty where it has several steps or there is no such candidate.
std::string way_of(const PlanningResult& result, std::string_view name) {
  const PlanCandidate* const candidate = find(result, name);
  if (candidate == nullptr || candidate->plan.resolved->steps.size() != 1) return "";
  return candidate->plan.resolved->steps.front().algorithm;
}

GroupBench recurrent_bench(Nanoseconds loop, Nanoseconds steps) {
  GroupBench bench({layer(16)}, {group_way("loops of all", "loop"), group_way("steps of all", "steps")});
  bench.record_time(0, Strategy::kSerial, 1, "loop", loop);
  bench.record_time(0, Strategy::kSerial, 1, "steps", steps);
  return bench;
}

TEST(GroupPlanner, RunsRecurrentLayersOfEqualMembersTogetherInTheWayThatIsFasterAlone) {
  const PlanningResult by_steps = recurrent_bench(90_us, 30_us).plan();
  EXPECT_EQ(way_of(by_steps, "strided batch (lstm)"), "steps of all") << print(by_steps, 100);
  EXPECT_EQ(way_of(recurrent_bench(30_us, 90_us).plan(), "strided batch (lstm)"), "loops of all");
  // Blocks of eight small layers run side by side.
  const PlanCandidate* const together = find(by_steps, "strided batch (lstm)");
  const PlanCandidate* const serial = find(by_steps, kOneAfterAnother);
  ASSERT_TRUE(together != nullptr && serial != nullptr);
  EXPECT_GT(together->speedup, 4);
  EXPECT_EQ(together->prediction.steps(CostOrigin::kAnalytic), 1U);
  EXPECT_LE(together->prediction.lower_bound, together->prediction.step_time);
}

TEST(GroupPlanner, FollowsRecordedLaunchesOfRecurrentLayersRatherThanWhatTheyTakeAlone) {
  GroupBench bench = recurrent_bench(90_us, 30_us);
  bench.record_group(0, "loops of all", 50_us, 80_us);
  bench.record_group(0, "steps of all", 100_us, 220_us);
  const PlanningResult result = bench.plan();
  EXPECT_EQ(way_of(result, "strided batch (lstm)"), "loops of all") << print(result, 100);
  const PlanCandidate* const together = find(result, "strided batch (lstm)");
  ASSERT_NE(together, nullptr);
  EXPECT_EQ(together->prediction.steps(CostOrigin::kAnalytic), 0U);
  EXPECT_GE(together->prediction.step_time, 60_us) << "between the widths recorded, and the graph's launch";
  EXPECT_LT(together->prediction.step_time, 75_us);
}

/// Equal products of one input: 20 us alone, 40 us as a strided batch of eight.
GroupBench product_bench() {
  GroupBench bench({product(64)}, {group_way("own", ""), group_way("library's", "")});
  bench.record_time(0, Strategy::kSerial, 1, "only", 20_us);
  bench.record_time(0, Strategy::kDenseConvolution, 4, "only", 36_us);
  bench.record_time(0, Strategy::kDenseConvolution, 16, "only", 48_us);
  return bench;
}

TEST(GroupPlanner, TakesGroupedProductsOfEqualMembersOnlyWhereTheirLaunchWasRecordedToBeFaster) {
  const PlanningResult unknown = product_bench().plan();
  for (const PlanCandidate& each : unknown.ranked) EXPECT_THAT(each.name, Not(HasSubstr("grouped products")));

  GroupBench slow = product_bench();
  slow.record_group(0, "own", 60_us, 90_us);
  slow.record_group(0, "library's", 50_us, 70_us);
  const PlanningResult strided = slow.plan();
  EXPECT_EQ(way_of(strided, "grouped products (fc)"), "library's") << print(strided, 100);
  ASSERT_NE(find(strided, "strided batch (fc)"), nullptr);
  EXPECT_LT(find(strided, "strided batch (fc)")->prediction.step_time,
            find(strided, "grouped products (fc)")->prediction.step_time);

  GroupBench fast = product_bench();
  fast.record_group(0, "own", 12_us, 15_us);
  fast.record_group(0, "library's", 18_us, 24_us);
  const PlanningResult grouped = fast.plan();
  EXPECT_THAT(grouped.ranked.front().name, HasSubstr("grouped products (fc)")) << print(grouped, 100);
  EXPECT_EQ(way_of(grouped, "grouped products (fc)"), "own");
  EXPECT_EQ(grouped.ranked.front().plan.groups.front().strategy, Strategy::kGroupedGemm);
}

GroupBench mixed_bench() {
  GroupBench bench({product(64), product(96)}, {group_way("own", "dot"), group_way("library's", "")});
  for (std::size_t model = 0; model < 2; ++model) {
    bench.record_time(model, Strategy::kSerial, 1, "only", 20_us);
    bench.record_time(model, Strategy::kSerial, 1, "dot", 45_us);
  }
  return bench;
}

TEST(GroupPlanner, ChoosesAmongTheWaysOfProductsOfDifferentWidths) {
  const std::string_view name = "grouped products (fc)";
  const auto way = [&](GroupBench bench) {
    const PlanningResult result = bench.plan();
    const auto found = std::find_if(result.ranked.begin(), result.ranked.end(), [&](const PlanCandidate& each) {
      return each.name == fmt::format("serial + {}", name);
    });
    EXPECT_NE(found, result.ranked.end()) << print(result, 100);
    return found == result.ranked.end() ? "" : found->plan.resolved->steps.front().algorithm;
  };
  EXPECT_EQ(way(mixed_bench()), "library's") << "own kernels take longer alone";
  GroupBench recorded = mixed_bench();
  for (std::size_t model = 0; model < 2; ++model) {
    recorded.record_group(model, "own", 22_us, 30_us);
    recorded.record_group(model, "library's", 40_us, 55_us);
  }
  EXPECT_EQ(way(recorded), "own") << "as launches of equal ones were recorded";
}

TEST(GroupSignature, IsReadWithPostOpsOfItsOps) {
  const std::map<std::string, int> ops{{"Gemm + Relu x[2, 64]", 4}, {"Gemm x[2, 3]", 12}};
  const std::string text = grouped_signature(ops);
  EXPECT_EQ(text, "Group: 4 * Gemm + Relu x[2, 64] + 12 * Gemm x[2, 3]");
  EXPECT_EQ(ops_of(text), ops);
  EXPECT_EQ(recorded_signature(text), text);
  EXPECT_EQ(recorded_signature("Group: 4 * Gemm + Relu x[2, 64]"), "Gemm + Relu x[2, 64]");
  EXPECT_EQ(recorded_signature("Gemm + Relu x[2, 64]"), "Gemm + Relu x[2, 64]");
}

}  // namespace
}  // namespace cohort
