#pragma once

#include <vector>

#include "gui/figures/figure_strip.hpp"
#include "view/chart/chart.hpp"
#include "view/explore/explore_answer.hpp"

namespace cohort {

/// Speedup with its interval and bounds, step time, rate, latency, memory, what binds, confidence.
std::vector<Figure> answer_figures(const ExploreAnswer& answer);

/// Why the prediction may be off, what an algorithm or limit costs: rich text, a line each.
QString answer_notes(const ExploreAnswer& answer);

/// A chart with a point for each candidate that has what is asked for, and which candidate each point is.
struct CandidateChart {
  Chart chart;
  std::vector<std::size_t> candidates;  ///< by point of series 0
};
enum class CandidateAxis { kMemory, kLatency };
CandidateChart candidate_chart(const Recommendation& found, CandidateAxis across, std::optional<Bytes> memory_limit,
                               std::optional<Bytes> device_memory, std::string counted = "samples");

}  // namespace cohort
