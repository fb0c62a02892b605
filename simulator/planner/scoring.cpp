#include "simulator/planner/scoring.hpp"

#include <algorithm>
#include <numeric>
#include <string_view>
#include <thread>
#include <tuple>
#include <utility>

#include "base/parallel.hpp"

namespace cohort {
namespace {

/// More have little to do: candidates are tried a few at a time, as what is found rules others out.
constexpr std::size_t kMostWorkers = 8;
/// Of the programs that are predicted at the same time: more would take gigabytes.
constexpr std::size_t kMostSteps = 100'000;
/// Of the programs that are kept, some 2 KB each.
constexpr std::size_t kMostKeptSteps = 20'000;

/// How many programs in which nothing is fused may be predicted at the same time.
std::size_t most_programs(const PlanningCase& planning_case) {
  std::size_t steps = 1;
  for (const Model* model : planning_case.models) steps += model->ops.size();
  return std::max<std::size_t>(1, kMostSteps / steps);
}

std::size_t workers_for(const PlanningCase& planning_case, int threads) {
  const std::size_t cores = std::thread::hardware_concurrency();
  const std::size_t most = std::min(most_programs(planning_case), kMostWorkers);
  return std::clamp<std::size_t>(threads > 0 ? static_cast<std::size_t>(threads) : cores, 1, most);
}

/// Keeps none where they are too large together.
void drop_large_programs(std::vector<Result<Scored>>& scores) {
  std::size_t steps = 0;
  for (const Result<Scored>& each : scores) steps += each ? each->program->steps.size() : 0;
  if (steps <= kMostKeptSteps || scores.size() == 1) return;
  for (Result<Scored>& each : scores) {
    if (each) each->program.reset();
  }
}

}  // namespace

bool same_program(const Scored& a, const Scored& b) {
  return a.shape == b.shape && a.candidate.plan.launch == b.candidate.plan.launch &&
         a.candidate.plan.launch_threads == b.candidate.plan.launch_threads &&
         a.candidate.plan.input == b.candidate.plan.input &&
         a.candidate.plan.resolved->steps == b.candidate.plan.resolved->steps;
}

void rank(std::vector<Scored>& scored) {
  const auto standing = [](const Scored& each) {
    return std::tuple(each.cost, each.candidate.prediction.step_time, each.is_change, each.variant.fused.size(),
                      std::string_view(each.candidate.name));
  };
  std::sort(scored.begin(), scored.end(), [&](const Scored& a, const Scored& b) { return standing(a) < standing(b); });
}

std::vector<std::size_t> best_first(const std::vector<Scored>& scored) {
  std::vector<std::size_t> order(scored.size());
  std::iota(order.begin(), order.end(), std::size_t{0});
  std::stable_sort(order.begin(), order.end(),
                   [&](std::size_t a, std::size_t b) { return scored[a].cost < scored[b].cost; });
  return order;
}

void drop_programs(std::vector<Scored>& scored) {
  std::size_t steps = 0;
  bool is_first = true;
  for (const std::size_t place : best_first(scored)) {
    std::shared_ptr<const Program>& program = scored[place].program;
    if (program != nullptr) steps += program->steps.size();
    if (!is_first && steps > kMostKeptSteps) program.reset();
    is_first = false;
  }
}

Scoring::Worker::Worker(Scoring& scoring, const CancelToken* cancel, bool is_first)
    : gpu(is_first || scoring.case_.gpu == nullptr ? std::nullopt : std::optional(*scoring.case_.gpu)),
      planning_case(scoring.case_of(gpu)),
      evaluator(planning_case, cancel),
      walk(planning_case, evaluator, scoring.baseline_, scoring.points_) {}

PlanningCase Scoring::case_of(std::optional<GpuDemands>& gpu) const {
  PlanningCase own = case_;
  own.catalog = &catalog_;
  if (gpu) own.gpu = &*gpu;
  return own;
}

Scoring::Scoring(const PlanningCase& planning_case, const PlannerOptions& options, const BaselinePrediction& baseline)
    : case_(planning_case), options_(options), baseline_(baseline), catalog_(*planning_case.catalog, options.cancel) {
  const std::size_t count = workers_for(planning_case, options.threads);
  for (std::size_t i = 0; i < count; ++i) workers_.emplace_back(*this, options.cancel, i == 0);
}

std::vector<Result<Scored>> Scoring::score(std::vector<Scored> planned) {
  std::vector<std::optional<Result<Scored>>> found(planned.size());
  parallel_for(planned.size(), workers_.size(),
               [&](std::size_t worker, std::size_t i) { found[i] = score(workers_[worker], std::move(planned[i])); });
  std::vector<Result<Scored>> scored;
  scored.reserve(found.size());
  for (auto& each : found) scored.push_back(*std::move(each));
  return scored;
}

bool Scoring::one_at_a_time() const { return most_programs(case_) == 1; }

Result<Scored> Scoring::score(Scored planned) { return score(workers_.front(), std::move(planned)); }

Result<Scored> Scoring::score(Worker& worker, Scored planned) const {
  PlanCandidate& candidate = planned.candidate;
  COHORT_TRY(Evaluation evaluation, worker.evaluator.evaluate(candidate.plan, case_.models));
  candidate.plan.resolved = worker.evaluator.resolved(candidate.plan, evaluation.program);
  candidate.prediction = std::move(evaluation.prediction);
  candidate.limited = evaluation.limited;
  planned.shape = shape_of(evaluation.program);
  planned.program = std::make_shared<const Program>(std::move(evaluation.program));
  if (candidate.prediction.step_time > Nanoseconds(0))
    candidate.speedup = seconds(baseline_.step_time) / seconds(candidate.prediction.step_time);
  const std::vector<double> gains = member_gains(candidate.prediction, baseline_.alone);
  if (!gains.empty()) candidate.least_gain = *std::min_element(gains.begin(), gains.end());
  planned.cost = objective_cost(options_.objective, candidate.prediction, baseline_.alone);
  return planned;
}

std::vector<Result<void>> Scoring::explain(std::span<Scored* const> candidates) {
  std::vector<Result<void>> outcomes(candidates.size());
  parallel_for(candidates.size(), workers_.size(),
               [&](std::size_t worker, std::size_t i) { outcomes[i] = explain(workers_[worker], *candidates[i]); });
  return outcomes;
}

Result<void> Scoring::explain(Worker& worker, Scored& scored) const {
  PlanCandidate& candidate = scored.candidate;
  std::shared_ptr<const Program> program = scored.program;
  if (program == nullptr) {
    COHORT_TRY(LoweredPlan lowered, worker.evaluator.lowered(candidate.plan, case_.models));
    program = std::make_shared<const Program>(std::move(lowered.program));
  }
  COHORT_TRY(const Nanoseconds bare, worker.evaluator.without_overheads(candidate.plan, *program));
  candidate.attribution = worker.walk.explain(candidate.plan, candidate.prediction.step_time, bare);
  if (candidate.limited) add_equal_shares(worker, candidate);
  return {};
}

void Scoring::add_equal_shares(Worker& worker, PlanCandidate& candidate) const {
  Plan free = candidate.plan;
  free.resolved.reset();
  const auto prediction = worker.evaluator.with_equal_shares(free, case_.models);
  if (prediction) candidate.equal_shares = prediction->step_time;
}

bool ScoredAhead::has(const Variant& variant) const {
  return std::any_of(scores_.begin(), scores_.end(), [&](const auto& each) { return each.first == variant; });
}

void ScoredAhead::score(std::vector<Scored> planned) {
  scores_.clear();
  std::vector<Variant> variants;
  for (const Scored& each : planned) variants.push_back(each.variant);
  std::vector<Result<Scored>> scores = scoring_.score(std::move(planned));
  drop_large_programs(scores);
  for (std::size_t i = 0; i < scores.size(); ++i) scores_.emplace_back(std::move(variants[i]), std::move(scores[i]));
}

std::optional<Result<Scored>> ScoredAhead::take(const Variant& variant) {
  const auto found =
      std::find_if(scores_.begin(), scores_.end(), [&](const auto& each) { return each.first == variant; });
  if (found == scores_.end()) return std::nullopt;
  Result<Scored> scored = std::move(found->second);
  scores_.erase(found);
  return scored;
}

}  // namespace cohort
