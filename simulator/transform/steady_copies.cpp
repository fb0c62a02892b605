#include "simulator/transform/steady_copies.hpp"

#include <algorithm>

namespace cohort {
namespace {

/// The last copy's tasks, held against what comes before them.
class LastCopy {
 public:
  LastCopy(const TaskGraph& graph, const std::vector<TaskTimes>& times, int copies)
      : graph_(graph),
        times_(times),
        size_(graph.tasks.size() / static_cast<std::size_t>(copies)),
        first_(graph.tasks.size() - size_),
        explained_(size_, false) {}

  bool is_steady() {
    for (std::size_t i = first_; i < times_.size(); ++i) {
      // A step's beginning holds what may start at once.
      if (shift(i) < Nanoseconds(0)) return false;
      explained_[i - first_] = times_[i].start == Nanoseconds(0) && shift(i) == Nanoseconds(0);
    }
    return follow_edges() && follow_queues() && follow_holders() &&
           std::all_of(explained_.begin(), explained_.end(), [](bool explained) { return explained; });
  }

  /// Of as many further copies.
  [[nodiscard]] Nanoseconds makespan_after(int further) const {
    Nanoseconds last{};
    for (std::size_t i = first_; i < times_.size(); ++i) last = std::max(last, times_[i].end + further * shift(i));
    return last;
  }

 private:
  /// Of a task of the last two copies: by how much it starts later in the last one than in the one before.
  [[nodiscard]] Nanoseconds shift(std::size_t task) const {
    const std::size_t in_last = task < first_ ? task + size_ : task;
    return times_[in_last].start - times_[in_last - size_].start;
  }

  /// `from` lets `to` start at `limit` and no earlier. Returns false where later copies' limits may hold them more.
  bool follow(std::size_t from, std::size_t to, Nanoseconds limit) {
    if (to < first_) return true;
    if (from + size_ < first_ || shift(from) > shift(to)) return false;
    if (limit == times_[to].start && shift(from) == shift(to)) explained_[to - first_] = true;
    return true;
  }

  bool follow_edges() {
    return std::all_of(graph_.edges.begin(), graph_.edges.end(), [&](const Edge& edge) {
      const TaskTimes& from = times_[to_index(edge.from)];
      const Nanoseconds anchor = edge.anchor == Anchor::kEnd ? from.end : from.start;
      return follow(to_index(edge.from), to_index(edge.to), std::max(from.start, anchor + edge.delay));
    });
  }

  bool follow_queues() {
    for (const std::vector<TaskId>& queue : queues_of(graph_)) {
      for (std::size_t i = 1; i < queue.size(); ++i) {
        const std::size_t before = to_index(queue[i - 1]);
        if (!follow(before, to_index(queue[i]), times_[before].end)) return false;
      }
    }
    return true;
  }

  /// What is served first come has the same order in every copy only if something else keeps it.
  bool follow_holders() {
    std::vector<std::vector<std::size_t>> holders(graph_.resources.size());
    for (std::size_t i = 0; i < graph_.tasks.size(); ++i) {
      const Task& task = graph_.tasks[i];
      if (task.cores > 0 || discipline(task.resource) == Discipline::kFirstCome) return false;
      if (task.holds && discipline(*task.holds) == Discipline::kFirstCome) holders[to_index(*task.holds)].push_back(i);
    }
    const std::vector<std::optional<TaskId>> behind = next_on_stream();
    for (std::vector<std::size_t>& of : holders) {
      const auto served = [&](std::size_t i) { return std::pair(times_[i].start, graph_.tasks[i].position); };
      std::stable_sort(of.begin(), of.end(), [&](auto a, auto b) { return served(a) < served(b); });
      for (std::size_t i = 1; i < of.size(); ++i) {
        if (!keeps_order(of[i - 1], of[i], behind) || !follow(of[i - 1], of[i], times_[of[i - 1]].end)) return false;
      }
    }
    return true;
  }

  /// By task: the one that an edge puts behind it on the same resource.
  [[nodiscard]] std::vector<std::optional<TaskId>> next_on_stream() const {
    std::vector<std::optional<TaskId>> behind(graph_.tasks.size());
    for (const Edge& edge : graph_.edges) {
      const bool same = graph_.task(edge.from).resource == graph_.task(edge.to).resource;
      if (same && edge.kind == EdgeKind::kStreamOrder) behind[to_index(edge.from)] = edge.to;
    }
    return behind;
  }

  [[nodiscard]] bool keeps_order(std::size_t first, std::size_t second,
                                 const std::vector<std::optional<TaskId>>& behind) const {
    const ResourceId resource = graph_.tasks[first].resource;
    if (discipline(resource) == Discipline::kInOrder) return graph_.tasks[second].resource == resource;
    std::optional<TaskId> task = TaskId(first);
    while (task && to_index(*task) != second) task = behind[to_index(*task)];
    return task.has_value();
  }

  [[nodiscard]] Discipline discipline(ResourceId resource) const {
    return graph_.resources[to_index(resource)].discipline;
  }

  const TaskGraph& graph_;
  const std::vector<TaskTimes>& times_;
  std::size_t size_ = 0;         ///< tasks of a copy
  std::size_t first_ = 0;        ///< task of the last copy
  std::vector<bool> explained_;  ///< by task of the last copy: something that moves with it held it
};

}  // namespace

std::optional<Nanoseconds> makespan_of_copies(const TaskGraph& graph, const std::vector<TaskTimes>& times, int copies,
                                              int wanted) {
  LastCopy last(graph, times, copies);
  if (!last.is_steady()) return std::nullopt;
  return last.makespan_after(wanted - copies);
}

}  // namespace cohort
