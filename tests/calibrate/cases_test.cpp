#include <gtest/gtest.h>

#include <algorithm>
#include <map>
#include <set>

#include "calibrate/benchmarks.hpp"

namespace cohort::calibrate {
namespace {

DeviceFacts facts(int sms, int threads, std::size_t shared_sm, std::size_t shared_block) {
  DeviceFacts facts;
  facts.sms = sms;
  facts.threads_per_sm = threads;
  facts.blocks_per_sm = 32;
  facts.shared_per_sm = shared_sm;
  facts.shared_per_block = shared_block;
  return facts;
}

TEST(CalibrationCases, SpinsFillHalfAllAndOneAndAHalfOfEverySm) {
  const auto shapes = spin_shapes(facts(132, 2048, 233472, 232448));
  ASSERT_EQ(shapes.size(), 5U);
  EXPECT_EQ(shapes[0].blocks, 132 * 4);
  EXPECT_EQ(shapes[1].blocks, 132 * 8);
  EXPECT_EQ(shapes[2].blocks, 132 * 12);
  EXPECT_EQ(shapes[4].blocks, 1);
}

TEST(CalibrationCases, TwoSpinningBlocksOfHalfTheSharedMemoryFitAnSmAndThreeDoNot) {
  for (const auto& device :
       {facts(132, 2048, 233472, 232448), facts(40, 1024, 65536, 65536), facts(84, 1536, 102400, 101376)}) {
    const auto shapes = spin_shapes(device);
    const std::size_t reserved = 1024;
    EXPECT_LE(2 * (shapes[3].shared_bytes + reserved), device.shared_per_sm);
    EXPECT_GT(3 * (shapes[3].shared_bytes + reserved), device.shared_per_sm);
    EXPECT_LE(shapes[3].shared_bytes, device.shared_per_block);
  }
}

TEST(CalibrationCases, OneWholeSmBlockFitsAnSmAndASmallBlockBesideIt) {
  for (const auto& device :
       {facts(132, 2048, 233472, 232448), facts(40, 1024, 65536, 65536), facts(84, 1536, 102400, 101376)}) {
    const Shape shape = whole_sm_shape(device);
    const std::size_t reserved = 1024;
    EXPECT_EQ(shape.blocks, device.sms);
    EXPECT_GT(2 * (shape.shared_bytes + reserved), device.shared_per_sm);
    EXPECT_LE(shape.shared_bytes + 2 * reserved, device.shared_per_sm);
    EXPECT_LE(shape.shared_bytes, device.shared_per_block);
    EXPECT_LE(shape.threads + 32, device.threads_per_sm);
  }
}

TEST(CalibrationCases, EveryProbeIsHeldAgainstEveryOtherAndItself) {
  std::set<std::pair<std::string, std::string>> kinds;
  for (const PairCase& pair : pair_cases()) kinds.emplace(std::minmax(pair.a, pair.b));
  EXPECT_EQ(kinds.size(), kProbes.size() * (kProbes.size() + 1) / 2);
}

TEST(CalibrationCases, HalfOfThePairsOfEveryKindAreHeldOut) {
  std::map<std::pair<std::string, std::string>, std::pair<int, int>> kinds;
  for (const PairCase& pair : pair_cases()) {
    auto& [held_out, all] = kinds[{pair.a, pair.b}];
    held_out += pair.held_out ? 1 : 0;
    ++all;
    EXPECT_LE(pair.share_a + pair.share_b, 1.0) << "both must fit an SM at once";
  }
  EXPECT_EQ(kinds.size(), 15U);
  for (const auto& [kind, counts] : kinds) EXPECT_EQ(2 * counts.first, counts.second) << kind.first << kind.second;
}

}  // namespace
}  // namespace cohort::calibrate
