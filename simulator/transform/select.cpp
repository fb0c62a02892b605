#include "simulator/transform/select.hpp"

#include <string>

#include "tracer/steps/steps.hpp"

namespace cohort {

Selection select(const TaskGraph& graph, const std::function<bool(const Task&)>& holds) {
  Selection selection;
  for (std::size_t i = 0; i < graph.tasks.size(); ++i) {
    if (holds(graph.tasks[i])) selection.push_back(TaskId(i));
  }
  return selection;
}

Selection select_named(const TaskGraph& graph, std::string_view pattern) {
  const bool exact = pattern.find('*') != std::string_view::npos;
  std::vector<bool> named(graph.labels.size());
  for (std::size_t i = 0; i < graph.labels.size(); ++i) {
    named[i] = exact ? matches_pattern(graph.labels[i], pattern) : graph.labels[i].find(pattern) != std::string::npos;
  }
  std::vector<bool> within(graph.scopes.size());
  for (std::size_t i = 0; i < graph.scopes.size(); ++i) {  // parents come first
    const Scope& scope = graph.scopes[i];
    within[i] = named[to_index(scope.label)] || (scope.parent && within[to_index(*scope.parent)]);
  }
  return select(graph, [&](const Task& task) {
    return named[to_index(task.label)] || (task.scope && within[to_index(*task.scope)]);
  });
}

}  // namespace cohort
