#include "training/csv_table.hpp"

#include <gmock/gmock.h>

namespace cohort {
namespace {

using ::testing::ElementsAre;
using ::testing::HasSubstr;

const std::vector<std::string> kLabel = {"kind"};

std::string table_error(std::string_view text) {
  const auto table = parse_csv(text, kLabel);
  return table ? "no error" : table.error().message;
}

TEST(CsvTable, ReadsNumbersAndKeepsTexts) {
  const auto table =
      parse_csv("\xef\xbb\xbfwidth,\"kind\",height\r\n1,\"a, \"\"b\"\"\",2e1\r\n\r\n -3 ,c,+0.5", kLabel);
  ASSERT_TRUE(table) << table.error().message;
  EXPECT_EQ(table->rows, 2U);
  EXPECT_THAT(table->features, ElementsAre("width", "height"));
  EXPECT_THAT(table->values, ElementsAre(1, 20, -3, 0.5));
  EXPECT_THAT(table->texts, ElementsAre("a, \"b\"", "c"));
}

TEST(CsvTable, NamesLineAndColumnOfAMistake) {
  EXPECT_EQ(table_error("a,kind\n1,x\n,y\n"), "line 3: column \"a\" must be a number, not \"\"");
  EXPECT_EQ(table_error("a,kind\n\"1\n\",x\nnan,y\n"), "line 2: column \"a\" must be a number, not \"1\n\"");
  EXPECT_EQ(table_error("a,kind\nnan,y\n"), "line 2: column \"a\" must be a number, not \"nan\"");
  EXPECT_EQ(table_error("a,kind\n1\n"), "line 2: 1 fields; the first line names 2 columns");
  EXPECT_EQ(table_error("a,knid\n1,2\n"), "no column \"kind\" in the first line; did you mean \"knid\"?");
  EXPECT_EQ(table_error("a,a,kind\n"), "line 1: two columns are named \"a\"");
  EXPECT_EQ(table_error("kind\nx\n"), "there is no column of numbers beside kind");
  EXPECT_EQ(table_error("a,kind\n1,\"x\n"), "line 2: a quote is opened and never closed");
  EXPECT_THAT(table_error(""), HasSubstr("is empty"));
  EXPECT_THAT(table_error("a,kind\n"), HasSubstr("no row"));
}

}  // namespace
}  // namespace cohort
