#pragma once

#include <nlohmann/json_fwd.hpp>
#include <string>

#include "executor/run/plan_run.hpp"
#include "simulator/plan/plan.hpp"
#include "tracer/trace.hpp"

namespace cohort {

/// A plan that was measured and traced.
struct FinishedRun {
  const Plan& plan;
  const PlanRun& run;
  const PlanRun::Times& times;
  const Trace& trace;
};

/// What it measured, in whole nanoseconds and bytes; null for what is unknown.
nlohmann::ordered_json to_json(const FinishedRun& finished);
/// The same for people: a line each for the plan, its baseline and what is beside them, with speedups.
std::string to_text(const FinishedRun& finished);

}  // namespace cohort
