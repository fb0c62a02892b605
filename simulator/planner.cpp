#include "simulator/planner.hpp"

#include <algorithm>
#include <optional>
#include <tuple>
#include <utility>

#include "simulator/attribution.hpp"
#include "simulator/evaluate.hpp"
#include "simulator/variants.hpp"

namespace cohort {
namespace {

constexpr std::size_t kMostRunsToTrim = 8;

struct Scored {
  Variant variant;
  PlanCandidate candidate;
  std::vector<StreamId> streams;  ///< of each step
  Nanoseconds without_overheads{};
};

/// Whether two candidates run the same calls on the same streams, however they were come by.
bool same_program(const Scored& a, const Scored& b) {
  return a.streams == b.streams && a.candidate.plan.input == b.candidate.plan.input &&
         a.candidate.plan.resolved->steps == b.candidate.plan.resolved->steps;
}

class Search {
 public:
  Search(const PlanningCase& planning_case, const PlannerOptions& options, PlanningResult& result)
      : case_(planning_case),
        options_(options),
        outcome_(result),
        evaluator_(planning_case),
        maker_(planning_case, evaluator_.times(), evaluator_.footprint(planning_case.models)),
        walk_(planning_case, evaluator_, maker_, result.baseline) {}

  Result<void> run() {
    std::vector<Variant> variants = promising(maker_.variants(outcome_.refused));
    for (const Variant& variant : variants) COHORT_CHECK(try_variant(variant));
    COHORT_CHECK(trim_best());
    if (scored_.empty()) return fail(refusal_code_, "no plan is possible: {}", refusal_);
    std::sort(scored_.begin(), scored_.end(), [](const Scored& a, const Scored& b) {
      return std::tuple(a.candidate.prediction.step_time, a.variant.fused.size(), a.candidate.name) <
             std::tuple(b.candidate.prediction.step_time, b.variant.fused.size(), b.candidate.name);
    });
    for (std::size_t i = 0; i < scored_.size(); ++i) finish(i);
    return {};
  }

 private:
  /// The variants to simulate: those with the least sum over their ops.
  std::vector<Variant> promising(std::vector<Variant> variants) {
    std::vector<std::pair<Nanoseconds, std::size_t>> order;
    for (std::size_t i = 0; i < variants.size(); ++i) order.emplace_back(maker_.estimate(variants[i]), i);
    std::sort(order.begin(), order.end());
    std::vector<Variant> kept;
    for (const auto& [estimate, place] : order) {
      if (kept.size() < std::max<std::size_t>(1, options_.most_simulated)) {
        kept.push_back(std::move(variants[place]));
      } else {
        outcome_.refused.push_back({maker_.name_of(variants[place]),
                                    fmt::format("not simulated: its ops alone take about {}", format_time(estimate))});
      }
    }
    return kept;
  }

  Result<void> try_variant(const Variant& variant) {
    if (options_.cancel != nullptr) COHORT_CHECK(options_.cancel->check());
    Scored scored{variant, {}, {}, {}};
    PlanCandidate& candidate = scored.candidate;
    candidate.name = maker_.name_of(variant);
    candidate.plan = maker_.plan_of(variant);
    candidate.plan.baselines = outcome_.baseline.baselines;
    Result<Evaluation> evaluation = evaluator_.evaluate(candidate.plan, case_.models);
    if (!evaluation) {
      outcome_.refused.push_back({candidate.name, evaluation.error().message});
      if (refusal_.empty()) {
        refusal_ = evaluation.error().message;
        refusal_code_ = evaluation.error().code;
      }
      return {};
    }
    candidate.prediction = evaluation->prediction;
    candidate.plan.resolved = resolve(candidate.plan, evaluation->program, case_.device.device);
    for (const Step& step : evaluation->program.steps) scored.streams.push_back(step.stream);
    const auto same = [&](const Scored& other) { return same_program(scored, other); };
    if (std::any_of(scored_.begin(), scored_.end(), same)) return {};
    COHORT_TRY(scored.without_overheads, evaluator_.without_overheads(candidate.plan, evaluation->program));
    if (candidate.prediction.step_time > Nanoseconds(0)) {
      candidate.speedup = seconds(outcome_.baseline.step_time) / seconds(candidate.prediction.step_time);
    }
    scored_.push_back(std::move(scored));
    return {};
  }

  [[nodiscard]] std::size_t best() const {
    const auto first = std::min_element(scored_.begin(), scored_.end(), [](const Scored& a, const Scored& b) {
      return a.candidate.prediction.step_time < b.candidate.prediction.step_time;
    });
    return static_cast<std::size_t>(first - scored_.begin());
  }

  /// Takes fused runs out of the best plan as long as that makes it faster.
  Result<void> trim_best() {
    while (!scored_.empty()) {
      const std::size_t before = best();
      const Variant variant = scored_[before].variant;
      if (variant.fused.size() < 2 || variant.fused.size() > kMostRunsToTrim) return {};
      for (std::size_t i = 0; i < variant.fused.size(); ++i) {
        Variant less = variant;
        less.fused.erase(less.fused.begin() + static_cast<std::ptrdiff_t>(i));
        const auto same = [&](const Scored& scored) { return scored.variant == less; };
        if (std::none_of(scored_.begin(), scored_.end(), same)) COHORT_CHECK(try_variant(less));
      }
      if (best() == before) return {};
    }
    return {};
  }

  void finish(std::size_t place) {
    Scored& scored = scored_[place];
    PlanCandidate& candidate = scored.candidate;
    if (place < options_.most_explained) {
      candidate.attribution = walk_.explain(scored.variant, candidate.prediction.step_time, scored.without_overheads);
    }
    candidate.explanation = explanation_of(candidate, place);
    outcome_.ranked.push_back(std::move(candidate));
  }

  [[nodiscard]] std::string explanation_of(const PlanCandidate& candidate, std::size_t place) const {
    std::string text;
    if (place > 0) {
      const PlanCandidate& first = outcome_.ranked.front();
      text =
          fmt::format("{} slower than 1; ", format_time(candidate.prediction.step_time - first.prediction.step_time));
    }
    if (place < options_.most_explained) {
      std::string parts;
      for (std::size_t i = 0; i < kGainCauses; ++i) {
        const Nanoseconds saved = candidate.attribution.saved[i];
        if (saved == Nanoseconds(0)) continue;
        parts += fmt::format("{}{} {} {}", parts.empty() ? "" : ", ", to_string(GainCause(i)),
                             saved > Nanoseconds(0) ? "saves" : "costs", format_time(std::chrono::abs(saved)));
      }
      text += parts.empty() ? "as the baseline; " : parts + "; ";
    }
    const Prediction& prediction = candidate.prediction;
    if (prediction.binding.resource == "dependencies") {
      text += "no resource is busy half of the time";
    } else {
      text += fmt::format("{} busy {:.0f}%", prediction.binding.resource, prediction.binding.utilisation * 100);
    }
    return text + fmt::format("; {}", format_bytes(prediction.memory.total()));
  }

  const PlanningCase& case_;
  const PlannerOptions& options_;
  PlanningResult& outcome_;
  PlanEvaluator evaluator_;
  VariantMaker maker_;
  AttributionWalk walk_;
  std::vector<Scored> scored_;
  std::string refusal_;
  ErrorCode refusal_code_ = ErrorCode::kInvalidInput;
};

Result<void> check(const PlanningCase& planning_case) {
  const std::size_t members = planning_case.base->members.size();
  if (members == 0) return fail(ErrorCode::kInvalidInput, "members is empty: a plan runs at least one model");
  if (members != planning_case.models.size()) {
    return fail(ErrorCode::kInvalidInput, "{} models were given for {} members", planning_case.models.size(), members);
  }
  return validate(planning_case.device);
}

}  // namespace

std::string_view to_string(GainCause cause) {
  switch (cause) {
    case GainCause::kSharing:
      return "sharing";
    case GainCause::kLaunchRemoval:
      return "launch removal";
    case GainCause::kOverlap:
      return "overlap";
    case GainCause::kFusion:
      return "fusion";
    case GainCause::kAlgorithmChoice:
      return "algorithm choice";
  }
  return "";
}

Result<PlanningResult> plan_model_batch(const PlanningCase& planning_case, const PlannerOptions& options) {
  COHORT_CHECK(check(planning_case));
  PlanningResult result;
  COHORT_TRY(result.baseline, predict_baseline(planning_case));
  COHORT_CHECK(Search(planning_case, options, result).run());
  return result;
}

Result<PlanPrediction> predict_plan(const PlanningCase& planning_case, const Plan& plan, const DeviceInfo& device) {
  COHORT_CHECK(check(planning_case));
  PlanningCase own = planning_case;
  own.base = &plan;
  PlanEvaluator evaluator(own);
  PlanPrediction result;
  result.plan = plan;
  COHORT_TRY(const Evaluation evaluation, evaluator.evaluate(plan, own.models));
  if (plan.baselines.empty()) {
    COHORT_TRY(BaselinePrediction baseline, predict_baseline(own));
    result.baseline = baseline.step_time;
    result.plan.baselines = std::move(baseline.baselines);
  } else {
    for (std::uint32_t member = 0; member < plan.members.size(); ++member) {
      const std::vector<const Model*> alone{own.models[member]};
      auto one = evaluator.evaluate(baseline_plan(plan, member), alone);
      if (!one) return in_context(fmt::format("baseline of member {}", plan.members[member].name), one.error());
      result.baseline += one->prediction.step_time;
    }
  }
  if (!result.plan.resolved || result.plan.resolved->fingerprint != fingerprint(result.plan)) {
    result.plan.resolved = resolve(result.plan, evaluation.program, planning_case.device.device);
  }
  COHORT_TRY(result.run, predict_run(evaluator.prediction_case(result.plan, evaluation.program), device));
  result.run.trace.info.wall_times.push_back({"baseline", {result.baseline}, 0});
  if (result.run.prediction.step_time > Nanoseconds(0)) {
    result.speedup = seconds(result.baseline) / seconds(result.run.prediction.step_time);
  }
  return result;
}

std::string print(const PlanningResult& result, std::size_t most_rows) {
  const std::size_t shown = std::min(most_rows, result.ranked.size());
  std::string text = fmt::format("{:>3} {:>10} {:>8} {:>10}  {}\n", "", "step", "speedup", "at least", "plan, and why");
  for (std::size_t i = 0; i < shown; ++i) {
    const PlanCandidate& each = result.ranked[i];
    text += fmt::format("{:>3} {:>10} {:>7.2f}x {:>10}  {}\n{:36}{}\n", i + 1, format_time(each.prediction.step_time),
                        each.speedup, format_time(each.prediction.lower_bound), each.name, "", each.explanation);
  }
  if (shown < result.ranked.size()) text += fmt::format("    ... and {} more\n", result.ranked.size() - shown);
  text += fmt::format("{:>3} {:>10} {:>7.2f}x {:>10}  one after another (baseline)\n", "-",
                      format_time(result.baseline.step_time), 1.0, "");
  for (const RefusedCandidate& each : result.refused) {
    text += fmt::format("not possible: {}: {}\n", each.name, each.reason);
  }
  return text;
}

}  // namespace cohort
