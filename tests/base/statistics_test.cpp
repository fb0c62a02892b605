#include "base/statistics.hpp"

#include <gtest/gtest.h>

namespace cohort {
namespace {

using namespace literals;

TEST(Quantile, LiesLinearlyBetweenSamples) {
  EXPECT_EQ(quantile({30_ns, 10_ns, 20_ns}, 0.5), 20_ns);
  EXPECT_EQ(quantile({10_ns, 20_ns}, 0.5), 15_ns);
  EXPECT_EQ(quantile({10_ns, 20_ns, 30_ns, 40_ns, 50_ns}, 0.25), 20_ns);
  EXPECT_EQ(quantile({7_ns}, 0.75), 7_ns);
  EXPECT_DOUBLE_EQ(quantile({4.0, 1.0}, 0.25), 1.75);
  EXPECT_DOUBLE_EQ(quantile({1.0, 2.0}, 1), 2);
}

TEST(Median, IsTheMiddleSampleOrBetweenTheTwoInTheMiddle) {
  EXPECT_EQ(median({9_ns, 1000_ns, 11_ns}), 11_ns);
  EXPECT_DOUBLE_EQ(median({4.0, 1.0, 2.0, 100.0}), 3);
}

}  // namespace
}  // namespace cohort
