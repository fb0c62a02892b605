#include "simulator/planner/refusals.hpp"

#include <algorithm>
#include <utility>

namespace cohort {

void Refusals::add(Error why) {
  if (!first_) first_ = std::move(why);
}

void Refusals::add_too_slow(Nanoseconds latency) {
  least_latency_ = std::min(latency, least_latency_.value_or(latency));
}

/// Lowers them once more, without the limit: lowering stops where it is exceeded.
std::optional<Bytes> Refusals::least_memory(PlanEvaluator& evaluator, std::span<const Model* const> models) const {
  std::optional<Bytes> least;
  for (const Plan& plan : too_large_) {
    if (!plan.limits.memory) continue;
    Plan free = plan;
    free.limits.memory.reset();
    const auto lowered = evaluator.lowered(free, models);
    if (!lowered) continue;
    const Bytes needed = lowered->program.memory.total();
    least = std::min(needed, least.value_or(needed));
  }
  return least;
}

Error Refusals::no_plan(PlanEvaluator& evaluator, std::span<const Model* const> models) const {
  Error error = first_.value_or(Error{ErrorCode::kInvalidInput, "none was found"});
  error.message = fmt::format("no plan is possible: {}", error.message);
  if (const auto memory = least_memory(evaluator, models))
    error.message +=
        fmt::format("; the least that one of {} plans takes is {}", too_large_.size(), format_bytes(*memory));
  if (least_latency_)
    error.message += fmt::format("; the shortest p99 latency of a plan is {}", format_time(*least_latency_));
  return error;
}

}  // namespace cohort
