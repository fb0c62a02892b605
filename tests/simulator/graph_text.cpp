#include "tests/simulator/graph_text.hpp"

#include <fmt/format.h>
#include <gtest/gtest.h>

#include <map>
#include <sstream>

namespace cohort {
namespace {

void add_resource_line(TaskGraph& graph, std::map<std::string, TaskId>& ids, std::string name, std::istream& rest) {
  ResourceKind kind = ResourceKind::kStream;
  if (name.rfind("worker ", 0) == 0) {
    kind = ResourceKind::kDecodeWorker;
    name = name.substr(7);
  }
  const ResourceId resource = graph.add_resource(name, kind);
  std::string item;
  std::int64_t position = 0;
  while (std::getline(rest, item, ',')) {
    std::istringstream words(item);
    std::string label;
    std::int64_t duration = 0;
    int cores = 1;
    char x = 0;
    words >> label >> duration;
    if (words >> x) words >> cores;
    Task task;
    task.label = graph.add_label(label);
    task.kind = kind == ResourceKind::kStream ? TaskKind::kStep : TaskKind::kInput;
    task.resource = resource;
    task.cores = cores;
    task.duration = Nanoseconds(duration);
    task.position = position++;
    ids[label] = graph.add_task(task);
  }
}

void add_edge_line(TaskGraph& graph, const std::map<std::string, TaskId>& ids, const std::string& line) {
  std::istringstream words(line);
  std::string from;
  std::string arrow;
  std::string to;
  std::int64_t delay = 0;
  words >> from >> arrow >> to >> delay;
  const Anchor anchor = from.front() == '^' ? Anchor::kStart : Anchor::kEnd;
  if (anchor == Anchor::kStart) from = from.substr(1);
  graph.add_edge(ids.at(from), ids.at(to), EdgeKind::kEvent, Nanoseconds(delay), anchor);
}

}  // namespace

TaskGraph graph_from(std::string_view text) {
  TaskGraph graph;
  std::map<std::string, TaskId> ids;
  std::istringstream lines{std::string(text)};
  std::string line;
  while (std::getline(lines, line)) {
    const std::size_t first = line.find_first_not_of(' ');
    if (first == std::string::npos) continue;
    line = line.substr(first);
    if (const std::size_t colon = line.find(':'); colon != std::string::npos) {
      std::istringstream rest(line.substr(colon + 1));
      add_resource_line(graph, ids, line.substr(0, colon), rest);
    } else {
      add_edge_line(graph, ids, line);
    }
  }
  return graph;
}

std::string timeline(const TaskGraph& graph, const Schedule& schedule) {
  std::string text;
  for (std::size_t i = 0; i < schedule.tasks.size(); ++i) {
    text += fmt::format("{} {}-{}\n", graph.label(TaskId(i)), schedule.tasks[i].start.count(),
                        schedule.tasks[i].end.count());
  }
  return text;
}

std::string timeline_of(std::string_view text, const DeviceProfile& device) {
  const TaskGraph graph = graph_from(text);
  const Result<Schedule> schedule = simulate(graph, {device});
  if (!schedule) return schedule.error().message;
  return timeline(graph, *schedule);
}

std::string timeline_of(std::string_view text, int cores) {
  DeviceProfile device;
  device.cores = cores;
  return timeline_of(text, device);
}

}  // namespace cohort
