#include "simulator/trace_graph/records.hpp"

#include <algorithm>
#include <map>
#include <set>
#include <string>
#include <tuple>

#include "tracer/correlation_ids.hpp"
#include "tracer/slice_kind.hpp"

namespace cohort {
namespace {

class Reader {
 public:
  explicit Reader(const Trace& trace)
      : trace_(trace),
        kinds_(trace.strings),
        call_kinds_(trace.strings.size()),
        correlations_(trace),
        device_(key("device")),
        context_(key("context")),
        stream_(key("stream")) {}

  Records read() {
    std::vector<std::uint32_t> sync_slices;
    for (std::uint32_t i = 0; i < trace_.slices.size(); ++i) {
      const Slice& slice = trace_.slices[i];
      const SliceKind kind = kinds_(slice);
      if (is_call(kind)) {
        add_call(SliceId(i), slice);
      } else if (is_device_work(kind)) {
        placed_.push_back({i, key_of(slice), std::nullopt});
      } else if (kind == SliceKind::kSynchronization || kind == SliceKind::kEventRecord) {
        sync_slices.push_back(i);
      }
    }
    sort_calls();
    for (Placed& op : placed_) find_process(op);
    records_.ops.reserve(placed_.size());
    for (const Placed& op : placed_) add_op(op);
    for (const std::uint32_t i : sync_slices) add_sync(trace_.slices[i]);
    std::stable_sort(records_.ops.begin(), records_.ops.end(), [](const RecordedOp& a, const RecordedOp& b) {
      return std::tie(a.start, a.end) < std::tie(b.start, b.end);
    });
    return std::move(records_);
  }

 private:
  [[nodiscard]] std::optional<StringId> key(std::string_view name) const { return trace_.strings.find(name); }

  using StreamKey = std::tuple<std::int64_t, std::int64_t, std::int64_t>;  ///< device, context, stream

  /// A slice of device work before its stream is known.
  struct Placed {
    std::uint32_t slice = 0;
    StreamKey stream;
    std::optional<std::uint32_t> call;
  };

  [[nodiscard]] StreamKey key_of(const Slice& slice, std::int64_t stream) const {
    return {trace_.integer_arg(slice, device_).value_or(0), trace_.integer_arg(slice, context_).value_or(0), stream};
  }

  /// Of an op: its stream argument, else the track it stands on.
  [[nodiscard]] StreamKey key_of(const Slice& slice) const {
    const auto stream = trace_.integer_arg(slice, stream_);
    return key_of(slice, stream ? *stream : trace_.tracks[to_index(slice.track)].tid);
  }

  /// One stream, unless several processes launch on what each of them numbers so.
  std::uint32_t stream_of(const StreamKey& stream, std::optional<std::int64_t> process) {
    const auto known = processes_of_.find(stream);
    if (known == processes_of_.end()) process = std::nullopt;
    if (known != processes_of_.end() && known->second.size() == 1) process = *known->second.begin();
    const auto [place, is_new] = stream_ids_.try_emplace({stream, process}, records_.streams.size());
    const auto& [device, context, number] = stream;
    if (is_new) records_.streams.push_back({device, context, number, process});
    return static_cast<std::uint32_t>(place->second);
  }

  [[nodiscard]] std::optional<std::uint32_t> call_of(const Slice& slice) const {
    const auto correlation = correlations_.of(slice);
    if (!correlation) return std::nullopt;
    const auto call = records_.call_of.find(*correlation);
    return call != records_.call_of.end() ? std::optional(call->second) : std::nullopt;
  }

  void find_process(Placed& op) {
    op.call = call_of(trace_.slices[op.slice]);
    if (!op.call) return;
    const std::int64_t process = records_.process_of(records_.calls[*op.call]);
    if (last_ && last_->first == op.stream && last_->second == process) return;  // as most
    processes_of_[op.stream].insert(process);
    last_ = {op.stream, process};
  }

  void add_call(SliceId id, const Slice& slice) {
    const auto [place, is_new] = thread_ids_.try_emplace(slice.track, records_.threads.size());
    if (is_new) {
      records_.threads.push_back(slice.track);
      records_.processes.push_back(trace_.tracks[to_index(slice.track)].pid);
    }
    const std::string_view name = trace_.name(slice);
    std::optional<CallKind>& kind = call_kinds_[to_index(slice.name)];
    if (!kind) kind = call_kind_from(name);
    RecordedCall call{id, slice.start, slice.end(), static_cast<std::uint32_t>(place->second), *kind};
    if (call.kind == CallKind::kCopy || call.kind == CallKind::kMemset)
      call.synchronous = name.find("Async") == std::string_view::npos;
    if (name == "cudaStreamCreate" || name == "hipStreamCreate") records_.creates_blocking_streams = true;
    records_.calls.push_back(call);
  }

  void add_op(const Placed& placed) {
    const Slice& slice = trace_.slices[placed.slice];
    const SliceKind kind = kinds_(slice);
    RecordedOp op;
    op.slice = SliceId(placed.slice);
    op.start = slice.start;
    op.end = slice.end();
    op.call = placed.call;
    std::optional<std::int64_t> process;
    if (op.call) process = records_.process_of(records_.calls[*op.call]);
    op.stream = stream_of(placed.stream, process);
    if (kind == SliceKind::kCopy) op.kind = TaskKind::kCopy;
    if (kind == SliceKind::kMemset) op.kind = TaskKind::kMemset;
    op.pageable = op.kind == TaskKind::kCopy && trace_.name(slice).find("Pageable") != std::string_view::npos;
    records_.ops.push_back(op);
  }

  /// Puts calls in order of time and drops those within another call of their thread. What a dropped
  /// call launched counts as launched by the one around it.
  void sort_calls() {
    std::vector<RecordedCall>& calls = records_.calls;
    std::stable_sort(calls.begin(), calls.end(), [](const RecordedCall& a, const RecordedCall& b) {
      return a.start != b.start ? a.start < b.start : a.end > b.end;
    });
    std::vector<std::optional<std::uint32_t>> outer(records_.threads.size());
    std::vector<RecordedCall> kept;
    kept.reserve(calls.size());
    for (const RecordedCall& call : calls) {
      std::optional<std::uint32_t>& around = outer[call.thread];
      const bool nested = around && kept[*around].end >= call.end && kept[*around].end > call.start;
      if (nested) {
        ++records_.nested_calls;
      } else {
        around = static_cast<std::uint32_t>(kept.size());
        kept.push_back(call);
      }
      if (const auto correlation = correlations_.of(trace_.slice(call.slice)))
        records_.call_of.try_emplace(*correlation, *around);
    }
    calls = std::move(kept);
  }

  void add_sync(const Slice& slice) {
    const auto call = call_of(slice);
    if (!call) return;
    std::optional<std::int64_t> id;
    for (const char* name : {"cuda_event_sync_id", "cudaEventSyncId", "event sync id", "wait_on_cuda_event_sync_id"}) {
      if (!id) id = trace_.integer_arg(slice, key(name));
    }
    if (kinds_(slice) == SliceKind::kEventRecord) {
      if (id) records_.event_recordings[{records_.process_of(records_.calls[*call]), *id}] = *call;
      return;
    }
    RecordedSync sync;
    sync.event_synchronisation = id;
    const auto known_stream = [&](std::optional<std::int64_t> stream) -> std::optional<std::uint32_t> {
      constexpr std::int64_t kNoStream = 4294967295;
      if (!stream || *stream < 0 || *stream == kNoStream) return std::nullopt;
      return stream_of(key_of(slice, *stream), records_.process_of(records_.calls[*call]));
    };
    sync.device = trace_.integer_arg(slice, key("device"));
    sync.stream = known_stream(trace_.integer_arg(slice, stream_));
    sync.source = known_stream(trace_.integer_arg(slice, key("wait_on_stream")));
    const auto record = trace_.integer_arg(slice, key("wait_on_cuda_event_record_corr_id"));
    if (record && *record >= 0) sync.record_correlation = record;
    records_.syncs.try_emplace(*call, sync);
  }

  const Trace& trace_;
  SliceKinds kinds_;
  std::vector<std::optional<CallKind>> call_kinds_;  ///< by StringId of the name
  CorrelationIds correlations_;
  std::optional<StringId> device_, context_, stream_;
  std::map<std::pair<StreamKey, std::optional<std::int64_t>>, std::size_t> stream_ids_;
  std::map<StreamKey, std::set<std::int64_t>> processes_of_;  ///< that launch on the stream
  std::vector<Placed> placed_;
  std::optional<std::pair<StreamKey, std::int64_t>> last_;  ///< that was added to `processes_of_`
  std::map<TrackId, std::size_t> thread_ids_;
  Records records_;
};

}  // namespace

Records read_records(const Trace& trace) { return Reader(trace).read(); }

}  // namespace cohort
