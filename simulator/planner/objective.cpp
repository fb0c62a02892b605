#include "simulator/planner/objective.hpp"

#include <algorithm>
#include <array>

namespace cohort {
namespace {

constexpr std::array<std::string_view, kObjectives> kNames = {"throughput", "step-time", "p99-latency", "balanced"};

double least_gain(const Prediction& prediction, std::span<const Nanoseconds> alone) {
  const std::vector<double> gains = member_gains(prediction, alone);
  return gains.empty() ? 1 : *std::min_element(gains.begin(), gains.end());
}

}  // namespace

std::string_view to_string(Objective objective) { return kNames[static_cast<std::size_t>(objective)]; }

Result<Objective> objective_from(std::string_view text) {
  for (std::size_t i = 0; i < kNames.size(); ++i) {
    if (kNames[i] == text) return static_cast<Objective>(i);
  }
  return fail(ErrorCode::kUsage, "an objective is throughput, step-time, p99-latency or balanced, not \"{}\"", text);
}

std::vector<double> member_gains(const Prediction& prediction, std::span<const Nanoseconds> alone) {
  std::vector<double> gains;
  for (std::size_t m = 0; m < alone.size() && m < prediction.member_latency.size(); ++m) {
    const double latency = seconds(prediction.member_latency[m]);
    gains.push_back(latency > 0 ? static_cast<double>(alone.size()) * seconds(alone[m]) / latency : 1);
  }
  return gains;
}

double objective_cost(Objective objective, const Prediction& prediction, std::span<const Nanoseconds> alone) {
  switch (objective) {
    case Objective::kThroughput:
      break;
    case Objective::kStepTime:
      return static_cast<double>(prediction.launch_to_end.count());
    case Objective::kP99Latency:
      return static_cast<double>(prediction.p99_latency.count());
    case Objective::kBalancedGain: {
      const double gain = least_gain(prediction, alone);
      return gain > 0 ? 1 / gain : 0;
    }
  }
  return static_cast<double>(prediction.step_time.count());
}

}  // namespace cohort
