// The fusion that is chosen beside others, on random small models.

#include <gtest/gtest.h>

#include <algorithm>

#include "simulator/planner/evaluate.hpp"
#include "simulator/planner/fuse_ops.hpp"
#include "tests/simulator/random_planning.hpp"

namespace cohort {
namespace {

constexpr std::uint64_t kRandomCases = 30;
constexpr double kMostLost = 0.02;

/// Ways to fuse ops of a case whose other ops run in one way.
class Fusions {
 public:
  Fusions(RandomPlanning& random, int streams)
      : case_(random.planning_case()),
        rest_(streams > 1 ? RestKind::kConcurrent : RestKind::kSerialBest),
        streams_(streams),
        evaluator_(case_) {}

  [[nodiscard]] FusionChoice chosen() const {
    auto choice = choose_fusion(case_, rest_, streams_);
    EXPECT_TRUE(choice) << choice.error().message;
    return choice ? *std::move(choice) : FusionChoice{};
  }
  Nanoseconds time_of(const Plan& plan) {
    const auto evaluation = evaluator_.evaluate(plan, case_.models);
    EXPECT_TRUE(evaluation) << evaluation.error().message;
    return evaluation ? evaluation->prediction.step_time : Nanoseconds(0);
  }
  Nanoseconds time_apart() {
    Plan plan = *case_.base;
    plan.groups = uniform_plan(plan.members, streams_ > 1 ? Strategy::kConcurrent : Strategy::kSerial, streams_).groups;
    plan.streams = streams_;
    return time_of(plan);
  }
  /// Op by op what is faster, and whatever else is tried first.
  std::vector<Nanoseconds> times_offered() {
    VariantMaker maker(case_, evaluator_.times(), evaluator_.footprint(case_.models));
    Variant bare;
    bare.rest = rest_;
    bare.streams = streams_;
    bare.launch = case_.base->launch;
    bare.input = input_setting(*case_.base);
    std::vector<Nanoseconds> times;
    for (const Variant& each : maker.fusions(bare)) times.push_back(time_of(maker.plan_of(each)));
    return times;
  }
  /// Absent where not all of these can be fused.
  std::optional<Nanoseconds> time_with(const std::vector<std::string>& names) {
    const Result<Plan> plan = plan_with_fused_ops(case_, rest_, streams_, names);
    return plan ? std::optional(time_of(*plan)) : std::nullopt;
  }

 private:
  PlanningCase case_;
  RestKind rest_;
  int streams_;
  PlanEvaluator evaluator_;
};

/// A random case of 2 to 4 ops whose copies cost as much as fusing them may save.
RandomPlanning::Size small_size(std::uint64_t seed) {
  return {.ops = 2 + seed % 3, .members = 2 + seed / 3 % 3, .cores = 2, .copy_time = seed % 2 == 0 ? 1 : 300};
}

TEST(FusionChoice, IsNeverSlowerThanNoneThanOpByOpAndThanAnySetOfOps) {
  std::size_t fuse = 0;
  for (std::uint64_t seed = 0; seed < kRandomCases; ++seed) {
    RandomPlanning random(seed, small_size(seed));
    for (const int streams : {1, 2}) {
      Fusions fusions(random, streams);
      const FusionChoice choice = fusions.chosen();
      const Nanoseconds chosen = fusions.time_of(choice.plan);
      const std::string which = fmt::format("case {} on {} streams", seed, streams);
      EXPECT_LE(chosen, fusions.time_apart()) << which;
      EXPECT_EQ(choice.fuses, chosen < fusions.time_apart()) << which;
      for (const Nanoseconds offered : fusions.times_offered()) EXPECT_LE(chosen, offered) << which;
      const std::vector<Op>& ops = random.model().ops;
      for (unsigned set = 1; set < 1U << ops.size(); ++set) {
        std::vector<std::string> names;
        for (std::size_t op = 0; op < ops.size(); ++op) {
          if ((set >> op & 1U) != 0) names.push_back(ops[op].name);
        }
        const auto time = fusions.time_with(names);
        if (!time) continue;
        if (names.size() == 1) {
          EXPECT_LE(chosen, *time) << which << ": " << names.front();
        }
        EXPECT_LT(seconds(chosen), seconds(*time) * (1 + kMostLost)) << which << ": set " << set;
      }
      fuse += choice.fuses ? 1 : 0;
    }
  }
  EXPECT_GT(fuse, kRandomCases / 2) << "the cases leave something to choose";
  EXPECT_LT(fuse, 2 * kRandomCases);
}

TEST(FusionChoice, SimulatesABoundedNumberOfPlansAndIsTheSameAgain) {
  RandomPlanning random(5, {.ops = 60, .members = 4, .cores = 2, .copy_time = 30});
  const FusionChoice first = Fusions(random, 1).chosen();
  const FusionChoice again = Fusions(random, 1).chosen();
  EXPECT_LE(first.simulated, kMostFusions);
  EXPECT_EQ(first.simulated, again.simulated);
  EXPECT_EQ(write_plan(first.plan), write_plan(again.plan));
}

TEST(FusionChoice, IsMadeOnAGpuToo) {
  for (std::uint64_t seed = 0; seed < 6; ++seed) {
    RandomPlanning random(seed, {.ops = 4, .members = 4, .cores = 1, .on_gpu = true, .copy_time = 30});
    Fusions fusions(random, 4);
    const Nanoseconds chosen = fusions.time_of(fusions.chosen().plan);
    EXPECT_LE(chosen, fusions.time_apart()) << "case " << seed;
    for (const Nanoseconds offered : fusions.times_offered()) EXPECT_LE(chosen, offered) << "case " << seed;
  }
}

}  // namespace
}  // namespace cohort
