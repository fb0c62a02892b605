// What is asked, and of which recorded steps.

#include <fmt/format.h>

#include <algorithm>
#include <cmath>

#include "simulator/what_if/replay.hpp"
#include "simulator/what_if/what_if.hpp"

namespace cohort {
namespace {

Result<TraceGraphOptions> isolated_step(const Trace& trace, const StepOptions& options) {
  COHORT_TRY(const StepSelection selection, select_replay_step(trace, options));
  TraceGraphOptions isolated;
  isolated.in_flight = false;
  if (selection.source != StepSource::kWholeTrace) isolated.window = selection.step.window;
  isolated.whole_steps = selection.source == StepSource::kAnnotation || selection.source == StepSource::kRepetition;
  return isolated;
}

}  // namespace

Result<void> WhatIfCase::add(const Trace& trace, const StepOptions& step, std::string name) {
  COHORT_TRY(const TraceGraphOptions isolated, isolated_step(trace, step));
  COHORT_TRY(TraceGraph graph, build_trace_graph(trace, isolated));
  TraceGraphOptions recorded;
  recorded.window = isolated.window;
  COHORT_TRY(const TraceGraph as_it_was, build_trace_graph(trace, recorded));
  COHORT_TRY(const Replay same, replay(as_it_was));
  replay_errors.resize(traces.size());
  replay_errors.push_back(same.relative_error);
  names.resize(traces.size());
  names.push_back(std::move(name));
  traces.push_back(&trace);
  graphs.push_back(std::move(graph));
  windows.push_back(isolated.window);
  return {};
}

Result<void> WhatIfCase::add_second(const Trace& trace, const StepOptions& step, int minibatch, std::string name) {
  COHORT_TRY(const TraceGraphOptions isolated, isolated_step(trace, step));
  COHORT_TRY(TraceGraph graph, build_trace_graph(trace, isolated));
  second = Second{&trace, std::move(graph), minibatch, std::move(name)};
  return {};
}

std::optional<TimeWindow> WhatIfCase::window_of(std::size_t index) const {
  return index < windows.size() ? windows[index] : std::nullopt;
}

std::optional<std::size_t> WhatIfCase::unexplained() const {
  const auto is_off = [](double error) { return std::abs(error) > kMostReplayError; };
  const auto first = std::find_if(replay_errors.begin(), replay_errors.end(), is_off);
  if (first == replay_errors.end()) return std::nullopt;
  return static_cast<std::size_t>(first - replay_errors.begin());
}

std::string WhatIfCase::name_of(std::size_t index) const {
  return index < names.size() && !names[index].empty() ? names[index] : fmt::format("trace {}", index + 1);
}

std::string_view to_string(Processes processes) {
  switch (processes) {
    case Processes::kOne:
      return "one";
    case Processes::kMps:
      return "mps";
    case Processes::kTimeSlicing:
      return "time-slicing";
  }
  return "one";
}

int WhatIf::most_models() const {
  int most = 0;
  for (const int count : models) most = std::max(most, count);
  return most;
}

std::size_t WhatIf::members(std::size_t traces) const {
  std::size_t sum = 0;
  for (std::size_t i = 0; i < traces; ++i) sum += static_cast<std::size_t>(models_of(i));
  return sum;
}

bool WhatIf::any() const {
  WhatIf nothing;
  nothing.fused = fused;  // names without a choice to fuse, and what the recording was
  nothing.recorded_minibatch = recorded_minibatch;
  return *this != nothing;
}

bool WhatIf::retimes() const { return !scale.empty() || mixed_precision || copy_speed != 1 || interconnect_speed != 1; }

}  // namespace cohort
