#include "tracer/summary/summary.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <tuple>
#include <utility>

#include "tracer/slice_kind.hpp"
#include "tracer/summary/report_text.hpp"

namespace cohort {
namespace {

using Interval = std::pair<Nanoseconds, Nanoseconds>;

/// The intervals' union, in order.
std::vector<Interval> merged(std::vector<Interval> intervals) {
  std::sort(intervals.begin(), intervals.end());
  std::vector<Interval> out;
  for (const Interval& interval : intervals) {
    if (!out.empty() && interval.first <= out.back().second) {
      out.back().second = std::max(out.back().second, interval.second);
    } else {
      out.push_back(interval);
    }
  }
  return out;
}

Nanoseconds length_of(const std::vector<Interval>& intervals) {
  Nanoseconds sum{};
  for (const auto& [start, end] : intervals) sum += end - start;
  return sum;
}

/// Time in which at least one and at least two of the tracks are busy.
std::pair<Nanoseconds, Nanoseconds> concurrency(const std::vector<std::vector<Interval>>& tracks) {
  std::vector<std::pair<Nanoseconds, int>> changes;
  for (const auto& track : tracks) {
    for (const auto& [start, end] : track) {
      changes.emplace_back(start, 1);
      changes.emplace_back(end, -1);
    }
  }
  std::sort(changes.begin(), changes.end());
  Nanoseconds one{};
  Nanoseconds two{};
  Nanoseconds last{};
  int busy = 0;
  for (const auto& [time, change] : changes) {
    if (busy >= 1) one += time - last;
    if (busy >= 2) two += time - last;
    busy += change;
    last = time;
  }
  return {one, two};
}

WallSummary summarize_wall(const WallTimes& times) {
  WallSummary wall;
  wall.what = times.what;
  wall.samples = static_cast<std::int64_t>(times.samples.size());
  wall.discarded = times.discarded;
  if (times.samples.empty()) return wall;
  std::vector<Nanoseconds> sorted = times.samples;
  std::sort(sorted.begin(), sorted.end());
  const std::size_t middle = sorted.size() / 2;
  wall.median = sorted.size() % 2 == 1 ? sorted[middle] : (sorted[middle - 1] + sorted[middle]) / 2;
  wall.least = sorted.front();
  wall.most = sorted.back();
  return wall;
}

std::vector<CategorySummary> summarize_categories(const Trace& trace) {
  std::map<std::string_view, CategorySummary> by_name;
  for (const Slice& slice : trace.slices) {
    CategorySummary& category = by_name[trace.strings[slice.category]];
    ++category.slices;
    category.time += slice.duration;
  }
  std::vector<CategorySummary> categories;
  for (auto& [name, category] : by_name) {
    category.name = name;
    categories.push_back(std::move(category));
  }
  std::stable_sort(categories.begin(), categories.end(),
                   [](const CategorySummary& a, const CategorySummary& b) { return a.time > b.time; });
  return categories;
}

void summarize_tracks(const Trace& trace, TraceSummary& summary) {
  summary.tracks.resize(trace.tracks.size());
  for (std::size_t i = 0; i < trace.tracks.size(); ++i) {
    summary.tracks[i].process = trace.tracks[i].process;
    summary.tracks[i].thread = trace.tracks[i].thread;
  }
  const SliceKinds kinds(trace.strings);
  bool any_device = false;
  for (const Slice& slice : trace.slices) {
    TrackSummary& track = summary.tracks[to_index(slice.track)];
    ++track.slices;
    track.is_device = track.is_device || is_device_work(kinds(slice));
    any_device = any_device || track.is_device;
  }
  std::vector<std::vector<Interval>> busy(trace.tracks.size());
  for (const Slice& slice : trace.slices) {
    const std::size_t track = to_index(slice.track);
    if (!summary.tracks[track].is_device || is_device_work(kinds(slice)))
      busy[track].emplace_back(slice.start, slice.end());
  }
  std::vector<std::vector<Interval>> compared;
  for (std::size_t i = 0; i < busy.size(); ++i) {
    TrackSummary& track = summary.tracks[i];
    busy[i] = merged(std::move(busy[i]));
    track.busy = length_of(busy[i]);
    if (summary.span > Nanoseconds{}) track.busy_share = seconds(track.busy) / seconds(summary.span);
    if (track.is_device || !any_device) compared.push_back(std::move(busy[i]));
  }
  std::tie(summary.active, summary.overlapped) = concurrency(compared);
}

void format_tracks(std::string& out, const TraceSummary& summary) {
  if (summary.tracks.empty()) return;
  out += "tracks\n";
  line(out, "  {:>9}  {:>9}  {:>6}  {}", "slices", "busy", "share", "name");
  for (const TrackSummary& track : summary.tracks) {
    const bool both = !track.process.empty() && !track.thread.empty();
    line(out, "  {:>9}  {:>9}  {:>5.1f}%  {}{}{}", track.slices, format_time(track.busy), 100 * track.busy_share,
         track.process, both ? " / " : "", track.thread);
  }
  const bool devices = std::any_of(summary.tracks.begin(), summary.tracks.end(),
                                   [](const TrackSummary& track) { return track.is_device; });
  if (summary.kind == TraceKind::kProfile && !devices) return;  // its samples are laid end to end on every track
  line(out, "  {} busy for {} ({:.1f}% of the span), two or more at once for {} ({:.1f}% of that)",
       devices ? "device tracks" : "tracks", format_time(summary.active), percent(summary.active, summary.span),
       format_time(summary.overlapped), percent(summary.overlapped, summary.active));
}

}  // namespace

TraceSummary summarize(const Trace& trace) {
  TraceSummary summary;
  summary.kind = trace.info.kind;
  summary.device = trace.info.device;
  summary.settings = trace.info.settings;
  summary.has_plan = !trace.info.plan.empty();
  summary.dropped = trace.info.dropped;
  summary.slices = static_cast<std::int64_t>(trace.slices.size());
  summary.flows = static_cast<std::int64_t>(trace.flows.size());
  summary.counters = static_cast<std::int64_t>(trace.counters.size());
  if (!trace.slices.empty()) {
    Nanoseconds first = Nanoseconds::max();
    Nanoseconds last = Nanoseconds::min();
    for (const Slice& slice : trace.slices) {
      first = std::min(first, slice.start);
      last = std::max(last, slice.end());
    }
    summary.start = first;
    summary.span = last - first;
  }
  summarize_tracks(trace, summary);
  summary.categories = summarize_categories(trace);
  for (const WallTimes& times : trace.info.wall_times) summary.wall_times.push_back(summarize_wall(times));
  return summary;
}

std::string format_summary_head(const TraceSummary& summary) {
  std::string out;
  line(out, "kind      {}{}", to_string(summary.kind), summary.has_plan ? ", with its plan" : "");
  const DeviceInfo& device = summary.device;
  const std::string_view name = device.name.empty() ? std::string_view("not stated") : std::string_view(device.name);
  line(out, "device    {}{}", name, device.id.empty() ? "" : fmt::format(" ({})", device.id));
  for (const auto& [key, value] : summary.settings) line(out, "          {}: {}", key, value);
  line(out, "span      {}", format_time(summary.span));
  line(out, "records   {} slices, {} flows, {} counters", summary.slices, summary.flows, summary.counters);
  return out;
}

std::string format_summary_tracks(const TraceSummary& summary) {
  std::string out;
  format_tracks(out, summary);
  if (!summary.categories.empty()) {
    out += "categories\n";
    line(out, "  {:>9}  {:>9}  {}", "slices", "time", "name");
  }
  for (const CategorySummary& category : summary.categories)
    line(out, "  {:>9}  {:>9}  {}", category.slices, format_time(category.time),
         category.name.empty() ? std::string_view("(none)") : std::string_view(category.name));
  return out;
}

std::string format_summary_rest(const TraceSummary& summary) {
  std::string out;
  if (!summary.wall_times.empty()) out += "wall times without a trace\n";
  for (const WallSummary& wall : summary.wall_times)
    line(out, "  {:<10} median {}, {} to {}, {} samples, {} discarded", wall.what, format_time(wall.median),
         format_time(wall.least), format_time(wall.most), wall.samples, wall.discarded);
  if (!summary.dropped.empty()) out += "not kept\n";
  for (const auto& [reason, count] : summary.dropped) line(out, "  {:>9}  {}", count, reason);
  return out;
}

std::string format_summary(const TraceSummary& summary) {
  return format_summary_head(summary) + format_summary_tracks(summary) + format_summary_rest(summary);
}

}  // namespace cohort
