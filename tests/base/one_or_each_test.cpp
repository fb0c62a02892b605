#include "base/one_or_each.hpp"

#include <gtest/gtest.h>

namespace cohort {
namespace {

TEST(OneOrEach, IsTheOneOfAllOrThatOfEach) {
  const std::vector<int> one{7};
  const std::vector<int> each{3, 2};
  EXPECT_EQ(one_or_each(one, 0), 7);
  EXPECT_EQ(one_or_each(one, 5), 7);
  EXPECT_EQ(one_or_each(each, 0), 3);
  EXPECT_EQ(one_or_each(each, 1), 2);
}

TEST(OneOrEach, RefusesAnotherNumberOfValues) {
  EXPECT_TRUE(check_one_or_each("--step", 1, 1, "trace"));
  EXPECT_TRUE(check_one_or_each("--step", 1, 4, "trace"));
  EXPECT_TRUE(check_one_or_each("--step", 4, 4, "trace"));
  for (const std::size_t values : {0U, 2U, 5U}) EXPECT_FALSE(check_one_or_each("--step", values, 4, "trace"));
  const Result<void> three = check_one_or_each("--step", 3, 2, "trace");
  ASSERT_FALSE(three);
  EXPECT_EQ(three.error().code, ErrorCode::kUsage);
  EXPECT_EQ(three.error().message, "--step: 3 values for 2 traces; give one for all, or one for each in their order");
  EXPECT_EQ(check_one_or_each("-n", 2, 1, "profile").error().message, "-n: 2 values for 1 profile; give one");
}

}  // namespace
}  // namespace cohort
