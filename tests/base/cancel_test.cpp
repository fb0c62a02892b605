#include "base/cancel.hpp"

#include <gtest/gtest.h>

namespace cohort {
namespace {

using namespace std::chrono_literals;

TEST(CancelToken, TurnsIntoAnErrorOnceCancelled) {
  CancelToken token;
  EXPECT_TRUE(token.check());
  token.cancel();
  const auto stopped = token.check();
  ASSERT_FALSE(stopped);
  EXPECT_EQ(stopped.error().code, ErrorCode::kInterrupted);
}

TEST(CancelToken, IsCancelledOnceItsTimeHasPassedOrTheOtherIs) {
  CancelToken other;
  EXPECT_TRUE(CancelToken(other, 0s).cancelled());
  const CancelToken in_an_hour(other, 1h);
  EXPECT_TRUE(in_an_hour.check());
  other.cancel();
  EXPECT_EQ(in_an_hour.check().error().code, ErrorCode::kInterrupted);
}

TEST(CancelToken, LeavesTheOtherAlone) {
  const CancelToken other;
  CancelToken made(other, 1h);
  made.cancel();
  EXPECT_TRUE(made.cancelled());
  EXPECT_FALSE(other.cancelled());
}

}  // namespace
}  // namespace cohort
