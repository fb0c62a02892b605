#include "tracer/summary/gpu_summary.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <map>
#include <set>
#include <unordered_map>
#include <unordered_set>
#include <utility>

#include "tracer/call_kind.hpp"
#include "tracer/slice_kind.hpp"
#include "tracer/summary/launches.hpp"
#include "tracer/summary/shortcomings.hpp"

namespace cohort {
namespace {

TimeSpread spread_of(std::vector<Nanoseconds> times) {
  TimeSpread spread;
  spread.count = static_cast<std::int64_t>(times.size());
  if (times.empty()) return spread;
  std::sort(times.begin(), times.end());
  spread.median = times[(times.size() - 1) / 2];
  spread.p90 = times[(times.size() - 1) * 9 / 10];
  return spread;
}

class GpuSummarizer {
 public:
  explicit GpuSummarizer(const Trace& trace) : trace_(trace), kinds_(trace.strings), work_(link_launches(trace)) {}

  std::optional<GpuSummary> summarize() {
    if (work_.empty()) return std::nullopt;
    summarize_streams();
    summarize_kernels();
    summarize_concurrency();
    summarize_launches();
    summarize_calls();
    out_.steps = find_steps(trace_);
    out_.shortcomings = find_shortcomings(trace_, out_);
    return std::move(out_);
  }

 private:
  void summarize_streams() {
    std::map<TrackId, StreamSummary> streams;
    std::map<TrackId, Nanoseconds> ends;
    for (const LaunchedWork& linked : work_) {  // by track and start
      const Slice& slice = trace_.slice(linked.work);
      const SliceKind kind = kinds_(slice);
      StreamSummary& stream = streams[slice.track];
      if (kind == SliceKind::kKernel) {
        ++stream.kernels;
      } else if (kind != SliceKind::kGraph) {
        ++stream.copies;
      }
      const auto [end, is_first] = ends.try_emplace(slice.track, slice.start);
      stream.busy += std::max(Nanoseconds{}, slice.end() - std::max(slice.start, end->second));
      end->second = std::max(end->second, slice.end());
    }
    for (auto& [id, stream] : streams) {
      const Track& track = trace_.tracks[to_index(id)];
      stream.name = fmt::format("{}{}{}", track.process, track.process.empty() || track.thread.empty() ? "" : " / ",
                                track.thread.empty() ? fmt::format("track {}", track.tid) : track.thread);
      out_.streams.push_back(std::move(stream));
    }
    std::stable_sort(out_.streams.begin(), out_.streams.end(),
                     [](const StreamSummary& a, const StreamSummary& b) { return a.busy > b.busy; });
  }

  void summarize_kernels() {
    std::map<StringId, KernelSummary> by_name;
    for (const LaunchedWork& linked : work_) {
      const Slice& slice = trace_.slice(linked.work);
      const SliceKind kind = kinds_(slice);
      out_.copies += kind == SliceKind::kCopy ? 1 : 0;
      out_.memsets += kind == SliceKind::kMemset ? 1 : 0;
      out_.graphs += kind == SliceKind::kGraph ? 1 : 0;
      if (kind == SliceKind::kCopy || kind == SliceKind::kMemset) out_.copy_time += slice.duration;
      if (kind != SliceKind::kKernel) continue;
      ++out_.kernels;
      out_.kernel_time += slice.duration;
      KernelSummary& kernel = by_name[slice.name];
      ++kernel.calls;
      kernel.time += slice.duration;
    }
    out_.different_kernels = static_cast<std::int64_t>(by_name.size());
    for (auto& [name, kernel] : by_name) {
      kernel.name = trace_.strings[name];
      out_.top_kernels.push_back(std::move(kernel));
    }
    std::stable_sort(out_.top_kernels.begin(), out_.top_kernels.end(),
                     [](const KernelSummary& a, const KernelSummary& b) {
                       return a.time != b.time ? a.time > b.time : a.name < b.name;
                     });
    constexpr std::size_t kMost = 5;
    if (out_.top_kernels.size() > kMost) out_.top_kernels.resize(kMost);
  }

  void summarize_concurrency() {
    struct Change {
      Nanoseconds time{};
      int by = 0;
      std::int64_t device = 0;
    };
    std::vector<Change> changes;
    TimeWindow active{Nanoseconds::max(), Nanoseconds::min()};
    std::optional<TrackId> track;
    Nanoseconds end{};
    for (const LaunchedWork& linked : work_) {  // by track and start: merged within a track
      const Slice& slice = trace_.slice(linked.work);
      active.start = std::min(active.start, slice.start);
      active.end = std::max(active.end, slice.end());
      if (track != slice.track) end = slice.start;
      track = slice.track;
      if (slice.end() <= end) continue;
      const std::int64_t device = trace_.tracks[to_index(slice.track)].pid;
      changes.push_back({std::max(slice.start, end), 1, device});
      changes.push_back({slice.end(), -1, device});
      end = slice.end();
    }
    out_.active = active;
    std::sort(changes.begin(), changes.end(),
              [](const Change& a, const Change& b) { return std::pair(a.time, a.by) < std::pair(b.time, b.by); });
    std::unordered_map<std::int64_t, int> on_device;
    int running = 0;
    int overlapping = 0;  // devices on which several streams run
    Nanoseconds last{};
    for (const Change& change : changes) {
      if (running >= 1) out_.busy += change.time - last;
      if (overlapping >= 1) out_.overlapped += change.time - last;
      running += change.by;
      int& here = on_device[change.device];
      const bool before = here >= 2;
      here += change.by;
      overlapping += (here >= 2 ? 1 : 0) - (before ? 1 : 0);
      last = change.time;
    }
  }

  /// Kernel by kernel on each stream: was it waited for, or did it wait?
  void summarize_launches() {
    std::vector<Nanoseconds> idle_starts;
    std::vector<Nanoseconds> busy_gaps;
    std::optional<TrackId> track;
    std::optional<Nanoseconds> end;  // of all before on the stream
    for (const LaunchedWork& linked : work_) {
      const Slice& slice = trace_.slice(linked.work);
      if (track != slice.track) end.reset();
      track = slice.track;
      const bool is_kernel = kinds_(slice) == SliceKind::kKernel;
      if (is_kernel && end && slice.start < *end) ++out_.launch.overlapping;
      if (is_kernel && linked.call) {
        const Slice& call = trace_.slice(*linked.call);
        const bool graph = call_kind_from(trace_.name(call)) == CallKind::kGraphLaunch;
        if (!end || *end <= call.start) {
          if (!graph) idle_starts.push_back(slice.start - call.start);
        } else if (call.end() <= *end && slice.start >= *end) {
          busy_gaps.push_back(slice.start - *end);
        }
        waiting_ += end && *end > call.start ? 0 : 1;
        ++linked_;
      }
      end = end ? std::max(*end, slice.end()) : slice.end();
      if (!linked.call) ++out_.orphans;
      if (!linked.op && !linked.annotation) ++out_.without_op;
    }
    out_.launch.idle_start = spread_of(std::move(idle_starts));
    out_.launch.busy_gap = spread_of(std::move(busy_gaps));
    out_.launch.waiting_share = linked_ > 0 ? static_cast<double>(waiting_) / static_cast<double>(linked_) : 0;
  }

  void summarize_calls() {
    std::unordered_set<SliceId> launching;
    for (const LaunchedWork& linked : work_) {
      if (linked.call) launching.insert(*linked.call);
    }
    std::unordered_map<StringId, CallKind> call_kinds;
    std::set<TrackId> threads;
    std::vector<Nanoseconds> durations;
    for (std::uint32_t i = 0; i < trace_.slices.size(); ++i) {
      const Slice& slice = trace_.slices[i];
      if (!is_call(kinds_(slice))) continue;
      const auto [kind, is_new] = call_kinds.try_emplace(slice.name);
      if (is_new) kind->second = call_kind_from(trace_.name(slice));
      const bool launched = launching.count(static_cast<SliceId>(i)) > 0;
      const bool kernel = kind->second == CallKind::kLaunch || kind->second == CallKind::kGraphLaunch;
      if (kernel && !launched && kinds_(slice) == SliceKind::kRuntimeCall) ++out_.idle_calls;
      if (!launched) continue;
      ++out_.launch.launches;
      out_.launch.graph_launches += kind->second == CallKind::kGraphLaunch ? 1 : 0;
      threads.insert(slice.track);
      if (kernel) durations.push_back(slice.duration);
    }
    out_.launch.threads = static_cast<std::int64_t>(threads.size());
    out_.launch.call = spread_of(std::move(durations));
  }

  const Trace& trace_;
  SliceKinds kinds_;
  std::vector<LaunchedWork> work_;
  GpuSummary out_;
  std::int64_t waiting_ = 0;
  std::int64_t linked_ = 0;
};

}  // namespace

std::optional<GpuSummary> summarize_gpu(const Trace& trace) { return GpuSummarizer(trace).summarize(); }

}  // namespace cohort
