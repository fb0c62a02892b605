#pragma once

#include <deque>
#include <memory>
#include <optional>
#include <span>
#include <utility>
#include <vector>

#include "simulator/planner/attribution.hpp"
#include "simulator/planner/evaluate.hpp"
#include "simulator/planner/planner.hpp"
#include "simulator/planner/program_shape.hpp"
#include "simulator/planner/remembered_catalog.hpp"
#include "simulator/planner/variants.hpp"

namespace cohort {

/// A variant, and what it is predicted to do.
struct Scored {
  Variant variant;
  PlanCandidate candidate;
  double cost = 0;          ///< by the objective
  bool is_change = false;   ///< of what was the best before
  bool is_in_turn = false;  ///< members one after another, whatever the variant
  ProgramShape shape;
  std::shared_ptr<const Program> program;  ///< the plan lowered; absent where it was not kept
};

/// Whether two candidates run the same calls on the same streams and in the same order, however they were come by.
bool same_program(const Scored& a, const Scored& b);

/// The best first; of equal ones those that change and fuse least.
void rank(std::vector<Scored>& scored);
/// Their places, the least cost first.
std::vector<std::size_t> best_first(const std::vector<Scored>& scored);

/// Keeps the programs of the best of them, as many as memory is for, and of the very best in any case.
void drop_programs(std::vector<Scored>& scored);

/// Predicts and explains candidates, several at a time: on as many threads as the options say. What it answers does not
/// depend on their number.
class Scoring {
 public:
  /// All must outlive it; `baseline` is that of the case's members.
  Scoring(const PlanningCase& planning_case, const PlannerOptions& options, const BaselinePrediction& baseline);

  [[nodiscard]] std::size_t workers() const { return workers_.size(); }
  /// Whether programs are so large that there should be one of them at a time.
  [[nodiscard]] bool one_at_a_time() const;
  /// For one thread, while nothing is scored.
  [[nodiscard]] PlanEvaluator& evaluator() { return workers_.front().evaluator; }

  /// What evaluating the plan of each has to say, in their order. Errors: those of PlanEvaluator::evaluate().
  std::vector<Result<Scored>> score(std::vector<Scored> planned);
  Result<Scored> score(Scored planned);
  /// Where the gain of each comes from. Errors, one for each: those of PlanEvaluator::lowered().
  std::vector<Result<void>> explain(std::span<Scored* const> candidates);

 private:
  struct Worker {
    Worker(Scoring& scoring, const CancelToken* cancel, bool is_first);

    std::optional<GpuDemands> gpu;  ///< which remember; the first worker has those of the case
    PlanningCase planning_case;
    PlanEvaluator evaluator;
    GainWalk walk;
  };
  [[nodiscard]] PlanningCase case_of(std::optional<GpuDemands>& gpu) const;
  Result<Scored> score(Worker& worker, Scored planned) const;
  Result<void> explain(Worker& worker, Scored& scored) const;
  void add_equal_shares(Worker& worker, PlanCandidate& candidate) const;

  const PlanningCase& case_;
  const PlannerOptions& options_;
  const BaselinePrediction& baseline_;
  RememberedCatalog catalog_;
  WalkPoints points_;
  std::deque<Worker> workers_;
};

/// Candidates that are scored together before it is their turn.
class ScoredAhead {
 public:
  /// `scoring` must outlive it.
  explicit ScoredAhead(Scoring& scoring) : scoring_(scoring) {}

  [[nodiscard]] bool has(const Variant& variant) const;
  /// In place of those that were there.
  void score(std::vector<Scored> planned);
  /// What Scoring::score() said of it, once; absent where it is not there.
  std::optional<Result<Scored>> take(const Variant& variant);

 private:
  Scoring& scoring_;
  std::vector<std::pair<Variant, Result<Scored>>> scores_;
};

}  // namespace cohort
