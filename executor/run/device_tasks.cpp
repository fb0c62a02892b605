#include "executor/run/device_tasks.hpp"

#include <algorithm>
#include <map>
#include <optional>
#include <tuple>
#include <utility>
#include <vector>

#include "executor/trace_sink.hpp"
#include "tracer/device_work.hpp"

namespace cohort {
namespace {

/// One time that a step's work was done: what was given at once, or one replay of what was captured.
struct RunKey {
  std::int64_t work = 0;
  std::int64_t replay = 0;  ///< correlation of the graph's launch; 0 outside graphs

  friend bool operator<(const RunKey& a, const RunKey& b) {
    return std::tie(a.work, a.replay) < std::tie(b.work, b.replay);
  }
};

struct Span {
  Nanoseconds start{};
  Nanoseconds end{};
  std::int64_t kernels = 0;
};

/// By task.
using Runs = std::map<std::string, std::map<RunKey, Span>, std::less<>>;

Runs runs_of(const Trace& trace) {
  Runs runs;
  for (const Slice& slice : trace.slices) {
    const auto task = trace.text_arg(slice, kTaskArg);
    const auto work = trace.integer_arg(slice, kWorkArg);
    if (!task || !work) continue;
    const bool captured = trace.integer_arg(slice, "graph node id").has_value();
    const RunKey key{*work, captured ? trace.integer_arg(slice, "correlation").value_or(0) : 0};
    auto of_task = runs.find(*task);
    if (of_task == runs.end()) of_task = runs.try_emplace(std::string(*task)).first;
    const auto [run, is_new] = of_task->second.try_emplace(key, Span{slice.start, slice.end(), 0});
    run->second.start = std::min(run->second.start, slice.start);
    run->second.end = std::max(run->second.end, slice.end());
    ++run->second.kernels;
  }
  return runs;
}

/// Leaves out what began before `from`, with the flows to and from it, and lets times count from there.
void cut(Trace& trace, Nanoseconds from) {
  std::vector<std::optional<SliceId>> places(trace.slices.size());
  std::vector<Slice> kept;
  for (std::size_t i = 0; i < trace.slices.size(); ++i) {
    if (trace.slices[i].start < from) continue;
    places[i] = static_cast<SliceId>(static_cast<std::uint32_t>(kept.size()));
    kept.push_back(trace.slices[i]);
    kept.back().start -= from;
  }
  std::vector<Flow> flows;
  for (const Flow& flow : trace.flows) {
    const auto source = places[to_index(flow.from)];
    const auto target = places[to_index(flow.to)];
    if (source && target) flows.push_back({*source, *target, flow.name});
  }
  trace.slices = std::move(kept);
  trace.flows = std::move(flows);
}

/// Recorded work is not the task itself.
void rename_tasks(Trace& trace) {
  const auto task = trace.strings.find(kTaskArg);
  if (!task) return;
  const StringId of_task = trace.strings.intern(kOfTaskArg);
  for (Args& args : trace.args) {
    for (auto& [key, value] : args) {
      if (key == *task) key = of_task;
    }
  }
}

std::vector<Span> in_order(const std::map<RunKey, Span>& runs) {
  std::vector<Span> spans;
  for (const auto& [key, span] : runs) spans.push_back(span);
  std::stable_sort(spans.begin(), spans.end(), [](const Span& a, const Span& b) { return a.start < b.start; });
  return spans;
}

}  // namespace

Trace with_tasks(const Program& program, DeviceRecording recording) {
  Trace trace = std::move(recording.trace);
  cut(trace, recording.from);
  const Runs runs = runs_of(trace);
  rename_tasks(trace);
  for (Track& track : trace.tracks) track.process += ", recorded";
  const std::string process = trace.info.device.id.empty() ? "device" : trace.info.device.id;
  std::vector<TrackId> streams;
  for (int i = 0; i < program.streams; ++i) streams.push_back(trace.add_track(process, fmt::format("stream {}", i)));
  std::int64_t missing = 0;
  for (const Step& step : program.steps) {
    const auto found = runs.find(step.task);
    const std::vector<Span> spans = found != runs.end() ? in_order(found->second) : std::vector<Span>();
    const std::string_view group =
        step.group < recording.groups.size() ? std::string_view(recording.groups[step.group]) : std::string_view();
    for (std::size_t i = 0; i < spans.size(); ++i) {
      add_task_slice(trace, streams[to_index(step.stream)],
                     {&step, group, static_cast<std::int64_t>(i), spans[i].start, spans[i].end - spans[i].start,
                      !program.states.empty()});
      trace.args.back().emplace_back(trace.strings.intern("kernels"), spans[i].kernels);
    }
    missing += std::max<std::int64_t>(0, recording.iterations - static_cast<std::int64_t>(spans.size()));
  }
  if (missing > 0) trace.info.dropped["runs of tasks of which no work was recorded"] += missing;
  return trace;
}

}  // namespace cohort
