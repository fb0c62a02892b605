#include "base/toml.hpp"

#include <gmock/gmock.h>

namespace cohort {
namespace {

using ::testing::HasSubstr;

TEST(Toml, KeepsEntriesInTheOrderOfTheFileWithTheirLines) {
  const auto parsed = parse_toml("zebra = 1\nant = [1.5, true]\n[table]\nkey = \"text\"\n", "f.toml");
  ASSERT_TRUE(parsed) << parsed.error().message;
  const auto& entries = std::get<TomlEntries>(parsed->value);
  ASSERT_EQ(entries.size(), 3U);
  EXPECT_EQ(entries[0].first, "zebra");
  EXPECT_EQ(entries[1].first, "ant");
  EXPECT_EQ(entries[1].second.line, 2);
  EXPECT_EQ(std::get<double>(std::get<std::vector<TomlValue>>(entries[1].second.value)[0].value), 1.5);
  EXPECT_EQ(entries[2].second.line, 3);
}

TEST(Toml, NamesFileAndLineOfAMistake) {
  EXPECT_THAT(parse_toml("a = 1\nb = \n", "f.toml").error().message, HasSubstr("f.toml:2: "));
  EXPECT_THAT(parse_toml("a = 1\na = 2\n", "f.toml").error().message, HasSubstr("f.toml:2: "));
  EXPECT_THAT(parse_toml("a = 1\n[(b]\n", "f.toml").error().message, HasSubstr("f.toml:2: "));
  EXPECT_EQ(parse_toml("a = 07:32:00\n", "f.toml").error().message,
            "f.toml:1: a date or time is no value here; write it as text, in quotes");
}

TEST(Toml, SaysWhatAValueMustBe) {
  const TomlValue parsed = parse_toml("count = 5\nshare = 0.5\n[inner]\nname = 3\n", "f.toml").value();
  const TomlTable table("f.toml", parsed);
  EXPECT_EQ(table.integer("count", 1, 9).value(), 5);
  EXPECT_EQ(table.number("count", 0, 9).value(), 5.0) << "whole numbers are numbers";
  EXPECT_EQ(table.integer("count", 6, 9).error().message, "f.toml:1: count must be a whole number from 6 to 9, not 5");
  EXPECT_EQ(table.integer("share", 0, 9).error().message,
            "f.toml:2: share must be a whole number from 0 to 9, not 0.5");
  EXPECT_EQ(table.table("inner").value().string("name").error().message,
            "f.toml:4: inner.name must be text in quotes, not 3");
  EXPECT_EQ(table.string("missing").error().message, "f.toml:1: missing is missing");
  EXPECT_EQ(table.check_keys({"counts", "share", "inner"}).error().message,
            "f.toml:1: count is not known; did you mean \"counts\"?");
}

}  // namespace
}  // namespace cohort
