#include "simulator/trace_graph/trace_graph.hpp"

#include <fmt/format.h>

#include <algorithm>

#include "simulator/trace_graph/draft.hpp"
#include "simulator/trace_graph/tracks.hpp"
#include "tracer/summary/no_device_work.hpp"

namespace cohort {
namespace trace_graph {

LabelId Draft::label(StringId name) {
  std::optional<LabelId>& known = labels[to_index(name)];
  if (!known) known = result.graph.add_label(std::string(trace.strings[name]));
  return *known;
}

TaskId Draft::add(const Task& task, std::optional<TraceGraph::Times> recorded) {
  result.recorded.push_back(recorded);
  return result.graph.add_task(task);
}

std::optional<std::uint32_t> last_launched(const Draft& draft, std::uint32_t stream, Nanoseconds before) {
  const std::vector<Launched>& queue = draft.by_stream[stream];
  auto it = std::lower_bound(queue.begin(), queue.end(), before,
                             [](const Launched& launched, Nanoseconds time) { return launched.time < time; });
  if (it == queue.begin()) return std::nullopt;
  --it;
  std::uint32_t last = it->op;
  const auto call = draft.records.ops[last].call;
  while (call && it != queue.begin() && draft.records.ops[std::prev(it)->op].call == call) {
    --it;
    if (draft.records.ops[it->op].end > draft.records.ops[last].end) last = it->op;
  }
  return last;
}

namespace {

/// What is longer waited for something else.
constexpr Nanoseconds kMostLatency(100'000);
constexpr Nanoseconds kMostGap(5'000);

void order_by_launch(Draft& draft) {
  const Records& records = draft.records;
  draft.by_stream.resize(records.streams.size());
  for (std::uint32_t i = 0; i < records.ops.size(); ++i) {
    const RecordedOp& op = records.ops[i];
    draft.by_stream[op.stream].push_back({op.call ? records.calls[*op.call].start : op.start, i});
  }
  for (std::vector<Launched>& queue : draft.by_stream) {
    std::stable_sort(queue.begin(), queue.end(), [](const Launched& a, const Launched& b) { return a.time < b.time; });
  }
}

/// The time that one in `part` is less than: one that was recorded, since a mean with an unusual one is usual nowhere.
Nanoseconds order_statistic(std::vector<Nanoseconds> times, std::size_t part, Nanoseconds otherwise) {
  if (times.empty()) return otherwise;
  const auto place = times.begin() + static_cast<std::ptrdiff_t>(times.size() / part);
  std::nth_element(times.begin(), place, times.end());
  return *place;
}

}  // namespace

void select(Draft& draft) {
  Records& records = draft.records;
  const TimeWindow window = draft.options.window.value_or(TimeWindow{Nanoseconds::min(), Nanoseconds::max()});
  draft.calls.resize(records.calls.size());
  draft.op_tasks.resize(records.ops.size());
  draft.labels.resize(draft.trace.strings.size());
  order_by_launch(draft);
  Nanoseconds first = Nanoseconds::max();
  for (std::uint32_t i = 0; i < records.calls.size(); ++i) {
    const RecordedCall& call = records.calls[i];
    if (call.start < window.start || call.start >= window.end) continue;
    draft.calls[i].selected = true;
    draft.call_order.push_back(i);
    first = std::min(first, call.start);
  }
  for (const RecordedOp& op : records.ops) {
    if (op.call) ++draft.calls[*op.call].launched;
    if (!op.call && op.start >= window.start && op.start < window.end) first = std::min(first, op.start);
  }
  draft.result.origin = draft.options.window ? window.start : first;
  TraceGraphCounts& counts = draft.result.counts;
  counts.calls = draft.call_order.size();
  counts.nested_calls = records.nested_calls;
  counts.graph_launches =
      static_cast<std::size_t>(std::count_if(draft.call_order.begin(), draft.call_order.end(),
                                             [&](std::uint32_t call) { return draft.calls[call].launched > 1; }));
}

void measure_typical_times(Draft& draft) {
  const Records& records = draft.records;
  std::vector<Nanoseconds> latencies;
  std::vector<Nanoseconds> gaps;
  std::vector<Nanoseconds> launches;
  for (const std::vector<Launched>& queue : draft.by_stream) {
    Nanoseconds free = Nanoseconds::min() / 4;  // long ago, and far from overflow
    for (const Launched& launched : queue) {
      const RecordedOp& op = records.ops[launched.op];
      if (op.call && draft.calls[*op.call].launched == 1) {
        const RecordedCall& call = records.calls[*op.call];
        const Nanoseconds latency = op.start - call.start;
        const Nanoseconds gap = op.start - free;
        if (free < call.start && latency >= Nanoseconds(0) && latency < kMostLatency) latencies.push_back(latency);
        if (free > call.end && gap >= Nanoseconds(0) && gap < kMostGap) gaps.push_back(gap);
        if (op.kind == TaskKind::kKernel) launches.push_back(call.end - call.start);
      }
      free = std::max(free, op.end);
    }
  }
  TypicalTimes& typical = draft.result.typical;
  // Some ops on idle streams wait for events or other streams, which makes their latency longer, never shorter.
  constexpr std::size_t kQuarter = 4;
  constexpr std::size_t kHalf = 2;
  typical.launch_latency = order_statistic(std::move(latencies), kQuarter, typical.launch_latency);
  typical.stream_gap = order_statistic(std::move(gaps), kHalf, typical.stream_gap);
  typical.launch = order_statistic(std::move(launches), kHalf, typical.launch);
}

}  // namespace trace_graph

Result<TraceGraph> build_trace_graph(const Trace& trace, const TraceGraphOptions& options) {
  if (auto why = no_device_work(trace)) return fail(ErrorCode::kInvalidInput, "{}", *why);
  trace_graph::Draft draft(trace, options, read_records(trace));
  if (draft.records.ops.empty() && draft.records.calls.empty()) return build_track_graph(trace, options);
  trace_graph::select(draft);
  trace_graph::measure_typical_times(draft);
  trace_graph::find_event_waits(draft);
  trace_graph::find_waits(draft);
  trace_graph::add_device_tasks(draft);
  trace_graph::add_host_tasks(draft);
  trace_graph::link_device_work(draft);
  trace_graph::add_scopes(draft);
  if (draft.result.counts.calls + draft.result.counts.ops == 0) {
    return fail(ErrorCode::kInvalidInput,
                "no call and no device work begins in the window: choose another step with --step or another --window");
  }
  if (draft.result.counts.ops == 0) {
    return fail(
        ErrorCode::kInvalidInput,
        "no device work belongs to the window, though there is some in the trace: choose another with --step or "
        "--window");
  }
  return std::move(draft.result);
}

}  // namespace cohort
