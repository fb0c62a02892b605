#include "simulator/engine/shared_run.hpp"

#include <algorithm>
#include <cmath>
#include <functional>
#include <limits>
#include <map>
#include <memory>
#include <queue>
#include <tuple>
#include <utility>

#include "simulator/engine/device_run.hpp"

namespace cohort {
namespace {

/// Nanoseconds since the start; rates end kernels between whole ones.
using Instant = double;

class SharedRun {
 public:
  SharedRun(const TaskGraph& graph, const GpuWork* gpu)
      : graph_(graph),
        missing_(graph.tasks.size(), 0),
        ready_(graph.tasks.size(), 0),
        first_(graph.tasks.size() + 1, 0),
        next_(graph.tasks.size()),
        free_(graph.resources.size(), 0),
        device_of_(graph.resources.size(), 0),
        times_(graph.tasks.size()) {
    link();
    std::map<std::int32_t, std::size_t> devices;
    for (std::size_t i = 0; i < graph.resources.size(); ++i) {
      const auto [place, is_new] = devices.try_emplace(graph.resources[i].device, devices_.size());
      if (is_new) devices_.push_back(gpu != nullptr ? make_engine_run(graph, *gpu) : make_share_run(graph));
      device_of_[i] = place->second;
    }
  }

  Result<std::vector<TaskTimes>> run() {
    for (std::size_t i = 0; i < missing_.size(); ++i) {
      if (missing_[i] == 0) offer(TaskId(i));
    }
    while (true) {
      const Instant kernel = next_on_devices();  // lets kernels begin that were let go
      if (take_moments()) continue;
      const Instant end = ends_.empty() ? kNever : ends_.top().first;
      const Instant start = waiting_.empty() ? kNever : std::get<0>(waiting_.top());
      const Instant next = std::min({kernel, end, start});
      if (next == kNever) break;
      now_ = std::max(now_, next);
      for (const auto& device : devices_) device->advance(now_);
      // Ends first: what they free may start at the same moment.
      if (take_moments() || finish_due()) continue;
      if (start <= now_) COHORT_CHECK(start_due());
    }
    if (done_ < graph_.tasks.size()) COHORT_CHECK(explain_cycle(graph_));
    return std::move(times_);
  }

 private:
  static constexpr Instant kNever = std::numeric_limits<Instant>::infinity();

  void link() {
    for (const Edge& edge : graph_.edges) {
      ++missing_[to_index(edge.to)];
      ++first_[to_index(edge.from) + 1];
    }
    for (std::size_t i = 1; i < first_.size(); ++i) first_[i] += first_[i - 1];
    edges_.resize(graph_.edges.size());
    std::vector<std::uint32_t> place(first_.begin(), first_.end() - 1);
    for (const Edge& edge : graph_.edges) edges_[place[to_index(edge.from)]++] = &edge;
    for (const std::vector<TaskId>& queue : queues_of(graph_)) {
      for (std::size_t i = 1; i < queue.size(); ++i) {
        next_[to_index(queue[i - 1])] = queue[i];
        ++missing_[to_index(queue[i])];
      }
    }
  }

  Instant next_on_devices() {
    Instant next = kNever;
    for (const auto& device : devices_) {
      if (const auto event = device->next_event()) next = std::min(next, *event);
    }
    return next;
  }

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

  Result<void> start_due() {
    const auto [time, since, id] = waiting_.top();
    waiting_.pop();
    const Task& task = graph_.task(id);
    Instant* const own = taken(task.resource);
    Instant* const held = taken(task.holds);
    const Instant free = std::max(own != nullptr ? *own : 0, held != nullptr ? *held : 0);
    if (free > now_) {
      waiting_.emplace(free, since, id);
      return {};
    }
    const auto length = static_cast<Instant>(task.duration.count());
    if (own != nullptr) *own = now_ + length;
    if (held != nullptr) *held = now_ + length;
    if (task.kind == TaskKind::kKernel && task.duration > Nanoseconds(0)) {
      auto started = devices_[device_of_[to_index(task.resource)]]->start(id);
      if (!started) return in_context(graph_.label(id), started.error());
      return {};
    }
    begin(id, now_);
    ends_.emplace(now_ + length, id);
    return {};
  }

  void begin(TaskId id, Instant time) {
    times_[to_index(id)].start = Nanoseconds(std::llround(time));
    const Task& task = graph_.task(id);
    each_edge(id, [&](const Edge& edge) {
      if (const auto delay = after_start(task, edge)) satisfy(edge.to, time + *delay);
    });
  }

  void end(TaskId id, Instant time) {
    ++done_;
    times_[to_index(id)].end = Nanoseconds(std::llround(time));
    const Task& task = graph_.task(id);
    each_edge(id, [&](const Edge& edge) {
      if (!after_start(task, edge)) satisfy(edge.to, time + static_cast<Instant>(edge.delay.count()));
    });
    if (next_[to_index(id)]) satisfy(*next_[to_index(id)], time);
  }

  static std::optional<Instant> after_start(const Task& task, const Edge& edge) {
    if (edge.anchor == Anchor::kStart) return static_cast<Instant>(edge.delay.count());
    if (edge.delay >= Nanoseconds(0)) return std::nullopt;
    return static_cast<Instant>(std::max(Nanoseconds(0), task.duration + edge.delay).count());
  }

  bool take_moments() {
    moments_.clear();
    for (const auto& device : devices_) device->take_moments(moments_);
    for (const KernelMoment& moment : moments_)
      moment.ended ? end(moment.task, moment.time) : begin(moment.task, moment.time);
    return !moments_.empty();
  }

  bool finish_due() {
    bool any = false;
    for (; !ends_.empty() && ends_.top().first <= now_; any = true) {
      const TaskId id = ends_.top().second;
      ends_.pop();
      end(id, now_);
    }
    return any;
  }

  template <class Function>
  void each_edge(TaskId id, const Function& function) {
    for (std::uint32_t i = first_[to_index(id)]; i < first_[to_index(id) + 1]; ++i) function(*edges_[i]);
  }

  const TaskGraph& graph_;
  Instant now_ = 0;
  std::size_t done_ = 0;
  std::vector<std::uint32_t> missing_;  ///< by task: edges and queue places not satisfied yet
  std::vector<Instant> ready_;          ///< by task
  std::vector<std::uint32_t> first_;    ///< by task: its outgoing edges in edges_
  std::vector<const Edge*> edges_;
  std::vector<std::optional<TaskId>> next_;  ///< by task: the one behind it in its queue
  std::vector<Instant> free_;                ///< by resource, of first-come ones
  std::vector<std::size_t> device_of_;       ///< by resource, position in devices_
  std::vector<std::unique_ptr<DeviceRun>> devices_;
  std::vector<KernelMoment> moments_;
  using Waiting = std::tuple<Instant, Instant, TaskId>;  // feasible start, since when ready, task
  std::priority_queue<Waiting, std::vector<Waiting>, std::greater<>> waiting_;
  using End = std::pair<Instant, TaskId>;
  std::priority_queue<End, std::vector<End>, std::greater<>> ends_;
  std::vector<TaskTimes> times_;
};

}  // namespace

Result<std::vector<TaskTimes>> run_shared(const TaskGraph& graph, const GpuWork* gpu) {
  COHORT_CHECK(check_ranges(graph));
  return SharedRun(graph, gpu).run();
}

}  // namespace cohort
