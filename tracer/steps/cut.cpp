#include "tracer/steps/cut.hpp"

#include <optional>
#include <vector>

#include "tracer/slice_kind.hpp"
#include "tracer/summary/launches.hpp"

namespace cohort {

Trace cut(const Trace& trace, const TraceStep& step) {
  const TimeWindow& window = step.window;
  const SliceKinds kind_of(trace.strings);
  std::vector<bool> kept(trace.slices.size());
  for (std::size_t i = 0; i < trace.slices.size(); ++i) {
    const Slice& slice = trace.slices[i];
    kept[i] = window.contains(slice.start) && kind_of(slice) != SliceKind::kDeviceAnnotation;
  }
  for (const LaunchedWork& launched : link_launches(trace)) {
    if (launched.call) kept[to_index(launched.work)] = window.contains(trace.slice(*launched.call).start);
  }
  Trace part;
  part.info = trace.info;
  part.info.settings[kPartSetting] = step.name;
  part.strings = trace.strings;
  part.tracks = trace.tracks;
  std::vector<std::optional<SliceId>> now(trace.slices.size());
  for (std::size_t i = 0; i < trace.slices.size(); ++i) {
    if (!kept[i]) continue;
    now[i] = SliceId(part.slices.size());
    Slice slice = trace.slices[i];
    if (slice.args) {
      part.args.push_back(trace.args[to_index(*slice.args)]);
      slice.args = ArgsId(part.args.size() - 1);
    }
    part.slices.push_back(slice);
  }
  for (const Flow& flow : trace.flows) {
    const auto from = now[to_index(flow.from)];
    const auto to = now[to_index(flow.to)];
    if (from && to) part.flows.push_back({*from, *to, flow.name});
  }
  for (const Counter& counter : trace.counters) {
    if (window.contains(counter.time)) part.counters.push_back(counter);
  }
  return part;
}

}  // namespace cohort
