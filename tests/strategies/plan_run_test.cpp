#include "executor/run/plan_run.hpp"

#include <gtest/gtest.h>

#include "executor/host/host_session.hpp"
#include "executor/reference/reference_kernels.hpp"
#include "tests/strategies/batch.hpp"

namespace cohort::testing {
namespace {

/// Counts what is loaded on it.
class CountingBackend final : public Backend {
 public:
  [[nodiscard]] const DeviceInfo& info() const override { return device_.info(); }
  [[nodiscard]] const OpCatalog& catalog() const override { return device_.catalog(); }
  Result<std::unique_ptr<Session>> load(const Program& program, std::span<const Weights* const> weights) override {
    ++loads;
    return device_.load(program, weights);
  }

  int loads = 0;

 private:
  HostBackend device_{make_reference_kernels(2), reference_device_info(2)};
};

TEST(PlanRun, RunsAllMembersInTurnAsOneBaseline) {
  CountingBackend device;
  const Batch small = equal_members("mlp", 1, {{"hidden", "8"}, {"inputs", "16"}}, 3);
  const Batch large = equal_members("mlp", 1, {{"hidden", "24"}, {"inputs", "16"}}, 1);
  Batch batch;
  batch.members = small.members;
  batch.members.push_back(large.members[0]);
  batch.members.back().name = "large";
  const Plan plan = uniform_plan(batch.members, Strategy::kSerial, 1);
  MemberModels members;
  for (const auto& loaded : small.loaded) {
    members.models.push_back(&small.loaded[0]->model);
    members.weights.push_back(&loaded->weights);
  }
  members.models.push_back(&large.loaded[0]->model);
  members.weights.push_back(&large.loaded[0]->weights);
  const CancelToken cancel;
  const auto run = PlanRun::open(device, plan, members, cancel);
  ASSERT_TRUE(run) << run.error().message;
  EXPECT_EQ(device.loads, 2) << "the plan, and all members in turn";
  MeasureOptions options;
  options.blocks = options.most_rounds = 2;
  options.block = options.warm_up = std::chrono::milliseconds(1);
  const auto times = (*run)->measure(options);
  ASSERT_TRUE(times) << times.error().message;
  EXPECT_GT(times->baseline.median, Nanoseconds(0));
}

}  // namespace
}  // namespace cohort::testing
