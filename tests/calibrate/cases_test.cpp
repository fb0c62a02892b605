#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <map>
#include <set>

#include "calibrate/benchmarks.hpp"
#include "executor/device_error.hpp"

namespace cohort::calibrate {
namespace {

using namespace literals;
using ::testing::HasSubstr;

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

TEST(CalibrationCases, TensorCoresAreAskedOnlyWhereTheLoadedCodeHasThem) {
  cudaFuncAttributes attributes{};
  attributes.binaryVersion = 86;  // made by the driver from the PTX of ...
  attributes.ptxVersion = 75;
  EXPECT_FALSE(has_tensor_code(attributes)) << "there the kernels are empty, whatever the device has";
  attributes.ptxVersion = 80;
  EXPECT_TRUE(has_tensor_code(attributes));
  DeviceFacts device = facts(84, 1536, 102400, 101376);
  for (const bool has : {false, true}) {
    device.tensor_kernels = has;
    EXPECT_EQ(can_run(device, "tensor bf16"), has);
    EXPECT_EQ(can_run(device, "tensor tf32"), has);
    EXPECT_TRUE(can_run(device, "fma"));
  }
}

TEST(CalibrationCases, AmountOfWorkIsScaledFromATimeLongEnoughToBeKnown) {
  std::vector<int> asked;
  const auto of_half_a_microsecond = [&](int amount) {
    asked.push_back(amount);
    return 500_ns * amount + 2_us;
  };
  EXPECT_NEAR(amount_for("fma", 2_ms, of_half_a_microsecond), 4000, 100);
  EXPECT_EQ(asked, (std::vector<int>{1, 4, 16, 64, 256}));
  EXPECT_EQ(amount_for("copy", 1_us, [](int) { return 90_us; }), 1);
}

TEST(CalibrationCases, AKernelThatTakesNoTimeIsNamedAndNotAskedForMoreAndMore) {
  int most = 0;
  const auto nothing = [&](int amount) {
    most = std::max(most, amount);
    EXPECT_GT(amount, 0) << "overflow";
    return Nanoseconds{};
  };
  try {
    (void)amount_for("tensor bf16", 300_us, nothing);
    FAIL() << "it has no amount";
  } catch (const DeviceError& error) {
    EXPECT_THAT(error.what(), HasSubstr("tensor bf16"));
  }
  EXPECT_EQ(most, kMostAmount);
}

TEST(CalibrationCases, AmountsHaveAnEnd) {
  EXPECT_EQ(amount_for("l2", std::chrono::hours(1), [](int) { return 100_us; }), 36'000'000);
  EXPECT_EQ(amount_for("l2", std::chrono::hours(10), [](int) { return 100_us; }), kMostAmount);
}

}  // namespace
}  // namespace cohort::calibrate
