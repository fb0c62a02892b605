#pragma once

#include <cstdint>
#include <map>
#include <optional>
#include <utility>
#include <vector>

#include "tracer/steps/steps.hpp"

namespace cohort {

/// Steps of a predicted or measured trace: the iterations of its tasks, from the first task's start to the last one's
/// end, in ascending order. Slices that are not tasks belong to none.
class TaskSteps {
 public:
  /// `trace` must outlive this.
  explicit TaskSteps(const Trace& trace);

  /// Position of a task's step.
  [[nodiscard]] std::uint32_t of(const Slice& slice) const;
  [[nodiscard]] const std::vector<TraceStep>& steps() const& { return steps_; }
  [[nodiscard]] std::vector<TraceStep> steps() && { return std::move(steps_); }

 private:
  [[nodiscard]] std::int64_t iteration_of(const Slice& slice) const;

  const Trace& trace_;
  std::optional<StringId> iteration_;
  std::map<std::int64_t, std::uint32_t> positions_;
  std::vector<TraceStep> steps_;
};

}  // namespace cohort
