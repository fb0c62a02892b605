#include "simulator/transform/replicate.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <limits>
#include <map>
#include <tuple>

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

/// By task: its place in an order that edges and queues agree with, and positions as far as these let them. An op
/// without a launch record stands where it began, which may be behind ops that were launched before it and ran after
/// it.
Result<std::vector<std::int64_t>> places(const TaskGraph& graph) {
  COHORT_TRY(const TaskOrder order, order_tasks(graph));
  std::vector<std::int64_t> position(graph.tasks.size());
  for (std::size_t i = 0; i < position.size(); ++i) position[i] = graph.tasks[i].position;
  std::vector<std::optional<TaskId>> behind(graph.tasks.size());
  for (const std::vector<TaskId>& queue : order.queues) {
    for (std::size_t i = 1; i < queue.size(); ++i) behind[to_index(queue[i - 1])] = queue[i];
  }
  for (const TaskId id : order.topological) {
    const std::size_t from = to_index(id);
    const auto move = [&](TaskId to) { position[to_index(to)] = std::max(position[to_index(to)], position[from]); };
    for (std::uint32_t k = order.first_edge[from]; k < order.first_edge[from + 1]; ++k)
      move(graph.edges[order.edges[k]].to);
    if (behind[from]) move(*behind[from]);
  }
  std::vector<TaskId> sorted = order.topological;
  std::stable_sort(sorted.begin(), sorted.end(),
                   [&](TaskId a, TaskId b) { return position[to_index(a)] < position[to_index(b)]; });
  std::vector<std::int64_t> place(graph.tasks.size());
  for (std::size_t i = 0; i < sorted.size(); ++i) place[to_index(sorted[i])] = static_cast<std::int64_t>(i);
  return place;
}

/// By task: the place of the first op that the same call launched, where they follow each other on their stream; else
/// its own.
std::vector<std::int64_t> places_of_launches(const TaskGraph& graph, const std::vector<std::int64_t>& place) {
  std::vector<std::optional<TaskId>> call(graph.tasks.size());
  for (const Edge& edge : graph.edges) {
    if (edge.kind == EdgeKind::kLaunch) call[to_index(edge.to)] = edge.from;
  }
  std::vector<TaskId> sorted(graph.tasks.size());
  for (std::size_t i = 0; i < place.size(); ++i) sorted[static_cast<std::size_t>(place[i])] = TaskId(i);
  std::vector<std::optional<TaskId>> last(graph.resources.size());
  std::vector<std::int64_t> of_launch = place;
  for (const TaskId id : sorted) {
    std::optional<TaskId>& before = last[to_index(graph.task(id).resource)];
    if (before && call[to_index(id)] && call[to_index(id)] == call[to_index(*before)])
      of_launch[to_index(id)] = of_launch[to_index(*before)];
    before = id;
  }
  return of_launch;
}

/// Orders ops of different members that follow each other on overlapping streams, by turn, member and place.
void order_members(TaskGraph& graph, const std::vector<std::int64_t>& place, const std::vector<std::int64_t>& turn,
                   const ReplicateOptions& options) {
  std::vector<std::vector<TaskId>> streams(graph.resources.size());
  for (std::size_t i = 0; i < graph.tasks.size(); ++i) streams[to_index(graph.tasks[i].resource)].push_back(TaskId(i));
  const auto member_of = [&](TaskId id) { return static_cast<std::int64_t>(to_index(id) / place.size()); };
  const auto key = [&](TaskId id) {
    const std::size_t one = to_index(id) % place.size();
    const std::int64_t member = member_of(id);
    const bool whole = options.turns == Turns::kWhole;
    return std::tuple(whole ? member : turn[one], whole ? turn[one] : member, place[one]);
  };
  for (std::size_t r = 0; r < streams.size(); ++r) {
    if (graph.resources[r].discipline != Discipline::kOverlapping) continue;
    std::vector<TaskId>& ops = streams[r];
    if (ops.empty() || member_of(ops.front()) == member_of(ops.back())) continue;  // copies stand member by member
    std::sort(ops.begin(), ops.end(), [&](TaskId a, TaskId b) { return key(a) < key(b); });
    for (std::size_t i = 1; i < ops.size(); ++i) {
      if (member_of(ops[i - 1]) != member_of(ops[i]))
        graph.add_edge(ops[i - 1], ops[i], EdgeKind::kStreamOrder, options.stream_gap);
    }
  }
}

/// Where a task of a host thread stands among those of all traces.
struct HostTurn {
  double launched = 0;  ///< part of its trace's launches that come before it
  std::size_t part = 0;
  std::int64_t place = 0;
  TaskId task{};
};

bool on_host_thread(const TaskGraph& graph, const Task& task) {
  return graph.resources[to_index(task.resource)].kind == ResourceKind::kHostThread;
}

/// In an order that agrees with each trace's own, so that shared threads close no cycle.
std::vector<HostTurn> host_turns(const TaskGraph& graph, std::span<const MemberTasks> parts,
                                 const std::vector<std::int64_t>& place) {
  std::vector<HostTurn> turns;
  for (std::size_t p = 0; p < parts.size(); ++p) {
    const std::size_t first = turns.size();
    for (std::size_t i = parts[p].first; i < parts[p].end; ++i) {
      if (on_host_thread(graph, graph.tasks[i])) turns.push_back({0, p, place[i], TaskId(i)});
    }
    const auto begin = turns.begin() + static_cast<std::ptrdiff_t>(first);
    std::sort(begin, turns.end(), [](const HostTurn& a, const HostTurn& b) { return a.place < b.place; });
    const auto is_launch = [&](const HostTurn& turn) { return graph.task(turn.task).kind == TaskKind::kLaunch; };
    const auto launches = static_cast<double>(std::count_if(begin, turns.end(), is_launch));
    double launched = 0;
    for (auto turn = begin; turn != turns.end(); ++turn) {
      turn->launched = launches > 0 ? launched / launches : 0;
      if (is_launch(*turn)) ++launched;
    }
  }
  std::sort(turns.begin(), turns.end(), [](const HostTurn& a, const HostTurn& b) {
    return std::tie(a.launched, a.part, a.place) < std::tie(b.launched, b.part, b.place);
  });
  return turns;
}

/// A trace's threads that launch kernels: by their set, then by the first such launch.
std::vector<std::tuple<int, std::int64_t, ResourceId>> launching_threads(const TaskGraph& graph,
                                                                         const MemberTasks& part,
                                                                         const std::vector<bool>& launches,
                                                                         const std::vector<std::int64_t>& place) {
  std::int32_t member = std::numeric_limits<std::int32_t>::max();  // the first
  for (std::size_t i = part.first; i < part.end; ++i) member = std::min(member, graph.tasks[i].member);
  std::map<ResourceId, std::pair<int, std::int64_t>> found;
  for (std::size_t i = part.first; i < part.end; ++i) {
    const Task& task = graph.tasks[i];
    if (!launches[i] || !on_host_thread(graph, task)) continue;
    const auto [at, is_new] =
        found.try_emplace(task.resource, std::pair((task.member - member) % part.thread_sets, place[i]));
    if (!is_new) at->second.second = std::min(at->second.second, place[i]);
  }
  std::vector<std::tuple<int, std::int64_t, ResourceId>> threads;
  for (const auto& [thread, of] : found) threads.emplace_back(of.first, of.second, thread);
  std::sort(threads.begin(), threads.end());
  return threads;
}

}  // namespace

Result<Change> share_threads(TaskGraph& graph, std::span<const MemberTasks> parts, int sets) {
  COHORT_TRY(const std::vector<std::int64_t> place, places(graph));
  std::vector<bool> launches(graph.tasks.size());  // a kernel
  for (const Edge& edge : graph.edges) {
    if (edge.kind == EdgeKind::kLaunch && graph.task(edge.to).kind == TaskKind::kKernel)
      launches[to_index(edge.from)] = true;
  }
  std::vector<std::optional<ResourceId>> now(graph.resources.size());
  std::vector<std::vector<ResourceId>> threads(static_cast<std::size_t>(sets));
  int members = 0;
  for (const MemberTasks& part : parts) {
    std::map<int, std::size_t> used;  // by set of the part: threads that it has had
    for (const auto& [set, launch, thread] : launching_threads(graph, part, launches, place)) {
      std::vector<ResourceId>& of_set = threads[static_cast<std::size_t>((members + set) % sets)];
      const std::size_t k = used[set]++;
      if (k == of_set.size()) of_set.push_back(thread);
      now[to_index(thread)] = of_set[k];
    }
    members += part.members;
  }
  Change change;
  std::int64_t position = 0;
  for (const HostTurn& turn : host_turns(graph, parts, place)) {
    Task& task = graph.tasks[to_index(turn.task)];
    const ResourceId thread = now[to_index(task.resource)].value_or(task.resource);
    if (thread != task.resource) ++change.tasks_changed;
    task.resource = thread;
    task.position = position++;
  }
  COHORT_CHECK(check_acyclic(graph));
  return change;
}

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

void hold_turns(TaskGraph& graph) {
  std::map<std::int32_t, ResourceId> turns;  // by GPU
  for (Task& task : graph.tasks) {
    if (task.kind != TaskKind::kKernel) continue;
    const std::int32_t device = graph.resources[to_index(task.resource)].device;
    if (turns.count(device) == 0)
      turns[device] = graph.add_resource("turn", ResourceKind::kDriverLock, Discipline::kFirstCome);
    task.holds = turns[device];
  }
}

Change append(TaskGraph& graph, const TaskGraph& other, std::string_view of) {
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
    if (!of.empty()) resource.name = fmt::format("{} of {}", resource.name, of);
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
  COHORT_TRY(const std::vector<std::int64_t> place, places(graph));
  const std::vector<std::int64_t> of_launch = places_of_launches(graph, place);
  const std::vector<std::vector<ResourceId>> sets = add_resource_sets(graph, options);
  const auto members = static_cast<std::int64_t>(sets.size());
  Change change;
  graph.tasks.reserve(tasks * sets.size());
  graph.edges.reserve(edges * sets.size());
  for (std::size_t m = 0; m < sets.size(); ++m) {
    const auto member = static_cast<std::int64_t>(m);
    for (std::size_t i = 0; i < tasks; ++i) {
      Task task = graph.tasks[i];
      task.resource = sets[m][to_index(task.resource)];
      task.member += static_cast<std::int32_t>(m);
      task.position = options.turns == Turns::kWhole ? place[i] + member * static_cast<std::int64_t>(tasks)
                                                     : place[i] * members + member;
      if (m > 0) graph.tasks.push_back(task);
      if (m == 0) graph.tasks[i] = task;
    }
    for (std::size_t i = 0; m > 0 && i < edges; ++i) {
      Edge edge = graph.edges[i];
      edge.from = TaskId(to_index(edge.from) + m * tasks);
      edge.to = TaskId(to_index(edge.to) + m * tasks);
      graph.edges.push_back(edge);
    }
  }
  const std::size_t copied = graph.edges.size();
  order_members(graph, place, options.within_launches ? place : of_launch, options);
  if (auto acyclic = check_acyclic(graph); !acyclic) {
    if (options.within_launches) return tl::unexpected<Error>(acyclic.error());
    // Something waits for a part of a launch: members' launches cannot stay whole.
    graph.edges.resize(copied);
    order_members(graph, place, place, options);
    COHORT_CHECK(check_acyclic(graph));
  }
  change.tasks_added = graph.tasks.size() - tasks;
  change.edges_added = graph.edges.size() - edges;
  change.tasks_changed = hold_shared_engines(graph, options.one_process && options.thread_sets > 1);
  return change;
}

}  // namespace cohort
