#include "simulator/planner/explanation.hpp"

#include "base/rate.hpp"

namespace cohort {
namespace {

/// "1.20 ms slower than 1; ", "p99 latency 1.20 ms; "; empty for the first of those ranked by throughput.
std::string standing(const PlanCandidate& candidate, const PlanningResult& result) {
  const Prediction& prediction = candidate.prediction;
  switch (result.objective) {
    case Objective::kThroughput:
      break;
    case Objective::kStepTime:
      return fmt::format("{} from launch to end; ", format_time(prediction.launch_to_end));
    case Objective::kP99Latency:
      return fmt::format("p99 latency {}; ", format_time(prediction.p99_latency));
    case Objective::kBalancedGain:
      return fmt::format("least gain of a member {:.2f}x; ", candidate.least_gain);
  }
  if (!result.cases.empty()) return format_rate(prediction.samples_per_second) + "; ";
  if (result.ranked.empty() || &result.ranked.front() == &candidate) return "";
  const Nanoseconds slower = prediction.step_time - result.ranked.front().prediction.step_time;
  return fmt::format("{} slower than 1; ", format_time(slower));
}

}  // namespace

std::string explanation_of(const PlanCandidate& candidate, const PlanningResult& result) {
  const Prediction& prediction = candidate.prediction;
  std::string text = standing(candidate, result);
  if (candidate.explained) {
    std::string parts;
    for (std::size_t i = 0; i < kGainCauses; ++i) {
      const Nanoseconds saved = candidate.attribution.saved[i];
      if (saved == Nanoseconds(0)) continue;
      parts += fmt::format("{}{} {} {}", parts.empty() ? "" : ", ", to_string(GainCause(i)),
                           saved > Nanoseconds(0) ? "saves" : "costs", format_time(std::chrono::abs(saved)));
    }
    text += parts.empty() ? "as the baseline; " : parts + "; ";
  }
  text += fmt::format("{}; {}", binding_text(prediction), format_bytes(prediction.memory.total()));
  if (candidate.limited) text += fmt::format(", limited: {} of workspace", format_bytes(prediction.memory.workspace));
  return text;
}

}  // namespace cohort
