#include "planning/check_plans.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <map>
#include <nlohmann/json.hpp>
#include <string>
#include <utility>

#include "executor/run/plan_run.hpp"
#include "planning/members.hpp"
#include "planning/recorded_settings.hpp"
#include "simulator/planner/candidate_name.hpp"
#include "tracer/checked_plan_record.hpp"
#include "tracer/file/trace_file.hpp"

namespace cohort {
namespace {

/// Rounds in which all take turns, at the least: fewer tell no median from a disturbance.
constexpr int kRounds = 5;
/// For warming up, of the budget.
constexpr double kToWarmUp = 0.3;

Nanoseconds part_of(Nanoseconds whole, double part) {
  return Nanoseconds(static_cast<std::int64_t>(part * static_cast<double>(whole.count())));
}

MeasureOptions measure_within(Nanoseconds budget, std::size_t subjects) {
  const auto count = static_cast<double>(subjects);
  MeasureOptions measure;
  measure.warm_up = part_of(budget, kToWarmUp / count);
  measure.limit = part_of(budget, 1 - kToWarmUp);
  measure.block = std::min(measure.block, part_of(measure.limit, 1 / (count * kRounds)));
  return measure;
}

/// The first candidates that are plans of the same members, by rank.
std::vector<std::size_t> candidates_of(const PlanningResult& result, std::size_t most) {
  std::vector<std::size_t> ranks;
  for (std::size_t i = 0; i < result.ranked.size() && ranks.size() < most; ++i) {
    const PlanCandidate& candidate = result.ranked[i];
    if (is_one_after_another(candidate.name) || candidate.plan.members != result.ranked.front().plan.members) continue;
    ranks.push_back(i);
  }
  return ranks;
}

/// A model as its profile names it, which later runs go by wherever they are started: not as it was found from here.
/// Empty where profiles of several models name them alike.
std::map<std::string, std::string> recorded_names(const ProfileSet& profiles) {
  std::map<std::string, std::string> names;
  std::map<std::string, std::string> found;  // by recorded name
  for (std::size_t i = 0; i < profiles.profiles().size(); ++i) {
    const auto recorded = read_source(profiles.profiles()[i].trace->info.settings);
    if (!recorded) continue;
    const std::string& model = profiles.sources()[i].model;
    if (found.emplace(recorded->model, model).first->second != model) return {};
    names.emplace(model, recorded->model);
  }
  return names;
}

CheckedPlanRecord record_of(const PlanCandidate& candidate, const std::map<std::string, std::string>& names,
                            Nanoseconds step, Nanoseconds baseline) {
  Plan plan = candidate.plan;
  for (Member& member : plan.members) {
    if (const auto name = names.find(member.source.model); name != names.end()) member.source.model = name->second;
  }
  plan.resolved.reset();
  plan.baselines.clear();
  return {candidate.name, write_plan(plan), step, baseline};
}

}  // namespace

Result<PlanCheck> check_plans(Backend& backend, const PlanningResult& result, const CheckOptions& options,
                              const CancelToken& cancel) {
  std::vector<std::size_t> ranks = candidates_of(result, std::max<std::size_t>(1, options.most_plans));
  PlanCheck check;
  if (ranks.empty()) return check;  // one after another is all there is
  const auto say = [&](const std::string& what) {
    if (options.progress) options.progress(what);
  };
  say("loading plans to check");
  const Plan& first = result.ranked[ranks.front()].plan;
  COHORT_TRY(const LoadedMembers members, LoadedMembers::load(first.members));
  COHORT_TRY(const auto run, PlanRun::open(backend, first, members.models(), cancel));
  std::vector<std::size_t> beside;
  for (std::size_t i = 1; i < ranks.size(); ++i) {
    const PlanCandidate& candidate = result.ranked[ranks[i]];
    const auto added = run->add_beside(candidate.name, candidate.plan, members.models());
    if (added) {
      beside.push_back(ranks[i]);
    } else if (added.error().code != ErrorCode::kDoesNotFit) {
      return in_context(candidate.name, added.error());
    }
  }
  say(fmt::format("checking {} plans for {:.1f} s", beside.size() + 1, seconds(options.budget)));
  COHORT_TRY(PlanRun::Times times, run->measure(measure_within(options.budget, beside.size() + 2)));
  check.baseline = std::move(times.baseline);
  check.checked.push_back({ranks.front(), std::move(times.plan), 1});
  for (std::size_t i = 0; i < beside.size(); ++i) check.checked.push_back({beside[i], std::move(times.beside[i]), 1});
  for (CheckedCandidate& each : check.checked) each.speedup = speedup(check.baseline, each.times);
  std::stable_sort(check.checked.begin(), check.checked.end(),
                   [](const CheckedCandidate& a, const CheckedCandidate& b) { return a.speedup > b.speedup; });
  check.best = check.checked.front().rank;
  if (check.checked.front().speedup > 1) return check;
  for (std::size_t i = 0; i < result.ranked.size(); ++i) {
    const PlanCandidate& candidate = result.ranked[i];
    if (is_one_after_another(candidate.name) && candidate.plan.members == first.members) check.best = i;
  }
  return check;
}

bool PlanCheck::disturbed() const {
  return baseline.disturbed ||
         std::any_of(checked.begin(), checked.end(), [](const CheckedCandidate& each) { return each.times.disturbed; });
}

Result<void> add_check(const PlanCheck& check, const PlanningResult& result, const ProfileSet& profiles,
                       PendingFiles& pending) {
  if (check.checked.empty() || check.disturbed()) return {};
  const std::map<std::string, std::string> names = recorded_names(profiles);
  for (const NamedTrace& each : profiles.profiles()) {
    Trace profile = *each.trace;
    for (const CheckedCandidate& run : check.checked)
      add_checked_plan(profile, record_of(result.ranked[run.rank], names, run.times.median, check.baseline.median));
    COHORT_CHECK(pending.add(each.file, trace_bytes(each.file, profile)));
  }
  return {};
}

nlohmann::ordered_json to_json(const PlanCheck& check, const PlanningResult& result) {
  nlohmann::ordered_json plans = nlohmann::ordered_json::array();
  for (const CheckedCandidate& each : check.checked) {
    plans.push_back({{"rank", each.rank + 1},
                     {"name", result.ranked[each.rank].name},
                     {"measured_ns", each.times.median.count()},
                     {"measured_speedup", each.speedup},
                     {"disturbed", each.times.disturbed}});
  }
  return {{"baseline_ns", check.baseline.median.count()},
          {"best_rank", check.best + 1},
          {"disturbed", check.disturbed()},
          {"plans", std::move(plans)}};
}

std::string check_text(const PlanCheck& check, const PlanningResult& result) {
  if (check.checked.empty()) return "checked: nothing, one after another is the only way\n";
  std::string text = "checked by running them alternately:\n";
  const auto row = [&](std::string_view rank, Nanoseconds step, double speedup, std::string_view name) {
    text += fmt::format("{:>3} {:>10} {:>7.2f}x  measured: {}\n", rank, format_time(step), speedup, name);
  };
  for (const CheckedCandidate& each : check.checked)
    row(fmt::format("{}", each.rank + 1), each.times.median, each.speedup, result.ranked[each.rank].name);
  row("-", check.baseline.median, 1, kOneAfterAnother);
  if (check.disturbed()) text += "the machine was never quiet: nothing of this is kept in the profiles; check again\n";
  return text;
}

}  // namespace cohort
