#include "simulator/report/run_report.hpp"

#include <fmt/format.h>

#include <algorithm>

namespace cohort {

std::string_view to_string(Confidence confidence) {
  switch (confidence) {
    case Confidence::kHigh:
      return "high";
    case Confidence::kMedium:
      return "medium";
    case Confidence::kLow:
      break;
  }
  return "low";
}

Confidence RunReport::confidence() const {
  if (doubts.empty()) return Confidence::kHigh;
  const bool grave = std::any_of(doubts.begin(), doubts.end(), [](const Doubt& doubt) { return doubt.grave; });
  return grave ? Confidence::kLow : Confidence::kMedium;
}

void RunReport::sort_doubts() {
  std::stable_sort(doubts.begin(), doubts.end(), [](const Doubt& a, const Doubt& b) { return a.grave && !b.grave; });
}

void RunReport::doubt_memory() {
  const auto total = memory.total();
  if (!total || !memory.device || *total <= *memory.device) return;
  doubts.push_back({true, fmt::format("it would need about {}, and the device has {}", format_bytes(*total),
                                      format_bytes(*memory.device))});
}

void RunReport::doubt_contention(std::string_view basis) {
  constexpr double kNoMatter = 0.05;  // of the step time
  constexpr double kMuch = 0.25;
  const Nanoseconds spread = kernels_in_turn - without_contention;
  const double part = step_time > Nanoseconds(0) ? seconds(spread) / seconds(step_time) : 0;
  if (part < kNoMatter) return;
  doubts.push_back({part > kMuch, fmt::format("{}; {} if they did not slow each other, {} if none ran beside another",
                                              basis, format_time(without_contention), format_time(kernels_in_turn))});
}

}  // namespace cohort
