#include "training/score.hpp"

#include <gtest/gtest.h>

#include <bit>
#include <cmath>

namespace cohort {
namespace {

Minibatch of_classes(const std::vector<std::int32_t>& labels, std::size_t count) {
  Minibatch minibatch;
  for (const std::int32_t label : labels) minibatch.labels.push_back(std::bit_cast<float>(label));
  minibatch.size = labels.size();
  minibatch.count = count;
  return minibatch;
}

TEST(Score, CountsRightClassesOfSamplesThatCount) {
  Score score(LossKind::kCrossEntropy, false);
  score.add(std::vector<float>{0, std::log(3.0F), 1000, 0, 5, 5}, of_classes({1, 1, 0}, 2));
  EXPECT_EQ(score.accuracy(), 0.5);
  EXPECT_NEAR(score.loss(), (-std::log(0.75) + 1000) / 2, 1e-4);
}

TEST(Score, TakesOutputsOfSequencesStepByStep) {
  Minibatch minibatch = of_classes({0, 1, /* the second step */ 1, 1}, 1);  // two sequences, of which one counts
  minibatch.size = 2;
  minibatch.rows = 2;
  Score score(LossKind::kCrossEntropy, false);
  score.add(std::vector<float>{9, 0, /* not */ 9, 0, 9, 0, /* not */ 0, 9}, minibatch);
  EXPECT_EQ(score.accuracy(), 0.5) << "right at the first step, wrong at the second";
}

TEST(Score, TakesProbabilitiesAsTheyAre) {
  Score score(LossKind::kCrossEntropy, true);
  score.add(std::vector<float>{0.25F, 0.75F}, of_classes({1}, 1));
  EXPECT_NEAR(score.loss(), -std::log(0.75), 1e-6);
}

TEST(Score, IsNoNumberWhereAnOutputIsNone) {
  for (const bool gives_probabilities : {false, true}) {
    Score score(LossKind::kCrossEntropy, gives_probabilities);
    score.add(std::vector<float>{NAN, NAN}, of_classes({0}, 1));
    EXPECT_EQ(score.accuracy(), 0.0);
    EXPECT_TRUE(std::isnan(score.loss()));
  }
}

TEST(Score, AveragesSquaredErrorsOverTargets) {
  Minibatch minibatch;
  minibatch.labels = {1, 2, 3, 4};
  minibatch.size = 2;
  minibatch.count = 1;
  Score score(LossKind::kMeanSquaredError, false);
  score.add(std::vector<float>{2, 4, 0, 0}, minibatch);
  EXPECT_EQ(score.loss(), 2.5);
  EXPECT_FALSE(score.accuracy());
}

}  // namespace
}  // namespace cohort
