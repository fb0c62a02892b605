// The own kernel that reads or makes whole numbers: its body, run on the host, against the reference.

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <limits>
#include <numeric>

#include "executor/reference/reference_kernels.hpp"
#include "own_kernels.hpp"

namespace cohort::testing {
namespace {

using ::testing::ElementsAre;
using ::testing::HasSubstr;

constexpr std::int32_t kMost = std::numeric_limits<std::int32_t>::max();
constexpr std::int32_t kLeast = std::numeric_limits<std::int32_t>::min();

/// 0, 1, 0, 2, 0, 3, ...
std::vector<std::int32_t> every_second(std::size_t count) {
  std::vector<std::int32_t> values(count);
  for (std::size_t i = 0; i < count; ++i) values[i] = i % 2 == 0 ? 0 : static_cast<std::int32_t>(i / 2 + 1);
  return values;
}

std::vector<float> rising(std::size_t count, float from) {
  std::vector<float> values(count);
  std::iota(values.begin(), values.end(), from);
  return values;
}

TEST(OwnSelect, EqualsTheReferenceWithBroadcastingInEveryType) {
  for (const Layout layout : {Layout::kNhwc, Layout::kNchw}) {
    const Shape x{2, 3, 4, 5};
    CallRunner runner(
        call_of(Select{}, {dense(0, {2, 1, 4, 1}, layout), dense(1, x, layout), dense(2, {3, 1, 5})}, {}, layout));
    runner.set_input(0, whole_numbers(every_second(8)));
    runner.set_input(1, rising(120, -60));
    runner.set_input(2, rising(15, 100));
    expect_same_bits(runner);
  }
}

TEST(OwnSelect, TakesConstantsAndWholeNumbersAndDoesPostOps) {
  CallRunner numbers(call_of(Select{}, {weight({4}), dense(0, {3, 4}), weight({1})}, {Activation{}}));
  numbers.set_input(0, whole_numbers({1, 0, -1, 0}));
  numbers.set_input(1, rising(12, -6));
  numbers.set_input(2, {-3});
  expect_same_bits(numbers);
  CallRunner whole(call_of(Select{ElementType::kInt32}, {dense(0, {4}), dense(1, {3, 4}), dense(2, {1})}));
  whole.set_input(0, whole_numbers({1, 0, -1, 0}));
  whole.set_input(1, whole_numbers({1, 2, 3, 4, -5, -6, -7, -8, kMost, kMost, kLeast, kLeast}));
  whole.set_input(2, whole_numbers({-1}));
  expect_same_bits(whole);
}

TEST(OwnBinary, ComparesNumbersOfEveryType) {
  for (auto kind = static_cast<int>(BinaryKind::kEqual); kind <= static_cast<int>(BinaryKind::kGreaterOrEqual);
       ++kind) {
    CallRunner runner(call_of(Binary{static_cast<BinaryKind>(kind)}, {dense(0, {2, 3, 4, 5}), dense(1, {4, 1})}));
    std::vector<float> values(120);
    for (std::size_t i = 0; i < values.size(); ++i) values[i] = static_cast<float>(i % 5);
    values[50] = std::numeric_limits<float>::quiet_NaN();
    runner.set_input(0, values);
    runner.set_input(1, {0, 1, 2, 3});
    expect_same_bits(runner);
  }
}

CallRunner whole_call(BinaryKind kind, const std::vector<std::int32_t>& a, const std::vector<std::int32_t>& b) {
  const Shape shape{static_cast<std::int64_t>(a.size())};
  CallRunner runner(call_of(Binary{kind, ElementType::kInt32}, {dense(0, shape), dense(1, shape)}));
  runner.set_input(0, whole_numbers(a));
  runner.set_input(1, whole_numbers(b));
  return runner;
}

TEST(OwnBinary, ComputesWholeNumbersAsTheReference) {
  const std::vector<std::int32_t> a{0, 1, -1, 7, -7, 100, -3, 2, 46340, -46340, 5, 12, kMost, kLeast, 9, -9};
  const std::vector<std::int32_t> b{3, -2, 5, 2, 3, 0, -3, 4, 46340, 46340, 1, 3, 0, 0, -4, -4};
  for (int kind = 0; kind <= static_cast<int>(BinaryKind::kXor); ++kind) {
    const auto of = static_cast<BinaryKind>(kind);
    SCOPED_TRACE(canonical(Binary{of, ElementType::kInt32}, {}));
    if (of != BinaryKind::kPow) expect_same_bits(whole_call(of, a, b));
  }
  expect_same_bits(whole_call(BinaryKind::kPow, {0, 1, -1, 7, -7, 10, -3, 2, 0, 0, 5, 1, -1, 9, -9},
                              {3, -2, 5, 2, 3, 0, -3, 30, 0, -1, 1, 100, 101, -4, -4}));
}

/// One result of two whole numbers.
std::int32_t result_of(BinaryKind kind, std::int32_t a, std::int32_t b) {
  return as_whole_numbers(whole_call(kind, {a}, {b}).run(*make_own_kernels_on_host())).front();
}

TEST(OwnBinary, GivesTheNearestThatFits32BitsWhereTheReferenceStops) {
  EXPECT_EQ(result_of(BinaryKind::kAdd, kMost, 1), kMost);
  EXPECT_EQ(result_of(BinaryKind::kSub, kLeast, 1), kLeast);
  EXPECT_EQ(result_of(BinaryKind::kMul, kLeast, kMost), kLeast);
  EXPECT_EQ(result_of(BinaryKind::kDiv, kLeast, -1), kMost);
  EXPECT_EQ(result_of(BinaryKind::kPow, 10, 40), kMost);
  EXPECT_EQ(result_of(BinaryKind::kPow, -10, 41), kLeast);
  EXPECT_EQ(result_of(BinaryKind::kPow, -10, 40), kMost);
  EXPECT_EQ(result_of(BinaryKind::kPow, -2, 31), kLeast);
}

TEST(OwnCast, EqualsTheReferenceBetweenAllElementTypes) {
  constexpr auto kFloat = ElementType::kFloat32;
  constexpr auto kInt = ElementType::kInt32;
  const std::vector<std::int32_t> whole{0, 1, -1, 100, -128, 0};
  const std::vector<float> numbers{0, 0.75F, -1.5F, 100, -128, -0.0F};
  for (const Cast& op : {Cast{kFloat, kInt}, Cast{kInt, kFloat}, Cast{kFloat, kFloat}, Cast{kInt, kInt},
                         Cast{kFloat, kInt, true}, Cast{kInt, kInt, true}}) {
    SCOPED_TRACE(canonical(op, {}));
    CallRunner runner(call_of(op, {dense(0, {2, 3})}));
    runner.set_input(0, op.from == kInt ? whole_numbers(whole) : numbers);
    expect_same_bits(runner);
  }
}

TEST(OwnCast, GivesTheNearestThatFits32BitsAndTheLeastForNoNumber) {
  CallRunner runner(call_of(Cast{ElementType::kFloat32, ElementType::kInt32}, {dense(0, {5})}));
  runner.set_input(0, {3e9F, -3e9F, std::numeric_limits<float>::infinity(), -2147483648.0F,
                       std::numeric_limits<float>::quiet_NaN()});
  EXPECT_THAT(as_whole_numbers(runner.run(*make_own_kernels_on_host())),
              ElementsAre(kMost, kLeast, kMost, kLeast, kLeast));
}

TEST(OwnWhole, RefusesTypesThatDoNotHoldItsNumbers) {
  View narrow = dense(0, {4});
  narrow.type = DataType::kBfloat16;
  OpCall call = call_of(Select{}, {narrow, dense(1, {4}), dense(2, {4})});
  const auto kernels = make_own_kernels_on_host(DataType::kBfloat16);
  const auto listed = kernels->alternatives(call, 1);  // makes the others narrow, too
  ASSERT_FALSE(listed);
  EXPECT_THAT(listed.error().message, HasSubstr("32 bits"));
}

}  // namespace
}  // namespace cohort::testing
