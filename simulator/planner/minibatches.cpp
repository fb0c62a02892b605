// The choice among several minibatches.

#include <algorithm>
#include <iterator>
#include <numeric>

#include "simulator/planner/explanation.hpp"
#include "simulator/planner/planner.hpp"

namespace cohort {
namespace {

// Of the second minibatch and all after it: by then the best so far rules out most.
constexpr std::size_t kLeastSimulatedLater = 10;

std::int64_t samples_of(const PlanningCase& planning_case) {
  std::int64_t samples = 0;
  for (const Member& member : planning_case.base->members) samples += member.source.minibatch;
  return samples;
}

/// "minibatch 16", "minibatch 1 to 16".
std::string name_of(const PlanningCase& planning_case) {
  const auto& members = planning_case.base->members;
  const auto [least, most] = std::minmax_element(members.begin(), members.end(), [](const Member& a, const Member& b) {
    return a.source.minibatch < b.source.minibatch;
  });
  if (least->source.minibatch == most->source.minibatch) return fmt::format("minibatch {}", least->source.minibatch);
  return fmt::format("minibatch {} to {}", least->source.minibatch, most->source.minibatch);
}

template <class Entry>
void append(std::vector<Entry>& all, std::vector<Entry>& more, const std::string& minibatch) {
  for (Entry& each : more) each.name += ", " + minibatch;
  all.insert(all.end(), std::make_move_iterator(more.begin()), std::make_move_iterator(more.end()));
}

/// Of a candidate: what the objective wants least of, comparable between minibatches.
double cost_of(Objective objective, const PlanCandidate& candidate) {
  switch (objective) {
    case Objective::kThroughput:
      break;
    case Objective::kStepTime:
      return static_cast<double>(candidate.prediction.launch_to_end.count());
    case Objective::kP99Latency:
      return static_cast<double>(candidate.prediction.p99_latency.count());
    case Objective::kBalancedGain:
      return candidate.least_gain > 0 ? 1 / candidate.least_gain : 0;
  }
  const double samples = candidate.prediction.samples_per_second;
  return samples > 0 ? 1 / samples : 0;
}

/// Candidates of several cases on the way to one result.
class Merge {
 public:
  Merge(std::span<const PlanningCase> cases, const PlannerOptions& options) : cases_(cases), options_(options) {
    merged_.objective = options.objective;
    merged_.minibatches.resize(cases.size());
  }

  Result<PlanningResult> run() {
    std::vector<std::size_t> order(cases_.size());
    std::iota(order.begin(), order.end(), std::size_t{0});
    // Large minibatches mostly have the better throughput.
    std::stable_sort(order.begin(), order.end(),
                     [&](std::size_t a, std::size_t b) { return samples_of(cases_[a]) > samples_of(cases_[b]); });
    for (const std::size_t place : order) {
      COHORT_CHECK(add(place));
      if (merged_.interrupted) break;
    }
    if (merged_.ranked.empty()) return tl::unexpected<Error>(*error_);  // no case had a plan, so each had an error
    std::stable_sort(merged_.ranked.begin(), merged_.ranked.end(), [&](const auto& a, const auto& b) {
      return cost_of(options_.objective, a) < cost_of(options_.objective, b);
    });
    for (PlanCandidate& each : merged_.ranked) each.explanation = explanation_of(each, merged_);
    const auto unplanned = [](const MinibatchBaseline& each) { return each.name.empty(); };
    merged_.minibatches.erase(std::remove_if(merged_.minibatches.begin(), merged_.minibatches.end(), unplanned),
                              merged_.minibatches.end());
    return std::move(merged_);
  }

 private:
  Result<void> add(std::size_t place) {
    const PlanningCase& planning_case = cases_[place];
    const std::string name = name_of(planning_case);
    PlannerOptions options = options_;
    if (best_) {
      const bool by_samples = options_.objective == Objective::kThroughput;
      constexpr double kNanoseconds = 1e9;
      options.cost_to_beat =
          by_samples ? *best_ * static_cast<double>(samples_of(planning_case)) * kNanoseconds : *best_;
      options.least_simulated = std::min(options.least_simulated, kLeastSimulatedLater);
    }
    auto planned = plan_model_batch(planning_case, options);
    if (!planned) return refuse(name, planned.error());
    MinibatchBaseline& baseline = merged_.minibatches[place];
    baseline = {name, planned->baseline.step_time, 0};
    if (baseline.step_time > Nanoseconds(0))
      baseline.samples_per_second = static_cast<double>(samples_of(planning_case)) / seconds(baseline.step_time);
    const double cost = cost_of(options_.objective, planned->ranked.front());
    if (!best_ || cost < *best_) {
      best_ = cost;
      merged_.baseline = std::move(planned->baseline);
      merged_.pareto.clear();
      append(merged_.pareto, planned->pareto, name);
    }
    for (PlanCandidate& each : planned->ranked) each.planning_case = place;
    append(merged_.ranked, planned->ranked, name);
    append(merged_.screened, planned->screened, name);
    append(merged_.refused, planned->refused, name);
    merged_.interrupted = planned->interrupted;
    return {};
  }

  /// A minibatch without any plan is one that is not possible; other errors end the search.
  Result<void> refuse(const std::string& name, const Error& error) {
    if (!error_) error_ = error;
    if (error.code == ErrorCode::kInterrupted) {
      merged_.interrupted = true;
      return {};
    }
    if (error.code != ErrorCode::kDoesNotFit) return tl::unexpected<Error>(error);
    merged_.refused.push_back({name, error.message});
    return {};
  }

  std::span<const PlanningCase> cases_;
  const PlannerOptions& options_;
  PlanningResult merged_;
  std::optional<double> best_;  ///< as cost_of() has it
  std::optional<Error> error_;
};

}  // namespace

Result<PlanningResult> plan_best_minibatch(std::span<const PlanningCase> cases, const PlannerOptions& options) {
  if (cases.empty()) return fail(ErrorCode::kUsage, "no minibatch is given to choose from");
  return Merge(cases, options).run();
}

}  // namespace cohort
