// Waits of streams for other streams.

#include <algorithm>
#include <iterator>

#include "simulator/trace_graph/draft.hpp"

namespace cohort::trace_graph {
namespace {

void find_event_wait(Draft& draft, std::uint32_t index) {
  const Records& records = draft.records;
  const auto sync = records.syncs.find(index);
  if (sync == records.syncs.end() || !sync->second.stream || !sync->second.source) return;
  const Nanoseconds waits = records.calls[index].start;
  const auto recording = recording_of(records, index, sync->second);
  const Nanoseconds recorded = recording ? records.calls[*recording].start : waits;
  const std::uint32_t source = *sync->second.source;
  std::vector<std::uint32_t> ops = waited_for_behind(draft, source, recorded);
  if (const auto last = last_launched(draft, source, recorded)) ops.push_back(*last);
  for (const std::uint32_t op : ops) draft.waits[*sync->second.stream].push_back({waits, op});
}

}  // namespace

std::optional<std::uint32_t> recording_of(const Records& records, std::uint32_t waits, const RecordedSync& sync) {
  if (sync.event_synchronisation) {
    const std::int64_t process = records.process_of(records.calls[waits]);
    const auto call = records.event_recordings.find({process, *sync.event_synchronisation});
    if (call != records.event_recordings.end()) return call->second;
  }
  if (!sync.record_correlation) return std::nullopt;
  const auto call = records.call_of.find(*sync.record_correlation);
  if (call == records.call_of.end()) return std::nullopt;
  return call->second;
}

std::vector<std::uint32_t> waited_for_behind(const Draft& draft, std::uint32_t stream, Nanoseconds before) {
  constexpr int kFarthest = 64;
  const std::vector<EventWait>& waits = draft.waits[stream];
  const std::vector<Launched>& queue = draft.by_stream[stream];
  const auto next = std::lower_bound(queue.begin(), queue.end(), before,
                                     [](const Launched& launched, Nanoseconds time) { return launched.time < time; });
  const Nanoseconds behind = next == queue.begin() ? Nanoseconds::min() : std::prev(next)->time;
  auto it = std::lower_bound(waits.begin(), waits.end(), before,
                             [](const EventWait& wait, Nanoseconds time) { return wait.time < time; });
  std::vector<std::uint32_t> ops;
  for (int i = 0; it != waits.begin() && i < kFarthest; ++i) {
    --it;
    if (it->time < behind) break;
    // Of one stream the latest op is enough: it ends after those before it.
    const std::uint32_t from = draft.records.ops[it->op].stream;
    const bool is_known =
        std::any_of(ops.begin(), ops.end(), [&](std::uint32_t op) { return draft.records.ops[op].stream == from; });
    if (!is_known) ops.push_back(it->op);
  }
  return ops;
}

void find_event_waits(Draft& draft) {
  draft.waits.resize(draft.records.streams.size());
  for (const std::uint32_t index : draft.call_order) {
    if (draft.records.calls[index].kind == CallKind::kStreamWait) find_event_wait(draft, index);
  }
}

}  // namespace cohort::trace_graph
