#pragma once

#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "base/result.hpp"
#include "base/units.hpp"
#include "simulator/predict/predict.hpp"

namespace cohort {

/// What a plan is looked for by.
enum class Objective {
  kThroughput,    ///< most samples a second over all members: least time between the ends of two program steps
  kStepTime,      ///< least time of one program step, from its launch until all its ops have ended
  kP99Latency,    ///< least Prediction::p99_latency
  kBalancedGain,  ///< largest gain of the member that gains least, as member_gains() has it
};
inline constexpr std::size_t kObjectives = 4;
/// "throughput", "step-time", "p99-latency", "balanced".
std::string_view to_string(Objective objective);
/// Errors: kUsage naming the objectives there are.
Result<Objective> objective_from(std::string_view text);

/// By member: how many times sooner its step is done than if all members had equal shares of the device's time, each
/// running at 1/N of its speed alone: N x alone / latency. 1 is no gain.
/// `alone`: the time of each member's step by itself, in its best single-model plan.
std::vector<double> member_gains(const Prediction& prediction, std::span<const Nanoseconds> alone);

/// What the objective wants least of: nanoseconds, or for kBalancedGain 1 / the least gain.
/// Of the same members with the same minibatches the most samples a second are the least step time; plan_best_of()
/// compares others.
double objective_cost(Objective objective, const Prediction& prediction, std::span<const Nanoseconds> alone);

}  // namespace cohort
