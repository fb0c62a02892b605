#include "simulator/what_if/timeline_trace.hpp"

#include <algorithm>
#include <optional>
#include <string_view>
#include <vector>

namespace cohort {
namespace {

std::string_view category_of(TaskKind kind) {
  switch (kind) {
    case TaskKind::kKernel:
      return "kernel";
    case TaskKind::kCopy:
      return "gpu_memcpy";
    case TaskKind::kMemset:
      return "gpu_memset";
    case TaskKind::kLaunch:
    case TaskKind::kCall:
      return "cuda_runtime";
    case TaskKind::kStep:
      return "task";
    default:
      return "host_work";
  }
}

class TimelineWriter {
 public:
  TimelineWriter(const TaskGraph& graph, const std::vector<TaskTimes>& times, const DeviceInfo& device,
                 std::optional<int> iterations)
      : graph_(graph),
        times_(times),
        iterations_(iterations),
        slices_(graph.tasks.size()),
        launched_by_(graph.tasks.size()) {
    trace_.info.kind = TraceKind::kPredicted;
    trace_.info.device = device;
    for (const Resource& resource : graph.resources) {
      const bool host = resource.kind == ResourceKind::kHostThread;
      tracks_.push_back(host || resource.kind == ResourceKind::kStream
                            ? std::optional(trace_.add_track(host ? "host" : "device", resource.name))
                            : std::nullopt);
    }
    for (const Edge& edge : graph.edges) {
      if (edge.kind == EdgeKind::kLaunch) launched_by_[to_index(edge.to)] = edge.from;
    }
  }

  Trace write() {
    for (std::size_t i = 0; i < graph_.tasks.size(); ++i) add(i);
    for (std::size_t i = 0; i < graph_.tasks.size(); ++i) {
      const auto call = launched_by_[i];
      if (call && slices_[i] && slices_[to_index(*call)]) {
        trace_.flows.push_back({*slices_[to_index(*call)], *slices_[i], trace_.strings.intern("ac2g")});
      }
    }
    return std::move(trace_);
  }

 private:
  void add(std::size_t index) {
    const Task& task = graph_.tasks[index];
    const auto track = tracks_[to_index(task.resource)];
    const bool shown =
        task.kind != TaskKind::kWait && task.kind != TaskKind::kMark && (!iterations_ || task.iteration < *iterations_);
    if (!track || !shown) return;
    Nanoseconds end = times_[index].end;
    if (index + 1 < graph_.tasks.size() && returns(index)) end = times_[index + 1].end;
    const auto correlation = static_cast<std::int64_t>(launched_by_[index] ? to_index(*launched_by_[index]) : index);
    std::vector<Trace::NamedArg> args{
        {"correlation", correlation},
        {"member", std::int64_t{task.member}},
        {"slack_ns", std::int64_t{std::max(Nanoseconds(0), times_[index].slack).count()}}};
    if (is_device_work(task.kind)) {
      args.emplace_back("device", std::int64_t{graph_.resources[to_index(task.resource)].device});
      args.emplace_back("stream", static_cast<std::int64_t>(to_index(task.resource)));
    }
    if (task.scope) {
      const LabelId label = graph_.scopes[to_index(*task.scope)].label;
      args.emplace_back("op", std::string_view(graph_.labels[to_index(label)]));
    }
    slices_[index] = trace_.add_slice(*track, graph_.label(TaskId(index)), category_of(task.kind), times_[index].start,
                                      end - times_[index].start, args);
  }

  /// The task after a call is its return, where it waits.
  [[nodiscard]] bool returns(std::size_t call) const {
    const Task& task = graph_.tasks[call];
    const Task& next = graph_.tasks[call + 1];
    return (task.kind == TaskKind::kLaunch || task.kind == TaskKind::kCall) && next.kind == TaskKind::kWait &&
           next.step == task.step && next.resource == task.resource && next.member == task.member;
  }

  const TaskGraph& graph_;
  const std::vector<TaskTimes>& times_;
  std::optional<int> iterations_;
  Trace trace_;
  std::vector<std::optional<TrackId>> tracks_;      ///< by resource; absent for locks and engines
  std::vector<std::optional<SliceId>> slices_;      ///< by task
  std::vector<std::optional<TaskId>> launched_by_;  ///< by task
};

}  // namespace

Trace timeline_trace(const TaskGraph& graph, const std::vector<TaskTimes>& times, const DeviceInfo& device,
                     std::optional<int> iterations) {
  return TimelineWriter(graph, times, device, iterations).write();
}

}  // namespace cohort
