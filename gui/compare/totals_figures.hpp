#pragma once

#include <vector>

#include "gui/figures/figure_strip.hpp"
#include "view/compare/trace_comparison.hpp"

namespace cohort {

/// Speedup, wall times, total error and what has no partner.
std::vector<Figure> totals_figures(const TraceComparison& comparison, const Overlay& overlay);

}  // namespace cohort
