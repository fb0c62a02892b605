#include "view/report/timeline_figure.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <map>
#include <set>
#include <string_view>
#include <utility>

#include "simulator/report/compare.hpp"
#include "tracer/slice_kind.hpp"
#include "tracer/steps/task_steps.hpp"

namespace cohort {
namespace {

constexpr std::size_t kMostLanes = 16;

constexpr const char* kPhaseArg = "phase";

std::string title_of(const Slice& slice, std::string_view what, std::string_view group,
                     std::optional<std::string_view> phase = std::nullopt) {
  std::string title = fmt::format("{}\n{}", what, format_time(slice.duration));
  if (!group.empty()) title += fmt::format("\n{}", group);
  if (phase) title += fmt::format("\n{}", *phase);
  return title;
}

/// Positions of names in order of appearance.
class Names {
 public:
  std::size_t of(const std::string& name) {
    const auto [known, added] = positions_.try_emplace(name, names_.size());
    if (added) names_.push_back(name);
    return known->second;
  }
  std::vector<std::string> take() { return std::move(names_); }

 private:
  std::map<std::string, std::size_t> positions_;
  std::vector<std::string> names_;
};

/// Keeps the lanes there is room for.
void keep_first(FigureBand& band) {
  if (band.lanes.size() <= kMostLanes) return;
  band.left_out = fmt::format("and {} more rows", band.lanes.size() - kMostLanes);
  band.lanes.resize(kMostLanes);
}

void sort_slices(FigureBand& band) {
  for (FigureLane& lane : band.lanes) {
    std::stable_sort(lane.slices.begin(), lane.slices.end(),
                     [](const FigureSlice& a, const FigureSlice& b) { return a.start < b.start; });
  }
}

std::string lane_name(const Track& track) { return track.thread.empty() ? track.process : track.thread; }

FigureBand band_of(std::string name, const Trace& trace, Names& colours) {
  const TaskSteps tasks(trace);
  FigureBand band{std::move(name), {}};
  if (tasks.steps().empty()) return band;
  const std::size_t shown = typical_step(tasks.steps());
  const Nanoseconds first = tasks.steps()[shown].window.start;
  std::vector<FigureLane> lanes(trace.tracks.size());
  for (const Slice& slice : trace.slices) {
    const auto task = trace.text_arg(slice, kTaskArg);
    if (!task || tasks.of(slice) != shown) continue;
    const std::string group = group_of(trace, slice);
    const auto phase = trace.text_arg(slice, kPhaseArg);
    const std::string colour = phase ? std::string(*phase) : group.empty() ? "tasks" : group;
    lanes[to_index(slice.track)].slices.push_back(
        {slice.start, slice.duration, colours.of(colour), title_of(slice, *task, group, phase)});
  }
  for (std::size_t i = 0; i < lanes.size(); ++i) {
    if (lanes[i].slices.empty()) continue;
    lanes[i].name = lane_name(trace.tracks[i]);
    for (FigureSlice& slice : lanes[i].slices) slice.start -= first;
    band.lanes.push_back(std::move(lanes[i]));
  }
  sort_slices(band);
  keep_first(band);
  return band;
}

/// What of a recorded trace is drawn.
struct ShownWindow {
  TimeWindow time;
  std::string name;
};

ShownWindow window_of(const Trace& trace, const std::optional<GpuSummary>& gpu) {
  if (gpu && !gpu->steps.steps.empty()) {
    const TraceStep& step = gpu->steps.steps[typical_step(gpu->steps.steps)];
    if (step.device_work) return {*step.device_work, step.name};
  }
  if (gpu && gpu->active) return {*gpu->active, "whole trace"};
  ShownWindow window{{}, "whole trace"};
  bool any = false;
  for (const Slice& slice : trace.slices) {
    window.time.start = any ? std::min(window.time.start, slice.start) : slice.start;
    window.time.end = any ? std::max(window.time.end, slice.end()) : slice.end();
    any = true;
  }
  return window;
}

/// Slices in the window, each with its track: device work, or without any the outermost ones of each thread.
std::vector<const Slice*> drawn_slices(const Trace& trace, const TimeWindow& window, bool device_work) {
  const SliceKinds kinds(trace.strings);
  std::vector<const Slice*> slices;
  for (const Slice& slice : trace.slices) {
    if (slice.end() <= window.start || slice.start >= window.end || slice.duration <= Nanoseconds{}) continue;
    if (!device_work || is_device_work(kinds(slice))) slices.push_back(&slice);
  }
  std::stable_sort(slices.begin(), slices.end(), [](const Slice* a, const Slice* b) {
    return a->start != b->start ? a->start < b->start : a->duration > b->duration;
  });
  if (device_work) return slices;
  std::vector<Nanoseconds> until(trace.tracks.size(), window.start - Nanoseconds{1});
  std::erase_if(slices, [&](const Slice* slice) {
    Nanoseconds& end = until[to_index(slice->track)];
    if (slice->start < end) return true;  // within another
    end = slice->end();
    return false;
  });
  return slices;
}

/// Colours of the names that take most time; all others share the last one.
std::map<StringId, std::size_t> colours_of(const Trace& trace, const std::vector<const Slice*>& slices,
                                           std::vector<std::string>& names) {
  std::map<StringId, Nanoseconds> times;
  for (const Slice* slice : slices) times[slice->name] += slice->duration;
  std::vector<std::pair<Nanoseconds, StringId>> sorted;
  sorted.reserve(times.size());
  for (const auto& [name, time] : times) sorted.emplace_back(time, name);
  std::sort(sorted.begin(), sorted.end(),
            [](const auto& a, const auto& b) { return a.first != b.first ? a.first > b.first : a.second < b.second; });
  std::map<StringId, std::size_t> colours;
  for (const auto& [time, name] : sorted) {
    if (names.size() + 1 == kSeriesColours && sorted.size() > kSeriesColours) {
      names.push_back(fmt::format("{} other names", sorted.size() - names.size()));
    }
    const std::size_t colour = std::min(colours.size(), kSeriesColours - 1);
    if (names.size() == colour) names.emplace_back(trace.strings[name]);
    colours[name] = colour;
  }
  return colours;
}

}  // namespace

Nanoseconds TimelineFigure::length() const {
  Nanoseconds length{};
  for (const FigureBand& band : bands) {
    for (const FigureLane& lane : band.lanes) {
      for (const FigureSlice& slice : lane.slices) length = std::max(length, slice.start + slice.duration);
    }
  }
  return length;
}

TimelineFigure plan_timeline(const Trace* predicted, const Trace* measured) {
  TimelineFigure figure{"One step", {}, {}};
  Names colours;
  if (predicted != nullptr) figure.bands.push_back(band_of("predicted", *predicted, colours));
  if (measured != nullptr) figure.bands.push_back(band_of("measured", *measured, colours));
  figure.colours = colours.take();
  return figure;
}

std::vector<std::pair<std::string, Nanoseconds>> phase_times(const Trace& trace) {
  std::vector<std::pair<std::string, Nanoseconds>> times;
  std::set<std::int64_t> steps;
  const auto iteration = trace.strings.find(kIterationArg);
  for (const Slice& slice : trace.slices) {
    const auto phase = trace.text_arg(slice, kPhaseArg);
    if (!phase || !trace.text_arg(slice, kTaskArg)) continue;
    steps.insert(trace.integer_arg(slice, iteration).value_or(0));
    const auto known = std::find_if(times.begin(), times.end(), [&](const auto& time) { return time.first == *phase; });
    if (known == times.end()) {
      times.emplace_back(*phase, slice.duration);
    } else {
      known->second += slice.duration;
    }
  }
  for (auto& [phase, time] : times) time /= static_cast<std::int64_t>(steps.size());
  return times;
}

TimelineFigure recorded_timeline(const Trace& trace, const std::optional<GpuSummary>& gpu) {
  const ShownWindow window = window_of(trace, gpu);
  const std::vector<const Slice*> slices = drawn_slices(trace, window.time, gpu.has_value());
  TimelineFigure figure{gpu ? "The device's work" : "What ran", {}, {}};
  const auto colours = colours_of(trace, slices, figure.colours);
  std::vector<FigureLane> lanes(trace.tracks.size());
  for (const Slice* slice : slices) {
    const Nanoseconds start = std::max(slice->start, window.time.start);
    const Nanoseconds end = std::min(slice->end(), window.time.end);
    lanes[to_index(slice->track)].slices.push_back(
        {start - window.time.start, end - start, colours.at(slice->name), title_of(*slice, trace.name(*slice), "")});
  }
  FigureBand band{window.name, {}};
  for (std::size_t i = 0; i < lanes.size(); ++i) {
    if (lanes[i].slices.empty()) continue;
    lanes[i].name = lane_name(trace.tracks[i]);
    band.lanes.push_back(std::move(lanes[i]));
  }
  keep_first(band);
  figure.bands.push_back(std::move(band));
  return figure;
}

}  // namespace cohort
