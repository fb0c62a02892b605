#pragma once

#include <deque>
#include <string>
#include <string_view>
#include <unordered_map>
#include <vector>

#include "base/result.hpp"
#include "simulator/plan/call_form.hpp"
#include "simulator/plan/lower.hpp"
#include "simulator/plan/op_catalog.hpp"
#include "simulator/plan/plan.hpp"

namespace cohort {

/// Picks an algorithm for each call of a plan from those that the device lists: that of `resolved` if it still belongs
/// to the plan, else that of `choose`, within the plan's threads and workspace. Lists the ways once for calls that
/// differ in nothing but their buffers, those of equal members, and asks `choose` for each. All arguments must outlive
/// it.
class AlternativePicker {
 public:
  AlternativePicker(const Plan& plan, const OpCatalog& catalog, const ChooseAlternative& choose);

  /// Errors: kInvalidInput for more threads than there are cores, or a resolved algorithm that the
  /// device does not list; kDoesNotFit where every way needs more workspace than the limit; those of
  /// the catalog. All name the task or group.
  /// What is returned lives as long as this.
  Result<const Alternative*> pick(const OpCall& call, const std::string& task, std::uint32_t group);

 private:
  /// The ways to run calls of one form.
  struct Ways {
    std::vector<Alternative> candidates;  ///< within the plan's limit of workspace
    CostKey key;
  };

  [[nodiscard]] Result<std::vector<int>> thread_counts(std::uint32_t group) const;
  [[nodiscard]] Result<Ways> list_ways(const OpCall& call, const std::vector<int>& threads,
                                       const std::string& task) const;
  Result<const Ways*> ways_of(const OpCall& call, std::vector<int> threads, const std::string& task);
  [[nodiscard]] Result<void> check_limit(const OpCall& call, const ResolvedStep& asked, const std::string& task) const;

  const Plan& plan_;
  const OpCatalog& catalog_;
  const ChooseAlternative& choose_;
  std::unordered_map<std::string_view, const ResolvedStep*> resolved_;  ///< by task
  KnownByForm<std::vector<int>, Ways> known_;
  std::deque<Ways> of_several_parts_;
};

}  // namespace cohort
