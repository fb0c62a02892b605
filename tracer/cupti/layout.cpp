#include <algorithm>

#include "tracer/cupti/gathered.hpp"
#include "tracer/cupti/lanes.hpp"
#include "tracer/device_work.hpp"

namespace cohort::cupti {
namespace {

/// One process's way into the trace.
class Layout {
 public:
  Layout(Gathered& gathered, bool several, Trace& trace) : gathered_(gathered), several_(several), trace_(trace) {}

  void run() {
    join_waits();
    add_event_records();
    leave_out_own_calls();
    for (auto& [key, slices] : gathered_.lanes) add_lane(key, slices);
    add_flows();
    const std::size_t halves = gathered_.open_ranges.size() + gathered_.range_ends.size();
    if (halves > 0) drop(kDroppedRanges, static_cast<std::int64_t>(halves));
  }

 private:
  void drop(std::string_view reason, std::int64_t records = 1) { trace_.info.dropped[std::string(reason)] += records; }
  void arg(Args& args, std::string_view key, std::uint64_t value) {
    args.emplace_back(trace_.strings.intern(key), static_cast<std::int64_t>(value));
  }
  void arg(Args& args, std::string_view key, std::string_view value) {
    args.emplace_back(trace_.strings.intern(key), trace_.strings.intern(value));
  }

  void join_waits();
  void add_event_records();
  void leave_out_own_calls();
  void add_device(const LaneKey& key, Args& args);
  void add_lane(const LaneKey& key, std::vector<Pending>& slices);
  void add_identity(Pending& slice);
  void add_flows();
  [[nodiscard]] std::string process_name(const LaneKey& key) const;
  [[nodiscard]] static std::string thread_name(const LaneKey& key);

  struct Launch {
    SliceId slice{};
    bool is_runtime = false;
  };
  struct Launched {
    SliceId slice{};
    std::uint32_t correlation = 0;
  };

  Gathered& gathered_;
  bool several_;
  Trace& trace_;
  std::map<std::uint32_t, Launch> calls_;
  std::vector<Launched> launched_;
};

/// A wait names the event by cudaEventSyncId, since event ids come again; keys as PyTorch's profiler has them.
void Layout::join_waits() {
  for (const PendingWait& wait : gathered_.waits) {
    Pending& slice = gathered_.lanes[wait.lane][wait.slice];
    const auto event = gathered_.events.find(wait.sync_id);
    if (event == gathered_.events.end()) {
      drop(kUnknownEvent);
      continue;
    }
    arg(slice.args, "wait_on_stream", event->second.streamId);
    arg(slice.args, "wait_on_cuda_event_record_corr_id", gathered_.unique_correlation(event->second.correlationId));
    arg(slice.args, "wait_on_cuda_event_id", event->second.eventId);
  }
}

/// The device's time where it was recorded, else that of the call that recorded the event.
void Layout::add_event_records() {
  std::map<std::uint32_t, Nanoseconds> starts;
  for (const auto& [key, slices] : gathered_.lanes) {
    if (key.kind != LaneKind::kThread) continue;
    for (const Pending& slice : slices) starts.try_emplace(slice.correlation, slice.start);
  }
  for (const EventRecord& record : gathered_.event_records) {
    Pending event;
    const auto call = starts.find(record.correlationId);
    if (record.deviceTimestamp != 0) {
      event.start = Nanoseconds(static_cast<std::int64_t>(record.deviceTimestamp));
    } else if (call != starts.end()) {
      event.start = call->second;
    } else {
      drop(kEventWithoutTime);
      continue;
    }
    event.end = event.start;
    event.name = trace_.strings.intern("Event Record");
    event.category = trace_.strings.intern("cuda_event");
    arg(event.args, "stream", record.streamId);
    arg(event.args, "context", record.contextId);
    arg(event.args, "correlation", gathered_.unique_correlation(record.correlationId));
    arg(event.args, "event id", record.eventId);
    arg(event.args, "event sync id", record.cudaEventSyncId);
    event.correlation = record.correlationId;
    gathered_.lanes[{LaneKind::kSynchronization, record.contextId, 0, 0}].push_back(std::move(event));
  }
}

/// What the tracer asked of the driver when the program had ended is no part of the program, nor is that it waited.
void Layout::leave_out_own_calls() {
  std::set<std::uint32_t> own;
  for (const auto& [thread, since] : gathered_.own_threads) {
    const auto lane = gathered_.lanes.find({LaneKind::kThread, gathered_.process, thread, 0});
    if (lane == gathered_.lanes.end()) continue;
    std::erase_if(lane->second, [&, from = since](const Pending& call) {
      if (call.start < from) return false;  // of a thread of the program's that had this number before
      own.insert(call.correlation);
      return true;
    });
  }
  for (auto& [key, slices] : gathered_.lanes) {
    if (key.kind == LaneKind::kSynchronization)
      std::erase_if(slices, [&](const Pending& slice) { return own.count(slice.correlation) != 0; });
  }
}

std::string Layout::process_name(const LaneKey& key) const {
  std::string host = fmt::format("process {}", gathered_.process);
  std::uint32_t device = key.a;
  switch (key.kind) {
    case LaneKind::kThread:
    case LaneKind::kRanges:
    case LaneKind::kOverhead:
      return host;
    case LaneKind::kSynchronization: {
      const auto known = gathered_.device_of_context.find(key.a);
      if (known == gathered_.device_of_context.end()) return host;
      device = known->second;
      break;
    }
    case LaneKind::kStream:
      break;
  }
  return several_ ? fmt::format("cuda:{} of {}", device, host) : fmt::format("cuda:{}", device);
}

std::string Layout::thread_name(const LaneKey& key) {
  switch (key.kind) {
    case LaneKind::kThread:
      return fmt::format("thread {}", key.b);
    case LaneKind::kRanges:
      return key.b != 0 ? fmt::format("ranges of thread {}", key.b) : "ranges";
    case LaneKind::kOverhead:
      return key.b != 0 ? fmt::format("overhead in thread {}", key.b) : "overhead";
    case LaneKind::kSynchronization:
      return fmt::format("synchronization of context {}", key.a);
    case LaneKind::kStream:
      return fmt::format("stream {}", key.c);
  }
  return {};
}

/// Op and member: of the graph node where the work is of one, else of the launch.
void Layout::add_identity(Pending& slice) {
  if (const auto foreign = gathered_.foreign_ids.find(slice.correlation); foreign != gathered_.foreign_ids.end())
    arg(slice.args, "External id", foreign->second);
  if (!slice.is_launched) return;
  std::optional<std::uint64_t> id;
  if (const auto node = gathered_.nodes.find(slice.node); slice.node != 0 && node != gathered_.nodes.end()) {
    id = node->second;
  } else if (const auto own = gathered_.own_ids.find(slice.correlation); own != gathered_.own_ids.end()) {
    id = own->second;
  }
  if (!id) return;
  const auto label = gathered_.labels.find(*id);
  if (label == gathered_.labels.end()) return;
  arg(slice.args, kTaskArg, label->second.task);
  arg(slice.args, kWorkArg, *id);
  if (!label->second.op.empty()) arg(slice.args, "op", label->second.op);
  if (!label->second.members.empty()) arg(slice.args, "members", label->second.members);
}

/// Waits and events name a context alone; streams count on each device.
void Layout::add_device(const LaneKey& key, Args& args) {
  if (key.kind != LaneKind::kSynchronization) return;
  const auto device = gathered_.device_of_context.find(key.a);
  if (device != gathered_.device_of_context.end()) arg(args, "device", device->second);
}

void Layout::add_lane(const LaneKey& key, std::vector<Pending>& slices) {
  std::stable_sort(slices.begin(), slices.end(), [](const Pending& a, const Pending& b) {
    return a.start != b.start ? a.start < b.start : a.end > b.end;
  });
  std::vector<Interval> intervals;
  intervals.reserve(slices.size());
  for (const Pending& slice : slices) intervals.push_back({slice.start, slice.end});
  const bool nests = key.kind == LaneKind::kThread || key.kind == LaneKind::kRanges;
  const auto lanes = assign_lanes(intervals, nests ? Nesting::kWithin : Nesting::kNone);
  std::vector<TrackId> tracks;
  for (std::size_t i = 0; i < slices.size(); ++i) {
    while (tracks.size() <= lanes[i]) {
      const std::string further = tracks.empty() ? "" : fmt::format(" (overlap {})", tracks.size());
      tracks.push_back(trace_.add_track(process_name(key), thread_name(key) + further));
    }
    Pending& slice = slices[i];
    add_identity(slice);
    add_device(key, slice.args);
    const auto id = static_cast<SliceId>(trace_.slices.size());
    Slice drawn{slice.start, slice.end - slice.start, tracks[lanes[i]], slice.name, slice.category, std::nullopt};
    if (!slice.args.empty()) {
      drawn.args = static_cast<ArgsId>(trace_.args.size());
      trace_.args.push_back(std::move(slice.args));
    }
    trace_.slices.push_back(drawn);
    if (slice.is_launched) launched_.push_back({id, slice.correlation});
    if (!slice.is_call) continue;
    // A driver call within a runtime call may have its correlation id: the flow starts at the runtime's.
    const bool is_runtime = trace_.strings[slice.category] == "cuda_runtime";
    const auto [known, is_new] = calls_.try_emplace(slice.correlation, Launch{id, is_runtime});
    if (!is_new && is_runtime && !known->second.is_runtime) known->second = {id, true};
  }
}

void Layout::add_flows() {
  const StringId name = trace_.strings.intern("ac2g");
  for (const Launched& work : launched_) {
    const auto call = calls_.find(work.correlation);
    if (call != calls_.end()) trace_.flows.push_back({call->second.slice, work.slice, name});
  }
}

}  // namespace

void lay_out(Gathered& gathered, bool several, Trace& trace) { Layout(gathered, several, trace).run(); }

}  // namespace cohort::cupti
