#pragma once

#include <cstddef>
#include <optional>
#include <span>
#include <vector>

#include "base/result.hpp"
#include "simulator/engine/task_graph.hpp"

namespace cohort {

/// Tasks of a graph, ascending, each once.
using Selection = std::vector<TaskId>;

/// What a transformation did to a graph. Ids are those after it.
struct Change {
  std::size_t tasks_added = 0;
  std::size_t tasks_removed = 0;
  std::size_t tasks_changed = 0;  ///< in duration, resource or position
  std::size_t edges_added = 0;
  std::size_t edges_removed = 0;
  /// By id before: the id now, absent for removed tasks. Empty where no id changed.
  std::vector<std::optional<TaskId>> moved;

  [[nodiscard]] bool any() const {
    return tasks_added + tasks_removed + tasks_changed + edges_added + edges_removed > 0;
  }
};

/// Errors: kInvalidInput naming the tasks of a cycle, or a range that is broken.
Result<void> check_acyclic(const TaskGraph& graph);

/// Drops the tasks that `keep` is false for, with their edges and nothing in their place.
Change compact(TaskGraph& graph, const std::vector<bool>& keep);

/// By task: whether it is selected. Errors: kInvalidInput naming a task that the graph does not have.
Result<std::vector<bool>> mask_of(const TaskGraph& graph, std::span<const TaskId> selection);

}  // namespace cohort
