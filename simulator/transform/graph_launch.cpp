#include "simulator/transform/graph_launch.hpp"

#include <algorithm>
#include <set>

#include "simulator/transform/capture.hpp"
#include "tracer/call_kind.hpp"

namespace cohort {
namespace {

constexpr std::uint32_t kNone = 0xffffffff;

bool is_host_task(const Task& task) {
  return task.kind == TaskKind::kLaunch || task.kind == TaskKind::kCall || task.kind == TaskKind::kHostWork ||
         task.kind == TaskKind::kWait;
}

bool is_synchronisation(std::string_view call) {
  const CallKind kind = call_kind_from(call);
  return kind == CallKind::kStreamSynchronize || kind == CallKind::kEventSynchronize ||
         kind == CallKind::kDeviceSynchronize;
}

class Collapse {
 public:
  Collapse(TaskGraph& graph, const GraphLaunchCosts& costs)
      : graph_(graph),
        costs_(costs),
        starts_anew_(graph.tasks.size()),
        waits_(graph.tasks.size()),
        stays_(graph.tasks.size()),
        launched_(graph.tasks.size()),
        stream_(graph.tasks.size(), kNone),
        region_(graph.tasks.size(), kNone) {}

  Result<GraphCollapse> run() {
    mark();
    mark_what_stays();
    for (std::size_t r = 0; r < graph_.resources.size(); ++r) {
      if (graph_.resources[r].kind == ResourceKind::kHostThread) find_regions(ResourceId(r));
    }
    add_launches();
    redirect();
    std::vector<bool> keep(graph_.tasks.size(), true);
    for (std::size_t i = 0; i < region_.size(); ++i) keep[i] = region_[i] == kNone;
    collapse_.change = compact(graph_, keep);
    collapse_.change.tasks_added = regions_.size();
    collapse_.change.edges_removed += edges_removed_;
    COHORT_CHECK(check_acyclic(graph_));
    return std::move(collapse_);
  }

 private:
  struct Region {
    std::vector<TaskId> tasks;
    std::size_t launches = 0;
    std::int64_t nodes = 0;           ///< that were launched one by one
    Nanoseconds of_graphs{};          ///< what launches of recorded graphs took beyond the call
    std::set<std::uint32_t> streams;  ///< of its nodes
    TaskId launch{};
  };

  /// Tasks that wait for device work, or that another thread lets go, and what each launch launched.
  void mark() {
    for (const Edge& edge : graph_.edges) {
      const Task& from = graph_.task(edge.from);
      const Task& to = graph_.task(edge.to);
      if (edge.kind == EdgeKind::kLaunch) {
        ++launched_[to_index(edge.from)];
        stream_[to_index(edge.from)] = static_cast<std::uint32_t>(to_index(to.resource));
      }
      if (!is_host_task(to)) continue;
      if (edge.kind == EdgeKind::kSynchronisation || edge.kind == EdgeKind::kBuffer) waits_[to_index(edge.to)] = true;
      if (edge.kind == EdgeKind::kProgramOrder && from.resource != to.resource) starts_anew_[to_index(edge.to)] = true;
    }
  }

  /// What the host does beside the graphs' launches, too: long work, and calls that no capture takes. A call that only
  /// waits is neither kept nor gone: its length follows from the device's work.
  void mark_what_stays() {
    std::vector<std::optional<bool>> refused(graph_.labels.size());
    for (std::size_t i = 0; i < graph_.tasks.size(); ++i) {
      const Task& task = graph_.tasks[i];
      if (!is_host_task(task) || task.kind == TaskKind::kWait) continue;
      std::optional<bool>& known = refused[to_index(task.label)];
      if (!known) known = refuses_capture(graph_.labels[to_index(task.label)]);
      const bool is_call = task.kind == TaskKind::kCall || task.kind == TaskKind::kLaunch;
      if (task.duration > costs_.most_work || (is_call && *known)) stays_[i] = true;
    }
    for (const Edge& edge : graph_.edges) {
      if (edge.kind != EdgeKind::kLaunch || graph_.task(edge.to).kind != TaskKind::kCopy) continue;
      if (graph_.label(edge.to).find("Pageable") != std::string::npos) stays_[to_index(edge.from)] = true;
    }
  }

  void find_regions(ResourceId thread) {
    std::vector<TaskId> queue;
    bool launches = false;
    for (std::size_t i = 0; i < region_.size(); ++i) {
      if (graph_.tasks[i].resource != thread) continue;
      queue.push_back(TaskId(i));
      launches = launches || graph_.tasks[i].kind == TaskKind::kLaunch;
    }
    std::stable_sort(queue.begin(), queue.end(),
                     [&](TaskId a, TaskId b) { return graph_.task(a).position < graph_.task(b).position; });
    Region region;
    std::optional<std::int32_t> member;
    for (const TaskId id : queue) {
      const Task& task = graph_.task(id);
      const bool stays = stays_[to_index(id)];
      if (stays && launches && !is_synchronisation(graph_.label(id))) collapse_.kept += task.duration;
      const bool breaks = waits_[to_index(id)] || stays || !is_host_task(task);
      if (breaks || starts_anew_[to_index(id)] || (member && *member != task.member)) close(region);
      member = task.member;
      if (breaks) continue;
      region.tasks.push_back(id);
      if (task.kind == TaskKind::kLaunch) ++region.launches;
      if (launched_[to_index(id)] == 0) continue;
      if (launched_[to_index(id)] == 1) {
        ++region.nodes;
      } else {
        region.of_graphs += std::max(Nanoseconds(0), task.duration - costs_.call);
      }
      region.streams.insert(stream_[to_index(id)]);
    }
    close(region);
  }

  /// Keeps what stands behind the last launch of a region: it is no part of the graph.
  void close(Region& region) {
    constexpr std::size_t kLeastLaunches = 2;
    while (!region.tasks.empty()) {
      const Task& last = graph_.task(region.tasks.back());
      const bool returns = last.kind == TaskKind::kWait && region.tasks.size() > 1 &&
                           graph_.task(region.tasks[region.tasks.size() - 2]).kind == TaskKind::kLaunch;
      if (last.kind == TaskKind::kLaunch || returns) break;
      region.tasks.pop_back();
    }
    if (region.launches >= kLeastLaunches) {
      for (const TaskId id : region.tasks) {
        region_[to_index(id)] = static_cast<std::uint32_t>(regions_.size());
        if (graph_.task(id).kind != TaskKind::kLaunch) collapse_.removed += graph_.task(id).duration;
      }
      regions_.push_back(std::move(region));
    }
    region = {};
  }

  void add_launches() {
    const LabelId label = graph_.add_label("graph launch");
    for (Region& region : regions_) {
      const Task& first = graph_.task(region.tasks.front());
      Task launch;
      launch.label = label;
      launch.kind = TaskKind::kLaunch;
      launch.resource = first.resource;
      launch.cores = 0;
      const auto further = static_cast<std::int64_t>(std::max<std::size_t>(1, region.streams.size())) - 1;
      const Nanoseconds node = further == 0 ? costs_.chain_node.value_or(costs_.node) : costs_.node;
      launch.duration = costs_.call + costs_.stream * further + node * region.nodes + region.of_graphs;
      launch.position = first.position;
      launch.iteration = first.iteration;
      launch.member = first.member;
      launch.step = first.step;
      region.launch = graph_.add_task(launch);
    }
  }

  void redirect() {
    // By device task: the region that launched it, and the launch.
    std::vector<std::uint32_t> node_of(graph_.tasks.size(), kNone), launch_of(graph_.tasks.size(), kNone);
    for (const Edge& edge : graph_.edges) {
      const std::uint32_t region = region_of(edge.from);
      if (edge.kind != EdgeKind::kLaunch || region == kNone) continue;
      node_of[to_index(edge.to)] = region;
      launch_of[to_index(edge.to)] = static_cast<std::uint32_t>(to_index(edge.from));
    }
    std::vector<Edge> edges;
    for (Edge edge : graph_.edges) {
      const std::uint32_t from = region_of(edge.from);
      const std::uint32_t to = region_of(edge.to);
      const bool within = from != kNone && from == to;
      if (within || (to != kNone && edge.kind == EdgeKind::kResource)) {
        ++edges_removed_;
        continue;
      }
      if (from != kNone) edge.from = regions_[from].launch;
      if (to != kNone) edge.to = regions_[to].launch;
      if (from != kNone && edge.kind == EdgeKind::kLaunch) {
        edge.delay = std::max(costs_.latency, graph_.task(regions_[from].launch).duration);
      }
      const std::uint32_t node = node_of[to_index(edge.to)];
      const bool chain = edge.kind == EdgeKind::kStreamOrder || edge.kind == EdgeKind::kEvent;
      // Nodes of a graph that was recorded as one keep its gaps.
      const bool recorded_so = launch_of[to_index(edge.to)] == launch_of[to_index(edge.from)];
      if (chain && node != kNone && node_of[to_index(edge.from)] == node && !recorded_so &&
          edge.delay <= costs_.most_gap) {
        edge.delay = std::min(edge.delay, costs_.gap);
      }
      edges.push_back(edge);
    }
    graph_.edges = std::move(edges);
  }

  [[nodiscard]] std::uint32_t region_of(TaskId task) const {
    return to_index(task) < region_.size() ? region_[to_index(task)] : kNone;
  }

  TaskGraph& graph_;
  const GraphLaunchCosts& costs_;
  std::vector<bool> starts_anew_, waits_, stays_;  ///< by task
  std::vector<std::uint32_t> launched_;            ///< by task: device work
  std::vector<std::uint32_t> stream_;              ///< by task: where that is
  std::vector<std::uint32_t> region_;              ///< by task that was there before
  std::vector<Region> regions_;
  std::size_t edges_removed_ = 0;
  GraphCollapse collapse_;
};

}  // namespace

Result<GraphCollapse> collapse_to_graphs(TaskGraph& graph, const GraphLaunchCosts& costs) {
  TaskGraph collapsed = graph;
  COHORT_TRY(GraphCollapse collapse, Collapse(collapsed, costs).run());
  graph = std::move(collapsed);
  return collapse;
}

}  // namespace cohort
