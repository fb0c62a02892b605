#include "view/timeline/time_scale.hpp"

#include <gtest/gtest.h>

#include <random>

namespace cohort {
namespace {

using namespace literals;

constexpr Nanoseconds kDay(86'400'000'000'000);

TEST(TimeScale, FindsEveryPixelAgainAtEveryZoom) {
  for (const Nanoseconds start : {0_ns, Nanoseconds(-7), Nanoseconds(1'751'410'836'000'000'123)}) {
    for (Nanoseconds length = 1_ns; length < 30 * kDay; length = length * 3 + 1_ns) {
      for (const int width : {1, 7, 640, 1600, 3840}) {
        const TimeScale scale{{start, start + length}, width};
        if (length.count() < width) continue;
        for (int x = 0; x <= width; x += 1 + width / 97) {
          ASSERT_EQ(scale.x_at(scale.time_at(x)), x) << length.count() << " ns on " << width << " pixels";
        }
      }
    }
  }
}

TEST(TimeScale, FindsEveryNanosecondAgainWhereAPixelIsShorter) {
  for (int length = 1; length <= 1600; length += 1 + length / 5) {
    const TimeScale scale{{5_ns, Nanoseconds(5 + length)}, 1600};
    for (int t = 0; t <= length; ++t) {
      ASSERT_EQ(scale.time_at(scale.x_at(Nanoseconds(5 + t))), Nanoseconds(5 + t)) << length;
    }
  }
}

TEST(TimeScale, FindsPixelsAgainOutsideOfWhatItShows) {
  const TimeScale scale{{1_ms, 3_ms}, 1000};
  for (const int x : {-5000, -1, 1000, 123456}) EXPECT_EQ(scale.x_at(scale.time_at(x)), x);
  EXPECT_EQ(scale.x_at(1_ms), 0);
  EXPECT_EQ(scale.x_at(3_ms), 1000);
  EXPECT_EQ(scale.length_of(3), 6_us);
}

TEST(TimeScale, KeepsTimesFarApartInBounds) {
  const TimeScale scale{{-kMostTime, kMostTime}, 1600};
  EXPECT_EQ(scale.x_at(-kMostTime), 0);
  EXPECT_EQ(scale.x_at(kMostTime), 1600);
  const TimeScale close{{0_ns, 1_ns}, 1600};
  EXPECT_EQ(close.x_at(kMostTime), std::int64_t{1} << 40);
  EXPECT_EQ(close.x_at(-kMostTime), -(std::int64_t{1} << 40));
}

TEST(Zooming, KeepsTheTimeUnderThePointer) {
  const ZoomLimits limits{{0_ns, kDay}, 1_ns};
  std::mt19937 random(7);
  for (int round = 0; round < 200; ++round) {
    const auto length = static_cast<std::int64_t>(random() % 1'000'000'000U) + 10'000;
    const auto start = static_cast<std::int64_t>(random() % 1'000'000'000U);
    const TimeScale scale{{Nanoseconds(start), Nanoseconds(start + length)}, 1600};
    const int x = static_cast<int>(random() % 1600U);
    const Nanoseconds under = scale.time_at(x);
    const TimeScale nearer{zoomed(scale, 0.8, x, limits), 1600};
    EXPECT_LE(std::abs(nearer.x_at(under) - x), 1);
    EXPECT_LT(nearer.window.length(), scale.window.length());
  }
}

TEST(Zooming, ReachesOneNanosecondAndAllAgain) {
  const ZoomLimits limits{{0_ns, 10 * kDay}, 1_ns};
  TimeScale scale{limits.whole(), 1600};
  int steps = 0;
  while (scale.window.length() > 1_ns && steps < 1000) {
    scale.window = zoomed(scale, 0.8, 800, limits);
    ++steps;
  }
  EXPECT_EQ(scale.window.length(), 1_ns);
  for (; scale.window != limits.whole() && steps < 2000; ++steps) scale.window = zoomed(scale, 1.25, 800, limits);
  EXPECT_EQ(scale.window, limits.whole());
}

TEST(Panning, StopsAtTheMargins) {
  const ZoomLimits limits{{0_ns, 100_us}, 1_ns};
  const TimeScale scale{{0_ns, 10_us}, 100};
  EXPECT_EQ(panned(scale, 10, limits), (TimeWindow{1_us, 11_us}));
  EXPECT_EQ(panned(scale, -1000, limits).start, -5_us);
  EXPECT_EQ(panned(scale, 100000, limits).end, 105_us);
}

TEST(TimeAxis, StepsByOneTwoOrFive) {
  for (Nanoseconds length = 10_ns; length < 20 * kDay; length = length * 2 + 3_ns) {
    const TimeAxis axis = time_axis({{0_ns, length}, 1600}, 0_ns, 100);
    std::int64_t step = axis.step.count();
    while (step % 10 == 0) step /= 10;
    EXPECT_TRUE(step == 1 || step == 2 || step == 5) << axis.step.count();
    EXPECT_LE(axis.ticks.size(), 17U);
    EXPECT_TRUE(length <= 200_ns || axis.ticks.size() >= 5) << length.count();
  }
}

TEST(TimeAxis, LabelsInTheUnitThatSuitsWhatIsShown) {
  const TimeAxis axis = time_axis({{10_us, 10_us + 4_ms}, 800}, 10_us, 100);
  ASSERT_EQ(axis.step, 500_us);
  ASSERT_EQ(axis.ticks.size(), 8U);
  EXPECT_EQ(axis.ticks[0].label, "0 ms");
  EXPECT_EQ(axis.ticks[3].label, "1.5 ms");
  EXPECT_EQ(axis.ticks[3].time, 10_us + 1500_us);
  EXPECT_EQ(axis.base, "");
}

TEST(TimeAxis, CountsFromARounderTimeFarFromTheStart) {
  const TimeAxis axis = time_axis({{34_ms + 123'440_ns, 34_ms + 123'480_ns}, 800}, 0_ns, 100);
  EXPECT_EQ(axis.base, "34 ms");
  ASSERT_FALSE(axis.ticks.empty());
  EXPECT_EQ(axis.ticks.front().label, "+123.44 us");
  EXPECT_EQ(axis.ticks.front().time, 34_ms + 123'440_ns);
}

TEST(TimeAxis, ReachesBeforeTheStart) {
  const TimeAxis axis = time_axis({{-25_us, 25_us}, 500}, 0_ns, 100);
  ASSERT_EQ(axis.ticks.size(), 5U);
  EXPECT_EQ(axis.ticks[0].label, "-20 us");
  EXPECT_EQ(axis.ticks[2].label, "0 us");
}

}  // namespace
}  // namespace cohort
