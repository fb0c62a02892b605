#include "simulator/plan/pick.hpp"

#include <algorithm>
#include <utility>

namespace cohort {

AlternativePicker::AlternativePicker(const Plan& plan, const OpCatalog& catalog, const ChooseAlternative& choose)
    : plan_(plan), catalog_(catalog), choose_(choose) {
  if (!plan.resolved || plan.resolved->fingerprint != fingerprint(plan)) return;
  for (const ResolvedStep& step : plan.resolved->steps) resolved_[step.task] = &step;
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

Result<AlternativePicker::Ways> AlternativePicker::list_ways(const OpCall& call, const std::vector<int>& threads,
                                                             const std::string& task) const {
  Ways ways;
  Bytes least{INT64_MAX};
  for (const int count : threads) {
    auto listed = catalog_.alternatives(call, count);
    if (!listed) return in_context(task, listed.error());
    for (Alternative& alternative : *listed) {
      least = std::min(least, alternative.workspace);
      if (!plan_.limits.workspace || alternative.workspace <= *plan_.limits.workspace)
        ways.candidates.push_back(std::move(alternative));
    }
  }
  if (ways.candidates.empty())
    return fail(ErrorCode::kDoesNotFit, "{}: needs at least {} of workspace, the limit is {}", task,
                format_bytes(least), format_bytes(*plan_.limits.workspace));
  ways.key = {call.signature, call.strategy, call.width, ways.candidates[0].threads, ""};
  return ways;
}

/// Whether what the plan asks for is only beyond its own limit.
Result<void> AlternativePicker::check_limit(const OpCall& call, const ResolvedStep& asked,
                                            const std::string& task) const {
  if (!plan_.limits.workspace) return {};
  auto listed = catalog_.alternatives(call, asked.threads);
  if (!listed) return in_context(task, listed.error());
  for (const Alternative& alternative : *listed) {
    if (alternative.algorithm == asked.algorithm && alternative.workspace > *plan_.limits.workspace)
      return fail(ErrorCode::kDoesNotFit,
                  "task {}: algorithm {} needs {} of workspace, limits.workspace_bytes is {}; delete resolved and "
                  "baselines to have others chosen",
                  task, asked.algorithm, format_bytes(alternative.workspace), format_bytes(*plan_.limits.workspace));
  }
  return {};
}

Result<const AlternativePicker::Ways*> AlternativePicker::ways_of(const OpCall& call, std::vector<int> threads,
                                                                  const std::string& task) {
  const bool is_known_by_form = call.parts.empty();  // others are few, and of many parts each
  if (is_known_by_form) {
    if (const Ways* const known = known_.find(call, threads)) return known;
  }
  COHORT_TRY(Ways ways, list_ways(call, threads, task));
  if (is_known_by_form) return &known_.add(call, std::move(threads), std::move(ways));
  return &of_several_parts_.emplace_back(std::move(ways));
}

Result<const Alternative*> AlternativePicker::pick(const OpCall& call, const std::string& task, std::uint32_t group) {
  COHORT_TRY(std::vector<int> threads, thread_counts(group));
  COHORT_TRY(const Ways* const ways, ways_of(call, std::move(threads), task));
  const std::vector<Alternative>& candidates = ways->candidates;
  if (const auto found = resolved_.find(task); found != resolved_.end()) {
    const ResolvedStep& step = *found->second;
    for (const Alternative& candidate : candidates) {
      if (candidate.algorithm == step.algorithm && candidate.threads == step.threads) return &candidate;
    }
    COHORT_CHECK(check_limit(call, step, task));
    return fail(ErrorCode::kInvalidInput,
                "resolved: task {} asks for algorithm {} with {} threads, which this device does not list; delete "
                "resolved and baselines to have them made anew (another layout or precision has other algorithms)",
                task, step.algorithm, step.threads);
  }
  return &candidates[choose_(ways->key, candidates)];
}

}  // namespace cohort
