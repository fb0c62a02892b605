#pragma once

#include <nlohmann/json_fwd.hpp>

#include "simulator/planner/planner.hpp"
#include "simulator/what_if/rank_what_ifs.hpp"

namespace cohort {

/// All that a search of plans found, in whole nanoseconds and bytes; null for what is unknown. `by_models`: its cases
/// are of several numbers of members, each perhaps at several minibatches.
nlohmann::ordered_json to_json(const PlanningResult& result, bool by_models);
/// The same of ways to run the steps of traced programs together.
nlohmann::ordered_json to_json(const WhatIfRanking& ranking);

}  // namespace cohort
