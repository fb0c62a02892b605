#include "simulator/trace_graph/records.hpp"

#include <algorithm>
#include <map>
#include <string>
#include <tuple>

#include "tracer/slice_kind.hpp"

namespace cohort {
namespace {

class Reader {
 public:
  explicit Reader(const Trace& trace)
      : trace_(trace),
        kinds_(trace.strings),
        call_kinds_(trace.strings.size()),
        correlation_(key("correlation")),
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
        add_op(SliceId(i), slice, kind);
      } else if (kind == SliceKind::kSynchronization || kind == SliceKind::kEventRecord) {
        sync_slices.push_back(i);
      }
    }
    sort_calls();
    for (const std::uint32_t i : sync_slices) add_sync(trace_.slices[i]);
    for (std::size_t i = 0; i < records_.ops.size(); ++i) {
      const auto& correlation = op_correlations_[i];
      if (!correlation) continue;
      if (const auto call = records_.call_of.find(*correlation); call != records_.call_of.end())
        records_.ops[i].call = call->second;
    }
    std::stable_sort(records_.ops.begin(), records_.ops.end(), [](const RecordedOp& a, const RecordedOp& b) {
      return std::tie(a.start, a.end) < std::tie(b.start, b.end);
    });
    return std::move(records_);
  }

 private:
  [[nodiscard]] std::optional<StringId> key(std::string_view name) const { return trace_.strings.find(name); }

  std::uint32_t stream_of(const Slice& slice, std::int64_t stream) {
    const std::int64_t device = trace_.integer_arg(slice, device_).value_or(0);
    const std::int64_t context = trace_.integer_arg(slice, context_).value_or(0);
    const auto [place, is_new] = stream_ids_.try_emplace({device, context, stream}, records_.streams.size());
    if (is_new) records_.streams.push_back({device, context, stream, slice.track});
    return static_cast<std::uint32_t>(place->second);
  }

  /// Of an op: its stream argument, else the track it stands on.
  std::uint32_t own_stream(const Slice& slice) {
    const auto stream = trace_.integer_arg(slice, stream_);
    return stream_of(slice, stream ? *stream : trace_.tracks[to_index(slice.track)].tid);
  }

  void add_call(SliceId id, const Slice& slice) {
    const auto [place, is_new] = thread_ids_.try_emplace(slice.track, records_.threads.size());
    if (is_new) records_.threads.push_back(slice.track);
    const std::string_view name = trace_.name(slice);
    std::optional<CallKind>& kind = call_kinds_[to_index(slice.name)];
    if (!kind) kind = call_kind_from(name);
    RecordedCall call{id, slice.start, slice.end(), static_cast<std::uint32_t>(place->second), *kind};
    if (call.kind == CallKind::kCopy || call.kind == CallKind::kMemset)
      call.synchronous = name.find("Async") == std::string_view::npos;
    if (name == "cudaStreamCreate" || name == "hipStreamCreate") records_.creates_blocking_streams = true;
    records_.calls.push_back(call);
  }

  void add_op(SliceId id, const Slice& slice, SliceKind kind) {
    RecordedOp op;
    op.slice = id;
    op.start = slice.start;
    op.end = slice.end();
    op.stream = own_stream(slice);
    if (kind == SliceKind::kCopy) op.kind = TaskKind::kCopy;
    if (kind == SliceKind::kMemset) op.kind = TaskKind::kMemset;
    op.pageable = op.kind == TaskKind::kCopy && trace_.name(slice).find("Pageable") != std::string_view::npos;
    records_.ops.push_back(op);
    op_correlations_.push_back(trace_.integer_arg(slice, correlation_));
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
      if (const auto correlation = trace_.integer_arg(trace_.slice(call.slice), correlation_))
        records_.call_of.try_emplace(*correlation, *around);
    }
    calls = std::move(kept);
  }

  void add_sync(const Slice& slice) {
    const auto correlation = trace_.integer_arg(slice, correlation_);
    if (!correlation) return;
    const auto call = records_.call_of.find(*correlation);
    if (call == records_.call_of.end()) return;
    std::optional<std::int64_t> id;
    for (const char* name : {"cuda_event_sync_id", "cudaEventSyncId", "event sync id", "wait_on_cuda_event_sync_id"}) {
      if (!id) id = trace_.integer_arg(slice, key(name));
    }
    if (kinds_(slice) == SliceKind::kEventRecord) {
      if (id) records_.event_recordings[*id] = call->second;
      return;
    }
    RecordedSync sync;
    sync.event_synchronisation = id;
    const auto known_stream = [&](std::optional<std::int64_t> stream) -> std::optional<std::uint32_t> {
      constexpr std::int64_t kNoStream = 4294967295;
      if (!stream || *stream < 0 || *stream == kNoStream) return std::nullopt;
      return stream_of(slice, *stream);
    };
    sync.stream = known_stream(trace_.integer_arg(slice, stream_));
    sync.source = known_stream(trace_.integer_arg(slice, key("wait_on_stream")));
    const auto record = trace_.integer_arg(slice, key("wait_on_cuda_event_record_corr_id"));
    if (record && *record >= 0) sync.record_correlation = record;
    records_.syncs.try_emplace(call->second, sync);
  }

  const Trace& trace_;
  SliceKinds kinds_;
  std::vector<std::optional<CallKind>> call_kinds_;  ///< by StringId of the name
  std::optional<StringId> correlation_, device_, context_, stream_;
  std::map<std::tuple<std::int64_t, std::int64_t, std::int64_t>, std::size_t> stream_ids_;
  std::map<TrackId, std::size_t> thread_ids_;
  std::vector<std::optional<std::int64_t>> op_correlations_;  ///< by op, as read
  Records records_;
};

}  // namespace

Records read_records(const Trace& trace) { return Reader(trace).read(); }

}  // namespace cohort
