#include "simulator/planner/uncertainty.hpp"

#include <algorithm>
#include <cmath>

#include "simulator/planner/learned_ratios.hpp"

namespace cohort {
namespace {

/// Standard deviations, in parts of the speedup.
constexpr double kModel = 0.02;         ///< of any prediction
constexpr double kShort = 0.03;         ///< more where a step is short
constexpr double kBetweenWidths = 0.1;  ///< of the part of the steps between recorded widths or sizes
constexpr double kNeverRecorded = 0.3;  ///< of the part of the steps that were never recorded as fused
constexpr double kBeyond = 0.03;        ///< for each doubling of the footprint beyond the largest that was timed
constexpr double kContention = 0.15;    ///< of a GPU, whose kernels slow each other by a model
constexpr double kNotInModel = 0.06;    ///< where ops were timed alone only
constexpr double kNeverBeside = 0.15;   ///< where none was timed beside others, and they would run so
constexpr double kCoresMoved = 0.08;    ///< where cores were further apart for a part of the profile
constexpr double kDivided = 0.2;        ///< where a step's time was divided among its ops by what they compute
/// Half of a normal distribution's middle 80%, in standard deviations.
constexpr double kEighty = 1.2816;

}  // namespace

SpeedupInterval speedup_interval(const PlanningCase& planning_case, const Plan& plan, const Prediction& prediction,
                                 double speedup) {
  const CostTable& costs = *planning_case.costs;
  double variance = kModel * kModel;
  const auto add = [&](double deviation) { variance += deviation * deviation; };
  const auto interval = [&] {
    const double width = std::exp(kEighty * std::sqrt(variance));
    return SpeedupInterval{speedup / width, speedup * width};
  };
  if (prediction.step_time < kShortStep) add(kShort);
  if (planning_case.learned != nullptr && planning_case.learned->was_run(plan)) return interval();
  const auto part = [&](CostOrigin origin) {
    std::size_t all = 0;
    for (const std::size_t count : prediction.origins) all += count;
    return all == 0 ? 0.0 : static_cast<double>(prediction.steps(origin)) / static_cast<double>(all);
  };
  add(kBetweenWidths * part(CostOrigin::kInterpolated));
  add(kNeverRecorded * part(CostOrigin::kAnalytic));
  // The median of several samples is surer than one of them, but one disturbance meets many: of ops, and of steps.
  add(std::max(costs.spread() / 2, costs.variation()));
  add(costs.unexplained());
  if (!costs.estimated_from().empty()) {
    add(costs.estimated_within());
    add(kDivided);
  }
  if (!costs.in_model()) add(kNotInModel);
  const bool guesses_beside = costs.in_model() && !costs.beside_in_model();
  if (guesses_beside && plan.streams > 1 && planning_case.gpu == nullptr) add(kNeverBeside);
  if (costs.round_trip() && costs.round_trip()->varied()) add(kCoresMoved);
  if (planning_case.gpu != nullptr) add(kContention);
  const double most = static_cast<double>(costs.most_footprint().value);
  const double touched = static_cast<double>(prediction.memory.total().value);
  if (costs.in_model() && most > 0 && touched > most) add(kBeyond * std::log2(touched / most));
  return interval();
}

}  // namespace cohort
