#include "simulator/planner/search.hpp"

#include <algorithm>
#include <functional>
#include <iterator>
#include <optional>
#include <span>
#include <tuple>
#include <utility>

#include "simulator/planner/explanation.hpp"
#include "simulator/planner/few_members.hpp"
#include "simulator/planner/input_settings.hpp"
#include "simulator/planner/learned_ratios.hpp"
#include "simulator/planner/pareto.hpp"
#include "simulator/planner/refusals.hpp"
#include "simulator/planner/scoring.hpp"
#include "simulator/planner/uncertainty.hpp"

namespace cohort {
namespace {

constexpr std::size_t kMostRunsToTrim = 8;
constexpr std::size_t kMostRounds = 8;
constexpr std::size_t kMostChanges = 16;  // a round
constexpr std::size_t kMostStarts = 4;
constexpr std::size_t kMostToSplit = 3;  // plans whose branches are run side by side
constexpr std::size_t kMostSplit = 8;    // ways of that which are simulated

struct Waiting {  // a variant, until it is its turn
  Nanoseconds estimate{};
  std::size_t place = 0;
  Nanoseconds bound{};
};

class Search {
 public:
  /// `of_few`: what was found of some of the members, if anything.
  Search(const PlanningCase& planning_case, const PlannerOptions& options, PlanningResult& result,
         const PlanningResult* of_few = nullptr)
      : case_(planning_case),
        options_(options),
        outcome_(result),
        of_few_(of_few),
        part_(searched_part(planning_case)),
        scoring_(planning_case, options, result.baseline),
        maker_(planning_case, scoring_.evaluator().times(), scoring_.evaluator().footprint(planning_case.models)) {}

  Result<void> run() {
    outcome_.objective = options_.objective;
    std::vector<Variant> variants = maker_.variants(outcome_.refused);
    COHORT_CHECK(try_promising(variants));
    if (scored_.empty() && searches_buffers()) {
      for (Variant& variant : variants) variant.input.buffers = 1;  // least memory
      COHORT_CHECK(try_promising(variants));
    }
    COHORT_CHECK(trim_best());
    COHORT_CHECK(improve_best([this](const Variant& variant) { return maker_.one_op_changed(variant); }));
    COHORT_CHECK(split_best());
    COHORT_CHECK(improve_best([this](const Variant& variant) { return input_changed(variant); }));
    if (options_.search_launch_threads) {
      // Of plans that are launched one by one, which captured ones may have left behind.
      const auto changes = [this](const Variant& variant) { return maker_.launch_threads_changed(variant); };
      COHORT_CHECK(improve_best(changes, [&](const Variant& variant) { return !changes(variant).empty(); }));
    }
    const auto parts = [this](const Variant& variant) { return maker_.multiprocessors_changed(variant); };
    COHORT_CHECK(improve_best(parts, [&](const Variant& variant) { return !parts(variant).empty(); }));
    COHORT_CHECK(add_in_turn());
    return rank_all();
  }

  /// Of the first of these variants alone, which are the best of few members, in their order.
  Result<void> run_among(const std::vector<Variant>& variants) {
    outcome_.objective = options_.objective;
    const std::size_t count = std::min(worth_trying(*of_few_, case_), variants.size());
    COHORT_CHECK(add_in_turn());  // first, and without its program: two of them would take twice the memory
    for (Scored& in_turn : scored_) in_turn.program.reset();
    COHORT_CHECK(try_all(std::span(variants).first(count)));
    const bool nothing_new = std::ranges::all_of(scored_, &Scored::is_in_turn);
    if (outcome_.interrupted && nothing_new) return options_.cancel->check();
    for (std::size_t i = count; i < variants.size(); ++i) screen(variants[i], maker_.bound(variants[i]));
    return rank_all();
  }

  /// What was found, the best first, and behind it what was not simulated.
  [[nodiscard]] std::vector<Variant> best_variants() const {
    std::vector<Variant> variants;
    for (const Scored& scored : scored_) {
      if (!scored.is_in_turn) variants.push_back(scored.variant);
    }
    variants.insert(variants.end(), screened_.begin(), screened_.end());
    return variants;
  }

 private:
  Result<void> rank_all() {
    if (scored_.empty()) return tl::unexpected<Error>(refusals_.no_plan(scoring_.evaluator(), case_.models));
    rank(scored_);
    COHORT_CHECK(finish());
    if (options_.pareto) {
      COHORT_TRY(outcome_.pareto, pareto_points(outcome_.ranked, case_.models, scoring_.evaluator(),
                                                options_.latency_limit, [this] { return interrupted(); }));
    }
    return {};
  }

  /// Of a number that is right for small programs, what there is time for; at least `least`.
  [[nodiscard]] std::size_t searched(std::size_t number, std::size_t least) const {
    return std::max(std::min(number, least), static_cast<std::size_t>(part_ * static_cast<double>(number)));
  }

  /// Where programs are large each goes before the next is made, and the first, which is most likely the best, comes
  /// last: its program is asked for again. Who stops meanwhile gets the next best.
  Result<void> try_all(std::span<const Variant> variants) {
    const std::vector<const Variant*> waiting = pointers_to(variants);
    const bool is_large = scoring_.one_at_a_time();
    for (std::size_t i = 0; i < variants.size(); ++i) {
      const std::size_t at = is_large ? variants.size() - 1 - i : i;
      for (std::size_t before = 0; is_large && before < scored_.size(); ++before) scored_[before].program.reset();
      look_ahead(std::span(waiting).subspan(at), [](std::size_t) { return false; });
      COHORT_TRY(const bool go_on, try_variant(variants[at]));
      if (!go_on) break;
    }
    return {};
  }

  /// The most promising first, by the sum over their ops; then only what its bound still lets win.
  Result<void> try_promising(const std::vector<Variant>& variants) {
    std::vector<Waiting> order;
    for (std::size_t i = 0; i < variants.size(); ++i) {
      order.push_back({maker_.estimate(variants[i]), i, maker_.bound(variants[i])});
    }
    std::sort(order.begin(), order.end(), [](const Waiting& a, const Waiting& b) {
      return std::tuple(a.estimate, a.place) < std::tuple(b.estimate, b.place);
    });
    const std::size_t most = std::max<std::size_t>(1, options_.most_simulated);
    const std::size_t least = std::min(searched(options_.least_simulated, 8), most);
    const std::size_t of = std::min(most, order.size());
    std::vector<const Variant*> waiting;
    for (const Waiting& each : order) waiting.push_back(&variants[each.place]);
    std::size_t done = 0;
    for (std::size_t turn = 0; turn < order.size(); ++turn) {
      const Waiting& each = order[turn];
      const bool cannot_win = done >= least && loses_by_bound(each.bound);
      if (done >= most || cannot_win) {
        screen(variants[each.place], each.bound);
        continue;
      }
      look_ahead(std::span(waiting).subspan(turn), [&](std::size_t i) {
        return done + i >= most || (done + i >= least && loses_by_bound(order[turn + i].bound));
      });
      COHORT_TRY(const bool go_on, try_variant(variants[each.place]));
      if (!go_on) return {};
      ++done;
      if (options_.progress) options_.progress(done, of);
    }
    return {};
  }

  /// Bounds are of the step time, and the time from launch to end is no less; what members wait for is another matter.
  [[nodiscard]] bool loses_by_bound(Nanoseconds bound) const {
    const bool bounded = options_.objective == Objective::kThroughput || options_.objective == Objective::kStepTime;
    const double scale = case_.learned == nullptr ? 1 : case_.learned->least();
    const double least = static_cast<double>(bound.count()) * scale;
    if (bounded && options_.cost_to_beat && least >= *options_.cost_to_beat) return true;
    return bounded && !scored_.empty() && least >= scored_[best()].cost;
  }

  void screen(const Variant& variant, Nanoseconds bound) {
    outcome_.screened.push_back({maker_.name_of(variant), bound, loses_by_bound(bound)});
    screened_.push_back(variant);
  }

  void refuse(const std::string& name, ErrorCode code, std::string reason) {
    refusals_.add({code, reason});
    outcome_.refused.push_back({name, std::move(reason)});
  }

  /// Once cancelled; what has been found by then stands.
  bool interrupted() {
    outcome_.interrupted = outcome_.interrupted || (options_.cancel != nullptr && options_.cancel->cancelled());
    return outcome_.interrupted;
  }

  [[nodiscard]] Scored planned(const Variant& variant) {
    Scored scored;
    scored.variant = variant;
    PlanCandidate& candidate = scored.candidate;
    candidate.name = maker_.name_of(variant);
    candidate.plan = maker_.plan_of(variant);
    candidate.plan.baselines = outcome_.baseline.baselines;
    if (candidate.plan.launch != case_.base->launch) {
      for (Baseline& baseline : candidate.plan.baselines) baseline.launch = case_.base->launch;
    }
    return scored;
  }

  [[nodiscard]] bool is_scored(const Variant& variant) const {
    return std::any_of(scored_.begin(), scored_.end(), [&](const Scored& each) { return each.variant == variant; });
  }

  /// Scores the first of `next` and, on the other cores, those behind it that will be tried as far as is known now.
  /// What is found of one may rule out another by the time it is its turn: then its score is not looked at.
  template <class IsOut>
  void look_ahead(std::span<const Variant* const> next, const IsOut& is_out) {
    if (scoring_.workers() == 1 || ahead_.has(*next.front())) return;
    std::vector<Scored> several;
    for (std::size_t i = 0; i < next.size() && several.size() < scoring_.workers(); ++i) {
      const Variant& variant = *next[i];
      if (!maker_.fuses_nothing(variant) && !is_scored(variant) && !is_out(i)) several.push_back(planned(variant));
    }
    ahead_.score(std::move(several));
  }

  /// False once cancelled.
  Result<bool> try_variant(const Variant& variant) {
    if (interrupted()) return stop();
    if (maker_.fuses_nothing(variant)) return true;  // the one without fused runs is a candidate, too
    std::optional<Result<Scored>> known = ahead_.take(variant);
    Result<Scored> scored = known ? *std::move(known) : scoring_.score(planned(variant));
    if (!scored && interrupted()) return stop();
    const std::string name = maker_.name_of(variant);
    if (!scored) {
      if (scored.error().code == ErrorCode::kDoesNotFit) refusals_.add_too_large(maker_.plan_of(variant));
      refuse(name, scored.error().code, scored.error().message);
      return true;
    }
    const Nanoseconds latency = scored->candidate.prediction.p99_latency;
    if (options_.latency_limit && latency > *options_.latency_limit) {
      refusals_.add_too_slow(latency);
      refuse(name, ErrorCode::kDoesNotFit,
             fmt::format("its p99 latency is {}, the limit is {}", format_time(latency),
                         format_time(*options_.latency_limit)));
      return true;
    }
    const auto same = [&](const Scored& other) { return same_program(*scored, other); };
    if (std::none_of(scored_.begin(), scored_.end(), same)) add(*std::move(scored));
    return true;
  }

  void add(Scored scored) {
    scored_.push_back(std::move(scored));
    drop_programs(scored_);
  }

  /// Members one after another, which no plan need lose to; where another candidate is the same, that one by this name.
  Result<void> add_in_turn() {
    if (!runs_in_turn(*case_.base) || interrupted()) return {};
    Plan base = *case_.base;
    base.baselines = outcome_.baseline.baselines;
    Plan plan = in_turn_plan(base);
    plan.baselines = std::move(base.baselines);
    plan.limits = base.limits;
    plan.input = base.input;
    plan.resolved->fingerprint = fingerprint(plan);
    Scored in_turn;
    in_turn.candidate.name = kOneAfterAnother;
    in_turn.candidate.plan = std::move(plan);
    Plan tried = in_turn.candidate.plan;
    Result<Scored> scored = scoring_.score(std::move(in_turn));
    if (!scored) {  // it does not fit into memory at once
      if (scored.error().code == ErrorCode::kDoesNotFit) refusals_.add_too_large(std::move(tried));
      return {};
    }
    PlanCandidate& candidate = scored->candidate;
    if (options_.latency_limit && candidate.prediction.p99_latency > *options_.latency_limit) {
      refusals_.add_too_slow(candidate.prediction.p99_latency);
      return {};
    }
    candidate.speedup = 1;  // which it is by what is meant by it
    candidate.limited = false;
    scored->is_in_turn = true;
    std::erase_if(scored_, [&](const Scored& other) { return same_program(*scored, other); });
    add(*std::move(scored));
    return {};
  }

  /// An error where nothing has been found.
  Result<bool> stop() const {
    if (scored_.empty()) return tl::unexpected<Error>(options_.cancel->check().error());
    return false;
  }

  [[nodiscard]] std::size_t best() const {
    const auto first = std::min_element(scored_.begin(), scored_.end(),
                                        [](const Scored& a, const Scored& b) { return a.cost < b.cost; });
    return static_cast<std::size_t>(first - scored_.begin());
  }

  /// Takes fused runs out of the best plan as long as that makes it better.
  Result<void> trim_best() {
    while (!scored_.empty() && !outcome_.interrupted) {
      const std::size_t before = best();
      const Variant variant = scored_[before].variant;
      if (variant.fused.size() < 2 || variant.fused.size() > kMostRunsToTrim) return {};
      std::vector<Variant> trimmed;
      for (std::size_t i = 0; i < variant.fused.size(); ++i) {
        trimmed.push_back(variant);
        trimmed.back().fused.erase(trimmed.back().fused.begin() + static_cast<std::ptrdiff_t>(i));
      }
      const std::vector<const Variant*> waiting = pointers_to(trimmed);
      for (std::size_t i = 0; i < trimmed.size(); ++i) {
        if (is_scored(trimmed[i])) continue;
        look_ahead(std::span(waiting).subspan(i), [](std::size_t) { return false; });
        COHORT_TRY(const bool go_on, try_variant(trimmed[i]));
        if (!go_on) return {};
      }
      if (best() == before) return {};
    }
    return {};
  }

  /// The variants that differ in one setting of a decoded input, as far as settings are to be looked for.
  [[nodiscard]] std::vector<Variant> input_changed(const Variant& variant) const {
    std::vector<Variant> changed;
    for (const InputSetting& setting : changed_input_settings(variant.input, case_, options_)) {
      changed.push_back(variant);
      changed.back().input = setting;
    }
    return changed;
  }

  [[nodiscard]] bool searches_buffers() const {
    return options_.search_buffers && case_.base->input.source == InputSource::kFolder;
  }

  /// Runs the branches of the best plans side by side, of those with the same ops fused once: of all schedules only the
  /// most promising, so that it takes no longer however many members there are.
  Result<void> split_best() {
    std::vector<Variant> starts;
    for (const std::size_t place : best_first(scored_)) {
      const Variant& variant = scored_[place].variant;
      const auto alike = [&](const Variant& other) {
        return other.fused == variant.fused && other.grouped == variant.grouped && other.launch == variant.launch;
      };
      if (std::none_of(starts.begin(), starts.end(), alike)) starts.push_back(variant);
      if (starts.size() == kMostToSplit) break;
    }
    std::vector<Variant> splits;
    for (const Variant& start : starts) {
      std::vector<Variant> ways = maker_.branches_changed(start);
      if (ways.empty() || loses_by_bound(maker_.bound(ways.front()))) continue;  // which is the same for all of them
      splits.insert(splits.end(), std::make_move_iterator(ways.begin()), std::make_move_iterator(ways.end()));
    }
    maker_.sort_by_promise(splits);
    const std::vector<const Variant*> waiting = pointers_to(splits);
    std::size_t tried = 0;
    for (std::size_t i = 0; i < splits.size(); ++i) {
      if (is_scored(splits[i])) continue;
      if (tried++ == searched(kMostSplit, 2)) break;
      COHORT_CHECK(try_change(std::span(waiting).subspan(i)));
    }
    return {};
  }

  using Changes = std::function<std::vector<Variant>(const Variant& variant)>;

  /// Makes one change at a time to the best plan of each way of running the rest, for the few best ways.
  Result<void> improve_best(
      const Changes& changes,
      const std::function<bool(const Variant&)>& may_change = [](const Variant&) { return true; }) {
    std::vector<std::size_t> starts;
    for (const std::size_t place : best_first(scored_)) {
      if (!may_change(scored_[place].variant)) continue;
      const auto same_rest = [&](std::size_t other) {
        Variant a = scored_[place].variant;
        a.fused = scored_[other].variant.fused;
        a.input = scored_[other].variant.input;
        return a == scored_[other].variant;
      };
      if (std::none_of(starts.begin(), starts.end(), same_rest)) starts.push_back(place);
      if (starts.size() == kMostStarts) break;
    }
    for (const std::size_t start : starts) COHORT_CHECK(improve(start, changes));
    return {};
  }

  /// As long as that makes it better; the most promising changes first.
  Result<void> improve(std::size_t place, const Changes& changes_of) {
    for (std::size_t round = 0; round < kMostRounds && !outcome_.interrupted; ++round) {
      std::vector<Variant> changes = changes_of(scored_[place].variant);
      maker_.sort_by_promise(changes);
      changes.resize(std::min(changes.size(), searched(kMostChanges, 4)));
      const std::vector<const Variant*> waiting = pointers_to(changes);
      std::size_t better = place;
      for (std::size_t i = 0; i < changes.size(); ++i) {
        COHORT_TRY(const std::optional<std::size_t> changed, try_change(std::span(waiting).subspan(i)));
        if (changed && scored_[*changed].cost < scored_[better].cost) better = *changed;
      }
      if (better == place) return {};
      place = better;
    }
    return {};
  }

  static std::vector<const Variant*> pointers_to(std::span<const Variant> variants) {
    std::vector<const Variant*> pointers;
    for (const Variant& variant : variants) pointers.push_back(&variant);
    return pointers;
  }

  /// Where the first of `changes`, which are to be tried in this order, is among the scored; absent where it cannot
  /// win, is not possible, or nothing new.
  Result<std::optional<std::size_t>> try_change(std::span<const Variant* const> changes) {
    const Variant& variant = *changes.front();
    for (std::size_t i = 0; i < scored_.size(); ++i) {
      if (scored_[i].variant == variant) return i;
    }
    if (outcome_.interrupted || loses_by_bound(maker_.bound(variant))) return std::nullopt;
    const std::size_t count = scored_.size();
    look_ahead(changes, [&](std::size_t i) { return loses_by_bound(maker_.bound(*changes[i])); });
    COHORT_CHECK(try_variant(variant));
    if (scored_.size() == count) return std::nullopt;
    scored_.back().is_change = true;
    return count;
  }

  /// Nothing more is explained once cancelled: who asked for an end wants it now.
  Result<void> finish() {
    std::vector<Scored*> explained;
    const std::size_t most = std::min(searched(options_.most_explained, 1), scored_.size());
    for (std::size_t i = 0; i < most && !interrupted(); ++i) {
      PlanCandidate& candidate = scored_[i].candidate;
      const auto parts = of_few_ == nullptr ? std::nullopt : gain_as_of_few(*of_few_, candidate, outcome_.baseline);
      if (parts) candidate.attribution = *parts;
      candidate.explained = parts.has_value();
      if (!parts) explained.push_back(&scored_[i]);
    }
    const std::vector<Result<void>> outcomes = scoring_.explain(explained);
    for (std::size_t i = 0; i < outcomes.size(); ++i) {
      if (!outcomes[i] && !interrupted()) return outcomes[i];
      explained[i]->candidate.explained = outcomes[i].has_value();
    }
    scored_.front().candidate.program = std::move(scored_.front().program);
    for (Scored& scored : scored_) {
      PlanCandidate& candidate = scored.candidate;
      if (candidate.name != kOneAfterAnother)  // which is what others are held against
        candidate.interval = speedup_interval(case_, candidate.plan, candidate.prediction, candidate.speedup);
      outcome_.ranked.push_back(std::move(candidate));
      PlanCandidate& ranked = outcome_.ranked.back();
      ranked.explanation = explanation_of(ranked, outcome_);
    }
    return {};
  }

  const PlanningCase& case_;
  const PlannerOptions& options_;
  PlanningResult& outcome_;
  const PlanningResult* of_few_;
  const double part_;
  Scoring scoring_;
  VariantMaker maker_;
  std::vector<Scored> scored_;
  std::vector<Variant> screened_;
  ScoredAhead ahead_{scoring_};
  Refusals refusals_;
};

/// The best plans of some of the members, as plans of all. None where none of them can be.
Result<std::optional<PlanningResult>> search_among_few(const PlanningCase& planning_case, const PlannerOptions& options,
                                                       const BaselinePrediction& baseline) {
  const std::optional<FewMembers> few = FewMembers::of(planning_case, options);
  if (!few) return std::nullopt;
  const PlanningCase few_case = few->planning_case();
  PlannerOptions quick = options;
  quick.most_explained = std::min(options.most_explained, kBestOfFew);
  quick.cost_to_beat.reset();  // which is a cost of all members
  PlanningResult of_few;
  COHORT_TRY(of_few.baseline, best_baseline(few_case, quick));
  Search search(few_case, quick, of_few);
  COHORT_CHECK(search.run());
  std::vector<Variant> variants = search.best_variants();
  PlannerOptions rest = options;
  if (of_few.interrupted) {  // the best so far is to be an answer, too
    variants.resize(std::min<std::size_t>(1, variants.size()));
    rest.cancel = nullptr;
    rest.most_explained = 0;
  }
  PlanningResult result;
  result.baseline = baseline;
  if (!Search(planning_case, rest, result, &of_few).run_among(variants)) return std::nullopt;
  result.refused.insert(result.refused.begin(), of_few.refused.begin(), of_few.refused.end());
  result.interrupted = result.interrupted || of_few.interrupted;
  return result;
}

}  // namespace

Result<PlanningResult> search_plans(const PlanningCase& planning_case, const PlannerOptions& options) {
  PlanningResult result;
  COHORT_TRY(result.baseline, best_baseline(planning_case, options));
  COHORT_TRY(std::optional<PlanningResult> found, search_among_few(planning_case, options, result.baseline));
  if (found) return *std::move(found);
  COHORT_CHECK(Search(planning_case, options, result).run());
  return result;
}

}  // namespace cohort
