#include "view/timeline/flows.hpp"

#include <algorithm>
#include <set>

#include "tracer/slice_kind.hpp"

namespace cohort {
namespace {

/// Links of a trace without flows: a call and the device work of the same correlation id.
std::vector<FlowLink> correlated(const Timeline& timeline, SliceRef ref) {
  const Trace& trace = timeline.trace(ref);
  const auto key = trace.strings.find("correlation");
  const Slice& slice = timeline.slice(ref);
  const auto wanted = trace.integer_arg(slice, key);
  if (!wanted) return {};
  const SliceKinds kinds(trace.strings);
  const bool is_launch = is_call(kinds(slice));
  if (!is_launch && !is_device_work(kinds(slice))) return {};
  std::vector<FlowLink> links;
  for (std::uint32_t i = 0; i < trace.slices.size(); ++i) {
    const SliceKind kind = kinds(trace.slices[i]);
    if (is_launch ? !is_device_work(kind) : !is_call(kind)) continue;
    if (trace.integer_arg(trace.slices[i], key) != wanted) continue;
    const SliceRef other{ref.part, static_cast<SliceId>(i)};
    links.push_back(is_launch ? FlowLink{ref, other, "correlation"} : FlowLink{other, ref, "correlation"});
  }
  return links;
}

}  // namespace

SliceFlows flows_of(const Timeline& timeline, SliceRef ref) {
  SliceFlows flows;
  if (!timeline.contains(ref)) return flows;
  const Trace& trace = timeline.trace(ref);
  const auto link = [&](const Flow& flow) {
    return FlowLink{{ref.part, flow.from}, {ref.part, flow.to}, std::string(trace.strings[flow.name])};
  };
  const auto take = [&](const FlowLink& flow) {
    if (flow.from == ref) flows.outgoing.push_back(flow);
    if (flow.to == ref) flows.incoming.push_back(flow);
  };
  if (trace.flows.empty()) {
    for (const FlowLink& flow : correlated(timeline, ref)) take(flow);
  }
  for (const Flow& flow : trace.flows) {
    if (flow.from == ref.slice || flow.to == ref.slice) take(link(flow));
  }
  std::set<SliceId> sources;
  std::set<SliceId> targets;
  for (const FlowLink& flow : flows.incoming) sources.insert(flow.from.slice);
  for (const FlowLink& flow : flows.outgoing) targets.insert(flow.to.slice);
  if (!sources.empty() || !targets.empty()) {
    for (const Flow& flow : trace.flows) {
      if (flow.from == ref.slice || flow.to == ref.slice) continue;
      if (sources.count(flow.to) > 0) flows.before.push_back(link(flow));
      if (targets.count(flow.from) > 0) flows.after.push_back(link(flow));
    }
  }
  const auto by_start = [&](auto end) {
    return [&timeline, end](const FlowLink& a, const FlowLink& b) {
      const Nanoseconds x = timeline.slice(a.*end).start;
      const Nanoseconds y = timeline.slice(b.*end).start;
      return x != y ? x < y : a.*end < b.*end;
    };
  };
  std::sort(flows.incoming.begin(), flows.incoming.end(), by_start(&FlowLink::from));
  std::sort(flows.before.begin(), flows.before.end(), by_start(&FlowLink::from));
  std::sort(flows.outgoing.begin(), flows.outgoing.end(), by_start(&FlowLink::to));
  std::sort(flows.after.begin(), flows.after.end(), by_start(&FlowLink::to));
  return flows;
}

std::optional<SliceRef> follow(const SliceFlows& flows) {
  if (flows.outgoing.empty()) return std::nullopt;
  return flows.outgoing.front().to;
}

std::optional<SliceRef> follow_back(const SliceFlows& flows) {
  if (flows.incoming.empty()) return std::nullopt;
  return flows.incoming.back().from;
}

}  // namespace cohort
