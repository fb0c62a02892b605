#pragma once

#include <map>
#include <string>

#include "base/result.hpp"
#include "simulator/plan/lower.hpp"
#include "simulator/plan/op_catalog.hpp"
#include "simulator/plan/plan.hpp"

namespace cohort {

/// Picks an algorithm for each call of a plan from those that the device lists: that of `resolved` if it still belongs
/// to the plan, else that of `choose`, within the plan's threads and workspace. All arguments must outlive it.
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
