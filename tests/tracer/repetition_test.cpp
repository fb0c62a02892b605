#include "tracer/steps/repetition.hpp"

#include <gtest/gtest.h>

#include <random>
#include <string_view>
#include <vector>

namespace cohort {
namespace {

std::optional<Repetition> longest_in(std::string_view text) {
  const std::vector<std::uint32_t> values(text.begin(), text.end());
  return longest_repetition(values);
}

TEST(Repetition, FindsWhatRepeatsAmidOtherThings) { EXPECT_EQ(longest_in("xyzabcabcabcw"), (Repetition{3, 12, 3})); }

TEST(Repetition, EndsWhereThePeriodBreaksNotAtWholePeriods) {
  EXPECT_EQ(longest_in("abcabcabx"), (Repetition{0, 8, 3}));
}

TEST(Repetition, PrefersTheOuterLoopToTheInner) { EXPECT_EQ(longest_in("illlloillllo"), (Repetition{0, 12, 6})); }

TEST(Repetition, PrefersTheInnerLoopWhereTheOuterRunsOnce) {
  EXPECT_EQ(longest_in("iabababab0"), (Repetition{1, 9, 2}));
}

TEST(Repetition, TakesTheShortestPeriod) { EXPECT_EQ(longest_in("aaaaaa"), (Repetition{0, 6, 1})); }

TEST(Repetition, IsAbsentWhereNothingStandsBesideItsEqual) {
  EXPECT_EQ(longest_in(""), std::nullopt);
  EXPECT_EQ(longest_in("a"), std::nullopt);
  EXPECT_EQ(longest_in("abcab"), std::nullopt);
}

/// Every begin and period tried, one value at a time.
std::optional<Repetition> by_trying_all(const std::vector<std::uint32_t>& values) {
  std::optional<Repetition> best;
  for (std::size_t period = 1; 2 * period <= values.size(); ++period) {
    for (std::size_t begin = 0; begin + 2 * period <= values.size(); ++begin) {
      std::size_t end = begin + period;
      while (end < values.size() && values[end] == values[end - period]) ++end;
      if (end - begin < 2 * period) continue;
      if (!best || end - begin > best->end - best->begin) best = Repetition{begin, end, period};
    }
  }
  return best;
}

TEST(Repetition, AgreesWithTryingAllOnRandomSequences) {
  std::mt19937 random(7);
  for (int round = 0; round < 3000; ++round) {
    const std::size_t size = random() % 40;
    const std::uint32_t letters = 1 + random() % 4;
    std::vector<std::uint32_t> values(size);
    for (auto& value : values) value = static_cast<std::uint32_t>(random() % letters);
    ASSERT_EQ(longest_repetition(values), by_trying_all(values)) << "round " << round;
  }
}

}  // namespace
}  // namespace cohort
