#include <fmt/format.h>

#include <algorithm>

#include "simulator/trace_graph/draft.hpp"

namespace cohort::trace_graph {
namespace {

/// Threads idle for longer may wait for another thread.
constexpr Nanoseconds kIdle(300'000);
/// Calls with less than this between them are one burst of a thread.
constexpr int kMostOfGap = 2;  // what the other thread does not explain must be less than 1 / this of the gap

/// What an idle thread did next, and the call of another one that it had waited for.
struct Handoff {
  TaskId woken{};
  std::uint32_t waker = 0;
  Nanoseconds delay{};
};

class HostBuilder {
 public:
  explicit HostBuilder(Draft& draft)
      : draft_(draft),
        records_(draft.records),
        by_thread_(records_.threads.size()),
        launches_(records_.threads.size()),
        takes_part_(records_.threads.size()) {
    for (const std::uint32_t call : draft_.call_order) {
      by_thread_[records_.calls[call].thread].push_back(call);
      const CallPlan& plan = draft_.calls[call];
      if (plan.launched > 0) launches_[records_.calls[call].thread] = true;
      if (plan.launched > 0 || !plan.dependencies.empty()) takes_part_[records_.calls[call].thread] = true;
    }
  }

  void run() {
    TaskGraph& graph = draft_.result.graph;
    work_label_ = graph.add_label("host work");
    for (const std::uint32_t call : draft_.call_order) {
      if (launches_[records_.calls[call].thread]) last_thread_ = records_.calls[call].thread;
    }
    for (std::size_t t = 0; t < by_thread_.size(); ++t) {
      const Track& track = draft_.trace.tracks[to_index(records_.threads[t])];
      draft_.threads.push_back(graph.add_resource(fmt::format("thread {}", track.tid), ResourceKind::kHostThread));
      // A watchdog that looks on now and then is no part of a step.
      if (takes_part_[t] || draft_.options.in_flight) add_thread(t);
    }
    for (const Handoff& handoff : handoffs_)
      graph.add_edge(draft_.returned(handoff.waker), handoff.woken, EdgeKind::kProgramOrder, handoff.delay);
    for (const std::uint32_t call : draft_.call_order) link_wait(call);
  }

 private:
  void add_thread(std::size_t thread) {
    const std::vector<std::uint32_t>& calls = by_thread_[thread];
    std::optional<Nanoseconds> free;
    // Of a window's first call the thread was on its way to it; the others begin when they did.
    if (draft_.options.window && !calls.empty() && calls.front() == draft_.call_order.front()) {
      free = draft_.result.origin;
    }
    for (std::size_t i = 0; i < calls.size(); ++i) {
      const RecordedCall& call = records_.calls[calls[i]];
      const auto waker = waker_of(thread, free, call.start);
      if (waker) {
        ++draft_.result.counts.handoffs;
      } else if (free && call.start > *free) {
        add_work(thread, call, *free, call.start);
      }
      const auto next = i + 1 < calls.size() ? std::optional(records_.calls[calls[i + 1]].start) : std::nullopt;
      add_call(calls[i], next);
      if (waker) handoffs_.push_back({*draft_.calls[calls[i]].task, *waker, call.start - records_.calls[*waker].end});
      if (!free && !waker) {
        draft_.result.graph.add_edge(*draft_.begin, *draft_.calls[calls[i]].task, EdgeKind::kPinned,
                                     draft_.since_origin(call.start));
      }
      free = next ? std::min(call.end, *next) : call.end;
    }
    if (free && draft_.options.window && !draft_.options.in_flight) end_thread(thread, *free);
  }

  /// A thread that is idle behind its last call, as another one goes on with the step, must not begin the next step
  /// before that is done. Where steps overlap on the device, a step lasts until the host begins the next one: what the
  /// thread does until then is part of it. So is what the thread of a step's last call does until the step ends.
  void end_thread(std::size_t thread, Nanoseconds free) {
    const Nanoseconds end = draft_.options.window->end;
    if (!launches_[thread] || free >= end) return;
    const RecordedCall& last = records_.calls[by_thread_[thread].back()];
    const auto waker = waker_of(thread, free, end);
    const bool ends_step = draft_.options.whole_steps && thread == last_thread_;
    if (!waker && !ends_step && draft_.result.counts.behind_host == Nanoseconds(0)) return;
    const TaskId after = add_work(thread, last, waker ? end : free, end);
    if (!waker) return;
    ++draft_.result.counts.handoffs;
    handoffs_.push_back({after, *waker, {}});
  }

  /// What the thread did before or after a call.
  TaskId add_work(std::size_t thread, const RecordedCall& call, Nanoseconds start, Nanoseconds end) {
    Task task;
    task.label = work_label_;
    task.kind = TaskKind::kHostWork;
    task.resource = draft_.threads[thread];
    task.cores = 0;
    task.duration = end - start;
    task.position = draft_.since_origin(start).count();
    task.step = static_cast<std::uint32_t>(call.slice);
    return draft_.add(task, std::nullopt);
  }

  void add_call(std::uint32_t index, std::optional<Nanoseconds> next) {
    const RecordedCall& call = records_.calls[index];
    CallPlan& plan = draft_.calls[index];
    const Slice& slice = draft_.trace.slice(call.slice);
    const Nanoseconds end = next ? std::min(call.end, *next) : call.end;
    const Nanoseconds start = draft_.since_origin(call.start);
    Task task;
    task.label = draft_.label(slice.name);
    task.kind = plan.launched > 0 ? TaskKind::kLaunch : TaskKind::kCall;
    task.resource = draft_.threads[call.thread];
    task.cores = 0;
    task.duration = std::min(plan.own, end - call.start);
    task.position = start.count();
    task.step = static_cast<std::uint32_t>(call.slice);
    plan.task = draft_.add(task, TraceGraph::Times{start, draft_.since_origin(end)});
    if (plan.dependencies.empty()) return;
    task.kind = TaskKind::kWait;
    task.duration = Nanoseconds(0);
    task.position = draft_.since_origin(end).count();
    plan.wait = draft_.add(task, std::nullopt);
  }

  void link_wait(std::uint32_t index) {
    const CallPlan& plan = draft_.calls[index];
    if (plan.dependencies.empty()) return;
    const RecordedCall& call = records_.calls[index];
    const auto end_of = [&](const Dependency& dependency) {
      return dependency.op ? records_.ops[*dependency.op].end : records_.calls[*dependency.call].end;
    };
    Nanoseconds last = Nanoseconds::min();
    for (const Dependency& dependency : plan.dependencies) last = std::max(last, end_of(dependency));
    const bool held_up = last > call.start;
    for (const Dependency& dependency : plan.dependencies) {
      std::optional<TaskId> from;
      if (dependency.op) from = draft_.op_tasks[*dependency.op];
      if (dependency.call) from = draft_.returned(*dependency.call);
      if (!from) continue;  // not in the window: done before it began
      const Nanoseconds recorded = call.end - end_of(dependency);
      const bool binds = held_up && end_of(dependency) == last;
      const Nanoseconds delay = binds ? recorded : std::min(recorded, draft_.result.typical.return_latency);
      draft_.result.graph.add_edge(*from, *plan.wait, dependency.kind, delay);
    }
  }

  /// Which other thread's last call explains that this one was idle over [free, start): the one that
  /// ended latest in it, where that thread had nothing more to do then. Backward passes are run so:
  ///
  ///     main      |calls| ............ idle ............ |calls|
  ///     autograd         |calls|calls|calls|calls|calls|
  std::optional<std::uint32_t> waker_of(std::size_t thread, std::optional<Nanoseconds> free, Nanoseconds start) const {
    const Nanoseconds idle_from = free.value_or(draft_.result.origin);
    if (start - idle_from < kIdle || !launches_[thread]) return std::nullopt;
    std::optional<std::uint32_t> waker;
    for (std::size_t other = 0; other < by_thread_.size(); ++other) {
      if (other == thread || !launches_[other] || records_.processes[other] != records_.processes[thread]) continue;
      const std::vector<std::uint32_t>& calls = by_thread_[other];
      const auto next = std::partition_point(calls.begin(), calls.end(),
                                             [&](std::uint32_t call) { return records_.calls[call].start < start; });
      if (next == calls.begin()) continue;
      const std::uint32_t last = *std::prev(next);
      const Nanoseconds end = records_.calls[last].end;
      if (end <= idle_from || end > start || start - end > (start - idle_from) / kMostOfGap) continue;
      if (next != calls.end() && records_.calls[*next].start - end < kIdle) continue;  // busy with its own
      if (!waker || end > records_.calls[*waker].end) waker = last;
    }
    return waker;
  }

  Draft& draft_;
  const Records& records_;
  std::vector<std::vector<std::uint32_t>> by_thread_;
  std::vector<bool> launches_;    ///< by thread: it launches device work
  std::vector<bool> takes_part_;  ///< by thread: it launches or waits for device work
  std::size_t last_thread_ = 0;   ///< of those that launch, the one of the last call
  std::vector<Handoff> handoffs_;
  LabelId work_label_{};
};

}  // namespace

void add_host_tasks(Draft& draft) { HostBuilder(draft).run(); }

}  // namespace cohort::trace_graph
