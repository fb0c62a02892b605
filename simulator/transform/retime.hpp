#pragma once

#include "base/units.hpp"
#include "simulator/transform/change.hpp"

namespace cohort {

/// One recorded way of doing a task's work.
struct RecordedAlternative {
  Nanoseconds time{};
  Bytes workspace;
};

/// A task and the ways that were recorded for it.
struct TaskAlternatives {
  TaskId task{};
  std::vector<RecordedAlternative> ways;
};

/// Gives each task the fastest of its recorded alternatives whose workspace is within `limit`; of
/// equally fast ones the smaller. Times are never scaled from others.
/// Errors: kDoesNotFit naming the task whose every alternative needs more; kInvalidInput for a task
/// that has none. Then the graph is left as it was.
Result<Change> retime(TaskGraph& graph, std::span<const TaskAlternatives> alternatives, Bytes limit);

}  // namespace cohort
