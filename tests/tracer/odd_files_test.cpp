#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <string>

#include "base/file.hpp"
#include "tests/temporary_folder.hpp"
#include "tracer/file/content.hpp"
#include "tracer/file/trace_file.hpp"

namespace cohort {
namespace {

using namespace std::string_literals;
using ::testing::ElementsAre;
using ::testing::HasSubstr;
using ::testing::IsEmpty;
using ::testing::Pair;

constexpr std::string_view kSmall = R"([{"ph":"X","cat":"kernel","name":"k","ts":1,"dur":2}])";

std::string refusal_of(std::string_view content) {
  const auto trace = parse_trace(content);
  EXPECT_FALSE(trace);
  return trace ? "" : trace.error().message;
}

std::string utf16(std::string_view text, bool little) {
  std::string wide;
  for (const char c : text) wide += little ? std::string{c, '\0'} : std::string{'\0', c};
  return wide;
}

TEST(OddFiles, WithByteOrderMarksAreRead) {
  for (const std::string& content :
       {"\xef\xbb\xbf"s + std::string(kSmall), "\xff\xfe"s + utf16(kSmall, true), "\xfe\xff"s + utf16(kSmall, false),
        utf16(kSmall, true), utf16(kSmall, false), gzipped("\xff\xfe"s + utf16(kSmall, true))}) {
    const auto trace = parse_trace(content);
    ASSERT_TRUE(trace) << trace.error().message;
    ASSERT_EQ(trace->slices.size(), 1U);
    EXPECT_EQ(trace->name(trace->slices[0]), "k");
    EXPECT_THAT(trace->info.dropped, IsEmpty());
  }
}

TEST(OddFiles, OfUtf16KeepOtherAlphabets) {
  // a, e with an accent, the euro sign, a clef beyond 16 bits, half of a pair
  const std::string name = "a\0\xe9\0\xac\x20\x34\xd8\x1e\xdd\x34\xd8"s;
  const std::string before = utf16(R"([{"ph":"X","ts":1,"dur":2,"name":")", true);
  const auto trace = parse_trace("\xff\xfe" + before + name + utf16("\"}]", true));
  ASSERT_TRUE(trace) << trace.error().message;
  EXPECT_EQ(trace->name(trace->slices.at(0)), "a\u00e9\u20ac\U0001d11e?");
}

TEST(OddFiles, AreNamedForWhatTheyAreWithTheWayOut) {
  EXPECT_THAT(refusal_of("version https://git-lfs.github.com/spec/v1\noid sha256:4d7a\nsize 12345\n"),
              HasSubstr("git lfs pull"));
  EXPECT_THAT(refusal_of("<!DOCTYPE html><html></html>"), HasSubstr("download the raw file"));
  EXPECT_THAT(refusal_of("NSYSREP\0\x01"s), HasSubstr("nsys export --type sqlite"));
}

TEST(OddFiles, NamedAsReportsOfNsightAreToBeExported) {
  const TemporaryFolder folder;
  const auto path = folder.path() / "report.nsys-rep";
  ASSERT_TRUE(write_file(path, "\x01\x02\x03\x04 anything", Overwrite::kAllow));
  const auto trace = read_trace(path);
  ASSERT_FALSE(trace);
  EXPECT_THAT(trace.error().message, HasSubstr("nsys export --type sqlite"));
}

TEST(OddFiles, WithNanosecondsInPlaceOfMicrosecondsAreNamed) {
  EXPECT_THAT(refusal_of(R"([{"ph":"X","name":"k","ts":1700000000000104960,"dur":5000},
                             {"ph":"X","name":"k","ts":1700000000000204960.5,"dur":5000}])"),
              HasSubstr("the first is 1700000000000104960: nanoseconds, it seems"));
  const auto one = parse_trace(R"([{"ph":"X","name":"k","ts":1700000000000104960,"dur":5},
                                   {"ph":"X","name":"k","ts":5,"dur":5}])");
  ASSERT_TRUE(one);
  EXPECT_THAT(one->info.dropped, ElementsAre(Pair("record with an unreadable field", 1)));
}

TEST(OddFiles, OfGzipThatWereCutAreReadAsFarAsTheyAreWhole) {
  std::string json = "[";
  for (int i = 0; i < 500; ++i)
    json += R"({"ph":"X","cat":"kernel","name":"kernel )" + std::to_string(i * 7919 % 977) + R"(","ts":)" +
            std::to_string(10 * i) + R"(,"dur":5},)";
  json += "{}]";
  const std::string packed = gzipped(json);
  const auto cut = parse_trace(std::string_view(packed).substr(0, packed.size() / 2));
  ASSERT_TRUE(cut) << cut.error().message;
  EXPECT_GT(cut->slices.size(), 50U);
  EXPECT_LT(cut->slices.size(), 500U);
  EXPECT_EQ(cut->info.dropped.count("end of gzip data that is damaged or cut short"), 1U);
  EXPECT_EQ(cut->info.dropped.count(std::string(kCutShortReason)), 1U);
  const auto without_sum = parse_trace(std::string_view(packed).substr(0, packed.size() - 8));
  ASSERT_TRUE(without_sum) << without_sum.error().message;
  EXPECT_EQ(without_sum->slices.size(), 500U);
  EXPECT_THAT(refusal_of(std::string_view(packed).substr(0, 12)), HasSubstr("gzip data that is damaged"));
}

TEST(OddFiles, WhatFollowsGzipDataIsSaid) {
  const auto behind = [](const std::string& more) {
    const auto trace = parse_trace(gzipped(std::string(kSmall)) + more);
    EXPECT_TRUE(trace.has_value()) << trace.error().message;
    return trace && trace->info.dropped.contains("text behind the end of the document");
  };
  EXPECT_FALSE(behind(""));
  EXPECT_FALSE(behind(std::string(512, '\0'))) << "padding";
  EXPECT_TRUE(behind("<html>"));
}

TEST(OddFiles, WithTextBehindTheDocumentSaySo) {
  for (const std::string& content :
       {std::string(kSmall) + std::string(kSmall), R"({"traceEvents":)" + std::string(kSmall) + "} {\"a\":1}"}) {
    const auto trace = parse_trace(content);
    ASSERT_TRUE(trace) << trace.error().message;
    EXPECT_EQ(trace->slices.size(), 1U);
    EXPECT_THAT(trace->info.dropped, ElementsAre(Pair("text behind the end of the document", 1)));
  }
}

TEST(OddFiles, WithControlCharactersOrQuotesInNamesAreRepaired) {
  const auto trace = parse_trace("[{\"ph\":\"X\",\"name\":\"a\x01z\nb\",\"ts\":1,\"dur\":1},\n" +
                                 R"+({"ph":"X","name":"k<"quoted">","ts":2,"dur":1},
       {"ph":"X","name":"{"device": "cpu"}(12): run","ts":2,"dur":1}, {"ph":"X","name":"f("a", "b")","ts":2,"dur":1},
       {"ph":"X","name":"say \"x\" \\","ts":3,"dur":1}])+"s);
  ASSERT_TRUE(trace) << trace.error().message;
  ASSERT_EQ(trace->slices.size(), 5U);
  EXPECT_EQ(trace->name(trace->slices[0]), "a?z?b");
  EXPECT_EQ(trace->name(trace->slices[1]), "k<'quoted'>");
  EXPECT_EQ(trace->name(trace->slices[2]), "{'device': 'cpu'}(12): run");
  EXPECT_EQ(trace->name(trace->slices[3]), "f('a', 'b')");
  EXPECT_EQ(trace->name(trace->slices[4]), "say \"x\" \\");
  EXPECT_THAT(trace->info.dropped, ElementsAre(Pair("quote or control character within a text, replaced", 12)));
}

}  // namespace
}  // namespace cohort
