#pragma once

#include <nlohmann/json_fwd.hpp>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "simulator/colocation/processes.hpp"

namespace cohort {

/// Why the GPU's work is not known (is_unknown()), and what would tell it: a sentence for people.
std::string_view unknown_work_text(bool follows_shares);

/// A table for people, with what measured rows say beside it.
std::string processes_text(const TimedModel& model, const std::vector<EqualProcesses>& rows);
/// Times in whole nanoseconds, null for what is unknown.
nlohmann::ordered_json processes_json(const TimedModel& model, const std::vector<EqualProcesses>& rows);

/// Lines for people.
std::string processes_text(std::span<const TimedModel> models, const DifferentProcesses& different);
/// As that of equal ones.
nlohmann::ordered_json processes_json(std::span<const TimedModel> models, const DifferentProcesses& different);

}  // namespace cohort
