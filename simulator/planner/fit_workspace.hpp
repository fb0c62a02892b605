#pragma once

#include <span>
#include <string>
#include <utility>
#include <vector>

#include "simulator/plan/lower.hpp"
#include "simulator/planner/choose.hpp"
#include "simulator/planner/workspace.hpp"

namespace cohort {

/// How the workspace of a plan may be handed out under a limit.
enum class WorkspaceRule {
  kWholeBatch,   ///< over the whole model batch, as workspace_frontier() has it
  kEqualShares,  ///< to each member the same part of the limit, as in ModelBatch's paper
};

/// The ways of running each step of a plan, and the choices among them that no other beats.
class WorkspaceChoices {
 public:
  /// Lowers the plan without its limits to see its steps. `times` and `catalog` must outlive this; `rule` says in
  /// which surroundings times hold, and which ways may be taken.
  /// Errors: those of lower().
  static Result<WorkspaceChoices> of(const Plan& plan, std::span<const Model* const> models, const OpCatalog& catalog,
                                     CallTimes& times, const ChoiceRule& rule);

  [[nodiscard]] const WorkspaceFrontier& frontier() const { return frontier_; }
  /// What the smallest choice takes of memory beside its workspace.
  [[nodiscard]] Bytes other_memory() const { return other_memory_; }
  /// Takes choice `i` of the frontier for each step. This must outlive the function; it serves one lowering.
  [[nodiscard]] ChooseAlternative choose(std::size_t i) const;
  /// The fastest way of each step within `limit` of its own, or its smallest.
  [[nodiscard]] ChooseAlternative choose_within(Bytes limit) const;

 private:
  [[nodiscard]] ChooseAlternative choose_by_step(std::vector<std::uint32_t> ways) const;

  std::vector<std::vector<WorkspaceWay>> ways_;                       ///< by step
  std::vector<std::vector<std::pair<std::string, int>>> algorithms_;  ///< of each way: its name and threads
  WorkspaceFrontier frontier_;
  Bytes other_memory_;
};

/// Lowers a plan that does not fit its limits with the fastest way of running it. Of the frontier's choices the fastest
/// that fits is looked for by halving, each lowered and laid out for real: workspaces also go into gaps between
/// activations, so that more fits than the frontier's sums say.
/// Errors: those of lower(); kDoesNotFit where not even the smallest choice does.
Result<Program> lower_within_limits(const Plan& plan, std::span<const Model* const> models, const OpCatalog& catalog,
                                    const WorkspaceChoices& choices, WorkspaceRule rule);

}  // namespace cohort
