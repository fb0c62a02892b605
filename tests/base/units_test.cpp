#include "base/units.hpp"

#include <gtest/gtest.h>

namespace cohort {
namespace {

using namespace literals;

TEST(Units, TimesReadWithThreeDigits) {
  EXPECT_EQ(format_time(0_ns), "0 ns");
  EXPECT_EQ(format_time(830_ns), "830 ns");
  EXPECT_EQ(format_time(999_ns), "999 ns");
  EXPECT_EQ(format_time(1_us), "1.00 us");
  EXPECT_EQ(format_time(1'240_us), "1.24 ms");
  EXPECT_EQ(format_time(12'340_us), "12.3 ms");
  EXPECT_EQ(format_time(123'400_us), "123 ms");
  EXPECT_EQ(format_time(61'000_ms), "61.0 s");
  EXPECT_EQ(format_time(Nanoseconds(-1'500)), "-1.50 us");
}

TEST(Units, BytesReadInBinaryMultiples) {
  EXPECT_EQ(format_bytes(Bytes{0}), "0 B");
  EXPECT_EQ(format_bytes(Bytes{1023}), "1023 B");
  EXPECT_EQ(format_bytes(1_KiB), "1.00 KiB");
  EXPECT_EQ(format_bytes(12_MiB), "12.0 MiB");
  EXPECT_EQ(format_bytes(1500_MiB), "1.46 GiB");
  EXPECT_EQ(format_bytes(Bytes{std::int64_t{1} << 52}), "4096 TiB");
}

TEST(Units, AddAndCompare) {
  EXPECT_EQ(1_KiB + 1_KiB, 2_KiB);
  EXPECT_EQ(1_MiB - 1_KiB, 1023_KiB);
  EXPECT_EQ(3_KiB * 4, 12_KiB);
  EXPECT_LT(Flops{1}, Flops{2});
  EXPECT_DOUBLE_EQ(seconds(1'500_ms), 1.5);
}

}  // namespace
}  // namespace cohort
