#include "simulator/planner/pareto.hpp"

#include <algorithm>
#include <utility>

namespace cohort {
namespace {

constexpr std::size_t kTradeoffs = 6;  // of time against workspace that are tried of one plan

}  // namespace

Result<std::vector<ParetoPoint>> pareto_points(std::span<const PlanCandidate> ranked,
                                               std::span<const Model* const> models, PlanEvaluator& evaluator,
                                               std::optional<Nanoseconds> latency_limit,
                                               const std::function<bool()>& interrupted) {
  std::vector<ParetoPoint> points;
  for (const PlanCandidate& each : ranked) {
    points.push_back({each.name, each.plan, each.prediction.step_time, each.prediction.memory});
    if (!each.explained || interrupted()) continue;
    Plan free = each.plan;
    free.resolved.reset();
    const auto tradeoffs = evaluator.tradeoffs(free, models, kTradeoffs);
    if (!tradeoffs && interrupted()) continue;
    if (!tradeoffs) return tl::unexpected<Error>(tradeoffs.error());
    for (const Evaluation& tradeoff : *tradeoffs) {
      if (latency_limit && tradeoff.prediction.p99_latency > *latency_limit) continue;
      ParetoPoint point{each.name, free, tradeoff.prediction.step_time, tradeoff.prediction.memory};
      if (point.memory.workspace < each.prediction.memory.workspace)
        point.name += fmt::format(", workspace {}", format_bytes(point.memory.workspace));
      point.plan.resolved = evaluator.resolved(free, tradeoff.program);
      points.push_back(std::move(point));
    }
  }
  std::stable_sort(points.begin(), points.end(), [](const ParetoPoint& a, const ParetoPoint& b) {
    return std::pair(a.step_time, a.memory.total()) < std::pair(b.step_time, b.memory.total());
  });
  std::vector<ParetoPoint> kept;
  for (ParetoPoint& point : points) {
    if (kept.empty() || point.memory.total() < kept.back().memory.total()) kept.push_back(std::move(point));
  }
  return kept;
}

}  // namespace cohort
