#pragma once

#include <nlohmann/json_fwd.hpp>
#include <string>
#include <string_view>

#include "simulator/planner/plan_report.hpp"
#include "simulator/report/run_report.hpp"
#include "simulator/what_if/what_if.hpp"

namespace cohort {

/// Words as a key: "launch_removal" of "launch removal".
std::string key_of(std::string_view words);

/// What a prediction says, in the keys that all predictions have; times in whole nanoseconds, null for what is unknown.
nlohmann::ordered_json to_json(const RunReport& report);
/// The same of a plan, with its samples a second and the rules of a workspace limit.
nlohmann::ordered_json to_json(const PlanReport& report);
/// The same of a trace's what-if, with what it changed and what the step was.
nlohmann::ordered_json to_json(const WhatIfPrediction& prediction);

}  // namespace cohort
