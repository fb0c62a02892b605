// The choice among several cases: numbers of members, minibatches, or both.

#include <algorithm>
#include <functional>
#include <iterator>
#include <map>
#include <numeric>
#include <tuple>
#include <utility>

#include "simulator/planner/explanation.hpp"
#include "simulator/planner/planner.hpp"

namespace cohort {
namespace {

// Of the second case and all after it: by then the best so far rules out most.
constexpr std::size_t kLeastSimulatedLater = 10;

std::int64_t samples_of(const PlanningCase& planning_case) {
  std::int64_t samples = 0;
  for (const Member& member : planning_case.base->members) samples += member.source.minibatch;
  return samples;
}

std::string members_name(std::size_t members) { return fmt::format("{} member{}", members, members == 1 ? "" : "s"); }

/// "minibatch 16", "minibatch 1 to 16".
std::string minibatch_name(const PlanningCase& planning_case) {
  const auto& members = planning_case.base->members;
  const auto [least, most] = std::minmax_element(members.begin(), members.end(), [](const Member& a, const Member& b) {
    return a.source.minibatch < b.source.minibatch;
  });
  if (least->source.minibatch == most->source.minibatch) return fmt::format("minibatch {}", least->source.minibatch);
  return fmt::format("minibatch {} to {}", least->source.minibatch, most->source.minibatch);
}

/// Whether members' training steps recompute cheap activations.
bool recomputes(const PlanningCase& planning_case) {
  const auto& members = planning_case.base->members;
  return std::any_of(members.begin(), members.end(),
                     [](const Member& each) { return each.source.training && each.source.training->recompute; });
}

/// By model: its members' minibatches, the largest first.
using Sizes = std::map<ModelSource, std::vector<std::int64_t>>;

Sizes sizes_of(const PlanningCase& planning_case) {
  Sizes sizes;
  for (const Member& member : planning_case.base->members) {
    ModelSource model = member.source;
    model.minibatch = 1;
    sizes[model].push_back(member.source.minibatch);
  }
  for (auto& [model, minibatches] : sizes) std::sort(minibatches.begin(), minibatches.end(), std::greater<>());
  return sizes;
}

/// Whether `more` has each member that `fewer` has, at the same minibatch or a larger one.
bool holds(const Sizes& more, const Sizes& fewer) {
  return std::all_of(fewer.begin(), fewer.end(), [&](const auto& entry) {
    const auto& [model, wanted] = entry;
    const auto found = more.find(model);
    return found != more.end() && found->second.size() >= wanted.size() &&
           std::equal(wanted.begin(), wanted.end(), found->second.begin(), std::less_equal<>());
  });
}

template <class Entry>
void append(std::vector<Entry>& all, std::vector<Entry>& more, const std::string& name) {
  for (Entry& each : more) each.name += ", " + name;
  all.insert(all.end(), std::make_move_iterator(more.begin()), std::make_move_iterator(more.end()));
}

/// Of a candidate: what the objective wants least of, comparable between cases.
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
  Merge(std::span<const PlanningCase> cases, const PlannerOptions& options)
      : cases_(cases), options_(options), planned_(cases.size()) {
    merged_.objective = options.objective;
    for (const PlanningCase& each : cases) {
      members_differ_ = members_differ_ || members_of(each) != members_of(cases.front());
      minibatches_differ_ = minibatches_differ_ || minibatch_name(each) != minibatch_name(cases.front());
      recomputing_differs_ = recomputing_differs_ || recomputes(each) != recomputes(cases.front());
      sizes_.push_back(sizes_of(each));
    }
  }

  Result<PlanningResult> run() {
    for (const std::size_t place : order()) {
      COHORT_CHECK(add(place));
      if (merged_.interrupted) break;
    }
    if (merged_.ranked.empty()) return tl::unexpected<Error>(*error_);  // no case had a plan, so each had an error
    rank();
    for (std::size_t place = 0; place < cases_.size(); ++place) {
      if (planned_[place]) merged_.cases.push_back(outcome_of(place));
    }
    for (PlanCandidate& each : merged_.ranked) {
      each.explanation = explanation_of(each, merged_);
      if (&each != &merged_.ranked.front()) each.program.reset();
    }
    PlanCandidate& first = merged_.ranked.front();
    if (took_fewer_) {
      first.explanation =
          fmt::format("fewest {} within {:.0f}% of the best; {}", minibatches_differ_ ? "samples a step" : "members",
                      100 * kAsGood, first.explanation);
    }
    Planned& chosen = *planned_[first.planning_case];
    merged_.baseline = std::move(chosen.baseline);
    append(merged_.pareto, chosen.pareto, name_of(first.planning_case));
    return std::move(merged_);
  }

 private:
  /// What is left of a case once its candidates are among the others.
  struct Planned {
    BaselinePrediction baseline;
    std::vector<ParetoPoint> pareto;
  };

  static std::size_t members_of(const PlanningCase& planning_case) { return planning_case.base->members.size(); }

  [[nodiscard]] std::string name_of(std::size_t place) const {
    std::string name;
    const auto add_part = [&](const std::string& part) { name += (name.empty() ? "" : ", ") + part; };
    if (members_differ_) add_part(members_name(members_of(cases_[place])));
    if (minibatches_differ_ || (name.empty() && !recomputing_differs_)) add_part(minibatch_name(cases_[place]));
    if (recomputing_differs_) add_part(recomputes(cases_[place]) ? "recomputing" : "keeping all");
    return name;
  }

  /// Few members are planned soon, and tell whether more have room. Large minibatches mostly have the better
  /// throughput; where they do not fit, smaller ones may.
  [[nodiscard]] std::vector<std::size_t> order() const {
    std::vector<std::size_t> order(cases_.size());
    std::iota(order.begin(), order.end(), std::size_t{0});
    std::stable_sort(order.begin(), order.end(), [&](std::size_t a, std::size_t b) {
      return std::tuple(members_of(cases_[a]), samples_of(cases_[b])) <
             std::tuple(members_of(cases_[b]), samples_of(cases_[a]));
    });
    return order;
  }

  Result<void> add(std::size_t place) {
    const PlanningCase& planning_case = cases_[place];
    const std::string name = name_of(place);
    const auto held = std::find_if(too_large_.begin(), too_large_.end(),
                                   [&](std::size_t other) { return holds(sizes_[place], sizes_[other]); });
    if (held != too_large_.end()) {
      const bool one = members_of(cases_[*held]) == 1;
      merged_.refused.push_back({name, fmt::format("{} {} not fit", name_of(*held), one ? "does" : "do")});
      return {};
    }
    PlannerOptions options = options_;
    if (best_) {
      const bool by_samples = options_.objective == Objective::kThroughput;
      constexpr double kNanoseconds = 1e9;
      const double good = *best_ * (1 + kAsGood);
      options.cost_to_beat = by_samples ? good * static_cast<double>(samples_of(planning_case)) * kNanoseconds : good;
      options.least_simulated = std::min(options.least_simulated, kLeastSimulatedLater);
    }
    auto planned = plan_model_batch(planning_case, options);
    if (!planned) return refuse(place, planned.error());
    const double cost = cost_of(options_.objective, planned->ranked.front());
    best_ = best_ ? std::min(*best_, cost) : cost;
    for (PlanCandidate& each : planned->ranked) each.planning_case = place;
    append(merged_.ranked, planned->ranked, name);
    append(merged_.screened, planned->screened, name);
    for (RefusedCandidate& each : planned->refused) refuse(std::move(each), name);
    merged_.interrupted = planned->interrupted;
    planned_[place] = Planned{std::move(planned->baseline), std::move(planned->pareto)};
    return {};
  }

  /// A case without any plan is one that is not possible; other errors end the search.
  Result<void> refuse(std::size_t place, const Error& error) {
    if (!error_ || error.code == ErrorCode::kInterrupted) error_ = error;
    if (error.code == ErrorCode::kInterrupted) {
      merged_.interrupted = true;
      return {};
    }
    if (error.code != ErrorCode::kDoesNotFit) return tl::unexpected<Error>(error);
    merged_.refused.push_back({name_of(place), error.message});
    // What holds these members takes no less memory; what it says of their latency is another matter.
    if (!options_.latency_limit) too_large_.push_back(place);
    return {};
  }

  /// What several cases refuse for one reason is said once.
  void refuse(RefusedCandidate refused, const std::string& name) {
    const auto [place, is_new] = refused_.try_emplace({refused.name, refused.reason}, merged_.refused.size());
    if (is_new) merged_.refused.push_back(std::move(refused));
    merged_.refused[place->second].name += (is_new ? ", " : "; ") + name;
  }

  /// Best first; in front of all the one with the fewest samples a step, then members, of those that are as good as the
  /// best.
  void rank() {
    std::vector<PlanCandidate>& ranked = merged_.ranked;
    const auto cost = [&](const PlanCandidate& each) { return cost_of(options_.objective, each); };
    std::stable_sort(ranked.begin(), ranked.end(), [&](const auto& a, const auto& b) { return cost(a) < cost(b); });
    const double good = cost(ranked.front()) * (1 + kAsGood);
    const auto end = std::find_if(ranked.begin(), ranked.end(), [&](const auto& each) { return cost(each) > good; });
    const auto size = [&](const PlanCandidate& each) {
      const PlanningCase& planning_case = cases_[each.planning_case];
      return std::pair(samples_of(planning_case), members_of(planning_case));
    };
    const auto chosen =
        std::min_element(ranked.begin(), end, [&](const auto& a, const auto& b) { return size(a) < size(b); });
    took_fewer_ = chosen != ranked.begin();
    std::rotate(ranked.begin(), chosen, chosen + 1);
  }

  [[nodiscard]] CaseOutcome outcome_of(std::size_t place) const {
    CaseOutcome outcome;
    outcome.name = name_of(place);
    outcome.members = members_of(cases_[place]);
    const std::vector<Member>& members = cases_[place].base->members;
    const std::int64_t minibatch = members.front().source.minibatch;
    const auto same = [&](const Member& each) { return each.source.minibatch == minibatch; };
    if (std::all_of(members.begin(), members.end(), same)) outcome.minibatch = minibatch;
    outcome.baseline = planned_[place]->baseline.step_time;
    if (outcome.baseline > Nanoseconds(0))
      outcome.baseline_samples_per_second = static_cast<double>(samples_of(cases_[place])) / seconds(outcome.baseline);
    const auto best = std::find_if(merged_.ranked.begin(), merged_.ranked.end(),
                                   [&](const PlanCandidate& each) { return each.planning_case == place; });
    outcome.best = static_cast<std::size_t>(best - merged_.ranked.begin());
    return outcome;
  }

  std::span<const PlanningCase> cases_;
  const PlannerOptions& options_;
  bool members_differ_ = false;  ///< between cases
  bool minibatches_differ_ = false;
  bool recomputing_differs_ = false;
  std::vector<Sizes> sizes_;                     ///< by case
  std::vector<std::optional<Planned>> planned_;  ///< by case
  PlanningResult merged_;
  std::map<std::pair<std::string, std::string>, std::size_t> refused_;  ///< by name and reason, where it stands
  std::optional<double> best_;                                          ///< as cost_of() has it
  std::vector<std::size_t> too_large_;                                  ///< cases, for the memory that there may be
  bool took_fewer_ = false;                                             ///< than the very best has
  std::optional<Error> error_;
};

}  // namespace

Result<PlanningResult> plan_best_of(std::span<const PlanningCase> cases, const PlannerOptions& options) {
  if (cases.empty()) return fail(ErrorCode::kUsage, "nothing is given to choose from");
  return Merge(cases, options).run();
}

}  // namespace cohort
