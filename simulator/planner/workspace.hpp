#pragma once

#include <cstdint>
#include <span>
#include <vector>

#include "base/units.hpp"
#include "simulator/plan/step_order.hpp"

namespace cohort {

/// One way to run a step.
struct WorkspaceWay {
  Nanoseconds time{};
  Bytes workspace;
};

/// One choice of a way for every step.
struct WorkspaceChoice {
  Nanoseconds time{};               ///< of the longest chain of steps
  Bytes workspace;                  ///< the most that steps which may overlap need at a time
  std::vector<std::uint32_t> ways;  ///< by step: position in its ways
};

struct WorkspaceFrontier {
  std::vector<WorkspaceChoice> choices;  ///< fastest first; each needs less workspace than the one before it
  bool exact = true;                     ///< false: for some steps the workspace is an upper bound, as below
};

/// The choices that no other beats in both time and workspace. Steps of which one has finished before the other starts
/// share their workspace, all others need theirs side by side:
///
///     stream 0  |== a ==|== b ==|            a and b share, c shares with neither:
///     stream 1  |====== c ======|== d ==|    max(a, b) + c; where d waits for b and c, it shares with all
///
/// A dynamic programme over the series-parallel decomposition of the order of steps. In series times add up and
/// workspaces are shared; in parallel the longest time counts and workspaces add up. Each part keeps only its own
/// Pareto front, so no combination is considered twice. If the order is not series-parallel, each stream counts as one
/// chain, all in parallel, which gives an upper bound of the workspace.
///
/// `ways`: by step, none empty. Complexity: steps^2 for the parts, then points of a part x its children. The idea of
/// one front per op and one choice under a limit: Oyama et al., "Accelerating deep learning frameworks with
/// micro-batches" (IEEE CLUSTER 2018); following the order of a whole model batch is ours.
WorkspaceFrontier workspace_frontier(std::span<const std::vector<WorkspaceWay>> ways, const StepOrder& order);

}  // namespace cohort
