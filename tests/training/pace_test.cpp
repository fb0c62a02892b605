#include "training/pace.hpp"

#include <gtest/gtest.h>

namespace cohort {
namespace {

constexpr StepCounts kSixEpochs{10, 60};  // 6 epochs

TEST(Rungs, AreOneWithoutHalving) {
  EXPECT_EQ(rungs_of(kSixEpochs, {}, 8), (std::vector<Rung>{{0, 60, 6, 8}}));
  EXPECT_EQ(rungs_of({10, 25}, {}, 8), (std::vector<Rung>{{0, 25, 3, 8}})) << "the last epoch ends early";
}

TEST(Rungs, KeepTheBetterPartUntilFewEnoughAreLeft) {
  const HalvingRule halving{2, 0.5, 2, Metric::kAccuracy};
  EXPECT_EQ(rungs_of(kSixEpochs, halving, 7), (std::vector<Rung>{{0, 20, 2, 7}, {20, 20, 2, 4}, {40, 20, 2, 2}}));
  EXPECT_EQ(rungs_of(kSixEpochs, HalvingRule{1, 0.5, 4, Metric::kLoss}, 8),
            (std::vector<Rung>{{0, 10, 1, 8}, {10, 50, 5, 4}}));
}

TEST(Pace, CountsStepsEvaluationsAndEpochEndsApart) {
  Pace pace(kSixEpochs, rungs_of(kSixEpochs, {}, 4), 6);
  EXPECT_EQ(pace.left(0), Nanoseconds(0)) << "nothing is known";
  pace.add_steps(5, 4, Nanoseconds(5 * 4 * 30));
  // An evaluation of 6 minibatches counts as 2 steps.
  EXPECT_EQ(pace.left(5), Nanoseconds(55 * 4 * 30 + 6 * 4 * 60));
  pace.add_steps(5, 4, Nanoseconds(5 * 4 * 30));
  pace.add_evaluation(4, Nanoseconds(4 * 100));
  pace.add_epoch_end(Nanoseconds(7));
  EXPECT_EQ(pace.left(10), Nanoseconds(50 * 4 * 30 + 5 * (4 * 100 + 7)));
  EXPECT_EQ(pace.left(60), Nanoseconds(0));
}

TEST(Pace, KnowsThatHalvingLeavesFewer) {
  const std::vector<Rung> rungs = rungs_of(kSixEpochs, HalvingRule{3, 0.5, 1, Metric::kAccuracy}, 4);
  Pace pace(kSixEpochs, rungs, 3);
  pace.add_steps(10, 4, Nanoseconds(10 * 4 * 30));
  pace.add_evaluation(4, Nanoseconds(4 * 20));
  EXPECT_EQ(pace.left(10), Nanoseconds(20 * 4 * 30 + 2 * 4 * 20 + 30 * 2 * 30 + 3 * 2 * 20));
}

}  // namespace
}  // namespace cohort
