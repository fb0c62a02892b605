#include "planning/calls_in_place.hpp"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <map>
#include <set>
#include <span>

#include "executor/host/host_session.hpp"
#include "executor/reference/reference_kernels.hpp"
#include "planning/profile_of_model.hpp"
#include "planning/recorded_settings.hpp"
#include "simulator/planner/evaluate.hpp"
#include "simulator/planner/planner.hpp"
#include "tests/strategies/batch.hpp"
#include "tracer/profile_record.hpp"

namespace cohort::testing {
namespace {

constexpr int kMembers = 4;

class CallsInPlace : public ::testing::Test {
 protected:
  /// Single calls a thousand times as long as they are, so that whatever fuses is fastest.
  Trace profile_that_promises_to_gain() {
    ProfileOptions options;
    options.budget = std::chrono::seconds(60);
    options.fused_widths = {2, kMembers};
    Trace profile = profile_model(device_, *batch_.loaded[0], options, cancel_).value();
    write_source(batch_.members[0].source, profile.info.settings);
    for (Slice& slice : profile.slices) {
      const auto record = profile_record_of(profile, slice);
      if (record && record->width == 1 && !record->algorithm.empty()) slice.duration *= 1000;
    }
    return profile;
  }

  Result<bool> time(Trace& profile, Nanoseconds budget = std::chrono::seconds(60)) {
    return time_calls_in_place(device_, *batch_.loaded[0], {{kMembers}, budget}, watch_, cancel_, profile);
  }

  HostBackend device_{make_reference_kernels(2), reference_device_info(2)};
  Batch batch_ = equal_members("mlp", 1, {{"hidden", "16"}, {"inputs", "16"}}, kMembers);
  Nanoseconds round_trip_ = std::chrono::nanoseconds(60);
  WorkWatch watch_{[this] { return Probed{std::chrono::microseconds(100), round_trip_}; }};
  CancelToken cancel_;
};

/// Widths of calls that were timed in plans.
std::set<int> widths_in_plan(const Trace& profile) {
  std::set<int> widths;
  for (const Slice& slice : profile.slices) {
    const auto record = profile_record_of(profile, slice);
    if (record && record->state == ProfileState::kInPlan) widths.insert(record->width);
  }
  return widths;
}

TEST_F(CallsInPlace, AreTimedUntilTheBestPlanMakesNoOthers) {
  Trace profile = profile_that_promises_to_gain();
  EXPECT_TRUE(widths_in_plan(profile).empty());
  const auto all = time(profile);
  ASSERT_TRUE(all) << all.error().message;
  EXPECT_TRUE(*all);

  const Trace* const profiles[] = {&profile};
  const CostTable costs = CostTable::from(profiles).value();
  Plan base;
  base.device = device_.info().id;
  base.members = batch_.members;
  const std::vector<const Model*> models(kMembers, &batch_.loaded[0]->model);
  PlanningCase planning_case;
  planning_case.base = &base;
  planning_case.models = models;
  planning_case.costs = &costs;
  planning_case.device = device_profile_of(profiles).value();
  planning_case.catalog = &device_.catalog();
  const PlanningResult result = plan_model_batch(planning_case).value();
  const Program program = PlanEvaluator(planning_case).lowered(result.ranked.front().plan, models).value().program;
  std::set<int> widths;
  for (const Step& step : program.steps) {
    widths.insert(step.cost.width);
    EXPECT_TRUE(step.cost.width == 1 || costs.in_model(step.cost)) << step.task;
  }
  EXPECT_GT(*widths.rbegin(), 1) << "nothing is fused, so that this shows nothing";
}

TEST_F(CallsInPlace, AreTimedOnOneCoreAmongCallsOnSeveralIfMembersInTurnHaveSuch) {
  Trace profile = profile_that_promises_to_gain();
  // The model's own steps may have had such calls, depending on which ways were the fastest.
  std::erase_if(profile.slices, [&](const Slice& slice) {
    const auto record = profile_record_of(profile, slice);
    return record && record->around > 0;
  });
  const std::size_t before = profile.slices.size();
  for (Slice& slice : profile.slices) {
    const auto record = profile_record_of(profile, slice);
    if (!record || record->width > 1 || record->algorithm.empty()) continue;
    const bool is_first = profile.name(slice) == "fc1";  // which is faster on both cores, the others on one
    slice.duration = std::chrono::milliseconds(is_first == (record->threads == 1) ? 100 : 1);
  }
  ASSERT_TRUE(time(profile));
  std::set<std::string> among_teams;
  for (const Slice& slice : std::span(profile.slices).subspan(before)) {
    const auto record = profile_record_of(profile, slice);
    if (record && record->state == ProfileState::kInModel && record->around == 2 && record->threads == 1)
      among_teams.emplace(profile.name(slice));
  }
  EXPECT_THAT(among_teams, ::testing::ElementsAre("fc3")) << "fc2 is as fc1";
}

TEST_F(CallsInPlace, AreNotBelievedWhileCoresAreFurtherApartThanBefore) {
  Trace profile = profile_that_promises_to_gain();
  const std::size_t before = profile.slices.size();
  round_trip_ *= 5;
  EXPECT_FALSE(time(profile).value()) << "as without time";
  EXPECT_EQ(profile.slices.size(), before);
}

TEST_F(CallsInPlace, LeaveTheProfileAsItIsWithoutTime) {
  Trace profile = profile_that_promises_to_gain();
  const std::size_t before = profile.slices.size();
  EXPECT_FALSE(time(profile, Nanoseconds(0)).value());
  EXPECT_EQ(profile.slices.size(), before);
}

TEST_F(CallsInPlace, LeaveTheProfileAsItIsWhereTheyAreInterrupted) {
  Trace profile = profile_that_promises_to_gain();
  const std::size_t before = profile.slices.size();
  cancel_.cancel();
  EXPECT_FALSE(time(profile).value());
  EXPECT_EQ(profile.slices.size(), before);
}

TEST_F(CallsInPlace, AreMissedByAProfileThatHasNoTimeForThem) {
  ProfileOptions options;
  options.budget = Nanoseconds(0);
  options.fused_widths = {2};
  const Trace profile =
      profile_to_plan_with(device_, *batch_.loaded[0], batch_.members[0].source, options, cancel_).value();
  EXPECT_TRUE(profile.info.settings.at(std::string(kLacking)).ends_with("calls in their places"));
  EXPECT_EQ(profile.info.settings.at("precision"), "float32");
}

}  // namespace
}  // namespace cohort::testing
