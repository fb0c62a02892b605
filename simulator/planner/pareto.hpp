#pragma once

#include <functional>
#include <optional>
#include <span>
#include <vector>

#include "simulator/planner/evaluate.hpp"
#include "simulator/planner/planner.hpp"

namespace cohort {

/// Of all candidates, and of the explained ones with less workspace that keep within the latency limit, those that no
/// other beats in both time and memory; fastest first. Once `interrupted`, no more are made. Errors: those of
/// PlanEvaluator::tradeoffs().
Result<std::vector<ParetoPoint>> pareto_points(std::span<const PlanCandidate> ranked,
                                               std::span<const Model* const> models, PlanEvaluator& evaluator,
                                               std::optional<Nanoseconds> latency_limit,
                                               const std::function<bool()>& interrupted);

}  // namespace cohort
