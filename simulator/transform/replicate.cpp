#include "simulator/transform/replicate.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <map>

#include "simulator/costs/recorded_gpu_work.hpp"

namespace cohort {
namespace {

/// By set: the resource that stands for each resource of the original.
std::vector<std::vector<ResourceId>> add_resource_sets(TaskGraph& graph, const ReplicateOptions& options) {
  const std::size_t resources = graph.resources.size();
  std::vector<std::vector<ResourceId>> sets(static_cast<std::size_t>(options.members));
  for (std::size_t m = 0; m < sets.size(); ++m) {
    for (std::size_t r = 0; r < resources; ++r) {
      const ResourceKind kind = graph.resources[r].kind;
      int count = 1;
      if (kind == ResourceKind::kStream) count = options.stream_sets;
      if (kind == ResourceKind::kHostThread) count = options.thread_sets;
      const std::size_t set = m % static_cast<std::size_t>(count);
      if (set == 0) {
        sets[m].push_back(ResourceId(r));
      } else if (set < m) {
        sets[m].push_back(sets[set][r]);
      } else {
        Resource copy = graph.resources[r];
        copy.name = fmt::format("{} #{}", copy.name, set);
        graph.resources.push_back(std::move(copy));
        sets[m].push_back(ResourceId(graph.resources.size() - 1));
      }
    }
  }
  return sets;
}

/// Orders ops of different members that follow each other on an overlapping stream.
std::size_t order_members(TaskGraph& graph, ResourceId stream, Nanoseconds gap) {
  std::vector<TaskId> ops;
  for (std::size_t i = 0; i < graph.tasks.size(); ++i) {
    if (graph.tasks[i].resource == stream) ops.push_back(TaskId(i));
  }
  std::stable_sort(ops.begin(), ops.end(),
                   [&](TaskId a, TaskId b) { return graph.task(a).position < graph.task(b).position; });
  std::size_t added = 0;
  for (std::size_t i = 1; i < ops.size(); ++i) {
    if (graph.task(ops[i - 1]).member == graph.task(ops[i]).member) continue;
    graph.add_edge(ops[i - 1], ops[i], EdgeKind::kStreamOrder, gap);
    ++added;
  }
  return added;
}

}  // namespace

std::size_t hold_shared_engines(TaskGraph& graph, bool lock) {
  std::map<std::pair<std::int32_t, bool>, ResourceId> engines;
  std::optional<ResourceId> driver;
  std::size_t changed = 0;
  for (Task& task : graph.tasks) {
    if (task.holds) continue;
    if (lock && task.kind == TaskKind::kLaunch) {
      if (!driver) driver = graph.add_resource("driver lock", ResourceKind::kDriverLock, Discipline::kFirstCome);
      task.holds = *driver;
      ++changed;
    }
    if (task.kind != TaskKind::kCopy) continue;
    const auto direction = recorded_copy_direction(graph.labels[to_index(task.label)]);
    if (!direction || *direction == CopyDirection::kDeviceToDevice) continue;
    const bool to_device = *direction == CopyDirection::kHostToDevice;
    const std::int32_t device = graph.resources[to_index(task.resource)].device;
    const auto found = engines.find({device, to_device});
    if (found == engines.end()) {
      const ResourceId engine =
          graph.add_resource(fmt::format("GPU {} copies {} the device", device, to_device ? "to" : "from"),
                             ResourceKind::kCopyEngine, Discipline::kFirstCome);
      graph.resources.back().device = device;
      engines[{device, to_device}] = engine;
      task.holds = engine;
    } else {
      task.holds = found->second;
    }
    ++changed;
  }
  return changed;
}

Change append(TaskGraph& graph, const TaskGraph& other) {
  Change change;
  const auto tasks = static_cast<std::uint32_t>(graph.tasks.size());
  const auto labels = static_cast<std::uint32_t>(graph.labels.size());
  const auto resources = static_cast<std::uint32_t>(graph.resources.size());
  const auto scopes = static_cast<std::uint32_t>(graph.scopes.size());
  std::int32_t members = 0;
  for (const Task& task : graph.tasks) members = std::max(members, task.member + 1);
  const auto moved = [](auto id, std::uint32_t by) { return decltype(id){static_cast<std::uint32_t>(id) + by}; };
  graph.labels.insert(graph.labels.end(), other.labels.begin(), other.labels.end());
  for (Scope scope : other.scopes) {
    scope.label = moved(scope.label, labels);
    if (scope.parent) scope.parent = moved(*scope.parent, scopes);
    graph.scopes.push_back(scope);
  }
  for (Resource resource : other.resources) {
    if (members > 0) resource.name = fmt::format("{} of trace {}", resource.name, members);
    graph.resources.push_back(std::move(resource));
  }
  for (Task task : other.tasks) {
    task.label = moved(task.label, labels);
    task.resource = moved(task.resource, resources);
    if (task.scope) task.scope = moved(*task.scope, scopes);
    if (task.holds) task.holds = moved(*task.holds, resources);
    task.member += members;
    graph.tasks.push_back(task);
  }
  for (Edge edge : other.edges) {
    edge.from = moved(edge.from, tasks);
    edge.to = moved(edge.to, tasks);
    graph.edges.push_back(edge);
  }
  change.tasks_added = other.tasks.size();
  change.edges_added = other.edges.size();
  return change;
}

Result<Change> replicate(TaskGraph& graph, const ReplicateOptions& options) {
  for (const auto& [name, number] :
       {std::pair{"members", options.members}, std::pair{"stream sets", options.stream_sets},
        std::pair{"thread sets", options.thread_sets}}) {
    if (number < 1) return fail(ErrorCode::kInvalidInput, "{} {}; it must be at least 1", number, name);
  }
  const std::size_t tasks = graph.tasks.size();
  const std::size_t edges = graph.edges.size();
  const std::vector<std::vector<ResourceId>> sets = add_resource_sets(graph, options);
  const auto [least, most] = std::minmax_element(graph.tasks.begin(), graph.tasks.end(),
                                                 [](const Task& a, const Task& b) { return a.position < b.position; });
  const std::int64_t length = tasks == 0 ? 0 : most->position - least->position + 1;
  Change change;
  graph.tasks.reserve(tasks * sets.size());
  graph.edges.reserve(edges * sets.size());
  for (std::size_t m = 1; m < sets.size(); ++m) {
    for (std::size_t i = 0; i < tasks; ++i) {
      Task task = graph.tasks[i];
      task.resource = sets[m][to_index(task.resource)];
      task.member += static_cast<std::int32_t>(m);
      if (options.turns == Turns::kWhole) task.position += length * static_cast<std::int64_t>(m);
      graph.tasks.push_back(task);
    }
    for (std::size_t i = 0; i < edges; ++i) {
      Edge edge = graph.edges[i];
      edge.from = TaskId(to_index(edge.from) + m * tasks);
      edge.to = TaskId(to_index(edge.to) + m * tasks);
      graph.edges.push_back(edge);
    }
  }
  change.tasks_added = graph.tasks.size() - tasks;
  change.edges_added = graph.edges.size() - edges;
  for (std::size_t r = 0; r < graph.resources.size(); ++r) {
    if (graph.resources[r].discipline != Discipline::kOverlapping) continue;
    change.edges_added += order_members(graph, ResourceId(r), options.stream_gap);
  }
  change.tasks_changed = hold_shared_engines(graph, options.thread_sets > 1);
  COHORT_CHECK(check_acyclic(graph));
  return change;
}

}  // namespace cohort
