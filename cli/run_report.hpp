#pragma once

#include <nlohmann/json_fwd.hpp>
#include <string>
#include <string_view>

#include "simulator/planner/plan_report.hpp"
#include "simulator/report/run_report.hpp"

namespace cohort {

/// What a prediction says, in the keys that all predictions have; times in whole nanoseconds, null for what is unknown.
nlohmann::ordered_json to_json(const RunReport& report);

/// The same for people. `what`: "4 members' steps"; `rate`: "310.2 steps/s"; `between`: lines that stand between the
/// gain and the critical path.
std::string to_text(const RunReport& report, std::string_view what, std::string_view rate, std::string_view between);

/// The same of a plan, with its samples a second and the rules of a workspace limit.
nlohmann::ordered_json to_json(const PlanReport& report);
std::string to_text(const PlanReport& report);

/// Of what to_text() says the busy parts of the device, the critical path with slack, and confidence with its reasons.
std::string path_text(const RunReport& report);
/// "confidence low: grave: no figures of the device; 3 ops are between recorded widths or sizes"
std::string confidence_line(const RunReport& report);

}  // namespace cohort
