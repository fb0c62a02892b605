#include "view/timeline/lane.hpp"

#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <random>

namespace cohort {
namespace {

using namespace literals;

/// Slices one after the other: mostly short, some long, in bursts with long pauses, some without a duration.
Lane random_lane(unsigned seed, std::size_t count) {
  std::mt19937 random(seed);
  std::vector<Nanoseconds> starts;
  std::vector<Nanoseconds> ends;
  std::vector<SliceId> slices;
  starts.reserve(count);
  ends.reserve(count);
  slices.reserve(count);
  Nanoseconds at(static_cast<std::int64_t>(random() % 1000U));
  for (std::size_t i = 0; i < count; ++i) {
    at += Nanoseconds(random() % 50U == 0 ? random() % 2'000'000U : random() % 40U);
    const Nanoseconds duration(random() % 30U == 0 ? random() % 500'000U : random() % 200U);
    starts.push_back(at);
    ends.push_back(at + duration);
    slices.push_back(static_cast<SliceId>(i));
    at += duration;
  }
  return {std::move(starts), std::move(ends), std::move(slices)};
}

std::size_t end_of(const Lane& lane, const LaneLevel& level, std::size_t item) {
  return item + 1 < level.items.size() ? level.items[item + 1].first : lane.size();
}

TEST(Levels, HoldEverySliceOnceWithItsTime) {
  const Lane lane = random_lane(1, 20'000);
  ASSERT_GE(lane.levels().size(), 3U);
  for (const LaneLevel& level : lane.levels()) {
    std::size_t next = 0;
    for (std::size_t i = 0; i < level.items.size(); ++i) {
      ASSERT_EQ(level.items[i].first, next);
      next = end_of(lane, level, i);
      Nanoseconds busy{};
      Nanoseconds longest{};
      for (std::size_t s = level.items[i].first; s < next; ++s) {
        busy += lane.duration(s);
        longest = std::max(longest, lane.duration(s));
      }
      ASSERT_EQ(level.items[i].busy, busy);
      ASSERT_EQ(level.items[i].start, lane.start(level.items[i].first));
      ASSERT_EQ(level.items[i].end, lane.end(next - 1));
      ASSERT_EQ(lane.duration(level.items[i].longest), longest);
      ASSERT_GE(level.items[i].longest, level.items[i].first);
      ASSERT_LT(level.items[i].longest, next);
    }
    ASSERT_EQ(next, lane.size());
  }
}

TEST(Levels, JoinOnlyWhatFitsABucket) {
  const Lane lane = random_lane(2, 20'000);
  for (const LaneLevel& level : lane.levels()) {
    const std::int64_t bucket = std::int64_t{1} << level.shift;
    for (std::size_t i = 0; i < level.items.size(); ++i) {
      const std::size_t first = level.items[i].first;
      const std::size_t last = end_of(lane, level, i) - 1;
      if (first == last) continue;
      const Nanoseconds origin = lane.start(0);
      EXPECT_EQ((lane.start(first) - origin).count() / bucket, (lane.start(last) - origin).count() / bucket);
      for (std::size_t s = first; s <= last; ++s) EXPECT_LT(lane.duration(s).count(), bucket);
    }
  }
}

TEST(Levels, ShrinkByHalfAtLeast) {
  const Lane lane = random_lane(3, 50'000);
  std::size_t before = lane.size() / 4;
  for (const LaneLevel& level : lane.levels()) {
    EXPECT_LE(level.items.size(), before / 2);
    before = level.items.size();
  }
  EXPECT_LT(static_cast<double>(lane.bytes()) / static_cast<double>(lane.size()), 30);
}

TEST(Levels, AreNotNeededForFewSlices) { EXPECT_TRUE(random_lane(4, 100).levels().empty()); }

TEST(Lane, FindsSlicesAsALookAtAllOfThemDoes) {
  const Lane lane = random_lane(5, 3'000);
  std::mt19937 random(6);
  const auto span = static_cast<std::uint64_t>(lane.end(lane.size() - 1).count());
  for (int round = 0; round < 2'000; ++round) {
    const Nanoseconds time(static_cast<std::int64_t>(random() % span));
    std::size_t from = 0;
    while (from < lane.size() && lane.end(from) <= time && lane.start(from) != time) ++from;
    ASSERT_EQ(lane.first_from(time), from);
    const Nanoseconds tolerance(static_cast<std::int64_t>(random() % 200U));
    const auto hit = lane.at(time, tolerance);
    Nanoseconds nearest = Nanoseconds::max();
    for (std::size_t i = 0; i < lane.size(); ++i) {
      const bool runs = lane.start(i) <= time && time < lane.end(i);
      const Nanoseconds away = runs ? 0_ns : time < lane.start(i) ? lane.start(i) - time : time - lane.end(i);
      nearest = std::min(nearest, away);
    }
    ASSERT_EQ(hit.has_value(), nearest <= tolerance);
    if (!hit) continue;
    const bool runs = lane.start(*hit) <= time && time < lane.end(*hit);
    ASSERT_EQ(runs ? 0_ns : std::max(lane.start(*hit) - time, time - lane.end(*hit)), nearest);
  }
}

TEST(Lane, FindsTheLongestAndTheWideAtEveryZoom) {
  const Lane lane = random_lane(7, 20'000);
  std::mt19937 random(8);
  const auto span = static_cast<std::uint64_t>(lane.end(lane.size() - 1).count());
  for (int round = 0; round < 300; ++round) {
    const Nanoseconds start(static_cast<std::int64_t>(random() % span));
    const TimeWindow window{start,
                            start + Nanoseconds(1 + static_cast<std::int64_t>(random() % (span >> (round % 20))))};
    const Nanoseconds least(static_cast<std::int64_t>(random() % 100'000U));
    Nanoseconds longest(-1);
    Nanoseconds busy{};
    std::vector<std::size_t> wide;
    for (std::size_t i = 0; i < lane.size(); ++i) {
      const bool touches = lane.start(i) < window.end && (lane.end(i) > window.start || lane.start(i) == window.start);
      if (!touches) continue;
      longest = std::max(longest, lane.duration(i));
      busy += std::min(lane.end(i), window.end) - std::max(lane.start(i), window.start);
      if (lane.duration(i) >= least) wide.push_back(i);
    }
    const auto found = lane.longest_in(window);
    ASSERT_EQ(found ? lane.duration(*found) : Nanoseconds(-1), longest);
    ASSERT_EQ(lane.at_least(window, least), wide);
    ASSERT_EQ(lane.busy(window), busy);
  }
}

class Drawing : public testing::Test {
 protected:
  static constexpr Argb kBlack = 0xff000000;
  static constexpr Argb kWhite = 0xffffffff;

  std::vector<Argb> draw(const Lane& lane, TimeWindow window, std::size_t width, Argb colour = kBlack) {
    const std::vector<Argb> colours(lane.size(), colour);
    std::vector<Argb> line(width);
    LaneRaster().draw(lane, colours, {window, kWhite, faintest_}, line);
    return line;
  }
  static double share(Argb pixel) { return 1 - static_cast<double>(pixel & 0xffU) / 255; }

  double faintest_ = 0;
};

TEST_F(Drawing, FillsPixelsThatASliceCovers) {
  const Lane lane({10_ns, 50_ns}, {30_ns, 80_ns}, {SliceId{0}, SliceId{1}});
  const std::vector<Argb> line = draw(lane, {0_ns, 100_ns}, 10);
  const std::vector<Argb> expected = {kWhite, kBlack, kBlack, kWhite, kWhite, kBlack, kBlack, kBlack, kWhite, kWhite};
  EXPECT_EQ(line, expected);
}

TEST_F(Drawing, BlendsByTheShareOfAPixelThatIsBusy) {
  const Lane lane({0_ns, 10_ns, 30_ns}, {5_ns, 11_ns, 39_ns}, {SliceId{0}, SliceId{1}, SliceId{2}});
  const std::vector<Argb> line = draw(lane, {0_ns, 40_ns}, 4);
  EXPECT_NEAR(share(line[0]), 0.5, 0.01);
  EXPECT_NEAR(share(line[1]), 0.1, 0.01);
  EXPECT_EQ(line[2], kWhite);
  EXPECT_NEAR(share(line[3]), 0.9, 0.01);
}

TEST_F(Drawing, ShowsWhatHasNoLength) {
  faintest_ = 0.3;
  const Lane lane({15_ns}, {15_ns}, {SliceId{0}});
  const std::vector<Argb> line = draw(lane, {0_ns, 30_ns}, 3);
  EXPECT_EQ(line[0], kWhite);
  EXPECT_NEAR(share(line[1]), 0.3, 0.01);
  EXPECT_EQ(line[2], kWhite);
}

TEST_F(Drawing, GivesAPixelTheColourOfWhatCoversMostOfIt) {
  const Lane lane({0_ns, 2_ns, 9_ns}, {2_ns, 8_ns, 10_ns}, {SliceId{0}, SliceId{1}, SliceId{2}});
  const std::vector<Argb> colours = {0xffff0000, 0xff00ff00, 0xff0000ff};
  std::vector<Argb> line(1);
  LaneRaster().draw(lane, colours, {{0_ns, 10_ns}, kWhite, 1}, line);
  EXPECT_EQ(line[0], 0xff00ff00);
}

TEST_F(Drawing, MarksWhereWideSlicesBegin) {
  const Lane lane({0_ns, 50_ns}, {50_ns, 100_ns}, {SliceId{0}, SliceId{1}});
  const std::vector<Argb> line = draw(lane, {0_ns, 100_ns}, 20);
  EXPECT_LT(share(line[10]), 0.7);
  EXPECT_EQ(line[9], kBlack);
  EXPECT_EQ(line[11], kBlack);
}

/// Drawn from levels or slice by slice, the busy share of a stretch is the same.
TEST_F(Drawing, IsAsBusyAsTheSlicesAtEveryZoom) {
  const Lane lane = random_lane(9, 30'000);
  const Nanoseconds all = lane.end(lane.size() - 1);
  for (int zoom = 0; zoom < 14; ++zoom) {
    const Nanoseconds length = all / (1 << zoom);
    const TimeWindow window{all / 3, std::min(all, all / 3 + length)};
    const std::vector<Argb> line = draw(lane, window, 400);
    double drawn = 0;
    for (const Argb pixel : line) drawn += share(pixel);
    const double busy = seconds(lane.busy(window)) / seconds(window.length());
    // Beginnings of wide slices are paler.
    const auto wide = static_cast<double>(lane.at_least(window, window.length() / 100).size());
    EXPECT_NEAR(drawn / 400, busy, 0.02 + wide * 0.7 / 400) << "zoom " << zoom;
  }
}

}  // namespace
}  // namespace cohort
