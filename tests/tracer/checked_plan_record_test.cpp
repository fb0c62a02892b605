#include "tracer/checked_plan_record.hpp"

#include <gtest/gtest.h>

#include "tracer/file/trace_file.hpp"

namespace cohort {
namespace {

using namespace literals;

TEST(CheckedPlanRecord, ComesBackFromAFile) {
  Trace profile;
  profile.info.kind = TraceKind::kProfile;
  const CheckedPlanRecord first{"concurrent x2", R"({"members": []})", 2_ms, 3_ms};
  const CheckedPlanRecord second{"serial", "{}", 4_ms, 3_ms};
  add_checked_plan(profile, first);
  add_checked_plan(profile, second);
  const auto read = parse_trace(trace_to_json(profile));
  ASSERT_TRUE(read) << read.error().message;
  EXPECT_EQ(checked_plans_of(*read), (std::vector{first, second}));
  EXPECT_EQ(read->tracks.size(), 1U) << "all on one track";
}

TEST(CheckedPlanRecord, OfAPlanThatIsCheckedAgainTakesThePlaceOfTheOldOne) {
  Trace profile;
  const CheckedPlanRecord other{"serial", "{}", 4_ms, 3_ms};
  const CheckedPlanRecord newer{"concurrent x2", R"({"members": []})", 5_ms, 6_ms};
  add_checked_plan(profile, {"concurrent x2", R"({"members": []})", 2_ms, 3_ms});
  add_checked_plan(profile, other);
  add_checked_plan(profile, newer);
  EXPECT_EQ(checked_plans_of(profile), (std::vector{newer, other}));
  EXPECT_EQ(profile.slices[1].start, 5_ms) << "slices do not overlap";
}

TEST(CheckedPlanRecord, IsLeftOutWhereItLacksATime) {
  Trace profile;
  const TrackId track = profile.add_track("profile", "checked plans");
  profile.add_slice(track, "serial", kCheckedPlanCategory, 0_ns, 5_ms);
  EXPECT_TRUE(checked_plans_of(profile).empty());
}

}  // namespace
}  // namespace cohort
