#pragma once

#include <map>
#include <memory>
#include <optional>
#include <string>

#include "base/cancel.hpp"
#include "base/device.hpp"
#include "simulator/planner/planner.hpp"
#include "simulator/report/run_report.hpp"

namespace cohort {

/// What a limit on workspaces costs a plan, by how it is handed out. Lifetimes count in all of them: what is never used
/// at the same time shares its bytes.
struct WorkspaceRules {
  struct Way {
    Nanoseconds step_time{};
    Bytes workspace;
  };
  Bytes limit;
  Way unlimited;
  Way whole_batch;                  ///< as predicted: the limit is of the whole model batch
  std::optional<Way> equal_shares;  ///< each member's ops get the same part of it, as in ModelBatch's paper
  std::string refused;              ///< why there is no such way
};

/// The baseline are members one after another, each in its best single-model plan; the upper bound is all of a step in
/// turn, with hand-offs.
struct PlanReport : RunReport {
  Plan plan;  ///< with baselines and `resolved`
  double samples_per_second = 0;
  SpeedupInterval interval;  ///< of the speedup
  Nanoseconds p99_latency{};
  std::optional<WorkspaceRules> workspace;  ///< where the plan limits workspaces
};

/// Reports of many plans of the same members, one at a time: what was found of their baseline, and of ways between it
/// and a plan, serves the next.
class PlanReporter {
 public:
  /// The case's base says nothing here. All that it points to must outlive this.
  PlanReporter(const PlanningCase& planning_case, DeviceInfo device);
  ~PlanReporter();
  PlanReporter(const PlanReporter&) = delete;
  PlanReporter& operator=(const PlanReporter&) = delete;

  /// All that can be said of a plan before it runs.
  /// Errors: those of predict_plan(); kInterrupted once `cancel`, which may be null, is cancelled.
  Result<PlanReport> report(const Plan& plan, const CancelToken* cancel = nullptr);
  /// The same of a plan that a search of this case has ranked, with what the search knows of it.
  Result<PlanReport> report(const PlanningResult& result, std::size_t rank);

 private:
  class Work;
  std::unique_ptr<Work> work_;
};

/// The same of one plan.
Result<PlanReport> report_plan(const PlanningCase& planning_case, const Plan& plan, const DeviceInfo& device);
/// The same of a plan that a search has ranked, with what the search knows of it.
Result<PlanReport> report_ranked(const PlanningCase& planning_case, const PlanningResult& result, std::size_t rank,
                                 const DeviceInfo& device);

}  // namespace cohort
