#pragma once

#include <nlohmann/json_fwd.hpp>
#include <string>
#include <string_view>

#include "simulator/report/run_report.hpp"

namespace cohort {

/// What a prediction says, in the keys that all predictions have; times in whole nanoseconds, null for what is unknown.
nlohmann::ordered_json to_json(const RunReport& report);

/// The same for people. `what`: "4 members' steps"; `rate`: "310.2 steps/s"; `between`: lines that stand between the
/// gain and the critical path.
std::string to_text(const RunReport& report, std::string_view what, std::string_view rate, std::string_view between);

}  // namespace cohort
