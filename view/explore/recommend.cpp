// The planner's candidates, of profiles and of traces of runs.

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <utility>

#include "planning/choose_members.hpp"
#include "simulator/planner/candidate_name.hpp"
#include "simulator/report/ranking_text.hpp"
#include "view/explore/pareto.hpp"
#include "view/explore/plan_settings.hpp"
#include "view/explore/profile_exploration.hpp"
#include "view/explore/trace_exploration.hpp"

namespace cohort {
namespace {

void add_gain(const PlanCandidate& candidate, ExploreCandidate& explored) {
  if (!candidate.explained) return;
  for (std::size_t i = 0; i < kGainCauses; ++i) {
    const Nanoseconds saved = candidate.attribution.saved[i];
    if (saved != Nanoseconds(0)) explored.gain.push_back({std::string(to_string(static_cast<GainCause>(i))), saved});
  }
}

/// What every prediction says of a way to run.
template <class Prediction>
ExploreCandidate predicted_candidate(std::string name, const Prediction& prediction, Nanoseconds baseline,
                                     double speedup) {
  ExploreCandidate explored;
  explored.name = std::move(name);
  explored.step = prediction.step_time;
  explored.baseline = baseline;
  explored.speedup = speedup;
  explored.memory = prediction.memory.total();
  explored.lower_bound = prediction.lower_bound;
  explored.upper_bound = prediction.upper_bound;
  return explored;
}

}  // namespace

Result<Plan> ProfileExploration::searched_base(const ExploreSettings& settings) const {
  ExploreSettings asked = settings;
  asked.groups = {all_ops(Strategy::kSerial)};
  asked.member_streams.clear();
  asked.streams = asked.launch_threads = 1;
  asked.graphs = true;
  COHORT_TRY(Plan base, plan_of(asked));
  base.groups.clear();
  return base;
}

ExploreCandidate ProfileExploration::candidate_of(const PlanCandidate& candidate, Nanoseconds baseline) const {
  const Prediction& prediction = candidate.prediction;
  ExploreCandidate explored = predicted_candidate(candidate.name, prediction, baseline, candidate.speedup);
  explored.interval = candidate.interval;
  explored.per_second = prediction.samples_per_second;
  explored.p99_latency = prediction.p99_latency;
  explored.explanation = candidate.explanation;
  explored.is_baseline = is_one_after_another(candidate.name);
  add_gain(candidate, explored);
  if (auto settings = settings_of(candidate.plan)) explored.settings = *std::move(settings);
  return explored;
}

ExploreCandidate ProfileExploration::candidate_of(const ParetoPoint& point, Nanoseconds baseline) const {
  ExploreCandidate explored;
  explored.name = point.name;
  explored.step = point.step_time;
  explored.baseline = baseline;
  explored.speedup = seconds(baseline) / seconds(point.step_time);
  explored.memory = point.memory.total();
  explored.explanation = fmt::format("less memory: {} of workspace", format_bytes(point.memory.workspace));
  std::int64_t samples = 0;
  for (const Member& member : point.plan.members) samples += member.source.minibatch;
  explored.per_second = static_cast<double>(samples) / seconds(point.step_time);
  if (auto settings = settings_of(point.plan)) explored.settings = *std::move(settings);
  return explored;
}

Result<Recommendation> ProfileExploration::recommend(const ExploreSettings& settings, const RecommendOptions& options,
                                                     const CancelToken& cancel, const ExploreProgress& progress) {
  COHORT_TRY(const Plan base, searched_base(settings));
  std::vector<std::unique_ptr<MemberCase>> searched;
  std::vector<PlanningCase> cases;
  std::vector<std::vector<int>> numbers{settings.models};
  if (options.choose_models) numbers = counts_up_to(*options.choose_models);
  const bool chooses = options.choose_minibatch || options.choose_models;
  for (const std::vector<int>& counts : numbers) {
    for (const std::vector<ModelSource>& sources : by_minibatch_) {
      const bool is_asked = &sources == &sources_at(settings.minibatch);
      if (!options.choose_minibatch && !is_asked) continue;
      Plan of_case = base;
      if (chooses) of_case.members = cohort::members_of(sources, counts);
      COHORT_TRY(searched.emplace_back(), case_of(std::move(of_case)));
      cases.push_back(searched.back()->planning_case);
    }
  }
  PlannerOptions planner;
  planner.objective = options.objective;
  planner.latency_limit = options.latency_limit;
  planner.pareto = options.less_memory;
  planner.search_decode_workers = settings.decode_workers == 0;
  planner.search_buffers = !settings.buffers;
  planner.search_launch_threads = true;
  planner.cancel = &cancel;
  planner.progress = [&](std::size_t done, std::size_t of) {
    if (progress) progress(done, of, "simulating plans");
  };
  COHORT_TRY(PlanningResult result, chooses ? plan_best_of(cases, planner) : plan_model_batch(cases.front(), planner));

  return recommendation_of(std::move(result), chooses);
}

/// `chooses`: of several cases, each with a baseline of its own.
Recommendation ProfileExploration::recommendation_of(PlanningResult result, bool chooses) const {
  Recommendation found;
  for (const PlanCandidate& each : result.ranked) {
    const Nanoseconds step = each.prediction.step_time;
    const Nanoseconds of_case(std::llround(static_cast<double>(step.count()) * each.speedup));
    found.candidates.push_back(candidate_of(each, chooses ? of_case : result.baseline.step_time));
  }
  found.ranked = found.candidates.size();
  for (const ParetoPoint& point : result.pareto) {
    const bool is_ranked = std::any_of(result.ranked.begin(), result.ranked.end(), [&](const PlanCandidate& each) {
      return each.prediction.step_time == point.step_time && each.prediction.memory.total() == point.memory.total();
    });
    if (!is_ranked) found.candidates.push_back(candidate_of(point, found.candidates.front().baseline));
  }
  for (const RefusedCandidate& each : result.refused) found.refused.push_back({each.name, each.reason});
  found.interrupted = result.interrupted;
  find_fronts(found);
  found.found = std::move(result);
  return found;
}

ExploreCandidate TraceExploration::candidate_of(const RankedWhatIf& ranked, const ExploreSettings& settings) const {
  const WhatIfPrediction& prediction = ranked.prediction;
  ExploreCandidate explored =
      predicted_candidate(way_in_words(ranked.what_if), prediction, prediction.baseline, prediction.speedup);
  explored.per_second = prediction.steps_per_second;
  explored.gain = prediction.gain;
  explored.explanation = explanation_of(prediction);
  explored.settings = settings_with(settings, ranked.what_if);
  return explored;
}

Result<Recommendation> TraceExploration::recommend(const ExploreSettings& settings, const RecommendOptions& options,
                                                   const CancelToken& cancel, const ExploreProgress& progress) {
  if (options.objective != Objective::kThroughput || options.latency_limit)
    return fail(ErrorCode::kUsage, "objective: traces of runs only allow the shortest step; profiles allow the others");
  ExploreSettings asked = settings;
  asked.streams = asked.launch_threads = 1;
  asked.graphs = false;
  asked.processes = Processes::kOne;
  asked.fuse = FuseChoice::kNone;
  asked.fused.clear();
  COHORT_TRY(WhatIf base, what_if_of(asked));
  base.streams.reset();
  RankOptions rank;
  rank.memory_limit = settings.limits.memory;
  rank.cancel = &cancel;
  rank.progress = [&](std::size_t done) {
    if (progress) progress(done, 0, "simulating ways");
  };
  COHORT_TRY(WhatIfRanking ranking, rank_what_ifs(traces_->what_if_case(), base, rank));
  Recommendation found;
  for (const RankedWhatIf& each : ranking.ranked) found.candidates.push_back(candidate_of(each, settings));
  found.ranked = found.candidates.size();
  for (const RefusedWhatIf& each : ranking.refused) found.refused.push_back({each.name, each.reason});
  found.interrupted = ranking.interrupted;
  find_fronts(found);
  found.found = std::move(ranking);
  return found;
}

}  // namespace cohort
