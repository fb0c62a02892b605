#include "simulator/plan/step_order.hpp"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

namespace cohort {
namespace {

using ::testing::ElementsAre;
using ::testing::IsEmpty;

constexpr StreamId kFirst{0};
constexpr StreamId kSecond{1};
StepId step(std::uint32_t index) { return static_cast<StepId>(index); }

TEST(StepOrder, DropsDependenciesThatTheStreamOrOthersImply) {
  StepOrder order(5);
  EXPECT_THAT(order.add(kFirst, {}), IsEmpty());
  EXPECT_THAT(order.add(kFirst, std::vector{step(0)}), IsEmpty());                       // same stream
  EXPECT_THAT(order.add(kSecond, std::vector{step(0), step(1)}), ElementsAre(step(1)));  // 1 implies 0
  EXPECT_THAT(order.add(kSecond, std::vector{step(0)}), IsEmpty());                      // 2 waited for it
  EXPECT_THAT(order.add(kFirst, std::vector{step(2), step(3)}), ElementsAre(step(3)));
}

TEST(StepOrder, KnowsThatStreamsWithoutDependenciesAreNotOrdered) {
  StepOrder order(3);
  order.add(kFirst, {});
  order.add(kSecond, {});
  order.add(kFirst, {});
  EXPECT_TRUE(order.before(step(0), step(2)));
  EXPECT_FALSE(order.before(step(0), step(1)));
  EXPECT_FALSE(order.before(step(1), step(2)));
}

}  // namespace
}  // namespace cohort
