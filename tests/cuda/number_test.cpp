// Numbers of 16 bits: exact on the way to float32, rounded to the nearest on the way back.

#include "executor/cuda/own/number.hpp"

#include <gtest/gtest.h>

#include <cmath>
#include <limits>

namespace cohort::cuda::own {
namespace {

constexpr float kInfinity = std::numeric_limits<float>::infinity();

template <class T>
std::uint16_t bits(float value) {
  T number{};
  from_float(value, number);
  return number.bits;
}

/// Every finite number comes back as it was, and what lies between two of them goes to the nearer, to the even one
/// from the middle.
template <class T>
void expect_nearest(std::uint16_t largest) {
  for (std::uint32_t i = 0; i < largest; ++i) {
    const float low = to_float(T{static_cast<std::uint16_t>(i)});
    const float high = to_float(T{static_cast<std::uint16_t>(i + 1)});
    ASSERT_LT(low, high);
    ASSERT_EQ(bits<T>(low), i);
    ASSERT_EQ(bits<T>(-low), i | 0x8000U);
    const auto middle = static_cast<float>((static_cast<double>(low) + static_cast<double>(high)) / 2);
    ASSERT_EQ(bits<T>(middle), i + i % 2) << "between " << low << " and " << high;
    ASSERT_EQ(bits<T>(std::nextafter(middle, 0.0F)), i) << "below the middle of " << low << " and " << high;
    ASSERT_EQ(bits<T>(std::nextafter(middle, kInfinity)), i + 1) << "above the middle of " << low << " and " << high;
  }
  ASSERT_EQ(bits<T>(to_float(T{largest})), largest);
}

TEST(Bfloat16Numbers, AreRoundedToTheNearest) { expect_nearest<Bfloat16>(0x7f7f); }

TEST(Float16Numbers, AreRoundedToTheNearest) { expect_nearest<Float16>(0x7bff); }

TEST(Float16Numbers, EndAt65504) {
  EXPECT_EQ(to_float(Float16{0x7bff}), 65504.0F);
  EXPECT_EQ(bits<Float16>(65519.9F), 0x7bff);
  EXPECT_EQ(bits<Float16>(65520.0F), 0x7c00);
  EXPECT_EQ(to_float(Float16{0x0001}), std::ldexp(1.0F, -24));
}

TEST(ShortNumbers, KeepInfinityAndWhatIsNoNumber) {
  EXPECT_EQ(bits<Bfloat16>(kInfinity), 0x7f80);
  EXPECT_EQ(bits<Float16>(-kInfinity), 0xfc00);
  EXPECT_TRUE(std::isinf(to_float(Float16{0x7c00})));
  EXPECT_TRUE(std::isnan(to_float(Bfloat16{bits<Bfloat16>(std::nanf(""))})));
  EXPECT_TRUE(std::isnan(to_float(Float16{bits<Float16>(std::nanf(""))})));
  EXPECT_EQ(bits<Bfloat16>(std::numeric_limits<float>::max()), 0x7f80);
}

}  // namespace
}  // namespace cohort::cuda::own
