#include "tracer/summary/no_device_work.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <vector>

#include "tracer/call_kind.hpp"
#include "tracer/nsight/nsight.hpp"
#include "tracer/slice_kind.hpp"

namespace cohort {
namespace {

constexpr std::string_view kHow =
    "with PyTorch profile(activities=[ProfilerActivity.CPU, ProfilerActivity.CUDA]), with Nsight nsys profile "
    "--trace=cuda,nvtx";

/// Of a trace without device work.
struct Held {
  std::size_t launches = 0;  ///< calls that put work on a stream
  std::size_t host = 0;      ///< calls, operators, annotations
  std::string_view other;    ///< a category that is not known
};

Held held_by(const Trace& trace) {
  const SliceKinds kinds(trace.strings);
  Held held;
  for (const Slice& slice : trace.slices) {
    const SliceKind kind = kinds(slice);
    if (is_call(kind) && puts_work(call_kind_from(trace.name(slice)))) ++held.launches;
    if (kind != SliceKind::kOther) {
      ++held.host;
    } else if (held.other.empty()) {
      held.other = trace.strings[slice.category];
    }
  }
  return held;
}

/// A task of one of Cohort's own runs.
bool is_task(const Trace& trace, const Slice& slice) {
  return trace.integer_arg(slice, kTaskArg) || trace.integer_arg(slice, kIterationArg);
}

std::string unread_tables(const Trace& trace) {
  for (const auto& [reason, count] : trace.info.dropped) {
    if (reason.starts_with(kUnreadTable) && reason.find("KERNEL") != std::string::npos)
      return fmt::format(" Not read: {} rows of table {}.", count, reason.substr(kUnreadTable.size()));
  }
  return {};
}

}  // namespace

std::optional<std::string> no_device_work(const Trace& trace) {
  if (trace.info.kind != TraceKind::kRecorded) return std::nullopt;
  const SliceKinds kinds(trace.strings);
  const bool has_work = std::any_of(trace.slices.begin(), trace.slices.end(), [&](const Slice& slice) {
    return is_device_work(kinds(slice)) || (kinds(slice) == SliceKind::kOther && is_task(trace, slice));
  });
  if (has_work) return std::nullopt;
  const Held held = held_by(trace);
  std::string why;
  if (trace.slices.empty()) {
    why = "it holds no slices at all.";
  } else if (held.launches > 0) {
    why = fmt::format(
        "{} calls put kernels, copies or memsets on a stream, but none of those was recorded; the profiler had no "
        "access to the GPU, or another one held it.",
        held.launches);
  } else if (held.host > 0) {
    why = fmt::format("{} slices are of the host alone: calls, operators, annotations.", held.host);
  } else {
    why = fmt::format(
        "none of its {} slices is known as such{}; known are the categories kernel, gpu_memcpy and gpu_memset, and "
        "threads \"stream N\" of a process \"/device:GPU:N\" or \"Ascend Hardware\".",
        trace.slices.size(),
        held.other.empty() ? " (they have no category)" : fmt::format(" (a category is \"{:.40}\")", held.other));
  }
  return fmt::format("no device work in this trace: {}{} Record the GPU as well: {}", why, unread_tables(trace), kHow);
}

}  // namespace cohort
