#pragma once

#include <nlohmann/json.hpp>
#include <utility>

#include "tracer/summary/fallbacks.hpp"

namespace cohort {

/// {"part": 0.12, "ops": [{"name": "pow", "time_ns": 5400}]}
inline nlohmann::ordered_json to_json(const Fallbacks& fallbacks) {
  nlohmann::ordered_json ops = nlohmann::ordered_json::array();
  for (const Fallbacks::Op& op : fallbacks.ops) ops.push_back({{"name", op.name}, {"time_ns", op.time.count()}});
  return {{"part", fallbacks.part()}, {"ops", std::move(ops)}};
}

}  // namespace cohort
