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
/// A dynamic programme over the series and parallel parts that the order of steps falls into: in series times add up
/// and workspaces share, in parallel the longest time counts and workspaces add up; of each part only its own frontier
/// is kept, so that no combination is looked at twice. Steps whose order is neither are taken as one chain a stream,
/// side by side: what they need is then an upper bound.
///
/// `ways`: by step, none empty. Complexity: steps^2 for the parts, then points of a part x its children.
/// The idea of one frontier an op and one choice under a limit: Oyama et al., "Accelerating deep learning frameworks
/// with micro-batches" (IEEE CLUSTER 2018); that it follows the order of a whole model batch is ours.
WorkspaceFrontier workspace_frontier(std::span<const std::vector<WorkspaceWay>> ways, const StepOrder& order);

}  // namespace cohort
