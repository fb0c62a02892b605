#include "simulator/planner/plan_report.hpp"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>

#include "tests/simulator/planner_bench.hpp"
#include "tests/simulator/random_planning.hpp"

namespace cohort {
namespace {

using namespace literals;
using namespace std::chrono_literals;
using testing::HasSubstr;

Nanoseconds sum_of(const std::vector<GainPart>& gain) {
  Nanoseconds sum{};
  for (const GainPart& part : gain) sum += part.gain;
  return sum;
}

Nanoseconds gain_by(const PlanReport& report, GainCause cause) {
  const auto part = std::find_if(report.gain.begin(), report.gain.end(),
                                 [&](const GainPart& each) { return each.cause == to_string(cause); });
  return part == report.gain.end() ? Nanoseconds(0) : part->gain;
}

/// Every plan of random cases: check(planned, candidate, report).
template <class Check>
void for_every_plan(std::uint64_t cases, const Check& check) {
  for (std::uint64_t seed = 0; seed < cases; ++seed) {
    const auto random = RandomPlanning::small(seed);
    const auto planned = plan_model_batch(random->planning_case(), {.most_explained = 1000});
    ASSERT_TRUE(planned.has_value()) << planned.error().message;
    for (const PlanCandidate& candidate : planned->ranked) {
      const auto report = report_plan(random->planning_case(), candidate.plan, {});
      ASSERT_TRUE(report.has_value()) << report.error().message;
      SCOPED_TRACE(fmt::format("seed {}: {}", seed, candidate.name));
      check(*planned, candidate, *report);
    }
  }
}

TEST(PlanReport, AddsUpAndKeepsItsBoundsForEveryPlanOfRandomCases) {
  for_every_plan(12, [](const PlanningResult& planned, const PlanCandidate& candidate, const PlanReport& report) {
    EXPECT_EQ(report.step_time, candidate.prediction.step_time);
    EXPECT_EQ(report.baseline, planned.baseline.step_time);
    EXPECT_EQ(sum_of(report.gain), report.baseline - report.step_time);
    EXPECT_GE(report.step_time, report.lower_bound);
    EXPECT_LE(report.step_time, report.upper_bound);
    const RunFacts& facts = report.facts;
    Nanoseconds path{};
    for (const PathPart& part : facts.parts) path += part.time;
    EXPECT_NEAR(static_cast<double>(path.count()), static_cast<double>((report.step_time * facts.steps).count()),
                facts.steps);
    EXPECT_LE(facts.device_busy, 1);
    ASSERT_TRUE(facts.cores_busy.has_value());
    EXPECT_LE(*facts.cores_busy, 1);
    EXPECT_EQ(report.memory.total(), candidate.prediction.memory.total());
    for (const NamedTasks& task : facts.tasks) EXPECT_GE(task.slack, Nanoseconds(0)) << task.name;
  });
}

TEST(PlanReport, SaysOfEachCauseWhatThePlannerSays) {
  for_every_plan(6, [](const PlanningResult&, const PlanCandidate& candidate, const PlanReport& report) {
    for (std::size_t i = 0; i < kGainCauses; ++i) {
      const auto cause = static_cast<GainCause>(i);
      EXPECT_EQ(gain_by(report, cause), candidate.attribution.of(cause)) << to_string(cause);
    }
  });
}

TEST(PlanReport, IsTheSameWithWhatTheSearchKnows) {
  for (std::uint64_t seed = 0; seed < 6; ++seed) {
    const auto random = RandomPlanning::small(seed);
    const auto planned = plan_model_batch(random->planning_case(), {.most_explained = seed % 2 == 0 ? 1000U : 0U});
    ASSERT_TRUE(planned.has_value()) << planned.error().message;
    ASSERT_NE(planned->ranked.front().program, nullptr);
    for (std::size_t rank = 0; rank < planned->ranked.size(); ++rank) {
      SCOPED_TRACE(fmt::format("seed {}: {}", seed, planned->ranked[rank].name));
      const auto anew = report_plan(random->planning_case(), planned->ranked[rank].plan, {});
      const auto known = report_ranked(random->planning_case(), *planned, rank, {});
      ASSERT_TRUE(anew && known);
      EXPECT_EQ(known->plan, anew->plan);
      EXPECT_EQ(known->step_time, anew->step_time);
      EXPECT_EQ(known->baseline, anew->baseline);
      EXPECT_EQ(known->interval, anew->interval);
      EXPECT_EQ(known->p99_latency, anew->p99_latency);
      EXPECT_EQ(known->memory.total(), anew->memory.total());
      for (std::size_t i = 0; i < kGainCauses; ++i) {
        const auto cause = static_cast<GainCause>(i);
        EXPECT_EQ(gain_by(*known, cause), gain_by(*anew, cause)) << to_string(cause);
      }
      EXPECT_EQ(known->trace.slices.size(), anew->trace.slices.size());
    }
  }
}

/// `members` of two fully connected layers on one core, every op in half the time with 1 MiB of workspace.
class WithWorkspaces {
 public:
  explicit WithWorkspaces(std::size_t members) : bench_({fake_mlp(8)}, members, times, 1) {
    std::vector<ProfileRecord> records;
    for (ProfileRecord each : bench_.records()) {
      each.algorithm = "small";
      records.push_back(each);
      if (each.signature.starts_with("Copy")) continue;
      each.algorithm = "fast";
      each.workspace = 1_MiB;
      each.time /= 2;
      records.push_back(each);
    }
    bench_.set_records(records);
  }

  Result<PlanReport> report(std::optional<Bytes> limit) {
    Plan plan = uniform_plan(bench_.base.members, Strategy::kSerial, 1);
    plan.limits.workspace = limit;
    return report_plan(bench_.planning_case(), plan, {});
  }

 private:
  static std::optional<std::int64_t> times(const FakeCall& call) {
    return call.strategy == Strategy::kSerial ? std::optional<std::int64_t>(100'000) : std::nullopt;
  }

  PlannerBench bench_;
};

/// Of two members side by side, from a profile of their ops with such further records and times of whole steps.
std::vector<Doubt> doubts_with(const std::vector<ProfileRecord>& more, const std::vector<Nanoseconds>& steps) {
  PlannerBench bench(
      {fake_mlp(8)}, 2, [](const FakeCall&) { return std::optional<std::int64_t>(200'000); }, 2);
  std::vector<ProfileRecord> records = bench.records();
  records.insert(records.end(), more.begin(), more.end());
  Trace profile = fake_profile(records, 2);
  if (!steps.empty()) {
    for (const std::string_view what : {kWallInTurn, kWallOpsInTurn})
      profile.info.wall_times.push_back({std::string(what), steps, 0});
  }
  const auto costs = CostTable::from(std::vector<const Trace*>{&profile});
  PlanningCase planning_case = bench.planning_case();
  planning_case.costs = &*costs;
  const auto report = report_plan(planning_case, uniform_plan(bench.base.members, Strategy::kConcurrent, 2), {});
  EXPECT_TRUE(report.has_value());
  return report ? report->doubts : std::vector<Doubt>{};
}

TEST(PlanReport, DoubtsAProfileWhoseWholeStepsVaried) {
  using testing::Contains;
  using testing::Field;
  using testing::Not;
  const auto varied = [](bool grave, const char* by) {
    return testing::AllOf(Field(&Doubt::grave, grave),
                          Field(&Doubt::why, HasSubstr(std::string("whole steps varied by ") + by)));
  };
  const auto any = Field(&Doubt::why, HasSubstr("whole steps varied"));
  EXPECT_THAT(doubts_with({}, {95ns, 97ns, 100ns, 103ns, 105ns}), Not(Contains(any)));
  EXPECT_THAT(doubts_with({}, {90ns, 95ns, 100ns, 105ns, 110ns}), Contains(varied(false, "6%")));
  EXPECT_THAT(doubts_with({}, {70ns, 85ns, 100ns, 115ns, 130ns}), Contains(varied(true, "19%")));
}

TEST(PlanReport, DoubtsAProfileDuringWhichCoresWereMoved) {
  const auto with_round_trip = [](std::int64_t longest) {
    std::vector<ProfileRecord> trips;
    for (const std::int64_t time : {std::int64_t{60}, longest})
      trips.push_back(record(std::string(kRoundTripRecord), Strategy::kSerial, 1, 1, time));
    std::vector<std::string> whys;
    for (const Doubt& doubt : doubts_with(trips, {})) whys.push_back(doubt.why);
    return whys;
  };
  EXPECT_THAT(with_round_trip(90), testing::Not(testing::Contains(HasSubstr("cores were moved"))));
  EXPECT_THAT(with_round_trip(330),
              testing::Contains("cores were moved while they were profiled: a round trip between two "
                                "took 87 ns to 303 ns"));
}

TEST(PlanReport, ComparesTheRulesOfAWorkspaceLimit) {
  WithWorkspaces four(4);
  // Members in turn use one workspace after another: 1 MiB does for all of them, a fourth of it for none.
  const auto limited = four.report(1_MiB + 64_KiB);
  ASSERT_TRUE(limited.has_value()) << limited.error().message;
  ASSERT_TRUE(limited->workspace.has_value());
  const WorkspaceRules& rules = *limited->workspace;
  EXPECT_EQ(rules.limit, 1_MiB + 64_KiB);
  EXPECT_EQ(rules.whole_batch.step_time, limited->step_time);
  EXPECT_EQ(rules.whole_batch.step_time, rules.unlimited.step_time);
  EXPECT_GE(rules.whole_batch.workspace, 1_MiB);
  ASSERT_TRUE(rules.equal_shares.has_value()) << rules.refused;
  EXPECT_GT(rules.equal_shares->step_time, rules.whole_batch.step_time);
  EXPECT_LT(rules.equal_shares->workspace, 1_MiB);
  const auto tight = four.report(64_KiB);
  ASSERT_TRUE(tight.has_value()) << tight.error().message;
  EXPECT_GT(tight->step_time, limited->step_time);
  EXPECT_EQ(tight->step_time, tight->workspace->equal_shares->step_time);
  const auto free = four.report(std::nullopt);
  ASSERT_TRUE(free.has_value()) << free.error().message;
  EXPECT_FALSE(free->workspace.has_value());
}

TEST(PlanText, TellsAReasonOnceHoweverManyPlansItRefuses) {
  const auto random = RandomPlanning::small(1);
  auto planned = plan_model_batch(random->planning_case()).value();
  planned.refused = {{"first", "0/a: no record of \"x\""},
                     {"second", "too large"},
                     {"third", "3/b: no record of \"x\""},
                     {"fourth", "0/a: no record of \"y\""}};
  const std::string text = print(planned, 1);
  EXPECT_THAT(text, HasSubstr("not possible: first, and 1 more: 0/a: no record of \"x\"\n"
                              "not possible: second: too large\n"
                              "not possible: fourth: 0/a: no record of \"y\"\n"));
  EXPECT_THAT(explain(planned, 1), HasSubstr("not possible: third: 3/b"));
}

TEST(PlanText, LeavesTheMostOfManyReasonsToExplain) {
  const auto random = RandomPlanning::small(1);
  auto planned = plan_model_batch(random->planning_case()).value();
  planned.refused.clear();
  for (int i = 0; i < 7; ++i) planned.refused.push_back({fmt::format("plan {}", i), fmt::format("reason {}", i)});
  const std::string text = print(planned, 1);
  EXPECT_THAT(text, HasSubstr("not possible: plan 4: reason 4\nand 2 more reasons (--explain)\n"));
  EXPECT_THAT(text, testing::Not(HasSubstr("reason 5")));
  EXPECT_THAT(explain(planned, 1), HasSubstr("not possible: plan 6: reason 6"));
}

}  // namespace
}  // namespace cohort
