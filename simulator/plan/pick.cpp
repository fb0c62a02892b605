#include "simulator/plan/pick.hpp"

#include <algorithm>

namespace cohort {

AlternativePicker::AlternativePicker(const Plan& plan, const OpCatalog& catalog, const ChooseAlternative& choose)
    : plan_(plan), catalog_(catalog), choose_(choose) {
  if (!plan.resolved || plan.resolved->fingerprint != fingerprint(plan)) return;
  for (const ResolvedStep& step : plan.resolved->steps) resolved_[step.task] = step;
}

/// Threads to look for ways with, the most first.
Result<std::vector<int>> AlternativePicker::thread_counts(std::uint32_t group) const {
  const Group& asked = plan_.groups[group];
  const int cores = catalog_.cores();
  if (asked.threads > cores)
    return fail(ErrorCode::kInvalidInput, "groups[{}].threads: {} asked for, the device has {} cores", group,
                asked.threads, cores);
  if (asked.threads > 0) return std::vector{asked.threads};
  const bool one = asked.strategy == Strategy::kConcurrent || plan_.streams > 1 || cores == 1;
  return one ? std::vector{1} : std::vector{cores, 1};
}

Result<Alternative> AlternativePicker::pick(const OpCall& call, const std::string& task, std::uint32_t group) const {
  COHORT_TRY(const std::vector<int> threads, thread_counts(group));
  std::vector<Alternative> candidates;
  Bytes least{INT64_MAX};
  for (const int count : threads) {
    auto listed = catalog_.alternatives(call, count);
    if (!listed) return in_context(task, listed.error());
    for (Alternative& alternative : *listed) {
      least = std::min(least, alternative.workspace);
      if (!plan_.limits.workspace || alternative.workspace <= *plan_.limits.workspace)
        candidates.push_back(std::move(alternative));
    }
  }
  if (candidates.empty())
    return fail(ErrorCode::kDoesNotFit, "{}: needs at least {} of workspace, the limit is {}", task,
                format_bytes(least), format_bytes(*plan_.limits.workspace));
  if (const auto found = resolved_.find(task); found != resolved_.end()) {
    for (Alternative& candidate : candidates) {
      if (candidate.algorithm == found->second.algorithm && candidate.threads == found->second.threads)
        return std::move(candidate);
    }
    return fail(ErrorCode::kInvalidInput,
                "resolved: task {} asks for algorithm {} with {} threads, which this device does not list; delete "
                "resolved and baselines to have them made anew (another layout or precision has other algorithms)",
                task, found->second.algorithm, found->second.threads);
  }
  const CostKey key{call.signature, call.strategy, call.width, candidates[0].threads, ""};
  return std::move(candidates[choose_(key, candidates)]);
}

}  // namespace cohort
