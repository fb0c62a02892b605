#pragma once

#include <string>
#include <string_view>

#include "simulator/planner/plan_report.hpp"
#include "simulator/report/run_report.hpp"
#include "simulator/what_if/what_if.hpp"

namespace cohort {

/// What a prediction says, for people. `what`: "4 members' steps"; `rate`: "310.2 steps/s"; `between`: lines that stand
/// between the gain and the critical path.
std::string to_text(const RunReport& report, std::string_view what, std::string_view rate, std::string_view between);
/// The same of a plan, with its samples a second and the rules of a workspace limit.
std::string to_text(const PlanReport& report);
/// The same of a trace's what-if, with what another minibatch alone does.
std::string to_text(const WhatIfPrediction& prediction);

/// The part of to_text() with utilisation, critical path with slack, and confidence with its reasons.
std::string path_text(const RunReport& report);
/// "confidence low: no figures of the device; 3 ops are between recorded widths or sizes"
std::string confidence_line(const RunReport& report);

}  // namespace cohort
