#include "tracer/summary/shortcomings.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <set>

#include "tracer/call_kind.hpp"
#include "tracer/file/mend_times.hpp"
#include "tracer/kernel_name.hpp"
#include "tracer/nsight/nsight.hpp"
#include "tracer/slice_kind.hpp"
#include "tracer/steps/cut.hpp"

namespace cohort {
namespace {

double share(std::int64_t part, std::int64_t whole) {
  return whole > 0 ? static_cast<double>(part) / static_cast<double>(whole) : 0.0;
}

/// What one pass over the slices finds.
struct Facts {
  std::int64_t calls = 0;
  std::int64_t blocking_calls = 0;
  std::int64_t stream_waits = 0;
  std::int64_t ops = 0;
  std::int64_t synchronizations = 0;
  std::int64_t waits_on_unknown = 0;   ///< for an event whose stream is not stated
  std::int64_t without_grid = 0;       ///< kernels
  std::int64_t without_registers = 0;  ///< kernels
  std::int64_t collectives = 0;        ///< kernels of NCCL and its like
  std::int64_t short_kernels = 0;      ///< under 10 us
  bool whole_microseconds = true;      ///< all device times
  std::set<std::int64_t> devices;
};

void add_call(Facts& facts, CallKind kind) {
  ++facts.calls;
  facts.blocking_calls += kind == CallKind::kStreamSynchronize || kind == CallKind::kEventSynchronize ||
                                  kind == CallKind::kDeviceSynchronize
                              ? 1
                              : 0;
  facts.stream_waits += kind == CallKind::kStreamWait ? 1 : 0;
}

void add_kernel(Facts& facts, const Trace& trace, const Slice& kernel) {
  facts.without_grid += trace.integers_arg(kernel, "grid") && trace.integers_arg(kernel, "block") ? 0 : 1;
  facts.without_registers += trace.integer_arg(kernel, "registers per thread") ? 0 : 1;
  facts.collectives += is_collective(trace.name(kernel)) ? 1 : 0;
  facts.short_kernels += kernel.duration < std::chrono::microseconds(10) ? 1 : 0;
}

void add_synchronization(Facts& facts, const Trace& trace, const Slice& slice) {
  ++facts.synchronizations;
  const auto kind = trace.text_arg(slice, "cuda_sync_kind");
  if (kind && *kind == "Stream Wait Event" && trace.integer_arg(slice, "wait_on_stream").value_or(-1) < 0)
    ++facts.waits_on_unknown;
}

Facts collect(const Trace& trace) {
  Facts facts;
  const SliceKinds kinds(trace.strings);
  std::vector<std::optional<CallKind>> calls(trace.strings.size());
  for (const Slice& slice : trace.slices) {
    const SliceKind kind = kinds(slice);
    if (is_call(kind)) {
      auto& known = calls[to_index(slice.name)];
      if (!known) known = call_kind_from(trace.name(slice));
      add_call(facts, *known);
    }
    if (kind == SliceKind::kOp || kind == SliceKind::kAnnotation) ++facts.ops;
    if (kind == SliceKind::kSynchronization) add_synchronization(facts, trace, slice);
    if (!is_device_work(kind)) continue;
    facts.whole_microseconds =
        facts.whole_microseconds && slice.start.count() % 1000 == 0 && slice.duration.count() % 1000 == 0;
    if (const auto device = trace.integer_arg(slice, "device")) facts.devices.insert(*device);
    if (kind == SliceKind::kKernel) add_kernel(facts, trace, slice);
  }
  return facts;
}

class Shortcomings {
 public:
  void add(bool holds, Severity severity, std::string what, std::string effect, Bearing bearing = Bearing::kTimes) {
    if (holds) list_.push_back({severity, std::move(what), std::move(effect), bearing});
  }
  void add(std::vector<Shortcoming> shortcomings) {
    for (Shortcoming& shortcoming : shortcomings) list_.push_back(std::move(shortcoming));
  }
  std::vector<Shortcoming> sorted() {
    std::stable_sort(list_.begin(), list_.end(),
                     [](const Shortcoming& a, const Shortcoming& b) { return a.severity > b.severity; });
    return std::move(list_);
  }

 private:
  std::vector<Shortcoming> list_;
};

void judge_host(Shortcomings& list, const GpuSummary& summary, const Facts& facts) {
  const std::int64_t work = summary.kernels + summary.copies + summary.memsets + summary.graphs;
  list.add(facts.calls == 0, Severity::kLowers, "no calls of the CUDA or HIP runtime",
           "launch costs and what the host adds are unknown: only the device's side can be predicted");
  const bool many = share(summary.orphans, work) > 0.01;
  list.add(facts.calls > 0 && summary.orphans > 0, many ? Severity::kLowers : Severity::kNote,
           fmt::format("{} of {} pieces of device work have no call", summary.orphans, work),
           "they are pinned to the times they were recorded at", Bearing::kOrphans);
  list.add(summary.idle_calls > 0,
           share(summary.idle_calls, summary.launch.launches) > 0.01 ? Severity::kLowers : Severity::kNote,
           fmt::format("{} launch calls whose kernels are missing", summary.idle_calls),
           "work outside the recording or lost by the tool is left out");
  list.add(facts.calls > 0 && facts.synchronizations == 0 && facts.blocking_calls + facts.stream_waits > 0,
           facts.stream_waits > 0 && summary.streams.size() > 1 ? Severity::kLowers : Severity::kNote,
           fmt::format("no synchronisation records for {} blocking calls and {} stream waits", facts.blocking_calls,
                       facts.stream_waits),
           "what they wait for is inferred from their names");
  list.add(facts.waits_on_unknown > 0, Severity::kLowers,
           fmt::format("{} stream waits do not say which stream they wait for", facts.waits_on_unknown),
           "order between streams is known in part");
}

void judge_device(Shortcomings& list, const Trace& trace, const GpuSummary& summary, const Facts& facts) {
  list.add(summary.kernels == 0 && summary.graphs == 0, Severity::kPrevents, "no kernels",
           "there is nothing to predict from");
  list.add(trace.info.device.name.empty(), Severity::kLowers, "the device is not named",
           "how kernels share it can only be predicted once a device is given", Bearing::kDevice);
  list.add(facts.without_grid > 0, Severity::kLowers,
           fmt::format("{} of {} kernels without grid and block sizes", facts.without_grid, summary.kernels),
           "how many fit beside each other is unknown", Bearing::kSharing);
  list.add(facts.without_registers > 0 && facts.without_grid < summary.kernels, Severity::kNote,
           fmt::format("{} of {} kernels without registers", facts.without_registers, summary.kernels),
           "occupancy is an upper limit", Bearing::kSharing);
  list.add(summary.graphs > 0, Severity::kLowers, fmt::format("{} graphs recorded as a whole", summary.graphs),
           "what runs inside them is unknown; record their nodes");
  const double overlap = summary.busy > Nanoseconds{} ? seconds(summary.overlapped) / seconds(summary.busy) : 0.0;
  list.add(overlap > 0.05, Severity::kLowers,
           fmt::format("streams run at the same time for {:.0f}% of the busy time", 100 * overlap),
           "durations of kernels that ran together include waiting for each other", Bearing::kOverlap);
  list.add(facts.collectives > 0, Severity::kLowers,
           fmt::format("{} kernels of collective communication", facts.collectives),
           "their durations include waiting for other devices", Bearing::kCollectives);
  list.add(facts.devices.size() > 1, Severity::kNote, fmt::format("{} devices at work", facts.devices.size()),
           "they are predicted together; memory is that of the busiest, and figures are those of one");
}

void judge_recording(Shortcomings& list, const Trace& trace, const GpuSummary& summary, const Facts& facts) {
  const double brief = share(facts.short_kernels, summary.kernels);
  list.add(facts.whole_microseconds && facts.short_kernels > 0, brief > 0.5 ? Severity::kLowers : Severity::kNote,
           fmt::format("times are whole microseconds, and {:.0f}% of the kernels are shorter than 10 us", 100 * brief),
           "single kernels are off by up to half a microsecond, gaps by one");
  const bool part = trace.info.settings.count(kPartSetting) > 0;  // then what is not there was cut off
  list.add(summary.steps.steps.empty() && !part, Severity::kLowers, "no steps: neither ProfilerStep#N nor a repetition",
           "choose a window with --window; set-up would be predicted along with the work");
  list.add(summary.steps.steps.size() == 1 && !part, Severity::kNote, "one step only",
           "how much steps vary is unknown");
  const auto setting = [&](const char* key) {
    const auto found = trace.info.settings.find(key);
    return found != trace.info.settings.end() && found->second != "0" && found->second != "false";
  };
  list.add(setting("with_stack") || setting("profile_memory"), Severity::kLowers,
           "recorded with Python stacks or memory events", "the host's gaps are longer than without the recording");
  list.add(facts.ops == 0, Severity::kNote, "neither operators nor annotations",
           "what-ifs can name kernels, not layers");
  const Nanoseconds active = summary.active ? summary.active->length() : Nanoseconds{};
  const double busy = active > Nanoseconds{} ? seconds(summary.busy) / seconds(active) : 1.0;
  list.add(busy < 0.2, Severity::kNote, fmt::format("the device is busy for {:.1f}% of the time", 100 * busy),
           "set-up, or a host that cannot keep up: choose a step or a window");
  list.add(dropped_records(trace));
}

}  // namespace

std::vector<Shortcoming> dropped_records(const Trace& trace) {
  std::vector<Shortcoming> found;
  std::int64_t dropped = 0;
  for (const auto& [reason, count] : trace.info.dropped) {
    if (reason.starts_with(kImpossibleTimes)) {
      found.push_back({Severity::kLowers, fmt::format("{} of {}", count, reason), "what waited for it is off"});
      continue;
    }
    // Flows say again what correlation ids say, instants have no length, and of what Nsight records beside CUDA and
    // NVTX only unified memory's page faults lengthen kernels.
    const bool other = reason.starts_with(kUnreadTable) && reason.find("CUDA_UM_") == std::string::npos;
    const bool harmless = other || reason.find("argument") != std::string::npos ||
                          reason.find("flow") != std::string::npos || reason == "instant event" ||
                          reason == "NVTX record that is no range";
    if (!harmless) dropped += count;
  }
  if (dropped == 0) return found;
  const double part = share(dropped, static_cast<std::int64_t>(trace.slices.size()));
  found.push_back({part > 0.01 ? Severity::kLowers : Severity::kNote,
                   fmt::format("{} records of the file could not be kept", dropped),
                   "trace info lists them under 'not kept'"});
  return found;
}

std::vector<Shortcoming> find_shortcomings(const Trace& trace, const GpuSummary& summary) {
  const Facts facts = collect(trace);
  Shortcomings list;
  judge_device(list, trace, summary, facts);
  if (trace.info.kind == TraceKind::kProfile) {  // costs are what it was timed for; its calls are of one run in several
    list.add(dropped_records(trace));
    return list.sorted();
  }
  judge_host(list, summary, facts);
  judge_recording(list, trace, summary, facts);
  return list.sorted();
}

}  // namespace cohort
