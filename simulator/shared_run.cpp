#include "simulator/shared_run.hpp"

#include <algorithm>
#include <cmath>
#include <functional>
#include <limits>
#include <map>
#include <queue>
#include <tuple>

namespace cohort {
namespace {

/// Nanoseconds since the start; rates end kernels between whole ones.
using Instant = double;

class SharedRun {
 public:
  explicit SharedRun(const TaskGraph& graph)
      : graph_(graph), missing_(graph.tasks.size(), 0), ready_(graph.tasks.size(), 0),
        first_(graph.tasks.size() + 1, 0), next_(graph.tasks.size()), free_(graph.resources.size(), 0),
        times_(graph.tasks.size()) {
    for (const Edge& edge : graph.edges) {
      ++missing_[to_index(edge.to)];
      ++first_[to_index(edge.from) + 1];
    }
    for (std::size_t i = 1; i < first_.size(); ++i) first_[i] += first_[i - 1];
    edges_.resize(graph.edges.size());
    std::vector<std::uint32_t> place(first_.begin(), first_.end() - 1);
    for (const Edge& edge : graph.edges) edges_[place[to_index(edge.from)]++] = &edge;
    for (const std::vector<TaskId>& queue : queues_of(graph)) {
      for (std::size_t i = 1; i < queue.size(); ++i) {
        next_[to_index(queue[i - 1])] = queue[i];
        ++missing_[to_index(queue[i])];
      }
    }
  }

  Result<std::vector<TaskTimes>> run() {
    for (std::size_t i = 0; i < missing_.size(); ++i) {
      if (missing_[i] == 0) offer(TaskId(i));
    }
    std::size_t done = 0;
    while (!waiting_.empty() || !ends_.empty() || !kernels_.empty()) {
      const Instant kernel = next_kernel_end();
      const Instant end = ends_.empty() ? kNever : ends_.top().first;
      const Instant start = waiting_.empty() ? kNever : std::get<0>(waiting_.top());
      advance(std::max(now_, std::min({kernel, end, start})));
      // Ends first: what they free may start at the same moment.
      if (kernel <= now_ || end <= now_) {
        done += finish_due();
      } else {
        start_due();
      }
    }
    if (done < graph_.tasks.size()) COHORT_CHECK(explain_cycle(graph_));
    return std::move(times_);
  }

 private:
  static constexpr Instant kNever = std::numeric_limits<Instant>::infinity();
  struct Running {
    TaskId task{};
    Instant remaining = 0;
    double asks = 0;
    std::int32_t device = 0;
  };

  void offer(TaskId task) {
    const Instant ready = std::max(now_, ready_[to_index(task)]);
    waiting_.emplace(ready, ready, task);
  }

  void satisfy(TaskId task, Instant allowed) {
    Instant& ready = ready_[to_index(task)];
    ready = std::max(ready, allowed);
    if (--missing_[to_index(task)] == 0) offer(task);
  }

  Instant* taken(std::optional<ResourceId> resource) {
    if (!resource || graph_.resources[to_index(*resource)].discipline != Discipline::kFirstCome) return nullptr;
    return &free_[to_index(*resource)];
  }

  void start_due() {
    const auto [time, since, id] = waiting_.top();
    waiting_.pop();
    const Task& task = graph_.task(id);
    Instant* const own = taken(task.resource);
    Instant* const held = taken(task.holds);
    const Instant free = std::max(own != nullptr ? *own : 0, held != nullptr ? *held : 0);
    if (free > now_) {
      waiting_.emplace(free, since, id);
      return;
    }
    const auto length = static_cast<Instant>(task.duration.count());
    times_[to_index(id)].start = Nanoseconds(std::llround(now_));
    if (own != nullptr) *own = now_ + length;
    if (held != nullptr) *held = now_ + length;
    if (task.kind == TaskKind::kKernel) {
      const std::int32_t device = graph_.resources[to_index(task.resource)].device;
      kernels_.push_back({id, length, std::min(1.0, static_cast<double>(task.waves)), device});
      set_rates();
    } else {
      ends_.emplace(now_ + length, id);
    }
    each_edge(id, [&](const Edge& edge) {
      if (const auto delay = after_start(task, edge)) satisfy(edge.to, now_ + *delay);
    });
  }

  /// Edges that count from the start; recorded overlap does, because nobody knows the end before it comes.
  static std::optional<Instant> after_start(const Task& task, const Edge& edge) {
    if (edge.anchor == Anchor::kStart) return static_cast<Instant>(edge.delay.count());
    if (edge.delay >= Nanoseconds(0)) return std::nullopt;
    return static_cast<Instant>(std::max(Nanoseconds(0), task.duration + edge.delay).count());
  }

  std::size_t finish_due() {
    std::vector<TaskId> done;
    for (; !ends_.empty() && ends_.top().first <= now_; ends_.pop()) done.push_back(ends_.top().second);
    const auto is_done = [&](const Running& kernel) { return end_of(kernel) <= now_; };
    for (const Running& kernel : kernels_) {
      if (is_done(kernel)) done.push_back(kernel.task);
    }
    const std::size_t before = kernels_.size();
    kernels_.erase(std::remove_if(kernels_.begin(), kernels_.end(), is_done), kernels_.end());
    if (kernels_.size() != before) set_rates();
    std::sort(done.begin(), done.end());
    for (const TaskId id : done) {
      times_[to_index(id)].end = Nanoseconds(std::llround(now_));
      const Task& task = graph_.task(id);
      each_edge(id, [&](const Edge& edge) {
        if (!after_start(task, edge)) satisfy(edge.to, now_ + static_cast<Instant>(edge.delay.count()));
      });
      if (next_[to_index(id)]) satisfy(*next_[to_index(id)], now_);
    }
    return done.size();
  }

  template <class Function>
  void each_edge(TaskId id, const Function& function) {
    for (std::uint32_t i = first_[to_index(id)]; i < first_[to_index(id) + 1]; ++i) function(*edges_[i]);
  }

  [[nodiscard]] double rate(const Running& kernel) const {
    const auto asked = asked_.find(kernel.device);
    return asked == asked_.end() ? 1 : 1 / std::max(1.0, asked->second);
  }
  /// Far under a nanosecond off, and exact where nothing is shared.
  [[nodiscard]] Instant end_of(const Running& kernel) const {
    constexpr Instant kSameInstant = 1e-4;
    return kernel.remaining <= kSameInstant ? now_ : now_ + kernel.remaining / rate(kernel);
  }
  [[nodiscard]] Instant next_kernel_end() const {
    Instant next = kNever;
    for (const Running& kernel : kernels_) next = std::min(next, end_of(kernel));
    return next;
  }
  void set_rates() {
    asked_.clear();
    for (const Running& kernel : kernels_) asked_[kernel.device] += kernel.asks;
  }
  void advance(Instant to) {
    if (to > now_) {
      for (Running& kernel : kernels_) kernel.remaining -= (to - now_) * rate(kernel);
    }
    now_ = to;
  }

  const TaskGraph& graph_;
  Instant now_ = 0;
  std::vector<std::uint32_t> missing_;           ///< by task: edges and queue places not satisfied yet
  std::vector<Instant> ready_;                   ///< by task
  std::vector<std::uint32_t> first_;             ///< by task: its outgoing edges in edges_
  std::vector<const Edge*> edges_;
  std::vector<std::optional<TaskId>> next_;      ///< by task: the one behind it in its queue
  std::vector<Instant> free_;                    ///< by resource, of first-come ones
  std::vector<Running> kernels_;
  std::map<std::int32_t, double> asked_;         ///< by device
  using Waiting = std::tuple<Instant, Instant, TaskId>;  // feasible start, since when ready, task
  std::priority_queue<Waiting, std::vector<Waiting>, std::greater<>> waiting_;
  using End = std::pair<Instant, TaskId>;
  std::priority_queue<End, std::vector<End>, std::greater<>> ends_;
  std::vector<TaskTimes> times_;
};

}  // namespace

Result<std::vector<TaskTimes>> run_shared(const TaskGraph& graph) {
  COHORT_CHECK(check_ranges(graph));
  return SharedRun(graph).run();
}

}  // namespace cohort
