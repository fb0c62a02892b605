#include "simulator/trace_graph/tracks.hpp"

#include <algorithm>
#include <map>

namespace cohort {
namespace {

struct Entry {
  std::uint32_t slice = 0;
  std::int64_t iteration = 0;
};

class TrackBuilder {
 public:
  TrackBuilder(const Trace& trace, const TraceGraphOptions& options)
      : trace_(trace), labels_(trace.strings.size()), entries_(trace.tracks.size()) {
    const TimeWindow window = options.window.value_or(TimeWindow{Nanoseconds::min(), Nanoseconds::max()});
    Nanoseconds first = Nanoseconds::max();
    for (std::uint32_t i = 0; i < trace.slices.size(); ++i) {
      const Slice& slice = trace.slices[i];
      if (!window.contains(slice.start)) continue;
      first = std::min(first, slice.start);
      entries_[to_index(slice.track)].push_back({i, trace.integer_arg(slice, kIterationArg).value_or(0)});
    }
    result_.origin = options.window ? window.start : first;
  }

  Result<TraceGraph> build() {
    TaskGraph& graph = result_.graph;
    work_label_ = graph.add_label("host work");
    Task begin;
    begin.label = graph.add_label("begin");
    begin.kind = TaskKind::kMark;
    begin.resource = graph.add_resource("window", ResourceKind::kClock);
    begin.cores = 0;
    begin_ = add(begin, std::nullopt);
    for (std::size_t t = 0; t < entries_.size(); ++t) {
      keep_outermost(entries_[t]);
      if (!entries_[t].empty()) add_track(t);
    }
    if (result_.counts.ops == 0) return fail(ErrorCode::kInvalidInput, "no slice begins in the window");
    link_iterations();
    return std::move(result_);
  }

 private:
  void keep_outermost(std::vector<Entry>& entries) {
    std::stable_sort(entries.begin(), entries.end(), [&](const Entry& a, const Entry& b) {
      const Slice& x = trace_.slices[a.slice];
      const Slice& y = trace_.slices[b.slice];
      return x.start != y.start ? x.start < y.start : x.end() > y.end();
    });
    std::vector<Entry> kept;
    for (const Entry& entry : entries) {
      if (!kept.empty() && trace_.slices[kept.back().slice].end() >= trace_.slices[entry.slice].end()) {
        ++result_.counts.nested_calls;
      } else {
        kept.push_back(entry);
      }
    }
    entries = std::move(kept);
  }

  TaskId add(const Task& task, std::optional<TraceGraph::Times> recorded) {
    result_.recorded.push_back(recorded);
    return result_.graph.add_task(task);
  }

  void add_track(std::size_t track) {
    const Track& named = trace_.tracks[track];
    const ResourceId resource = result_.graph.add_resource(named.thread, ResourceKind::kStream);
    std::optional<Entry> before;
    Nanoseconds free{};
    for (std::size_t i = 0; i < entries_[track].size(); ++i) {
      const Entry& entry = entries_[track][i];
      const Slice& slice = trace_.slices[entry.slice];
      Nanoseconds end = slice.end();
      if (i + 1 < entries_[track].size()) end = std::min(end, trace_.slices[entries_[track][i + 1].slice].start);
      const bool same_iteration = before && before->iteration == entry.iteration;
      if (same_iteration && slice.start > free) add_work(resource, entry, free, slice.start);
      Task task;
      task.label = label(slice.name);
      task.resource = resource;
      task.cores = 0;
      task.duration = end - slice.start;
      task.position = (slice.start - result_.origin).count();
      task.iteration = static_cast<std::int32_t>(entry.iteration);
      task.step = entry.slice;
      const TraceGraph::Times times{slice.start - result_.origin, end - result_.origin};
      const TaskId id = add(task, times);
      ++result_.counts.ops;
      if (!same_iteration) firsts_[entry.iteration].push_back(id);
      lasts_[entry.iteration][track] = id;
      free = end;
      before = entry;
    }
  }

  void add_work(ResourceId resource, const Entry& entry, Nanoseconds start, Nanoseconds end) {
    Task task;
    task.label = work_label_;
    task.kind = TaskKind::kHostWork;
    task.resource = resource;
    task.cores = 0;
    task.duration = end - start;
    task.position = (start - result_.origin).count();
    task.iteration = static_cast<std::int32_t>(entry.iteration);
    add(task, std::nullopt);
  }

  LabelId label(StringId name) {
    std::optional<LabelId>& known = labels_[to_index(name)];
    if (!known) known = result_.graph.add_label(std::string(trace_.strings[name]));
    return *known;
  }

  /// The task that ended last in the iteration before keeps the recorded delay, the others order only.
  void link_iterations() {
    std::optional<std::int64_t> before;
    for (const auto& [iteration, tasks] : firsts_) {
      for (const TaskId task : tasks) {
        const Nanoseconds start = result_.recorded[to_index(task)]->start;
        if (!before || !link_after(*before, task, start)) {
          result_.graph.add_edge(begin_, task, EdgeKind::kPinned, start);
        }
      }
      before = iteration;
    }
  }

  bool link_after(std::int64_t before, TaskId task, Nanoseconds start) {
    std::optional<TaskId> latest;
    for (const auto& [track, last] : lasts_[before]) {
      const Nanoseconds end = result_.recorded[to_index(last)]->end;
      if (end <= start && (!latest || end > result_.recorded[to_index(*latest)]->end)) latest = last;
    }
    if (!latest) return false;
    for (const auto& [track, last] : lasts_[before]) {
      const Nanoseconds end = result_.recorded[to_index(last)]->end;
      if (end > start) continue;  // iterations overlap here: no barrier
      result_.graph.add_edge(last, task, EdgeKind::kEvent, last == *latest ? start - end : Nanoseconds(0));
    }
    return true;
  }

  const Trace& trace_;
  TraceGraph result_;
  std::vector<std::optional<LabelId>> labels_;
  std::vector<std::vector<Entry>> entries_;                      ///< by track
  std::map<std::int64_t, std::vector<TaskId>> firsts_;           ///< by iteration: its first task on each track
  std::map<std::int64_t, std::map<std::size_t, TaskId>> lasts_;  ///< by iteration and track
  TaskId begin_{};
  LabelId work_label_{};
};

}  // namespace

Result<TraceGraph> build_track_graph(const Trace& trace, const TraceGraphOptions& options) {
  return TrackBuilder(trace, options).build();
}

}  // namespace cohort
