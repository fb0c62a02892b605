#include "planning/calls_in_place.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <map>
#include <memory>
#include <optional>
#include <set>
#include <utility>

#include "executor/clock.hpp"
#include "executor/profile/case_timer.hpp"
#include "executor/profile/profile.hpp"
#include "executor/profile/program_timer.hpp"
#include "executor/profile/time_budget.hpp"
#include "planning/choose_members.hpp"
#include "planning/recorded_settings.hpp"
#include "simulator/costs/cost_table.hpp"
#include "simulator/plan/weight_distances.hpp"
#include "simulator/planner/evaluate.hpp"
#include "simulator/planner/planner.hpp"

namespace cohort {
namespace {

constexpr int kTimedRounds = 5;
/// Plans of one number of members that are run, at most.
constexpr int kMostPlansRun = 4;

/// A call, and on how many other cores it meets others.
using CallInPlace = std::pair<CostKey, int>;

bool is_of_several(const Step& step) { return step.cost.width > 1 || step.cost.signature.starts_with(kCopyPrefix); }

class CallsInPlace {
 public:
  CallsInPlace(Backend& backend, const LoadedModel& loaded, WorkWatch& watch, const CancelToken& cancel, Trace& profile)
      : backend_(backend), loaded_(loaded), watch_(watch), cancel_(cancel), profile_(profile) {}

  /// Runs these members one after another as the planner would, then its best plan, each until all calls that take
  /// another time in their places have been timed there. Returns whether there was time.
  Result<bool> time(const Plan& base, const TimeBudget& budget) {
    COHORT_TRY(const bool in_turn, until_timed(base, budget.part(kToTurns), ProfileState::kInModel));
    COHORT_TRY(const bool best, until_timed(base, budget, ProfileState::kInPlan));
    return in_turn && best;
  }

 private:
  /// Of a budget, for members one after another.
  static constexpr double kToTurns = 0.4;
  /// Of a step: loading a plan takes about as long as so many.
  static constexpr int kLoading = 5;
  /// The part of what is left that a search may take; then its best plan so far counts.
  static constexpr double kToPlan = 0.5;

  /// What the planner would run, and what it predicts for a step of it.
  struct Next {
    Program program;
    Nanoseconds step_time{};
  };

  /// Members one after another (kInModel), or the best plan (kInPlan).
  Result<bool> until_timed(const Plan& base, const TimeBudget& budget, ProfileState state) {
    Nanoseconds took{};   // the last run, planning included
    bool trusted = true;  // whether the last run was
    for (int i = 0; i < kMostPlansRun; ++i) {
      const Nanoseconds begin = steady_now();
      if (budget.spent() || took > budget.left()) return false;
      const CancelToken in_time(cancel_, budget.part(kToPlan).left());
      Result<std::optional<Next>> found = untimed(base, state, in_time);
      const bool no_time = !found && found.error().code == ErrorCode::kInterrupted && !cancel_.cancelled();
      if (no_time) return false;
      COHORT_TRY(std::optional<Next> next, std::move(found));
      if (!next) return !in_time.cancelled();
      if (next->step_time * (kTimedRounds + kLoading) > budget.left()) return false;
      COHORT_TRY(trusted, run(std::move(next->program), state));
      took = steady_now() - begin;
    }
    return trusted;
  }

  /// The plan to be timed next; absent where nothing is left to be timed of what the planner would run.
  /// Errors: those of the planner; kInterrupted once cancelled with no plan found.
  Result<std::optional<Next>> untimed(const Plan& base, ProfileState state, const CancelToken& cancel) {
    const std::vector<const Model*> models(base.members.size(), &loaded_.model);
    const Trace* const profiles[] = {&profile_};
    COHORT_TRY(const CostTable costs, CostTable::from(profiles));
    PlanningCase planning_case;
    planning_case.base = &base;
    planning_case.models = models;
    planning_case.costs = &costs;
    COHORT_TRY(planning_case.device, device_profile_of(profiles));
    planning_case.catalog = &backend_.catalog();
    Plan plan = base;
    Nanoseconds step_time{};
    if (state == ProfileState::kInModel) {
      COHORT_TRY(BaselinePrediction baseline, predict_baseline(planning_case, &cancel));
      step_time = baseline.step_time;
      plan.baselines = std::move(baseline.baselines);
      plan = in_turn_plan(plan);
    } else {
      PlannerOptions options;
      options.most_explained = 0;
      options.cancel = &cancel;
      COHORT_TRY(PlanningResult result, plan_model_batch(planning_case, options));
      PlanCandidate& best = result.ranked.front();
      if (best.name == kOneAfterAnother) return std::nullopt;
      step_time = best.prediction.step_time;
      plan = std::move(best.plan);
    }
    COHORT_TRY(LoweredPlan lowered, PlanEvaluator(planning_case).lowered(plan, models));
    const Program& program = lowered.program;
    const bool lacks = state == ProfileState::kInModel ? lacks_among_teams(program, costs) : lacks_any(program);
    if (!lacks) return std::nullopt;
    return Next{std::move(lowered.program), step_time};
  }

  [[nodiscard]] bool lacks_any(const Program& program) const {
    return std::any_of(program.steps.begin(), program.steps.end(), [&](const Step& step) {
      return is_of_several(step) && !timed_.contains({step.cost, program.streams - 1});
    });
  }

  /// Calls on one core meet what others wrote on all, and were mostly timed where each is on one.
  static bool lacks_among_teams(const Program& program, const CostTable& costs) {
    if (most_threads(program) == 1) return false;
    const std::vector<Bytes> distances = weight_distances(program);  // as a ProgramTimer records its calls
    for (std::size_t i = 0; i < program.steps.size(); ++i) {
      const Step& step = program.steps[i];
      if (step.cost.threads == 1 && !is_of_several(step) && !costs.among_teams(step.cost, distances[i])) return true;
    }
    return false;
  }

  /// Adds nothing, and returns false, where the cores were slow or far apart all the while.
  Result<bool> run(Program program, ProfileState state) {
    const std::vector<const Weights*> weights(program.member_count, &loaded_.weights);
    COHORT_TRY(const auto timer, ProgramTimer::load(backend_, std::move(program), state, weights));
    COHORT_TRY(ProgramTimer::Timed timed, timer->time(kTimedRounds, watch_, cancel_));
    if (watch_.slowed(timed.probed) > WorkWatch::kSlowed) return false;
    std::map<CallInPlace, std::pair<std::string, std::vector<ProfileRecord>>> by_call;
    const std::vector<Step>& steps = timer->program().steps;
    for (std::size_t i = 0; i < timed.records.size(); ++i) {
      const Step& step = steps[i % steps.size()];
      auto& [name, samples] = by_call[{step.cost, timed.records[i].neighbours}];
      name = step.op;
      samples.push_back(std::move(timed.records[i]));
    }
    for (auto& [call, samples] : by_call) {
      if (state == ProfileState::kInPlan) timed_.insert(call);
      add_profile_records(profile_, "calls in place", samples.first, thinned(std::move(samples.second), kKeptSamples));
    }
    return true;
  }

  Backend& backend_;
  const LoadedModel& loaded_;
  WorkWatch& watch_;
  const CancelToken& cancel_;
  Trace& profile_;
  std::set<CallInPlace> timed_;
};

}  // namespace

Result<bool> time_calls_in_place(Backend& backend, const LoadedModel& loaded, const InPlaceOptions& options,
                                 WorkWatch& watch, const CancelToken& cancel, Trace& profile) {
  COHORT_TRY(const ModelSource source, read_source(profile.info.settings));
  const TimeBudget budget(options.budget);
  CallsInPlace calls(backend, loaded, watch, cancel, profile);
  bool all = true;
  for (const int members : options.members) {
    if (options.progress)
      options.progress(
          fmt::format("plans of {} members, in place; {:.0f} s left at most", members, seconds(budget.left())));
    Plan base;
    base.device = backend.info().id;
    COHORT_TRY(base.precision, recorded_precision(profile.info.settings));
    COHORT_TRY(base.layout, recorded_layout(profile.info.settings));
    base.members = members_of({&source, 1}, {members});
    Result<bool> timed = calls.time(base, budget);
    if (!timed && timed.error().code == ErrorCode::kInterrupted) return false;
    if (!timed && timed.error().code != ErrorCode::kDoesNotFit) return timed;
    all = all && timed.value_or(false);
  }
  return all;
}

}  // namespace cohort
