#include <algorithm>

#include "simulator/plan/member_classes.hpp"
#include "simulator/planner/evaluate.hpp"
#include "simulator/planner/few_members.hpp"
#include "simulator/planner/planner.hpp"

namespace cohort {
namespace {

std::vector<ResolvedStep> steps_of(const Plan& plan, const Program& program) {
  return resolve(plan, program, "").steps;
}

/// The step time if the helpers of every step on several cores had to be woken, where times do not hold that already.
Nanoseconds cautious_time(const Evaluation& evaluation, const CostTable& costs) {
  if (costs.in_model()) return evaluation.prediction.step_time;
  const std::vector<Step>& steps = evaluation.program.steps;
  const auto wide = std::count_if(steps.begin(), steps.end(), [](const Step& step) { return step.cost.threads > 1; });
  return evaluation.prediction.step_time + kWaking * wide;
}

/// Members that may share a baseline: of one class, with one source.
std::vector<std::vector<std::uint32_t>> equal_members(const PlanningCase& planning_case) {
  std::vector<std::vector<std::uint32_t>> groups;
  for (const MemberClass& members : member_classes(planning_case.models)) {
    std::vector<std::pair<ModelSource, std::vector<std::uint32_t>>> by_source;
    for (const std::uint32_t member : members.members) {
      const ModelSource& source = planning_case.base->members[member].source;
      const auto found =
          std::find_if(by_source.begin(), by_source.end(), [&](const auto& entry) { return entry.first == source; });
      if (found == by_source.end()) {
        by_source.push_back({source, {member}});
      } else {
        found->second.push_back(member);
      }
    }
    for (auto& [source, list] : by_source) groups.push_back(std::move(list));
  }
  return groups;
}

/// The steps of one of the members in turn, as of member 0.
std::vector<ResolvedStep> steps_of_first(const Plan& plan, const Program& program) {
  std::vector<ResolvedStep> steps = steps_of(plan, program);
  std::erase_if(steps, [](const ResolvedStep& step) { return !step.task.starts_with("0/"); });
  return steps;
}

/// Whether every step is on so many threads.
bool runs_on(const Program& program, int threads) {
  return std::all_of(program.steps.begin(), program.steps.end(),
                     [&](const Step& step) { return step.cost.threads == threads; });
}

class BaselineSearch {
 public:
  BaselineSearch(const PlanningCase& planning_case, const CancelToken* cancel)
      : case_(planning_case), evaluator_(planning_case, cancel), together_(*planning_case.base) {
    together_.baselines.clear();
    together_.limits.memory.reset();  // of what a plan needs
    found_.alone.resize(planning_case.models.size());
  }

  Result<BaselinePrediction> run() && {
    const std::vector<std::vector<std::uint32_t>> groups = equal_members(case_);
    for (const std::vector<std::uint32_t>& members : groups)
      COHORT_CHECK(runs_in_turn(together_) ? add_in_turn(members) : add_alone(members));
    if (runs_in_turn(together_) && groups.size() > 1) COHORT_CHECK(time_all());
    return std::move(found_);
  }

 private:
  struct Fastest {
    std::optional<int> threads;
    Evaluation evaluation;
  };
  /// On the threads that suit each op, on one, or on all: whichever is fastest.
  Result<Fastest> fastest(const Plan& plan, std::span<const Model* const> models) {
    std::vector<std::optional<int>> threads{std::nullopt};
    if (case_.device.cores > 1) threads = {std::nullopt, 1, case_.device.cores};
    std::optional<Fastest> best;
    for (const std::optional<int> count : threads) {
      // The same once more.
      if (best && !best->evaluation.limited && count && runs_on(best->evaluation.program, *count)) continue;
      ChoiceRule rule;
      rule.threads = count;
      auto evaluation = evaluator_.evaluate(plan, models, rule);
      if (!evaluation) return in_context("baseline", evaluation.error());
      const bool is_better =
          !best || cautious_time(*evaluation, *case_.costs) < cautious_time(best->evaluation, *case_.costs);
      if (is_better) best = Fastest{count, std::move(*evaluation)};
    }
    return *std::move(best);
  }

  /// The same of equal members in turn, of which each takes as long as the next: of many a few tell which threads.
  Result<Evaluation> fastest_in_turn(const Plan& plan, std::span<const Model* const> models) {
    const std::size_t few = std::max<std::size_t>(2, kMostUnhurriedSteps / models.front()->ops.size());
    if (models.size() < 2 * few || plan.limits.workspace) {
      COHORT_TRY(Fastest all, fastest(plan, models));
      return std::move(all.evaluation);
    }
    Plan plan_of_few = plan;
    plan_of_few.members.resize(few);
    COHORT_TRY(const Fastest of_few, fastest(in_turn_plan(plan_of_few), models.first(few)));
    ChoiceRule rule;
    rule.threads = of_few.threads;
    auto evaluation = evaluator_.evaluate(plan, models, rule);
    if (!evaluation) return in_context("baseline", evaluation.error());
    return *std::move(evaluation);
  }

  void add(Nanoseconds step_time, Nanoseconds bare, const std::vector<std::uint32_t>& members,
           std::vector<ResolvedStep> steps) {
    found_.step_time += step_time;
    found_.without_overheads += bare;
    for (const std::uint32_t member : members)
      found_.alone[member] = step_time / static_cast<std::int64_t>(members.size());
    Baseline baseline{members, std::move(steps), std::nullopt};
    baseline.fingerprint = baseline_fingerprint(*case_.base, members);
    if (case_.base->input.source == InputSource::kFolder) baseline.input = input_setting(*case_.base);
    found_.baselines.push_back(std::move(baseline));
  }

  Result<void> add_in_turn(const std::vector<std::uint32_t>& members) {
    Plan of_them = together_;
    of_them.members.clear();
    for (const std::uint32_t member : members) of_them.members.push_back(together_.members[member]);
    const std::vector<const Model*> models(members.size(), case_.models[members.front()]);
    const Plan plan = in_turn_plan(of_them);
    COHORT_TRY(const Evaluation best, fastest_in_turn(plan, models));
    COHORT_TRY(const Nanoseconds bare, evaluator_.without_overheads(plan, best.program));
    add(best.prediction.step_time, bare, members, steps_of_first(plan, best.program));
    return {};
  }

  Result<void> add_alone(const std::vector<std::uint32_t>& members) {
    const std::vector<const Model*> alone{case_.models[members.front()]};
    const Plan plan = baseline_plan(together_, members.front());
    COHORT_TRY(const Fastest found, fastest(plan, alone));
    const Evaluation& best = found.evaluation;
    COHORT_TRY(const Nanoseconds bare, evaluator_.without_overheads(plan, best.program));
    const auto count = static_cast<std::int64_t>(members.size());
    add(best.prediction.step_time * count, bare * count, members, steps_of(plan, best.program));
    return {};
  }

  /// Members of several kinds leave each other less of the caches than those of one kind alone.
  Result<void> time_all() {
    together_.baselines = found_.baselines;
    const Plan plan = in_turn_plan(together_);
    COHORT_TRY(const Evaluation all, evaluator_.evaluate(plan, case_.models));
    found_.step_time = all.prediction.step_time;
    COHORT_TRY(found_.without_overheads, evaluator_.without_overheads(plan, all.program));
    return {};
  }

  const PlanningCase& case_;
  PlanEvaluator evaluator_;
  Plan together_;
  BaselinePrediction found_;
};

}  // namespace

Result<BaselinePrediction> predict_baseline(const PlanningCase& planning_case, const CancelToken* cancel) {
  return BaselineSearch(planning_case, cancel).run();
}

}  // namespace cohort
