#include "simulator/what_if/times_alone.hpp"

#include <algorithm>
#include <cmath>
#include <map>
#include <numeric>
#include <optional>
#include <utility>
#include <variant>

#include "simulator/costs/recorded_gpu_work.hpp"
#include "simulator/engine/simulate.hpp"
#include "tracer/kernel_name.hpp"

namespace cohort {
namespace {

constexpr int kMostRounds = 24;
constexpr double kExplained = 0.002;  // mean error from which on nothing is gained
constexpr int kPatience = 3;          // rounds without a smaller error, until what is left stays
constexpr double kLeastPart = 0.02;   // no neighbours make a kernel fifty times slower

/// Device work of the step that overlapped with other work of its device, one of them a kernel, in order of start.
std::vector<std::size_t> find_overlapping(const TraceGraph& step) {
  std::map<std::int32_t, std::vector<std::size_t>> by_device;
  for (std::size_t i = 0; i < step.graph.tasks.size(); ++i) {
    const Task& task = step.graph.tasks[i];
    if (task.kind != TaskKind::kKernel && task.kind != TaskKind::kCopy) continue;
    if (!step.recorded[i] || task.duration <= Nanoseconds(0)) continue;
    by_device[step.graph.resources[to_index(task.resource)].device].push_back(i);
  }
  std::vector<std::size_t> overlapping;
  const auto start = [&](std::size_t i) { return step.recorded[i]->start; };
  for (auto& [device, ops] : by_device) {
    std::stable_sort(ops.begin(), ops.end(), [&](std::size_t a, std::size_t b) { return start(a) < start(b); });
    for (std::size_t begin = 0; begin < ops.size();) {
      Nanoseconds end = step.recorded[ops[begin]]->end;
      std::size_t behind = begin + 1;
      while (behind < ops.size() && start(ops[behind]) < end) end = std::max(end, step.recorded[ops[behind++]]->end);
      const auto is_kernel = [&](std::size_t i) { return step.graph.tasks[i].kind == TaskKind::kKernel; };
      const auto first = ops.begin() + static_cast<std::ptrdiff_t>(begin);
      const auto last = ops.begin() + static_cast<std::ptrdiff_t>(behind);
      if (behind - begin > 1 && std::any_of(first, last, is_kernel)) overlapping.insert(overlapping.end(), first, last);
      begin = behind;
    }
  }
  return overlapping;
}

/// These ops alone, none before its recorded start nor before the end of the one that its stream had ended by then.
TaskGraph pinned_graph(const TraceGraph& step, const std::vector<std::size_t>& ops) {
  TaskGraph graph;
  graph.labels = step.graph.labels;
  graph.resources = step.graph.resources;
  for (Resource& resource : graph.resources) resource.discipline = Discipline::kOverlapping;
  std::map<ResourceId, TaskId> last;
  Task begin;
  begin.label = graph.add_label("recorded");
  begin.kind = TaskKind::kMark;
  begin.cores = 0;
  begin.resource = graph.add_resource("clock", ResourceKind::kClock);
  std::vector<Nanoseconds> ends;
  for (const std::size_t i : ops) {
    Task task = step.graph.tasks[i];
    task.cores = 0;
    task.holds.reset();
    const TraceGraph::Times& recorded = *step.recorded[i];
    task.position = static_cast<std::int64_t>(graph.tasks.size());
    const TaskId id = graph.add_task(task);
    ends.push_back(recorded.end);
    const auto before = last.find(task.resource);
    if (before != last.end() && ends[to_index(before->second)] <= recorded.start) {
      graph.add_edge(before->second, id, EdgeKind::kStreamOrder);
    }
    last[task.resource] = id;
  }
  const TaskId origin = graph.add_task(begin);
  for (std::size_t i = 0; i < ops.size(); ++i) {
    graph.add_edge(origin, TaskId(i), EdgeKind::kPinned, step.recorded[ops[i]]->start);
  }
  return graph;
}

/// The kernels that ran beside something, and how long each takes when they are played back.
class Playback {
 public:
  /// `gpu` may be null.
  static Result<Playback> of(const TraceGraph& step, const Trace& trace, const GpuProfile* gpu) {
    Playback playback;
    playback.graph_ = pinned_graph(step, find_overlapping(step));
    if (gpu != nullptr) {
      const RecordedTasks all{&trace, 0, playback.graph_.tasks.size()};
      COHORT_TRY(playback.work_, recorded_gpu_work(playback.graph_, std::span(&all, 1), *gpu));
      playback.tell_kernels_apart();
    } else {
      playback.find_kernels();
    }
    return playback;
  }

  [[nodiscard]] bool has_kernels() const { return !tasks_.empty(); }

  /// Corrects what kernels take alone until they take what was recorded; the mean part by which that is missed.
  Result<double> fit() {
    COHORT_TRY(double error, play());
    std::vector<double> best = alone_ns_;
    int in_vain = 0;
    for (int round = 0; round < kMostRounds && error > kExplained && in_vain < kPatience; ++round) {
      correct();
      COHORT_TRY(const double tried, play());
      ++in_vain;
      if (tried >= error) continue;
      in_vain = 0;
      error = tried;
      best = alone_ns_;
    }
    alone_ns_ = std::move(best);
    return error;
  }

  /// Of the recorded time of all kernels of the step.
  [[nodiscard]] double share_of(const TraceGraph& step) const {
    const double beside = std::accumulate(recorded_ns_.begin(), recorded_ns_.end(), 0.0);
    double all = 0;
    for (const Task& task : step.graph.tasks) {
      if (task.kind == TaskKind::kKernel) all += static_cast<double>(task.duration.count());
    }
    return beside / all;
  }

  /// Parts of recorded times, by slice of the trace.
  [[nodiscard]] std::vector<double> parts(std::size_t slices) const {
    std::vector<double> part(slices, 1);
    for (std::size_t i = 0; i < tasks_.size(); ++i) {
      if (const auto slice = graph_.tasks[tasks_[i]].step) part[*slice] = alone_ns_[i] / recorded_ns_[i];
    }
    return part;
  }

 private:
  void add_kernel(std::size_t task) {
    tasks_.push_back(task);
    recorded_ns_.push_back(static_cast<double>(graph_.tasks[task].duration.count()));
    alone_ns_.push_back(recorded_ns_.back());
  }

  /// Kernels of equal shape shared one demand; each was slowed by its own neighbours.
  void tell_kernels_apart() {
    for (std::size_t i = 0; i < work_->tasks.size(); ++i) {
      auto* kernel = work_->tasks[i] ? std::get_if<KernelTask>(&*work_->tasks[i]) : nullptr;
      if (kernel == nullptr) continue;
      as_recorded_.push_back(work_->kernels[kernel->kernel]);
      kernel->kernel = static_cast<std::uint32_t>(tasks_.size());
      add_kernel(i);
    }
    work_->kernels = as_recorded_;
  }

  void find_kernels() {
    for (std::size_t i = 0; i < graph_.tasks.size(); ++i) {
      if (graph_.tasks[i].kind == TaskKind::kKernel) add_kernel(i);
    }
  }

  Result<double> play() {
    SimulationOptions options;
    options.gpu = work_;
    options.share_multiprocessors = true;
    COHORT_TRY(const Schedule schedule, simulate(graph_, options));
    took_ns_.clear();
    double error = 0;
    for (std::size_t i = 0; i < tasks_.size(); ++i) {
      const TaskTimes& times = schedule.tasks[tasks_[i]];
      took_ns_.push_back(static_cast<double>((times.end - times.start).count()));
      error += std::abs(took_ns_[i] / recorded_ns_[i] - 1);
    }
    return error / static_cast<double>(tasks_.size());
  }

  void correct() {
    for (std::size_t i = 0; i < tasks_.size(); ++i) {
      if (is_collective(graph_.label(TaskId(tasks_[i])))) continue;
      const double fixed = work_ ? as_recorded_[i].fixed_ns : 0;
      const double recorded = recorded_ns_[i];
      const double times = (recorded - fixed) / std::max(1.0, took_ns_[i] - fixed);
      const double least = fixed + (recorded - fixed) * kLeastPart;
      alone_ns_[i] = std::clamp(fixed + (alone_ns_[i] - fixed) * times, least, recorded);
      if (!work_) {
        graph_.tasks[tasks_[i]].duration = std::max(Nanoseconds(1), Nanoseconds(std::llround(alone_ns_[i])));
        continue;
      }
      KernelDemand& demand = work_->kernels[i];
      const double part = (alone_ns_[i] - fixed) / (recorded - fixed);
      demand.floor_ns = as_recorded_[i].floor_ns * part;
      demand.cold_dram_ns = as_recorded_[i].cold_dram_ns * part;
      for (std::size_t k = 0; k < kThroughputs; ++k) demand.work_ns[k] = as_recorded_[i].work_ns[k] * part;
    }
  }

  TaskGraph graph_;
  std::optional<GpuWork> work_;     ///< absent: of a device without figures
  std::vector<std::size_t> tasks_;  ///< by kernel: its task
  std::vector<double> recorded_ns_;
  std::vector<KernelDemand> as_recorded_;  ///< that alone takes what was recorded, where there are figures
  std::vector<double> alone_ns_;
  std::vector<double> took_ns_;  ///< when they were played back last
};

}  // namespace

Result<TimesAlone> times_alone(const TraceGraph& step, const Trace& trace, const GpuProfile* gpu) {
  TimesAlone result;
  COHORT_TRY(Playback playback, Playback::of(step, trace, gpu));
  if (!playback.has_kernels()) return result;
  result.share = playback.share_of(step);
  COHORT_TRY(result.unexplained, playback.fit());
  result.part = playback.parts(trace.slices.size());
  return result;
}

}  // namespace cohort
