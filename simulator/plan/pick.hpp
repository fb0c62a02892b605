#pragma once

#include <map>
#include <string>

#include "base/result.hpp"
#include "simulator/plan/lower.hpp"
#include "simulator/plan/op_catalog.hpp"
#include "simulator/plan/plan.hpp"

namespace cohort {

/// Picks one of the ways a device lists for each call of a plan: what `resolved` says while it belongs
/// to the plan, else what `choose` says, within the threads and the workspace that the plan allows.
/// All arguments must outlive it.
class AlternativePicker {
 public:
  AlternativePicker(const Plan& plan, const OpCatalog& catalog, const ChooseAlternative& choose);

  /// Errors: kInvalidInput for more threads than there are cores, or a resolved algorithm that the
  /// device does not list; kDoesNotFit where every way needs more workspace than the limit; those of
  /// the catalog. All name the task or group.
  Result<Alternative> pick(const OpCall& call, const std::string& task, std::uint32_t group) const;

 private:
  [[nodiscard]] Result<std::vector<int>> thread_counts(std::uint32_t group) const;

  const Plan& plan_;
  const OpCatalog& catalog_;
  const ChooseAlternative& choose_;
  std::map<std::string, ResolvedStep> resolved_;  ///< by task
};

}  // namespace cohort
