#include "tracer/steps/task_steps.hpp"

#include <fmt/format.h>

#include <algorithm>

#include "tracer/text_arg.hpp"

namespace cohort {

TaskSteps::TaskSteps(const Trace& trace) : trace_(trace), iteration_(trace.strings.find(kIterationArg)) {
  const TextArg task(trace, kTaskArg);
  std::map<std::int64_t, TraceStep> steps;
  for (const Slice& slice : trace.slices) {
    if (!task(slice)) continue;
    const auto [found, is_new] = steps.try_emplace(iteration_of(slice));
    TraceStep& step = found->second;
    step.window.start = is_new ? slice.start : std::min(step.window.start, slice.start);
    step.window.end = is_new ? slice.end() : std::max(step.window.end, slice.end());
    ++step.kernels;
  }
  for (auto& [iteration, step] : steps) {
    step.name = fmt::format("iteration {}", iteration);
    positions_[iteration] = static_cast<std::uint32_t>(steps_.size());
    steps_.push_back(std::move(step));
  }
}

std::int64_t TaskSteps::iteration_of(const Slice& slice) const {
  return trace_.integer_arg(slice, iteration_).value_or(0);
}

std::uint32_t TaskSteps::of(const Slice& slice) const { return positions_.at(iteration_of(slice)); }

}  // namespace cohort
