#include "view/timeline/marks.hpp"

#include <gtest/gtest.h>

namespace cohort {
namespace {

using namespace literals;

TEST(Marks, AreNamedByFreeLettersAndKeptByTime) {
  TimeMarks marks;
  EXPECT_EQ(marks.add(20_us), "A");
  EXPECT_EQ(marks.add(10_us), "B");
  EXPECT_EQ(marks.add(30_us, "warm"), "warm");
  ASSERT_EQ(marks.all().size(), 3U);
  EXPECT_EQ(marks.all()[0], (TimeMark{10_us, "B"}));
  EXPECT_TRUE(marks.remove(20_us));
  EXPECT_FALSE(marks.remove(20_us));
  EXPECT_EQ(marks.add(40_us), "A");
  EXPECT_TRUE(marks.rename(10_us, "start"));
  EXPECT_FALSE(marks.rename(10_us, ""));
  EXPECT_EQ(marks.add(10_us, "again"), "again");
  EXPECT_EQ(marks.all().size(), 3U);
}

TEST(Marks, GetNumbersAfterAllLetters) {
  TimeMarks marks;
  for (int i = 0; i < 26; ++i) marks.add(Nanoseconds(i));
  EXPECT_EQ(marks.add(100_ns), "27");
}

TEST(Marks, AreFoundAroundATime) {
  TimeMarks marks;
  marks.add(10_us, "a");
  marks.add(20_us, "b");
  EXPECT_EQ(marks.after(10_us)->name, "b");
  EXPECT_EQ(marks.before(10_us), std::nullopt);
  EXPECT_EQ(marks.before(11_us)->name, "a");
  EXPECT_EQ(marks.near(14_us, 5_us)->name, "a");
  EXPECT_EQ(marks.near(16_us, 5_us)->name, "b");
  EXPECT_EQ(marks.near(15_us, 1_us), std::nullopt);
}

}  // namespace
}  // namespace cohort
