// Bounds of a program step hold for whatever the simulator predicts of random plans on rough devices.

#include "simulator/predict/step_bounds.hpp"

#include <fmt/format.h>
#include <gtest/gtest.h>

#include "base/random.hpp"
#include "simulator/planner/planner.hpp"
#include "tests/simulator/random_planning.hpp"

namespace cohort {
namespace {

/// Makes cores lose by being shared, hand-offs long, and input a part of every other case.
void roughen(Random& random, Plan& base, DeviceProfile& device) {
  if (random.below(2) == 0) device.spin_time = Nanoseconds(random.below(300'000));
  device.oversubscription_penalty = 1 + static_cast<double>(random.below(4)) / 2;
  device.handoff_latency = Nanoseconds(random.below(100'000));
  device.launch_overhead = Nanoseconds(random.below(20'000));
  if (random.below(2) == 0) base.launch = LaunchMode::kSingle;
  if (random.below(2) == 0) return;
  base.input.source = InputSource::kFolder;
  base.input.sharing = random.below(2) == 0 ? InputSharing::kShared : InputSharing::kSeparate;
  base.input.decode_workers = 1 + static_cast<int>(random.below(4));
  base.input.buffers = 1 + static_cast<int>(random.below(4));
}

TEST(StepBounds, HoldForEveryPlanOfRandomCasesOnRoughDevices) {
  std::size_t plans = 0;
  for (std::uint64_t seed = 0; seed < 60; ++seed) {
    const auto random_case = RandomPlanning::small(seed);
    Random random(derive_seed(seed, 2));
    PlanningCase planning_case = random_case->planning_case();
    Plan base = *planning_case.base;
    planning_case.base = &base;
    roughen(random, base, planning_case.device);
    const auto planned = plan_model_batch(planning_case, {.most_simulated = 1000, .most_explained = 0});
    ASSERT_TRUE(planned.has_value()) << planned.error().message;
    for (const PlanCandidate& candidate : planned->ranked) {
      SCOPED_TRACE(fmt::format("seed {}: {}", seed, candidate.name));
      const Prediction& prediction = candidate.prediction;
      EXPECT_LE(prediction.lower_bound, prediction.step_time + Nanoseconds(1));
      EXPECT_LE(prediction.step_time, prediction.upper_bound + Nanoseconds(1));
      ++plans;
    }
  }
  EXPECT_GT(plans, 1000U);
}

}  // namespace
}  // namespace cohort
