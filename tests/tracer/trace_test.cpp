#include "tracer/trace.hpp"

#include <gtest/gtest.h>

#include <array>
#include <string>
#include <vector>

namespace cohort {
namespace {

using namespace literals;

TEST(StringTable, GivesEachTextOneIdCountingFromTheEmptyString) {
  StringTable table;
  EXPECT_EQ(table.size(), 1U);
  EXPECT_EQ(table[StringId{0}], "");
  EXPECT_EQ(table.intern("a"), StringId{1});
  EXPECT_EQ(table.intern("b"), StringId{2});
  EXPECT_EQ(table.intern("a"), StringId{1});
  EXPECT_EQ(table.intern(""), StringId{0});
  EXPECT_EQ(table.size(), 3U);
}

TEST(StringTable, FindsOnlyWhatItHolds) {
  StringTable table;
  const StringId id = table.intern("held");
  EXPECT_EQ(table.find("held"), id);
  EXPECT_FALSE(table.find("other"));
}

TEST(StringTable, CanBeFilledAgainAfterItWasMovedFrom) {
  StringTable first;
  first.intern("a text");
  const StringTable kept = std::move(first);
  first = StringTable();
  first.intern("b");
  StringTable emptied = std::move(first);
  first.intern("another");  // NOLINT(bugprone-use-after-move): what it holds is open, that it holds is not
  EXPECT_EQ(kept[*kept.find("a text")], "a text");
  EXPECT_EQ(emptied[*emptied.find("b")], "b");
  EXPECT_EQ(first[*first.find("another")], "another");
}

TEST(StringTable, KeepsItsTextsWhileItGrowsAndWhenCopiedOrMoved) {
  std::vector<std::string> texts;
  for (int i = 0; i < 2000; ++i) texts.push_back("text " + std::to_string(i));
  StringTable copy;
  StringTable moved;
  {
    StringTable table;
    for (const auto& text : texts) table.intern(text);
    copy = table;
    moved = std::move(table);
  }
  for (std::size_t i = 0; i < texts.size(); ++i) {
    EXPECT_EQ(copy[static_cast<StringId>(i + 1)], texts[i]);
    EXPECT_EQ(moved[static_cast<StringId>(i + 1)], texts[i]);
    EXPECT_EQ(copy.find(texts[i]), static_cast<StringId>(i + 1));
  }
}

TEST(Trace, NumbersTracksWithinTheirProcess) {
  Trace trace;
  trace.add_track("host", "main");
  trace.add_track("device", "stream 0");
  trace.add_track("device", "stream 1");
  trace.add_track("host", "worker");
  ASSERT_EQ(trace.tracks.size(), 4U);
  EXPECT_EQ(trace.tracks[0].pid, trace.tracks[3].pid);
  EXPECT_EQ(trace.tracks[1].pid, trace.tracks[2].pid);
  EXPECT_NE(trace.tracks[0].pid, trace.tracks[1].pid);
  EXPECT_NE(trace.tracks[1].tid, trace.tracks[2].tid);
  EXPECT_NE(trace.tracks[0].tid, trace.tracks[3].tid);
}

TEST(Trace, KeepsArgumentsOfEveryType) {
  Trace trace;
  const TrackId track = trace.add_track("device", "stream 0");
  const std::array<Trace::NamedArg, 4> args = {{
      {"task", std::int64_t{7}},
      {"share", 0.5},
      {"fused", true},
      {"algorithm", std::string_view("winograd")},
  }};
  const SliceId id = trace.add_slice(track, "conv", "kernel", 10_ns, 5_ns, args);
  const Slice& slice = trace.slice(id);
  EXPECT_EQ(slice.end(), 15_ns);
  EXPECT_EQ(trace.name(slice), "conv");
  EXPECT_EQ(trace.integer_arg(slice, "task"), 7);
  EXPECT_EQ(trace.text_arg(slice, "algorithm"), "winograd");
  ASSERT_EQ(trace.args.size(), 1U);
  EXPECT_EQ(std::get<double>(trace.args[0][1].second), 0.5);
  EXPECT_EQ(std::get<bool>(trace.args[0][2].second), true);
}

TEST(Trace, AnswersAbsentForArgumentsOfAnotherNameOrType) {
  Trace trace;
  const TrackId track = trace.add_track("device", "stream 0");
  const std::array<Trace::NamedArg, 1> args = {{{"task", std::int64_t{7}}}};
  const SliceId with = trace.add_slice(track, "a", "kernel", 0_ns, 1_ns, args);
  const SliceId without = trace.add_slice(track, "b", "kernel", 0_ns, 1_ns);
  EXPECT_FALSE(trace.text_arg(trace.slice(with), "task"));
  EXPECT_FALSE(trace.integer_arg(trace.slice(with), "a"));
  EXPECT_FALSE(trace.integer_arg(trace.slice(with), "never seen"));
  EXPECT_FALSE(trace.integer_arg(trace.slice(without), "task"));
  EXPECT_FALSE(trace.slice(without).args);
}

TEST(Trace, FindsWallTimesByWhatTheyMeasure) {
  Trace trace;
  trace.info.wall_times = {{"plan", {3_ns}, 0}, {"baseline", {9_ns}, 1}};
  ASSERT_NE(trace.info.wall("baseline"), nullptr);
  EXPECT_EQ(trace.info.wall("baseline")->samples.front(), 9_ns);
  EXPECT_EQ(trace.info.wall("model"), nullptr);
}

TEST(Trace, NamesEveryKindAndReadsTheNameBack) {
  for (const TraceKind kind : {TraceKind::kRecorded, TraceKind::kProfile, TraceKind::kPredicted, TraceKind::kMeasured})
    EXPECT_EQ(trace_kind_from(to_string(kind)), kind);
  EXPECT_FALSE(trace_kind_from("guessed"));
}

}  // namespace
}  // namespace cohort
