// Plans with the ops fused that are asked for, or those that make the whole step fastest.

#include <algorithm>
#include <utility>

#include "simulator/planner/evaluate.hpp"
#include "simulator/planner/fuse_ops.hpp"
#include "simulator/planner/learned_ratios.hpp"

namespace cohort {
namespace {

constexpr std::size_t kMostClimbs = 3;

/// Nothing fused, with the base's settings.
Variant bare_variant(const Plan& base, RestKind rest, int streams) {
  Variant variant;
  variant.rest = rest;
  variant.streams = streams;
  variant.sharing = base.input.sharing;
  variant.launch = base.launch;
  variant.input = input_setting(base);
  variant.launch_threads = base.launch_threads;
  return variant;
}

/// Simulates plans that differ in what is fused, each once.
class FusionSearch {
 public:
  FusionSearch(const PlanningCase& planning_case, const CancelToken* cancel)
      : case_(planning_case),
        cancel_(cancel),
        evaluator_(planning_case, cancel),
        maker_(planning_case, evaluator_.times(), evaluator_.footprint(planning_case.models)) {}

  Result<FusionChoice> run(const Variant& bare) {
    COHORT_CHECK(try_variant(bare));
    for (const Variant& variant : maker_.fusions(bare)) COHORT_CHECK(try_variant(variant));
    for (const std::size_t start : fastest_fused(kMostClimbs)) COHORT_CHECK(climb(start));
    return chosen();
  }

 private:
  /// By a bound of recorded times, of which what was learned may make less.
  [[nodiscard]] bool cannot_be_least(const Variant& variant) {
    if (!least_fused_) return false;
    const double least = case_.learned != nullptr ? case_.learned->least() : 1;
    return least * seconds(maker_.bound(variant)) >= seconds(*least_fused_);
  }

  struct Tried {
    Variant variant;
    std::optional<Nanoseconds> step_time;  ///< absent where it is not possible
  };

  /// Where it stands; absent where it cannot be the fastest that fuses, or enough were tried.
  Result<std::optional<std::size_t>> try_variant(const Variant& variant) {
    for (std::size_t i = 0; i < tried_.size(); ++i) {
      if (tried_[i].variant == variant) return i;
    }
    if (tried_.size() >= kMostFusions || cannot_be_least(variant)) return std::nullopt;
    const Result<Evaluation> evaluation = evaluator_.evaluate(maker_.plan_of(variant), case_.models);
    if (!evaluation && cancel_ != nullptr) COHORT_CHECK(cancel_->check());
    if (!evaluation && !error_) error_ = evaluation.error();
    Tried& tried = tried_.emplace_back(Tried{variant, std::nullopt});
    if (!evaluation) return tried_.size() - 1;
    tried.step_time = evaluation->prediction.step_time;
    const bool is_least = !least_fused_ || *tried.step_time < *least_fused_;
    if (!variant.fused.empty() && is_least) least_fused_ = tried.step_time;
    return tried_.size() - 1;
  }

  /// Of those that fuse anything, fastest first.
  [[nodiscard]] std::vector<std::size_t> fastest_fused(std::size_t most) const {
    std::vector<std::size_t> fused;
    for (std::size_t i = 0; i < tried_.size(); ++i) {
      if (tried_[i].step_time && !tried_[i].variant.fused.empty()) fused.push_back(i);
    }
    std::stable_sort(fused.begin(), fused.end(),
                     [&](std::size_t a, std::size_t b) { return *tried_[a].step_time < *tried_[b].step_time; });
    if (fused.size() > most) fused.resize(most);
    return fused;
  }

  /// Takes any change that is faster, as long as there is one.
  Result<void> climb(std::size_t place) {
    for (bool better = true; better;) {
      better = false;
      for (const Variant& change : maker_.fusion_changed(tried_[place].variant)) {
        if (change.fused.empty()) continue;
        COHORT_TRY(const std::optional<std::size_t> changed, try_variant(change));
        if (!changed || !tried_[*changed].step_time) continue;
        better = *tried_[*changed].step_time < *tried_[place].step_time;
        if (!better) continue;
        place = *changed;
        break;
      }
    }
    return {};
  }

  Result<FusionChoice> chosen() {
    const std::vector<std::size_t> fused = fastest_fused(1);
    const std::optional<Nanoseconds> apart = tried_.front().step_time;
    if (fused.empty() && !apart) return tl::unexpected<Error>(*error_);
    FusionChoice choice;
    choice.simulated = tried_.size();
    choice.fuses = !fused.empty() && (!apart || *tried_[fused.front()].step_time < *apart);
    if (!fused.empty() && !choice.fuses) choice.would_cost = *tried_[fused.front()].step_time - *apart;
    choice.plan = maker_.plan_of(tried_[choice.fuses ? fused.front() : 0].variant);
    return choice;
  }

  const PlanningCase& case_;
  const CancelToken* cancel_;
  PlanEvaluator evaluator_;
  VariantMaker maker_;
  std::vector<Tried> tried_;                ///< the first fuses nothing
  std::optional<Nanoseconds> least_fused_;  ///< the shortest step of those that fuse anything
  std::optional<Error> error_;              ///< of the first that was not possible
};

}  // namespace

Result<Plan> plan_with_fused_ops(const PlanningCase& planning_case, RestKind rest, int streams,
                                 const std::vector<std::string>& patterns, std::vector<std::string>* left_alone) {
  PlanEvaluator evaluator(planning_case);
  VariantMaker maker(planning_case, evaluator.times(), evaluator.footprint(planning_case.models));
  std::vector<std::string> alone;
  COHORT_TRY(const Variant variant,
             maker.with_fused(bare_variant(*planning_case.base, rest, streams), patterns, alone));
  if (left_alone != nullptr) *left_alone = std::move(alone);
  return maker.plan_of(variant);
}

Result<FusionChoice> choose_fusion(const PlanningCase& planning_case, RestKind rest, int streams,
                                   const CancelToken* cancel) {
  return FusionSearch(planning_case, cancel).run(bare_variant(*planning_case.base, rest, streams));
}

}  // namespace cohort
