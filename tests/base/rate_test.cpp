#include "base/rate.hpp"

#include <gtest/gtest.h>

namespace cohort {
namespace {

TEST(Rate, HasDecimalsWhereItIsSmall) {
  EXPECT_EQ(format_rate(53610.4), "53610 samples/s");
  EXPECT_EQ(format_rate(10), "10 samples/s");
  EXPECT_EQ(format_rate(0.7216), "0.722 samples/s");
}

}  // namespace
}  // namespace cohort
