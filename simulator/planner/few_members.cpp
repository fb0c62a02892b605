#include "simulator/planner/few_members.hpp"

#include <algorithm>
#include <chrono>
#include <cmath>

#include "simulator/plan/member_classes.hpp"

namespace cohort {
namespace {

/// On each core: one goes on while the next begins.
constexpr std::size_t kLeastOnCore = 2;
/// Of all candidates together that are simulated with all members.
constexpr std::size_t kMostSimulatedSteps = 20'000;
/// What takes this much longer with few members hardly is the best with all.
constexpr double kClose = 1.1;
/// How much more or less than their number all may gain beside some for the parts of the gain to be the same.
constexpr double kMostFromProportion = 0.2;

std::size_t steps_of(const PlanningCase& planning_case) {
  std::size_t steps = 0;
  for (const Model* model : planning_case.models) steps += model->ops.size();
  return steps;
}

/// Whether a plan that is best for some members may be none for all.
bool depends_on_all(const PlanningCase& planning_case, const PlannerOptions& options) {
  const Plan& base = *planning_case.base;
  const bool is_limited = base.limits.memory || base.limits.workspace || options.latency_limit || options.pareto;
  const bool is_bounded = options.objective == Objective::kThroughput || options.objective == Objective::kStepTime;
  return planning_case.gpu != nullptr || is_limited || !is_bounded || base.input.source == InputSource::kFolder;
}

}  // namespace

std::optional<FewMembers> FewMembers::of(const PlanningCase& planning_case, const PlannerOptions& options) {
  const std::size_t all = planning_case.models.size();
  const std::size_t steps = steps_of(planning_case);
  if (steps <= kMostSearchedSteps || depends_on_all(planning_case, options)) return std::nullopt;
  const std::size_t least = kLeastOnCore * static_cast<std::size_t>(planning_case.device.cores);
  const std::size_t few = std::max(all * kMostSearchedSteps / steps, least);
  if (2 * few > all) return std::nullopt;
  FewMembers members(planning_case);
  members.base_ = *planning_case.base;
  members.base_.members.clear();
  members.base_.groups.clear();
  members.base_.baselines.clear();
  members.base_.resolved.reset();
  std::vector<std::uint32_t> kept;
  for (const MemberClass& each : member_classes(planning_case.models)) {
    // At least two of a class that has several: one alone cannot be fused with anything.
    const std::size_t share = (each.members.size() * few + all - 1) / all;
    const std::size_t count = std::max(share, std::min<std::size_t>(2, each.members.size()));
    kept.insert(kept.end(), each.members.begin(), each.members.begin() + static_cast<std::ptrdiff_t>(count));
  }
  if (2 * kept.size() > all) return std::nullopt;
  std::sort(kept.begin(), kept.end());  // classes are in order of their first members, which are all there
  for (const std::uint32_t member : kept) {
    members.base_.members.push_back(planning_case.base->members[member]);
    members.models_.push_back(planning_case.models[member]);
  }
  return members;
}

PlanningCase FewMembers::planning_case() const {
  PlanningCase few = whole_;
  few.base = &base_;
  few.models = models_;
  return few;
}

std::size_t worth_trying(const PlanningResult& of_few, const PlanningCase& planning_case) {
  const std::size_t steps = std::max<std::size_t>(1, steps_of(planning_case));
  if (kBestOfFew * steps <= kMostSimulatedSteps) return kBestOfFew;
  std::vector<Nanoseconds> times;  // the best first
  for (const PlanCandidate& each : of_few.ranked) {
    if (each.name != kOneAfterAnother) times.push_back(each.prediction.step_time);
  }
  return times.size() > 1 && seconds(times[1]) < kClose * seconds(times[0]) ? 2 : 1;
}

std::optional<Attribution> gain_as_of_few(const PlanningResult& of_few, const PlanCandidate& candidate,
                                          const BaselinePrediction& baseline) {
  const auto found = std::find_if(of_few.ranked.begin(), of_few.ranked.end(),
                                  [&](const PlanCandidate& each) { return each.name == candidate.name; });
  if (found == of_few.ranked.end() || !found->explained) return std::nullopt;
  const Nanoseconds gain = baseline.step_time - candidate.prediction.step_time;
  const Nanoseconds gain_of_few = of_few.baseline.step_time - found->prediction.step_time;
  const double members = static_cast<double>(baseline.alone.size()) / static_cast<double>(of_few.baseline.alone.size());
  const double factor = gain_of_few == Nanoseconds(0) ? 0 : seconds(gain) / seconds(gain_of_few);
  if (std::abs(factor / members - 1) > kMostFromProportion) return std::nullopt;
  Attribution parts;
  Nanoseconds rest = gain;
  for (std::size_t i = 0; i < kGainCauses; ++i) {
    parts.saved[i] = Nanoseconds(std::llround(factor * static_cast<double>(found->attribution.saved[i].count())));
    rest -= parts.saved[i];
  }
  const auto size = [](Nanoseconds time) { return std::chrono::abs(time); };
  *std::ranges::max_element(parts.saved, {}, size) += rest;  // what rounding left
  return parts;
}

double searched_part(const PlanningCase& planning_case) {
  const auto steps = static_cast<double>(std::max<std::size_t>(1, steps_of(planning_case)));
  return std::min(1.0, static_cast<double>(kMostUnhurriedSteps) / steps);
}

}  // namespace cohort
