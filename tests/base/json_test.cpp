#include "base/json.hpp"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <string>

namespace cohort {
namespace {

using nlohmann::json;
using ::testing::ElementsAre;

template <class T>
std::string message_of(const Result<T>& result) {
  if (result) return "(no error)";
  EXPECT_EQ(result.error().code, ErrorCode::kInvalidInput);
  return result.error().message;
}

TEST(Json, NamesLineAndColumnOfASyntaxError) {
  EXPECT_EQ(message_of(parse_json("{\n  \"a\": 1,\n  oops\n}")), "not valid JSON at line 3, column 3");
  EXPECT_EQ(message_of(parse_json("[1, ]")), "not valid JSON at line 1, column 5");
  EXPECT_EQ(message_of(parse_json("[1")), "not valid JSON at line 1, column 2");
}

TEST(Json, SaysWhatIsNoTextOfJson) {
  EXPECT_EQ(message_of(parse_json("")), "not JSON but empty");
  EXPECT_EQ(message_of(parse_json(" \n")), "not JSON but empty");
  EXPECT_EQ(message_of(parse_json("\x1f\x8b\x08")), "not JSON but gzipped, as traces are");
}

TEST(Json, RefusesMoreLevelsThanPrintingCanFollow) {
  const auto nested = [](std::size_t levels) { return std::string(levels, '[') + std::string(levels, ']'); };
  EXPECT_TRUE(parse_json(nested(100)));
  EXPECT_EQ(message_of(parse_json(nested(101))), "not valid here: JSON with more than 100 levels");
  EXPECT_EQ(message_of(parse_json(std::string(1'000'000, '['))), "not valid here: JSON with more than 100 levels");
  EXPECT_TRUE(parse_json("[\"" + std::string(200, '[') + "\\\"" + std::string(200, '[') + "\"]"));
}

class JsonFields : public ::testing::Test {
 protected:
  JsonObject object() { return JsonObject::open(value_, "groups[2]").value(); }

  json value_ = {{"name", "a"}, {"width", 4}, {"share", 0.5}, {"fused", true}, {"ops", {"x", "y"}}};
};

TEST_F(JsonFields, AreReadByType) {
  JsonObject fields = object();
  EXPECT_EQ(fields.string("name").value(), "a");
  EXPECT_EQ(fields.integer("width", 1, 16).value(), 4);
  EXPECT_EQ(fields.number("share").value(), 0.5);
  EXPECT_EQ(fields.number("width").value(), 4.0);
  EXPECT_EQ(fields.boolean("fused").value(), true);
  EXPECT_THAT(fields.strings("ops").value(), ElementsAre("x", "y"));
  EXPECT_TRUE(fields.no_other_keys());
}

TEST_F(JsonFields, AreNamedWithTheirPathWhenWrong) {
  JsonObject fields = object();
  EXPECT_EQ(message_of(fields.string("missing")), "groups[2].missing is missing");
  EXPECT_EQ(message_of(fields.string("width")), "groups[2].width must be a string, not number");
  EXPECT_EQ(message_of(fields.integer("width", 5, 8)), "groups[2].width must be a whole number from 5 to 8, not 4");
  EXPECT_EQ(message_of(fields.integer("share", 0, 8)), "groups[2].share must be a whole number from 0 to 8, not 0.5");
  EXPECT_EQ(message_of(fields.integer("name", 0, 8)), "groups[2].name must be a whole number from 0 to 8, not \"a\"");
  EXPECT_EQ(message_of(fields.number("name")), "groups[2].name must be a number, not string");
  EXPECT_EQ(message_of(fields.boolean("width")), "groups[2].width must be true or false, not 4");
  EXPECT_EQ(message_of(fields.strings("name")), "groups[2].name must be a list of strings");
  EXPECT_EQ(message_of(fields.objects("width")), "groups[2].width must be a list, not number");
}

TEST_F(JsonFields, RefuseIntegersBeyond64Bits) {
  value_["width"] = 18446744073709551615U;
  JsonObject fields = object();
  EXPECT_EQ(message_of(fields.integer("width", 0, INT64_MAX)),
            "groups[2].width must be a whole number from 0 to 9223372036854775807, not 18446744073709551615");
}

TEST_F(JsonFields, RefuseAKeyThatNothingRead) {
  JsonObject fields = object();
  ASSERT_TRUE(fields.string("name"));
  ASSERT_TRUE(fields.value("width"));
  ASSERT_TRUE(fields.value("share"));
  ASSERT_TRUE(fields.value("ops"));
  EXPECT_EQ(message_of(fields.no_other_keys()), "groups[2].fused is not a field known here");
}

TEST_F(JsonFields, NameTheElementOfAListOfObjects) {
  value_ = {{"members", {{{"n", 1}}, 5}}};
  auto top = JsonObject::open(value_, "").value();
  EXPECT_EQ(message_of(top.objects("members")), "members[1] must be an object, not number");
  value_ = {{"members", {{{"n", 1}}, {{"n", -1}}}}};
  auto members = JsonObject::open(value_, "").value().objects("members").value();
  ASSERT_EQ(members.size(), 2U);
  EXPECT_EQ(members[0].integer("n", 0, 9).value(), 1);
  EXPECT_EQ(message_of(members[1].integer("n", 0, 9)), "members[1].n must be a whole number from 0 to 9, not -1");
}

TEST(Json, NamesADocumentThatIsNoObject) {
  EXPECT_EQ(message_of(JsonObject::open(json::array(), "")), "the document must be an object, not array");
}

}  // namespace
}  // namespace cohort
