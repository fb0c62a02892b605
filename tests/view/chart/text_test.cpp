#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <string>

#include "view/chart/drawing.hpp"

namespace cohort {
namespace {

using testing::ElementsAre;
using testing::IsEmpty;

TEST(TextWidth, GrowsWithSizeAndCountsCharactersNotBytes) {
  EXPECT_DOUBLE_EQ(text_width("", 12), 0);
  EXPECT_DOUBLE_EQ(text_width("ab", 20), 2 * text_width("ab", 10));
  EXPECT_DOUBLE_EQ(text_width("é", 10), 7);
  EXPECT_GT(text_width("ab", 12, true), text_width("ab", 12));
}

TEST(Elide, KeepsBothEndsAndFits) {
  EXPECT_EQ(elide("conv1", 100, 12), "conv1");
  const std::string name = "ampere_sgemm_128x64_nn_with_a_very_long_name";
  const std::string shown = elide(name, 120, 12);
  EXPECT_LE(text_width(shown, 12), 120);
  EXPECT_TRUE(shown.starts_with("ampere_"));
  EXPECT_TRUE(shown.ends_with("name"));
  EXPECT_NE(shown.find("…"), std::string::npos);
  EXPECT_EQ(elide(name, 1, 12), "");
}

TEST(Elide, CutsBetweenCharacters) {
  const std::string shown = elide("ééééééééééééééééé", 60, 12);
  EXPECT_EQ(shown, escape_xml(shown)) << "broken UTF-8 would have been replaced";
  EXPECT_LE(text_width(shown, 12), 60);
}

TEST(Wrap, BreaksBetweenWords) {
  EXPECT_THAT(wrap("one two three", 1000, 12), ElementsAre("one two three"));
  EXPECT_THAT(wrap("one two three", text_width("one two", 12), 12), ElementsAre("one two", "three"));
  EXPECT_THAT(wrap("unbreakable", 5, 12), ElementsAre("unbreakable"));
  EXPECT_THAT(wrap("", 5, 12), IsEmpty());
}

TEST(EscapeXml, LeavesNoMarkup) {
  EXPECT_EQ(escape_xml("<script>alert('a' & \"b\")</script>"),
            "&lt;script&gt;alert(&#39;a&#39; &amp; &quot;b&quot;)&lt;/script&gt;");
  EXPECT_EQ(escape_xml("größer → 2 µs"), "größer → 2 µs");
}

TEST(EscapeXml, ReplacesWhatXmlDoesNotAllow) {
  EXPECT_EQ(escape_xml(std::string("a\0b\x1b[1m\t\n", 9)), "a\ufffdb\ufffd[1m\t\n");
  EXPECT_EQ(escape_xml("cut \xe2\x80"), "cut \ufffd\ufffd");
  EXPECT_EQ(escape_xml("\xc0\xaf \xed\xa0\x80"), "\ufffd\ufffd \ufffd\ufffd\ufffd") << "overlong, and a surrogate";
}

}  // namespace
}  // namespace cohort
