#include "simulator/transform/retime.hpp"

#include <tuple>
#include <utility>

namespace cohort {

Result<Change> retime(TaskGraph& graph, std::span<const TaskAlternatives> alternatives, Bytes limit) {
  std::vector<std::pair<TaskId, Nanoseconds>> chosen;
  for (const TaskAlternatives& each : alternatives) {
    COHORT_CHECK(mask_of(graph, std::span(&each.task, 1)));
    if (each.ways.empty()) {
      return fail(ErrorCode::kInvalidInput, "{} has no recorded alternatives", graph.label(each.task));
    }
    const RecordedAlternative* best = nullptr;
    Bytes least = each.ways.front().workspace;
    for (const RecordedAlternative& way : each.ways) {
      least = std::min(least, way.workspace);
      if (way.workspace > limit) continue;
      if (best == nullptr || std::tie(way.time, way.workspace) < std::tie(best->time, best->workspace)) best = &way;
    }
    if (best == nullptr) {
      return fail(ErrorCode::kDoesNotFit, "{} needs at least {} of workspace; the limit is {}", graph.label(each.task),
                  format_bytes(least), format_bytes(limit));
    }
    chosen.emplace_back(each.task, best->time);
  }
  Change change;
  for (const auto& [task, time] : chosen) {
    Nanoseconds& duration = graph.tasks[to_index(task)].duration;
    if (duration != time) ++change.tasks_changed;
    duration = time;
  }
  return change;
}

}  // namespace cohort
