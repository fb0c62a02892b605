#include "tracer/file/json_repair.hpp"

#include <gtest/gtest.h>

#include <algorithm>

namespace cohort {
namespace {

PaddedBytes bytes_of(std::string_view text) {
  PaddedBytes bytes(text.size());
  std::copy(text.begin(), text.end(), bytes.data());
  bytes.set_size(text.size());
  return bytes;
}

std::string closed(std::string_view text) {
  PaddedBytes bytes = bytes_of(text);
  return close_cut_text(bytes) ? std::string(bytes.view()) : "(whole)";
}

TEST(JsonRepair, ClosesAListOfEventsAfterItsLastWholeEvent) {
  EXPECT_EQ(closed(R"([{"a":1},{"b":[2,3]},{"c)"), R"([{"a":1},{"b":[2,3]}])");
  EXPECT_EQ(closed(R"([{"a":1},)"), R"([{"a":1}])");
  EXPECT_EQ(closed(R"([{"a":1})"), R"([{"a":1}])");
  EXPECT_EQ(closed("["), "[]");
  EXPECT_EQ(closed(R"([{"a":1},{"b":{"c":1},"d":[1],"e)"), R"([{"a":1}])");
}

TEST(JsonRepair, ClosesAnObjectWithAListOfEvents) {
  EXPECT_EQ(closed(R"({"x":{"y":1,"z":2},"traceEvents":[{"a":{"b":[1]}},{"c":{"d")"),
            R"({"x":{"y":1,"z":2},"traceEvents":[{"a":{"b":[1]}}])"
            "}");
  EXPECT_EQ(closed(R"({"traceEvents":[{"a":1}],"x":"y)"), R"({"traceEvents":[{"a":1}]})");
}

TEST(JsonRepair, IsNotFooledByBracketsInStrings) { EXPECT_EQ(closed(R"([{"a":"}]"},{"b":"\"]}")"), R"([{"a":"}]"}])"); }

TEST(JsonRepair, LeavesWholeAndHopelessTextsAlone) {
  for (const char* text : {"[]", "{\"a\":[1]}", "[}", "]", "{\"a\"", "", "1"})
    EXPECT_EQ(closed(text), "(whole)") << text;
}

TEST(JsonRepair, BlanksCommasThatNothingFollows) {
  PaddedBytes bytes = bytes_of("[{\"a\":\",]\",}, \n ]");
  EXPECT_EQ(blank_trailing_commas(bytes), 2U);
  EXPECT_EQ(bytes.view(), "[{\"a\":\",]\" }  \n ]");
}

TEST(JsonRepair, CountsLinesAndBytesFromOne) {
  EXPECT_EQ(describe_position("ab\ncd\ne", 4), "line 2, byte 5");
  EXPECT_EQ(describe_position("ab", 99), "line 1, byte 100");
}

}  // namespace
}  // namespace cohort
