#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <map>
#include <tuple>
#include <unordered_map>

#include "base/device.hpp"
#include "simulator/contention/gpu_profile.hpp"
#include "simulator/contention/occupancy.hpp"
#include "simulator/costs/recorded_gpu_work.hpp"
#include "simulator/trace_graph/draft.hpp"

namespace cohort::trace_graph {
namespace {

/// Ops of one stream that overlap by more ran beside each other, as branches of a graph do.
constexpr Nanoseconds kMostOverlap(10'000);
/// A start this much later than what is known explains has another reason.
constexpr Nanoseconds kUnexplained(3'000);

/// Something that may have held an op up.
struct Candidate {
  std::optional<TaskId> from;  ///< absent: it is not in the graph, and explains a delay without causing one
  Anchor anchor = Anchor::kEnd;
  Nanoseconds anchored{};  ///< recorded moment of the anchor
  Nanoseconds typical{};   ///< usual delay after it
  EdgeKind kind = EdgeKind::kStreamOrder;
};

class DeviceLinker {
 public:
  explicit DeviceLinker(Draft& draft)
      : draft_(draft), records_(draft.records), typical_(draft.result.typical), next_wait_(records_.streams.size()) {}

  void run() {
    find_default_streams();
    std::vector<std::optional<std::uint32_t>> ahead(records_.streams.size()), linked(records_.streams.size());
    for (std::uint32_t i = 0; i < records_.ops.size(); ++i) {
      const std::uint32_t stream = records_.ops[i].stream;
      // What nothing else holds up stays behind an op that is in the graph.
      const auto before = records_.ops[i].call ? ahead[stream] : linked[stream];
      if (draft_.op_tasks[i] && (!is_pinned(i) || !draft_.options.in_flight)) link(i, before);
      ahead[stream] = i;
      if (draft_.op_tasks[i]) linked[stream] = i;
      if (draft_.op_tasks[i] && records_.ops[i].call) of_call_[*records_.ops[i].call].push_back(i);
    }
  }

 private:
  [[nodiscard]] bool is_pinned(std::uint32_t op) const {
    return !records_.ops[op].call || !draft_.calls[*records_.ops[op].call].selected;
  }

  void link(std::uint32_t index, std::optional<std::uint32_t> ahead) {
    const RecordedOp& op = records_.ops[index];
    candidates_.clear();
    if (!op.call) {
      if (ahead) add_ahead(index, *ahead);
      return add_edges(op);
    }
    const RecordedCall& call = records_.calls[*op.call];
    candidates_.push_back(
        {*draft_.calls[*op.call].task, Anchor::kStart, call.start, typical_.launch_latency, EdgeKind::kLaunch});
    if (ahead) add_ahead(index, *ahead);
    add_events(index, call.start);
    if (default_of_[op.stream]) add_default_stream(index, call.start);
    if (draft_.calls[*op.call].launched > 1) add_branch(index);
    add_edges(op);
  }

  void add_ahead(std::uint32_t index, std::uint32_t ahead) {
    const RecordedOp& op = records_.ops[index];
    const RecordedOp& before = records_.ops[ahead];
    const std::optional<TaskId> from = draft_.op_tasks[ahead];
    if (before.end > op.start) ++draft_.result.counts.overlaps;
    if (before.end <= op.start + std::min(kMostOverlap, before.end - before.start)) {
      candidates_.push_back({from, Anchor::kEnd, before.end, typical_.stream_gap, EdgeKind::kStreamOrder});
    } else {
      candidates_.push_back({from, Anchor::kStart, before.start, Nanoseconds(0), EdgeKind::kStreamOrder});
    }
  }

  void add_source(std::uint32_t source, std::uint32_t index, EdgeKind kind, Nanoseconds typical) {
    if (source == index) return;
    const RecordedOp& from = records_.ops[source];
    if (from.end > records_.ops[index].start) return;  // it did not wait for this
    candidates_.push_back({draft_.op_tasks[source], Anchor::kEnd, from.end, typical, kind});
  }

  /// Waits that the stream was given before this op and after the one launched before it.
  void add_events(std::uint32_t index, Nanoseconds launched) {
    const std::uint32_t stream = records_.ops[index].stream;
    const std::vector<EventWait>& waits = draft_.waits[stream];
    std::size_t& next = next_wait_[stream];
    for (; next < waits.size() && waits[next].time < launched; ++next) {
      add_source(waits[next].op, index, EdgeKind::kEvent, typical_.event_latency);
    }
  }

  /// The legacy default stream: ops on it wait for all blocking streams of its device, and they for it.
  void add_default_stream(std::uint32_t index, Nanoseconds launched) {
    const std::uint32_t own = records_.ops[index].stream;
    const std::uint32_t by_default = *default_of_[own];
    for (std::uint32_t s = 0; s < records_.streams.size(); ++s) {
      if (s == own || default_of_[s] != by_default || (own != by_default && s != by_default)) continue;
      if (const auto op = last_launched(draft_, s, launched)) {
        add_source(*op, index, EdgeKind::kStreamOrder, typical_.event_latency);
      }
    }
  }

  /// An op of a graph launch that began late waited for another of its branches: the one that ended
  /// last before.
  void add_branch(std::uint32_t index) {
    const RecordedOp& op = records_.ops[index];
    Nanoseconds explained = Nanoseconds::min();
    for (const Candidate& candidate : candidates_) {
      explained = std::max(explained, candidate.anchored + candidate.typical);
    }
    if (op.start - explained < kUnexplained) return;
    constexpr std::size_t kFarthest = 64;
    const std::vector<std::uint32_t>& ops = of_call_[*op.call];
    std::optional<std::uint32_t> last;
    for (std::size_t i = ops.size(); i-- > 0 && ops.size() - i <= kFarthest;) {
      const Nanoseconds end = records_.ops[ops[i]].end;
      if (end <= op.start && (!last || end > records_.ops[*last].end)) last = ops[i];
    }
    if (last && records_.ops[*last].end > explained) add_source(*last, index, EdgeKind::kEvent, typical_.stream_gap);
  }

  /// What held the op up keeps its recorded delay; the others keep a usual one, never more than recorded.
  void add_edges(const RecordedOp& op) {
    const TaskId task = *draft_.op_tasks[static_cast<std::size_t>(&op - records_.ops.data())];
    const auto binding = std::max_element(candidates_.begin(), candidates_.end(), [](const auto& a, const auto& b) {
      return a.anchored + a.typical < b.anchored + b.typical;
    });
    for (auto it = candidates_.begin(); it != candidates_.end(); ++it) {
      Nanoseconds delay = op.start - it->anchored;
      if (it != binding) delay = std::min(delay, it->typical);
      if (it->anchor == Anchor::kStart) delay = std::max(delay, Nanoseconds(0));
      if (it->from) draft_.result.graph.add_edge(*it->from, task, it->kind, delay, it->anchor);
    }
  }

  /// Streams made by cudaStreamCreate block with the legacy default stream of their device (the lowest id), unless
  /// recorded overlap shows that they do not.
  void find_default_streams() {
    default_of_.resize(records_.streams.size());
    if (!records_.creates_blocking_streams) return;
    struct Device {
      std::uint32_t lowest = 0;  ///< of its streams
      Nanoseconds default_end = Nanoseconds::min(), other_end = Nanoseconds::min();
      bool overlaps = false;
    };
    std::map<std::tuple<std::optional<std::int64_t>, std::int64_t, std::int64_t>, Device> devices;
    const auto device_of = [&](std::uint32_t stream) -> Device& {
      const RecordedStream& of = records_.streams[stream];
      return devices.try_emplace({of.process, of.device, of.context}, Device{stream}).first->second;
    };
    for (std::uint32_t s = 0; s < records_.streams.size(); ++s) {
      Device& device = device_of(s);
      if (records_.streams[s].stream < records_.streams[device.lowest].stream) device.lowest = s;
    }
    for (const RecordedOp& op : records_.ops) {  // by start
      Device& device = device_of(op.stream);
      const bool on_default = op.stream == device.lowest;
      if (op.start < (on_default ? device.other_end : device.default_end)) device.overlaps = true;
      Nanoseconds& end = on_default ? device.default_end : device.other_end;
      end = std::max(end, op.end);
    }
    for (std::uint32_t s = 0; s < records_.streams.size(); ++s) {
      const Device& device = device_of(s);
      if (!device.overlaps) default_of_[s] = device.lowest;
    }
  }

  Draft& draft_;
  const Records& records_;
  const TypicalTimes& typical_;
  std::vector<std::size_t> next_wait_;  ///< by stream: the first of its waits that no op has met
  std::unordered_map<std::uint32_t, std::vector<std::uint32_t>> of_call_;  ///< linked ops, by start
  std::vector<Candidate> candidates_;
  std::vector<std::optional<std::uint32_t>> default_of_;  ///< by stream: the default stream that it blocks with
};

/// A device's multiprocessors and what one of them holds.
struct Multiprocessors {
  SmLimits limits;
  std::int64_t count = 0;  ///< 0: not known
};

Multiprocessors multiprocessors_of(const DeviceInfo& device) {
  if (const auto gpu = published_gpu_profile(device.name)) return {gpu->sm, gpu->sms};
  const auto number = [&](std::string_view key) { return number_setting(device, key).value_or(0); };
  const auto limits = sm_limits({static_cast<int>(number("computeMajor")), static_cast<int>(number("computeMinor"))});
  // What does not tell is taken for the first with tensor cores, whose numbers of threads and blocks most have.
  return {limits ? *limits : *sm_limits({7, 0}), device.cores > 1 ? device.cores : number("multiprocessors")};
}

double number_arg(const Trace& trace, const Slice& slice, std::string_view key) {
  const auto id = trace.strings.find(key);
  if (!id || !slice.args) return 0;
  for (const auto& [name, value] : trace.args[to_index(*slice.args)]) {
    if (name != *id) continue;
    if (const auto* real = std::get_if<double>(&value)) return *real;
    if (const auto* whole = std::get_if<std::int64_t>(&value)) return static_cast<double>(*whole);
  }
  return 0;
}

/// Of a kernel whose grid and block were not recorded, only how many there are to an SM.
std::optional<LaunchShape> shape_per_sm(const Trace& trace, const Slice& slice) {
  constexpr double kThreadsPerWarp = 32;
  constexpr double kMostThreads = 1024;
  const double blocks = number_arg(trace, slice, "blocks per SM");
  const double warps = number_arg(trace, slice, "warps per SM");
  if (blocks <= 0 || warps <= 0) return std::nullopt;
  LaunchShape shape;
  shape.blocks = 1;
  shape.threads = static_cast<int>(std::clamp(kThreadsPerWarp * warps / blocks, kThreadsPerWarp, kMostThreads));
  return shape;
}

/// A recorded kernel's blocks, in how many of them its device holds at a time; 1 where the launch was not recorded.
float waves_of(const Multiprocessors& multiprocessors, const Trace& trace, const Slice& slice) {
  const std::optional<LaunchShape> launched = launch_shape(trace, slice);
  const std::optional<LaunchShape> shape = launched ? launched : shape_per_sm(trace, slice);
  const double blocks = launched && multiprocessors.count > 0
                            ? static_cast<double>(launched->blocks) / static_cast<double>(multiprocessors.count)
                            : number_arg(trace, slice, "blocks per SM");
  if (!shape || blocks <= 0) return 1;
  const auto held = occupancy(*shape, multiprocessors.limits);
  return static_cast<float>(held ? blocks / held->blocks_per_sm : blocks);
}

std::string stream_name(const Records& records, const RecordedStream& stream) {
  const std::string name = fmt::format("GPU {} stream {}", stream.device, stream.stream);
  const auto& all = records.processes;
  const bool is_one = std::all_of(all.begin(), all.end(), [&](std::int64_t process) { return process == all.front(); });
  return is_one || !stream.process ? name : fmt::format("{} of process {}", name, *stream.process);
}

/// From the first call behind the window to the end of the window's own work.
Nanoseconds behind_host(const Draft& draft, Nanoseconds own_end) {
  if (!draft.options.window) return {};
  const std::vector<RecordedCall>& calls = draft.records.calls;
  const auto next = std::partition_point(
      calls.begin(), calls.end(), [&](const RecordedCall& call) { return call.start < draft.options.window->end; });
  return next == calls.end() ? Nanoseconds(0) : std::max(Nanoseconds(0), own_end - next->start);
}

}  // namespace

void add_device_tasks(Draft& draft) {
  TaskGraph& graph = draft.result.graph;
  const TimeWindow window = draft.options.window.value_or(TimeWindow{Nanoseconds::min(), Nanoseconds::max()});
  Task begin;
  begin.label = graph.add_label("begin");
  begin.kind = TaskKind::kMark;
  begin.resource = graph.add_resource("window", ResourceKind::kClock);
  begin.cores = 0;
  draft.begin = draft.add(begin, std::nullopt);
  for (const RecordedStream& stream : draft.records.streams) {
    draft.streams.push_back(
        graph.add_resource(stream_name(draft.records, stream), ResourceKind::kStream, Discipline::kOverlapping));
    graph.resources.back().device = static_cast<std::int32_t>(stream.device);
  }
  // Starts of the first and the last op that a call of the window launched. Where the host runs ahead, the device gets
  // to them long after the window, and what was launched before it, or by nobody knows whom, is in their way until
  // then.
  Nanoseconds own_work = Nanoseconds::min(), last_own_work = window.end, own_end = Nanoseconds::min();
  for (const RecordedOp& op : draft.records.ops) {
    if (!op.call || !draft.calls[*op.call].selected) continue;
    if (own_work == Nanoseconds::min()) own_work = op.start;
    last_own_work = std::max(last_own_work, op.start);
    own_end = std::max(own_end, op.end);
  }
  const bool runs_ahead = own_work >= window.end;
  if (runs_ahead) draft.result.counts.device_span = own_end - own_work;
  if (own_work != Nanoseconds::min()) draft.result.counts.behind_host = behind_host(draft, own_end);
  std::vector<bool> seen(draft.streams.size(), false);
  const Multiprocessors multiprocessors = multiprocessors_of(draft.trace.info.device);
  for (std::uint32_t i = 0; i < draft.records.ops.size(); ++i) {
    const RecordedOp& op = draft.records.ops[i];
    const bool launched = op.call && draft.calls[*op.call].selected;
    const bool before = op.call && !launched && draft.records.calls[*op.call].start < window.start;
    const bool until_own_work = before || (runs_ahead && !op.call);
    const bool in_window = op.end > window.start && op.start < (until_own_work ? last_own_work : window.end);
    if (!launched && (!in_window || (op.call && !before))) continue;
    if (!draft.options.in_flight && !launched && (before || op.start < own_work)) {
      ++draft.result.counts.left_out;
      continue;
    }
    if (!op.call) ++draft.result.counts.without_launch_record;
    if (before) ++draft.result.counts.launched_before;
    ++draft.result.counts.ops;
    const Slice& slice = draft.trace.slice(op.slice);
    const Nanoseconds start = std::max(Nanoseconds(0), draft.since_origin(op.start));
    Nanoseconds end = draft.since_origin(op.end);
    if (end < start) end = start + (op.end - op.start);  // the device's clock is behind
    Task task;
    task.label = draft.label(slice.name);
    task.kind = op.kind;
    task.resource = draft.streams[op.stream];
    task.cores = 0;
    task.duration = end - start;
    const Nanoseconds launch = op.call ? draft.records.calls[*op.call].start : op.start;
    task.position = draft.since_origin(launch).count();
    task.step = static_cast<std::uint32_t>(op.slice);
    if (op.kind == TaskKind::kKernel) task.waves = waves_of(multiprocessors, draft.trace, slice);
    draft.op_tasks[i] = draft.add(task, TraceGraph::Times{start, end});
    const bool pinned = !launched && (draft.options.in_flight || !seen[op.stream]);
    if (pinned) graph.add_edge(*draft.begin, *draft.op_tasks[i], EdgeKind::kPinned, start);
    seen[op.stream] = true;
  }
}

void link_device_work(Draft& draft) { DeviceLinker(draft).run(); }

}  // namespace cohort::trace_graph
