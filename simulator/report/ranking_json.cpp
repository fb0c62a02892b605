#include "simulator/report/ranking_json.hpp"

#include <nlohmann/json.hpp>
#include <utility>

#include "simulator/report/prediction_json.hpp"

namespace cohort {
namespace {

using nlohmann::ordered_json;

/// What the best saves more than this one, by cause.
ordered_json lost_json(const PlanCandidate& best, const PlanCandidate& candidate) {
  ordered_json lost = ordered_json::object();
  for (const LostGain& each : lost_to(best, candidate)) lost[key_of(to_string(each.cause))] = each.less.count();
  return lost;
}

ordered_json to_json(const PlanCandidate& candidate, const PlanCandidate& best) {
  ordered_json gain = ordered_json::object();
  for (std::size_t i = 0; i < kGainCauses; ++i) {
    const auto cause = static_cast<GainCause>(i);
    gain[key_of(to_string(cause))] = candidate.attribution.of(cause).count();
  }
  const MemoryUse& memory = candidate.prediction.memory;
  ordered_json json = {{"name", candidate.name},
                       {"step_ns", candidate.prediction.step_time.count()},
                       {"predicted_speedup", candidate.speedup},
                       {"speedup_80_low", candidate.interval.low},
                       {"speedup_80_high", candidate.interval.high},
                       {"samples_per_second", candidate.prediction.samples_per_second},
                       {"launch_to_end_ns", candidate.prediction.launch_to_end.count()},
                       {"p99_latency_ns", candidate.prediction.p99_latency.count()},
                       {"least_gain", candidate.least_gain},
                       {"lower_bound_ns", candidate.prediction.lower_bound.count()},
                       {"upper_bound_ns", candidate.prediction.upper_bound.count()},
                       {"binding", candidate.prediction.binding.resource},
                       {"utilisation", candidate.prediction.binding.utilisation},
                       {"steps_profiled", candidate.prediction.steps(CostOrigin::kProfiled)},
                       {"steps_interpolated", candidate.prediction.steps(CostOrigin::kInterpolated)},
                       {"steps_analytic", candidate.prediction.steps(CostOrigin::kAnalytic)},
                       {"memory_bytes", memory.total().value},
                       {"workspace_bytes", memory.workspace.value},
                       {"saved_ns", std::move(gain)},
                       {"explanation", candidate.explanation}};
  if (candidate.limited && candidate.explained) {
    json["equal_shares_ns"] = candidate.equal_shares ? ordered_json(candidate.equal_shares->count()) : ordered_json();
  }
  const bool comparable = candidate.planning_case == best.planning_case;
  if (candidate.explained && comparable) json["lost_to_best_ns"] = lost_json(best, candidate);
  return json;
}

/// Each case that was chosen from.
ordered_json cases_json(const PlanningResult& result) {
  ordered_json cases = ordered_json::array();
  for (const CaseOutcome& each : result.cases) {
    const PlanCandidate& best = result.ranked[each.best];
    cases.push_back({{"name", each.name},
                     {"members", each.members},
                     {"minibatch", each.minibatch ? ordered_json(*each.minibatch) : ordered_json()},
                     {"baseline_ns", each.baseline.count()},
                     {"samples_per_second", each.baseline_samples_per_second},
                     {"best_rank", each.best + 1},
                     {"best_step_ns", best.prediction.step_time.count()},
                     {"best_samples_per_second", best.prediction.samples_per_second},
                     {"best_speedup", best.speedup},
                     {"best_p99_latency_ns", best.prediction.p99_latency.count()},
                     {"best_memory_bytes", best.prediction.memory.total().value}});
  }
  return cases;
}

}  // namespace

ordered_json to_json(const PlanningResult& result, bool by_models) {
  ordered_json ranked = ordered_json::array();
  for (const PlanCandidate& candidate : result.ranked) ranked.push_back(to_json(candidate, result.ranked.front()));
  ordered_json screened = ordered_json::array();
  for (const ScreenedCandidate& candidate : result.screened) {
    screened.push_back(
        {{"name", candidate.name}, {"bound_ns", candidate.bound.count()}, {"cannot_win", candidate.cannot_win}});
  }
  ordered_json refused = ordered_json::array();
  for (const RefusedCandidate& candidate : result.refused)
    refused.push_back({{"name", candidate.name}, {"reason", candidate.reason}});
  ordered_json pareto = ordered_json::array();
  for (const ParetoPoint& point : result.pareto) {
    pareto.push_back({{"name", point.name},
                      {"step_ns", point.step_time.count()},
                      {"memory_bytes", point.memory.total().value},
                      {"workspace_bytes", point.memory.workspace.value}});
  }
  return {{"baseline_ns", result.baseline.step_time.count()},
          {"minibatches", by_models ? ordered_json::array() : cases_json(result)},
          {"model_batches", by_models ? cases_json(result) : ordered_json::array()},
          {"objective", to_string(result.objective)},
          {"interrupted", result.interrupted},
          {"ranked", std::move(ranked)},
          {"pareto", std::move(pareto)},
          {"screened", std::move(screened)},
          {"refused", std::move(refused)}};
}

ordered_json to_json(const WhatIfRanking& ranking) {
  ordered_json ranked = ordered_json::array();
  for (const auto& [name, what_if, prediction] : ranking.ranked) {
    ordered_json way = {{"name", name},
                        {"streams", what_if.streams ? ordered_json(*what_if.streams) : ordered_json()},
                        {"processes", to_string(what_if.processes)},
                        {"graphs", what_if.graphs},
                        {"launch_threads", what_if.launch_threads},
                        {"fuse", what_if.fuse == FuseChoice::kAuto ? "auto" : "none"},
                        {"steps_per_second", prediction.steps_per_second}};
    way.update(to_json(static_cast<const RunReport&>(prediction)));
    ranked.push_back(std::move(way));
  }
  ordered_json refused = ordered_json::array();
  for (const RefusedWhatIf& each : ranking.refused) refused.push_back({{"name", each.name}, {"reason", each.reason}});
  return {{"baseline_ns", ranking.ranked.front().prediction.baseline.count()},
          {"interrupted", ranking.interrupted},
          {"ranked", std::move(ranked)},
          {"refused", std::move(refused)}};
}

}  // namespace cohort
