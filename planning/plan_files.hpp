#pragma once

#include <filesystem>

#include "base/file.hpp"
#include "base/result.hpp"
#include "simulator/planner/planner.hpp"
#include "tracer/trace.hpp"

namespace cohort {

/// Whether a file is a plan and no trace, as far as its beginning tells; not where it cannot be read.
bool looks_like_plan(const std::filesystem::path& file);

/// Models that were moved with the plan are found.
/// Errors: kInvalidInput naming the file and the field.
Result<Plan> read_plan(const std::filesystem::path& file);
/// The plan that the trace in `file` is of, as read_plan() has it: both are equal where they were moved together.
/// Errors: kInvalidInput naming the field.
Result<Plan> recorded_plan(const std::filesystem::path& file, const TraceInfo& trace);

/// "lr0.01.measured.json.gz" of "lr0.01.plan.json": the name without .plan.json or .json, and the ending.
std::filesystem::path beside_plan(const std::filesystem::path& plan, std::string_view ending);

/// A plan, and its predicted trace beside it.
struct PlanFiles {
  std::filesystem::path plan;       ///< mlp.plan.json
  std::filesystem::path predicted;  ///< mlp.predicted.json.gz

  /// Those of a plan that is written there.
  static PlanFiles of(std::filesystem::path plan);
  /// check_writable() of both.
  [[nodiscard]] Result<void> check(Overwrite overwrite) const;
  /// Errors: those of PendingFiles::add().
  Result<void> add(const Plan& content, const Trace& trace, PendingFiles& pending) const;
};

/// Every ranked candidate's plan, named by its rank in as many digits as the last one's, so that others than the best
/// can be run too; and those of less memory.
Result<void> add_candidates(const PlanningResult& result, const std::filesystem::path& folder, PendingFiles& pending);

}  // namespace cohort
