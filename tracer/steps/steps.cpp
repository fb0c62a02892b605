#include "tracer/steps/steps.hpp"

#include <algorithm>
#include <limits>
#include <map>
#include <utility>

#include "tracer/correlation_ids.hpp"
#include "tracer/slice_kind.hpp"
#include "tracer/steps/repetition.hpp"

namespace cohort {
namespace {

constexpr std::string_view kProfilerStep = "ProfilerStep#*";

void widen(std::optional<TimeWindow>& window, const TimeWindow& by) {
  if (!window) window = by;
  window->start = std::min(window->start, by.start);
  window->end = std::max(window->end, by.end);
}

/// Finds the slices of device work that each call launched, by correlation id.
class Launches {
 public:
  explicit Launches(const Trace& trace) : trace_(trace), kinds_(trace.strings) {
    const CorrelationIds ids(trace);
    for (std::uint32_t i = 0; i < trace.slices.size(); ++i) {
      const SliceKind kind = kinds_(trace.slices[i]);
      if (!is_device_work(kind) && !is_call(kind)) continue;
      const auto id = ids.of(trace.slices[i]);
      if (!id) continue;
      if (is_call(kind)) {
        calls_.push_back({trace.slices[i].start, *id});
      } else {
        work_.push_back({*id, i});
      }
    }
    std::sort(calls_.begin(), calls_.end());
    std::sort(work_.begin(), work_.end());
  }

  /// What calls that began inside the window launched.
  void collect(TraceStep& step) const {
    auto call = std::lower_bound(calls_.begin(), calls_.end(),
                                 std::pair(step.window.start, std::numeric_limits<std::int64_t>::min()));
    std::vector<std::int64_t> ids;
    for (; call != calls_.end() && call->first < step.window.end; ++call) ids.push_back(call->second);
    std::sort(ids.begin(), ids.end());  // a driver call inside a runtime call has the same id
    ids.erase(std::unique(ids.begin(), ids.end()), ids.end());
    for (const std::int64_t id : ids) {
      auto work = std::lower_bound(work_.begin(), work_.end(), std::pair(id, std::uint32_t{0}));
      for (; work != work_.end() && work->first == id; ++work) {
        const Slice& slice = trace_.slices[work->second];
        widen(step.device_work, {slice.start, slice.end()});
        if (kinds_(slice) == SliceKind::kKernel) ++step.kernels;
      }
    }
  }

 private:
  const Trace& trace_;
  SliceKinds kinds_;
  std::vector<std::pair<Nanoseconds, std::int64_t>> calls_;
  std::vector<std::pair<std::int64_t, std::uint32_t>> work_;
};

/// Positions of the slices of the track that has most of them; of several, the first.
std::vector<std::uint32_t> of_fullest_track(const Trace& trace, const std::vector<std::uint32_t>& slices) {
  std::vector<std::size_t> counts(trace.tracks.size());
  for (const std::uint32_t i : slices) ++counts[to_index(trace.slices[i].track)];
  const auto fullest = static_cast<std::size_t>(std::max_element(counts.begin(), counts.end()) - counts.begin());
  std::vector<std::uint32_t> out;
  for (const std::uint32_t i : slices) {
    if (to_index(trace.slices[i].track) == fullest) out.push_back(i);
  }
  return out;
}

/// Kernels of the stream with most kernel time, by start.
std::vector<std::uint32_t> main_stream_kernels(const Trace& trace) {
  const SliceKinds kinds(trace.strings);
  std::vector<Nanoseconds> busy(trace.tracks.size());
  std::vector<std::uint32_t> kernels;
  for (std::uint32_t i = 0; i < trace.slices.size(); ++i) {
    if (kinds(trace.slices[i]) != SliceKind::kKernel) continue;
    busy[to_index(trace.slices[i].track)] += trace.slices[i].duration;
    kernels.push_back(i);
  }
  if (kernels.empty()) return kernels;
  const auto stream = static_cast<TrackId>(std::max_element(busy.begin(), busy.end()) - busy.begin());
  kernels.erase(
      std::remove_if(kernels.begin(), kernels.end(), [&](std::uint32_t i) { return trace.slices[i].track != stream; }),
      kernels.end());
  std::stable_sort(kernels.begin(), kernels.end(),
                   [&](std::uint32_t a, std::uint32_t b) { return trace.slices[a].start < trace.slices[b].start; });
  return kernels;
}

/// What one call launched on a stream: a kernel, or a whole graph, of which no part can be a step of the program.
struct Launched {
  TimeWindow work;
  std::int64_t kernels = 0;
  std::uint32_t name = 0;  ///< equal for equal kernels in equal order
};

std::vector<Launched> launched_one_by_one(const Trace& trace, const std::vector<std::uint32_t>& kernels) {
  const CorrelationIds ids(trace);
  std::map<std::vector<StringId>, std::uint32_t> known;
  std::vector<Launched> list;
  for (std::size_t i = 0; i < kernels.size();) {
    const auto id = ids.of(trace.slices[kernels[i]]);
    Launched launched{{trace.slices[kernels[i]].start, Nanoseconds::min()}, 0, 0};
    std::vector<StringId> names;
    do {
      const Slice& kernel = trace.slices[kernels[i]];
      launched.work.end = std::max(launched.work.end, kernel.end());
      names.push_back(kernel.name);
      ++i;
    } while (id && i < kernels.size() && ids.of(trace.slices[kernels[i]]) == id);
    launched.kernels = static_cast<std::int64_t>(names.size());
    launched.name = known.try_emplace(std::move(names), static_cast<std::uint32_t>(known.size())).first->second;
    list.push_back(launched);
  }
  return list;
}

/// Of all ways to cut a repetition into periods the one before whose first launch's work the stream waits
/// longest, on average; the first of equals. One period may be lost by it where three are there.
std::size_t best_cut(const std::vector<Launched>& list, const Repetition& found) {
  std::vector<double> waits(found.period);
  std::vector<int> cuts(found.period);
  Nanoseconds end = Nanoseconds::min();
  for (std::size_t i = 0; i < found.end; ++i) {
    const TimeWindow& work = list[i].work;
    if (i > found.begin && work.start > end) waits[(i - found.begin) % found.period] += seconds(work.start - end);
    if (i > found.begin) ++cuts[(i - found.begin) % found.period];
    end = std::max(end, work.end);
  }
  const std::size_t length = found.end - found.begin;
  const std::size_t most = length / found.period >= 3 ? found.period : length % found.period + 1;
  std::size_t best = 0;
  double longest = -1;
  for (std::size_t cut = 0; cut < std::min(most, found.period); ++cut) {
    const double wait = cuts[cut] > 0 ? waits[cut] / cuts[cut] : 0;
    if (wait <= longest) continue;
    longest = wait;
    best = cut;
  }
  return best;
}

TraceStep whole_trace(const Trace& trace) {
  TraceStep step{"whole trace", {}, std::nullopt, 0};
  std::optional<TimeWindow> window;
  const SliceKinds kinds(trace.strings);
  for (const Slice& slice : trace.slices) {
    widen(window, {slice.start, slice.end()});
    if (kinds(slice) == SliceKind::kKernel) ++step.kernels;
    if (is_device_work(kinds(slice))) widen(step.device_work, {slice.start, slice.end()});
  }
  if (window) step.window = *window;
  return step;
}

Result<StepList> steps_asked_for(const Trace& trace, const StepOptions& options) {
  StepList list;
  if (!options.annotation.empty()) {
    list = find_annotated_steps(trace, options.annotation);
    if (list.steps.empty())
      return fail(ErrorCode::kInvalidInput, "no annotation is named '{}'; those found by themselves: {}",
                  options.annotation, find_steps(trace).steps.empty() ? "none" : find_steps(trace).steps.front().name);
    return list;
  }
  list = options.repetition ? find_repeated_steps(trace) : find_steps(trace);
  if (list.steps.empty())
    return fail(ErrorCode::kInvalidInput, "no steps found: {}kernels that repeat one after another are missing",
                options.repetition ? "" : "annotations named ProfilerStep#N and ");
  return list;
}

Result<void> check(const StepOptions& options) {
  const bool named = !options.annotation.empty() || options.repetition;
  if (!options.annotation.empty() && options.repetition)
    return fail(ErrorCode::kUsage, "steps are either annotations or repetitions, not both");
  if (options.window && (named || options.index))
    return fail(ErrorCode::kUsage, "a time window excludes steps by annotation, repetition or index");
  if (options.window && (options.window->start < -kMostTime || options.window->end > kMostTime))
    return fail(ErrorCode::kUsage, "the time window lies outside any trace");
  if (options.window && options.window->end <= options.window->start)
    return fail(ErrorCode::kUsage, "the time window ends before it starts");
  if (options.count == 0) return fail(ErrorCode::kUsage, "at least one step must be taken");
  if (options.count > 1 && !named && !options.index)
    return fail(ErrorCode::kUsage, "several steps are taken from an index, an annotation or a repetition on");
  return {};
}

/// Positions of the steps with device work; of all where none has any.
std::vector<std::size_t> with_work(const std::vector<TraceStep>& steps) {
  std::vector<std::size_t> all;
  std::vector<std::size_t> busy;
  for (std::size_t i = 0; i < steps.size(); ++i) {
    all.push_back(i);
    if (steps[i].device_work) busy.push_back(i);
  }
  return busy.empty() ? all : busy;
}

StepSelection single(StepSource source, TraceStep step) { return {source, std::move(step), 0, 1, 1, 0}; }

}  // namespace

std::string_view to_string(StepSource source) {
  switch (source) {
    case StepSource::kAnnotation:
      return "annotation";
    case StepSource::kRepetition:
      return "repetition";
    case StepSource::kWindow:
      return "window";
    case StepSource::kWholeTrace:
      break;
  }
  return "whole trace";
}

bool matches_pattern(std::string_view text, std::string_view pattern) {
  std::size_t t = 0;
  std::size_t p = 0;
  std::size_t star = std::string_view::npos;
  std::size_t resume = 0;  // where in the text to go on should what follows the star not fit
  while (t < text.size()) {
    if (p < pattern.size() && pattern[p] == '*') {
      star = p++;
      resume = t;
    } else if (p < pattern.size() && pattern[p] == text[t]) {
      ++p;
      ++t;
    } else if (star != std::string_view::npos) {
      p = star + 1;
      t = ++resume;
    } else {
      return false;
    }
  }
  while (p < pattern.size() && pattern[p] == '*') ++p;
  return p == pattern.size();
}

StepList find_annotated_steps(const Trace& trace, std::string_view pattern) {
  const SliceKinds kinds(trace.strings);
  std::vector<std::int8_t> matches(trace.strings.size(), -1);  // by name: not yet asked, no, yes
  std::vector<std::uint32_t> host;
  std::vector<std::uint32_t> device;
  std::vector<std::uint32_t> others;  // JAX and TensorFlow give ranges of the host no category
  const auto is_of_device = [&](const Slice& slice) {
    return trace.tracks[to_index(slice.track)].process.find("/device:") != std::string::npos;
  };
  for (std::uint32_t i = 0; i < trace.slices.size(); ++i) {
    const SliceKind kind = kinds(trace.slices[i]);
    const bool on_host = kind == SliceKind::kAnnotation || kind == SliceKind::kOp || kind == SliceKind::kPythonFunction;
    if (!on_host && kind != SliceKind::kDeviceAnnotation && kind != SliceKind::kOther) continue;
    std::int8_t& match = matches[to_index(trace.slices[i].name)];
    if (match < 0) match = matches_pattern(trace.name(trace.slices[i]), pattern) ? 1 : 0;
    if (match == 0 || (kind == SliceKind::kOther && is_of_device(trace.slices[i]))) continue;
    (kind == SliceKind::kOther ? others : on_host ? host : device).push_back(i);
  }
  if (host.empty() && device.empty()) host = std::move(others);
  StepList list{StepSource::kAnnotation, {}};
  const bool marked_on_host = !host.empty();
  std::vector<std::uint32_t> found = of_fullest_track(trace, marked_on_host ? host : device);
  std::stable_sort(found.begin(), found.end(),
                   [&](std::uint32_t a, std::uint32_t b) { return trace.slices[a].start < trace.slices[b].start; });
  if (found.empty()) return list;
  const Launches launches(trace);
  for (const std::uint32_t i : found) {
    const Slice& slice = trace.slices[i];
    TraceStep step{std::string(trace.name(slice)), {slice.start, slice.end()}, std::nullopt, 0};
    if (marked_on_host) launches.collect(step);
    list.steps.push_back(std::move(step));
  }
  return list;
}

StepList find_repeated_steps(const Trace& trace) {
  StepList list{StepSource::kRepetition, {}};
  const std::vector<Launched> launched = launched_one_by_one(trace, main_stream_kernels(trace));
  std::vector<std::uint32_t> names;
  names.reserve(launched.size());
  for (const Launched& each : launched) names.push_back(each.name);
  const auto found = longest_repetition(names);
  if (!found) return list;
  for (std::size_t at = found->begin + best_cut(launched, *found); at + found->period <= found->end;
       at += found->period) {
    const std::size_t next = at + found->period;
    TimeWindow work{launched[at].work.start, Nanoseconds::min()};
    std::int64_t kernels = 0;
    for (std::size_t i = at; i < next; ++i) {
      work.end = std::max(work.end, launched[i].work.end);
      kernels += launched[i].kernels;
    }
    const Nanoseconds end = next < launched.size() ? launched[next].work.start : work.end;
    list.steps.push_back({fmt::format("repetition {}", list.steps.size()), {work.start, end}, work, kernels});
  }
  return list;
}

StepList find_steps(const Trace& trace) {
  StepList list = find_annotated_steps(trace, kProfilerStep);
  if (!list.steps.empty()) return list;
  return find_repeated_steps(trace);
}

std::size_t typical_step(const std::vector<TraceStep>& steps) {
  const std::size_t first = steps.size() >= 3 ? 1 : 0;
  std::vector<Nanoseconds> lengths;
  for (std::size_t i = first; i < steps.size(); ++i) lengths.push_back(steps[i].window.length());
  const auto middle = lengths.begin() + static_cast<std::ptrdiff_t>((lengths.size() - 1) / 2);
  std::nth_element(lengths.begin(), middle, lengths.end());
  const Nanoseconds median = *middle;
  const auto found = std::find_if(steps.begin() + static_cast<std::ptrdiff_t>(first), steps.end(),
                                  [&](const TraceStep& step) { return step.window.length() == median; });
  return static_cast<std::size_t>(found - steps.begin());
}

Result<StepSelection> select_step(const Trace& trace, const StepOptions& options) {
  COHORT_CHECK(check(options));
  if (!options.selects()) return single(StepSource::kWholeTrace, whole_trace(trace));
  if (options.window) {
    const Nanoseconds start = whole_trace(trace).window.start;
    TraceStep step{"window", {start + options.window->start, start + options.window->end}, std::nullopt, 0};
    Launches(trace).collect(step);
    return single(StepSource::kWindow, std::move(step));
  }
  COHORT_TRY(const StepList list, steps_asked_for(trace, options));
  const std::size_t found = list.steps.size();
  std::size_t index = options.index.value_or(0);
  std::size_t idle = 0;
  if (!options.index) {
    const std::vector<std::size_t> busy = with_work(list.steps);
    idle = found - busy.size();
    std::vector<TraceStep> steps;
    for (const std::size_t i : busy) steps.push_back(list.steps[i]);
    index = busy[typical_step(steps)];
  }
  if (index >= found || options.count > found - index)
    return fail(ErrorCode::kInvalidInput, "steps {} to {} were asked for, but {} has 0 to {} only ({} to {})", index,
                index + options.count - 1, to_string(list.source), found - 1, list.steps.front().name,
                list.steps.back().name);
  StepSelection selection{list.source, list.steps[index], index, options.count, found, idle};
  for (std::size_t i = index + 1; i < index + options.count; ++i) {
    const TraceStep& more = list.steps[i];
    selection.step.window.end = std::max(selection.step.window.end, more.window.end);
    selection.step.kernels += more.kernels;
    if (more.device_work) widen(selection.step.device_work, *more.device_work);
  }
  if (options.count > 1) selection.step.name += " to " + list.steps[index + options.count - 1].name;
  return selection;
}

}  // namespace cohort
