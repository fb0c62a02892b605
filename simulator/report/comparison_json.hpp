#pragma once

#include <nlohmann/json_fwd.hpp>

#include "simulator/report/compare.hpp"

namespace cohort {

/// A prediction held against a measurement, times in whole nanoseconds; null for what is unknown.
nlohmann::ordered_json to_json(const Comparison& comparison);

}  // namespace cohort
