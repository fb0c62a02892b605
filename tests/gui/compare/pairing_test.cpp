#include "gui/compare/pairing.hpp"

#include <gmock/gmock.h>

#include "tests/view/compare/small_traces.hpp"

namespace cohort {
namespace {

OpenFile file_of(const char* path, TraceKind kind, std::string_view plan) {
  return {QString::fromLatin1(path), shared(trace_of_plan(kind, {}, plan)), nullptr};
}

constexpr TraceKind kP = TraceKind::kPredicted;
constexpr TraceKind kM = TraceKind::kMeasured;

TEST(LikelyPair, IsOfThePlanThatBothHave) {
  const std::vector<OpenFile> files{file_of("m1", kM, "1"), file_of("p1", kP, "1"), file_of("p2", kP, "2"),
                                    file_of("m3", kM, "3")};
  EXPECT_EQ(likely_pair(files), (ComparedPaths{"p1", "m1"}));
}

TEST(LikelyPair, IsOfTheLastOpenedWhereSeveralFit) {
  const std::vector<OpenFile> files{file_of("p1", kP, "1"), file_of("m1", kM, "1"), file_of("m1 again", kM, "1"),
                                    file_of("p2", kP, "2"), file_of("m2", kM, "2")};
  EXPECT_EQ(likely_pair(files), (ComparedPaths{"p2", "m2"}));
  EXPECT_EQ(likely_pair({files.begin(), files.begin() + 3}), (ComparedPaths{"p1", "m1 again"}));
}

TEST(LikelyPair, TakesWhatThereIsWhereNoPlanIsShared) {
  EXPECT_EQ(likely_pair({file_of("m", kM, "1"), file_of("p", kP, "2")}), (ComparedPaths{"p", "m"}));
  EXPECT_EQ(likely_pair({file_of("a", TraceKind::kRecorded, ""), file_of("p", kP, "")}), (ComparedPaths{"p", "a"}));
  EXPECT_EQ(likely_pair({file_of("a", TraceKind::kRecorded, ""), file_of("b", TraceKind::kRecorded, "")}),
            (ComparedPaths{"a", "b"}));
}

TEST(LikelyPair, LeavesProfilesOutWhereThereAreOthers) {
  const OpenFile profile = file_of("profile", TraceKind::kProfile, "");
  EXPECT_EQ(likely_pair({profile, file_of("p1", kP, "1"), file_of("p2", kP, "2")}), (ComparedPaths{"p1", "p2"}));
  EXPECT_EQ(likely_pair({profile, file_of("m", kM, "1")}), (ComparedPaths{"m", "profile"}));
}

TEST(LikelyPair, IsAbsentWithoutTwoTraces) {
  EXPECT_EQ(likely_pair({}), std::nullopt);
  EXPECT_EQ(likely_pair({file_of("p", kP, "1"), {"plan.json", nullptr, std::make_shared<const Plan>()}}), std::nullopt);
}

}  // namespace
}  // namespace cohort
