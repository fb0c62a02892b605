#include "simulator/report/ranking_text.hpp"

#include <fmt/format.h>

#include <algorithm>

namespace cohort {

std::string explanation_of(const WhatIfPrediction& prediction) {
  std::string text;
  for (const GainPart& part : prediction.gain) {
    const bool saves = part.gain >= Nanoseconds(0);
    text += fmt::format("{}{} {} {}", text.empty() ? "" : ", ", part.cause, saves ? "saves" : "costs",
                        format_time(saves ? part.gain : -part.gain));
  }
  text += fmt::format("{}{} busy {:.0f}%; confidence {}", text.empty() ? "" : "; ", prediction.binding.resource,
                      100 * prediction.binding.utilisation, to_string(prediction.confidence()));
  if (!prediction.doubts.empty()) text += ": " + prediction.doubts.front().why;
  return text;
}

std::string print(const WhatIfRanking& ranking, std::size_t most_rows) {
  const std::size_t shown = std::min(most_rows, ranking.ranked.size());
  std::string text = fmt::format("{:>3} {:>10} {:>8} {:>10}  {}\n", "", "step", "speedup", "at least", "way, and why");
  for (std::size_t i = 0; i < shown; ++i) {
    const auto& [name, what_if, prediction] = ranking.ranked[i];
    text += fmt::format("{:>3} {:>10} {:>7.2f}x {:>10}  {}\n{:36}{}\n", i + 1, format_time(prediction.step_time),
                        prediction.speedup, format_time(prediction.lower_bound), name, "", explanation_of(prediction));
  }
  if (shown < ranking.ranked.size()) text += fmt::format("    ... and {} more\n", ranking.ranked.size() - shown);
  const WhatIfPrediction& best = ranking.ranked.front().prediction;
  text += fmt::format("{:>3} {:>10} {:>7.2f}x {:>10}  one after another (baseline)\n", "-", format_time(best.baseline),
                      1.0, "");
  if (best.speedup <= 1) text += "none gains: run these steps one after another\n";
  if (ranking.interrupted) text += "interrupted: the best of what was looked at by then\n";
  for (const RefusedWhatIf& refused : ranking.refused)
    text += fmt::format("not possible: {}: {}\n", refused.name, refused.reason);
  return text;
}

}  // namespace cohort
