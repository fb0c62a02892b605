// Recurrent layers of several members as products over all of them, on a GPU in host memory.

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>

#include "executor/host/host_session.hpp"
#include "executor/recording/fake_gpu.hpp"
#include "executor/reference/reference_kernels.hpp"
#include "simulator/plan/lower.hpp"
#include "tests/strategies/batch.hpp"

namespace cohort::testing {
namespace {

TEST(CudaRecurrentSteps, OfSeveralMembersEqualEachMemberAloneInAStatedOrder) {
  const Batch batch = equal_members("lstm", 2, {{"steps", "5"}, {"inputs", "12"}, {"hidden", "20"}}, 3);
  HostBackend reference(make_reference_kernels(), reference_device_info());
  for (const InputSharing sharing : {InputSharing::kShared, InputSharing::kSeparate}) {
    for (const LaunchMode launch : {LaunchMode::kGraph, LaunchMode::kSingle}) {
      Plan plan = plan_by_name("strided", batch);
      plan.input.sharing = sharing;
      plan.launch = launch;
      const auto expected = outputs_alone(reference, plan, batch);
      FakeGpuBackend device;
      const auto by_steps = [](const CostKey& /*key*/, std::span<const Alternative> list) {
        const auto found =
            std::find_if(list.begin(), list.end(), [](const auto& a) { return a.algorithm == "grouped:steps"; });
        if (found == list.end()) return std::size_t{0};
        EXPECT_TRUE(found->side_by_side);
        EXPECT_EQ(found->alone, "own:steps");
        return static_cast<std::size_t>(found - list.begin());
      };
      const auto program = lower(plan, batch.models().models, device.catalog(), by_steps);
      ASSERT_TRUE(program) << program.error().message;
      EXPECT_TRUE(std::any_of(program->steps.begin(), program->steps.end(),
                              [](const Step& step) { return step.cost.algorithm == "grouped:steps"; }));
      plan.resolved = resolve(plan, *program, device.info().name);
      {
        auto run = BatchRun::open(device, plan, batch.models(), {});
        ASSERT_TRUE(run) << run.error().message;
        for (int again = 0; again < 2; ++again) {
          const auto together = outputs_of(**run);
          ASSERT_TRUE(together) << together.error().message;
          ASSERT_EQ(together->size(), expected.size());
          for (std::size_t i = 0; i < expected.size(); ++i) {
            ASSERT_EQ((*together)[i].size(), expected[i].size());
            for (std::size_t k = 0; k < expected[i].size(); ++k)
              ASSERT_NEAR((*together)[i][k], expected[i][k], 2e-5F) << "output " << i << " element " << k;
          }
        }
      }
      EXPECT_THAT(device.gpu().violations(), ::testing::IsEmpty());
      EXPECT_EQ(device.gpu().resources(), 0U);
    }
  }
}

}  // namespace
}  // namespace cohort::testing
