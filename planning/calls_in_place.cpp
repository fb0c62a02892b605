#include "planning/calls_in_place.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <map>
#include <memory>
#include <optional>
#include <set>
#include <utility>

#include "executor/clock.hpp"
#include "executor/core_probe.hpp"
#include "executor/profile/case_timer.hpp"
#include "executor/profile/profile.hpp"
#include "executor/profile/program_timer.hpp"
#include "executor/profile/time_budget.hpp"
#include "planning/choose_members.hpp"
#include "planning/recorded_settings.hpp"
#include "simulator/costs/cost_table.hpp"
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
  CallsInPlace(Backend& backend, const LoadedModel& loaded, const CancelToken& cancel, Trace& profile)
      : backend_(backend), loaded_(loaded), cancel_(cancel), profile_(profile), watch_(core_probe(backend.info())) {}

  /// Runs the best plan of these members, until its calls have all been timed in place. Returns whether there was time.
  Result<bool> time(const Plan& base, const TimeBudget& budget) {
    const std::vector<const Model*> models(base.members.size(), &loaded_.model);
    Nanoseconds took{};  // the last time
    for (int i = 0; i < kMostPlansRun; ++i) {
      const Nanoseconds begin = steady_now();
      if (budget.spent() || took > budget.left()) return false;
      const Trace* const profiles[] = {&profile_};
      COHORT_TRY(const CostTable costs, CostTable::from(profiles));
      PlanningCase planning_case;
      planning_case.base = &base;
      planning_case.models = models;
      planning_case.costs = &costs;
      COHORT_TRY(planning_case.device, device_profile_of(profiles));
      planning_case.catalog = &backend_.catalog();
      COHORT_TRY(const PlanningResult result, plan_model_batch(planning_case, quick()));
      const PlanCandidate& best = result.ranked.front();
      if (best.name == kOneAfterAnother) return true;
      COHORT_TRY(LoweredPlan lowered, PlanEvaluator(planning_case).lowered(best.plan, models));
      if (!lacks_any(lowered.program)) return true;
      if (best.prediction.step_time * (kTimedRounds + kLoading) > budget.left()) return false;
      COHORT_CHECK(run(std::move(lowered.program)));
      took = steady_now() - begin;
    }
    return true;
  }

 private:
  /// Of a step: loading a plan takes about as long as so many.
  static constexpr int kLoading = 5;

  [[nodiscard]] PlannerOptions quick() const {
    PlannerOptions options;
    options.most_explained = 0;
    options.cancel = &cancel_;
    return options;
  }

  [[nodiscard]] bool lacks_any(const Program& program) const {
    return std::any_of(program.steps.begin(), program.steps.end(), [&](const Step& step) {
      return is_of_several(step) && !timed_.contains({step.cost, program.streams - 1});
    });
  }

  Result<void> run(Program program) {
    const std::vector<const Weights*> weights(program.member_count, &loaded_.weights);
    COHORT_TRY(const auto timer, ProgramTimer::load(backend_, std::move(program), ProfileState::kInPlan, weights));
    COHORT_TRY(ProgramTimer::Timed timed, timer->time(kTimedRounds, watch_, cancel_));
    std::map<CallInPlace, std::pair<std::string, std::vector<ProfileRecord>>> by_call;
    const std::vector<Step>& steps = timer->program().steps;
    for (std::size_t i = 0; i < timed.records.size(); ++i) {
      const Step& step = steps[i % steps.size()];
      auto& [name, samples] = by_call[{step.cost, timed.records[i].neighbours}];
      name = step.op;
      samples.push_back(std::move(timed.records[i]));
    }
    for (auto& [call, samples] : by_call) {
      timed_.insert(call);
      add_profile_records(profile_, "calls in place", samples.first, thinned(std::move(samples.second), kKeptSamples));
    }
    return {};
  }

  Backend& backend_;
  const LoadedModel& loaded_;
  const CancelToken& cancel_;
  Trace& profile_;
  WorkWatch watch_;
  std::set<CallInPlace> timed_;
};

}  // namespace

Result<bool> time_calls_in_place(Backend& backend, const LoadedModel& loaded, const ModelSource& source,
                                 const InPlaceOptions& options, const CancelToken& cancel, Trace& profile) {
  const TimeBudget budget(options.budget);
  CallsInPlace calls(backend, loaded, cancel, profile);
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
    const Result<bool> timed = calls.time(base, budget);
    if (!timed && timed.error().code == ErrorCode::kInterrupted) return false;
    if (!timed && timed.error().code != ErrorCode::kDoesNotFit) return timed;
    all = all && timed.value_or(false);
  }
  return all;
}

}  // namespace cohort
