#include "tracer/file/microseconds.hpp"

#include <gtest/gtest.h>

#include <cstdint>
#include <limits>

namespace cohort {
namespace {

std::string written(std::int64_t ns) {
  std::string out;
  append_microseconds(out, Nanoseconds(ns));
  return out;
}

TEST(Microseconds, AreWrittenWithExactlyThreeDecimals) {
  EXPECT_EQ(written(0), "0.000");
  EXPECT_EQ(written(7), "0.007");
  EXPECT_EQ(written(12'034), "12.034");
  EXPECT_EQ(written(1'712'195'495'519'689'123), "1712195495519689.123");
  EXPECT_EQ(written(-1), "-0.001");
  EXPECT_EQ(written(-2'500), "-2.500");
  EXPECT_EQ(written(std::numeric_limits<std::int64_t>::min()), "-9223372036854775.808");
}

TEST(Microseconds, AreReadWithoutLosingNanosecondsSince1970) {
  EXPECT_EQ(microseconds_from("1712195495519689.123"), Nanoseconds(1'712'195'495'519'689'123));
  EXPECT_EQ(microseconds_from("1712195495519689"), Nanoseconds(1'712'195'495'519'689'000));
}

TEST(Microseconds, AreReadInEveryFormThatJsonAllows) {
  EXPECT_EQ(microseconds_from("0"), Nanoseconds(0));
  EXPECT_EQ(microseconds_from("63.8"), Nanoseconds(63'800));
  EXPECT_EQ(microseconds_from("-0.001"), Nanoseconds(-1));
  EXPECT_EQ(microseconds_from("1.5e3"), Nanoseconds(1'500'000));
  EXPECT_EQ(microseconds_from("1500E-3"), Nanoseconds(1'500));
  EXPECT_EQ(microseconds_from("1e+2"), Nanoseconds(100'000));
  EXPECT_EQ(microseconds_from("25 \n"), Nanoseconds(25'000));
}

TEST(Microseconds, AreRoundedToTheNearestNanosecond) {
  EXPECT_EQ(microseconds_from("0.0004"), Nanoseconds(0));
  EXPECT_EQ(microseconds_from("0.0005"), Nanoseconds(1));
  EXPECT_EQ(microseconds_from("2.9999"), Nanoseconds(3'000));
  EXPECT_EQ(microseconds_from("5e-4"), Nanoseconds(1));
  EXPECT_EQ(microseconds_from("5e-5"), Nanoseconds(0));
}

TEST(Microseconds, AreAbsentWhereTextIsNoNumberOrTooLarge) {
  for (const char* text : {"", "-", ".5", "5.", "1e", "1e5x", "12a", "null", "--3", "1e999", "9223372036854775.808"})
    EXPECT_FALSE(microseconds_from(text)) << text;
}

TEST(Microseconds, SurviveWritingAndReading) {
  for (const std::int64_t ns : {std::int64_t{1}, std::int64_t{999}, std::int64_t{-123'456}, std::int64_t{1} << 62,
                                std::numeric_limits<std::int64_t>::max()})
    EXPECT_EQ(microseconds_from(written(ns)), Nanoseconds(ns));
}

}  // namespace
}  // namespace cohort
