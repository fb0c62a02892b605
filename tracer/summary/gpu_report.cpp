#include <fmt/format.h>

#include <algorithm>
#include <iterator>
#include <utility>

#include "tracer/summary/gpu_summary.hpp"
#include "tracer/summary/report_text.hpp"

namespace cohort {
namespace {

void format_work(std::string& out, const GpuSummary& summary) {
  line(out, "kernels   {} of {} names, {} in all; {} copies and {} memsets, {}{}", summary.kernels,
       summary.different_kernels, format_time(summary.kernel_time), summary.copies, summary.memsets,
       format_time(summary.copy_time), summary.graphs > 0 ? fmt::format(", {} graphs as a whole", summary.graphs) : "");
  if (!summary.active) return;
  const Nanoseconds active = summary.active->length();
  line(out, "busy      {} of the {} from the first device work to the last ({:.1f}%)", format_time(summary.busy),
       format_time(active), percent(summary.busy, active));
  line(out, "overlap   {} with work on two or more streams ({:.1f}% of the busy time)", format_time(summary.overlapped),
       percent(summary.overlapped, summary.busy));
  out += "streams\n";
  constexpr std::size_t kMost = 12;
  for (std::size_t i = 0; i < std::min(summary.streams.size(), kMost); ++i) {
    const StreamSummary& stream = summary.streams[i];
    line(out, "  {:>9} busy  {:>7} kernels  {:>6} copies  {}", format_time(stream.busy), stream.kernels, stream.copies,
         stream.name);
  }
  if (summary.streams.size() > kMost) line(out, "  ... and {} more", summary.streams.size() - kMost);
  out += "most time in\n";
  for (const KernelSummary& kernel : summary.top_kernels)
    line(out, "  {:>9}  {:>4.1f}%  {:>6} x  {}", format_time(kernel.time), percent(kernel.time, summary.kernel_time),
         kernel.calls, shortened(kernel.name));
}

void format_launches(std::string& out, const LaunchSummary& launch) {
  if (launch.launches == 0) return;
  line(out, "launches  {} calls from {} thread{}{}", launch.launches, launch.threads, plural(launch.threads),
       launch.graph_launches > 0 ? fmt::format(", {} of graphs", launch.graph_launches) : "");
  const auto spread = [&](std::string_view what, const TimeSpread& times) {
    if (times.count > 0)
      line(out, "  {:<49} median {:>8}, p90 {:>8}  ({})", what, format_time(times.median), format_time(times.p90),
           times.count);
  };
  spread("a launch call takes", launch.call);
  spread("from call to kernel, where the stream was idle", launch.idle_start);
  spread("from kernel to kernel, where the next one waited", launch.busy_gap);
  line(out, "  {:.0f}% of the kernels found their stream idle{}", 100 * launch.waiting_share,
       launch.waiting_share > 0.5 ? ": the host does not keep the device busy" : "");
  if (launch.overlapping > 0)
    line(out, "  {} kernels start before the one before on their stream ends", launch.overlapping);
}

void format_steps(std::string& out, const StepList& list) {
  if (list.steps.empty()) return;
  std::vector<Nanoseconds> lengths;
  for (const auto& step : list.steps) lengths.push_back(step.window.length());
  std::sort(lengths.begin(), lengths.end());
  const auto& first = list.steps.front();
  const auto& last = list.steps.back();
  if (list.steps.size() == 1) {
    line(out, "steps     1 by {}: {}", to_string(list.source), first.name);
  } else {
    line(out, "steps     {} by {}{}: {} to {}, median {}, {} to {}", list.steps.size(), to_string(list.source),
         list.source == StepSource::kRepetition ? " of kernels" : "", first.name, last.name,
         format_time(lengths[(lengths.size() - 1) / 2]), format_time(lengths.front()), format_time(lengths.back()));
  }
  constexpr std::size_t kMost = 8;
  for (std::size_t i = 0; i < std::min(list.steps.size(), kMost); ++i) {
    const auto& step = list.steps[i];
    line(out, "  {:>3}  {:>9}  {:>6} kernels{}  {}", i, format_time(step.window.length()), step.kernels,
         step.device_work ? fmt::format(" within {:>8}", format_time(step.device_work->length())) : "", step.name);
  }
  if (list.steps.size() > kMost) line(out, "  ... and {} more", list.steps.size() - kMost);
}

}  // namespace

std::string_view to_string(Severity severity) {
  switch (severity) {
    case Severity::kPrevents:
      return "prevents prediction";
    case Severity::kLowers:
      return "lowers confidence";
    case Severity::kNote:
      break;
  }
  return "note";
}

std::string_view GpuSummary::confidence() const {
  std::size_t lowering = 0;
  for (const Shortcoming& shortcoming : shortcomings) {
    if (shortcoming.severity == Severity::kPrevents) return "none";
    if (shortcoming.severity == Severity::kLowers) ++lowering;
  }
  constexpr std::size_t kMany = 3;
  if (lowering >= kMany) return "low";
  return lowering > 0 ? "medium" : "high";
}

std::string format_gpu_summary(const GpuSummary& summary) {
  std::string out;
  format_work(out, summary);
  format_launches(out, summary.launch);
  format_steps(out, summary.steps);
  line(out, "prediction from this trace: confidence {}", summary.confidence());
  for (const Shortcoming& shortcoming : summary.shortcomings)
    line(out, "  {:<18} {}: {}", to_string(shortcoming.severity), shortcoming.what, shortcoming.effect);
  return out;
}

}  // namespace cohort
