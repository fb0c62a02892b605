#include "tracer/file/compact_json.hpp"

#include <gtest/gtest.h>

namespace cohort {
namespace {

std::string compacted(std::string_view text) {
  std::string out = "before ";
  if (!append_compact_json(out, text)) {
    EXPECT_EQ(out, "before ");
    return "(invalid)";
  }
  return out.substr(7);
}

TEST(CompactJson, DropsWhiteSpaceOutsideStrings) {
  EXPECT_EQ(compacted(" [ 8,\n16 , 5 ] "), "[8,16,5]");
  EXPECT_EQ(compacted(R"({ "a b" : [ ] , "c" : { } , "d" : [ [ 1 ] , { "e" : "x \" y" } ] })"),
            R"({"a b":[],"c":{},"d":[[1],{"e":"x \" y"}]})");
  EXPECT_EQ(compacted("[-0.5e+3, true, false, null, \"\\u00e9\"]"), "[-0.5e+3,true,false,null,\"\\u00e9\"]");
}

TEST(CompactJson, TakesScalars) {
  EXPECT_EQ(compacted("7"), "7");
  EXPECT_EQ(compacted("\"a\""), "\"a\"");
}

TEST(CompactJson, RefusesWhatIsNoJson) {
  for (const char* text :
       {"",        " ",        "[",          "]",         "[1",     "[1,]", "[,1]", "[1 2]",    "{1:2}",
        "{\"a\"}", "{\"a\":}", "{\"a\":1,}", "[1]]",      "[1] 2",  "nul",  "01",   "1.",       "-",
        "1e",      "\"a",      "\"\\x\"",    "\"\\u12\"", "\"\n\"", "inf",  "[1}",  "{\"a\":1]"}) {
    EXPECT_EQ(compacted(text), "(invalid)") << text;
  }
}

TEST(CompactJson, RefusesDeepNestingInsteadOfOverflowing) {
  EXPECT_EQ(compacted(std::string(64, '[') + std::string(64, ']')), std::string(64, '[') + std::string(64, ']'));
  EXPECT_EQ(compacted(std::string(65, '[') + std::string(65, ']')), "(invalid)");
  EXPECT_EQ(compacted(std::string(1'000'000, '[')), "(invalid)");
}

}  // namespace
}  // namespace cohort
