// Fits times on one step of a trace and predicts another one, or all others.
//
//     build/release/bin/step_transfer TRACE [FIT [PREDICT]] > bench/results/step_transfer.md
//
// From step FIT come: for each kernel's name and launch shape, and each copy's name and size, the mean time; for each
// call's name the mean of its own length and of the host's work before it; and the typical delays between launches,
// kernels, events and waits. Of step PREDICT only what ran, in which order and on which stream is taken: every time in
// it is replaced. Without numbers, every step is predicted from every other one.

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <cstdio>
#include <filesystem>
#include <map>
#include <numeric>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "simulator/engine/flat_run.hpp"
#include "simulator/what_if/replay.hpp"
#include "tracer/file/trace_file.hpp"

namespace {

using namespace cohort;

/// The mean, not the median: a span is a sum of them.
Nanoseconds mean(const std::vector<Nanoseconds>& times) {
  return std::accumulate(times.begin(), times.end(), Nanoseconds(0)) / static_cast<std::int64_t>(times.size());
}

/// What takes equally long in every step.
std::string key_of(const Trace& trace, const TaskGraph& graph, TaskId id) {
  const Task& task = graph.task(id);
  std::string key = fmt::format("{} {}", static_cast<int>(task.kind), graph.label(id));
  if (!is_device_work(task.kind) || !task.step) return key;
  const Slice& slice = trace.slices[*task.step];
  for (const std::string_view shape : {"grid", "block"}) {
    for (const std::int64_t size : trace.integers_arg(slice, shape).value_or(std::vector<std::int64_t>{})) {
      key += fmt::format(" {}", size);
    }
  }
  if (const auto bytes = trace.integer_arg(slice, "bytes")) key += fmt::format(" {}", *bytes);
  return key;
}

/// Host work is told apart by the call behind it.
std::string host_key(const Trace& trace, const TaskGraph& graph, TaskId id) {
  const Task& task = graph.task(id);
  std::string key = key_of(trace, graph, id);
  if (task.kind == TaskKind::kHostWork && task.step)
    key += fmt::format(" before {}", trace.name(trace.slices[*task.step]));
  return key;
}

struct Fit {
  std::map<std::string, Nanoseconds> times;
  TypicalTimes typical;
};

Fit fit(const Trace& trace, const TraceGraph& step) {
  std::map<std::string, std::vector<Nanoseconds>> samples;
  for (std::size_t i = 0; i < step.graph.tasks.size(); ++i) {
    samples[host_key(trace, step.graph, TaskId(i))].push_back(step.graph.tasks[i].duration);
  }
  Fit result;
  for (const auto& [key, times] : samples) result.times[key] = mean(times);
  result.typical = step.typical;
  return result;
}

Nanoseconds typical_delay(const TypicalTimes& typical, const Edge& edge) {
  switch (edge.kind) {
    case EdgeKind::kLaunch:
      return typical.launch_latency;
    case EdgeKind::kStreamOrder:
      return edge.anchor == Anchor::kEnd ? typical.stream_gap : edge.delay;
    case EdgeKind::kEvent:
      return typical.event_latency;
    case EdgeKind::kSynchronisation:
      return typical.return_latency;
    default:
      return edge.delay;
  }
}

Nanoseconds span_of(const std::vector<TaskTimes>& times) {
  Nanoseconds last{};
  for (const TaskTimes& each : times) last = std::max(last, each.end);
  return last;
}

struct Outcome {
  Nanoseconds traced{}, predicted{};
  std::size_t kernels = 0, unknown = 0;
  Nanoseconds kernel_time{}, predicted_kernel_time{};
  double median_error = 0, p90_error = 0;  ///< of single kernels, absolute
  double span_error() const { return seconds(predicted - traced) / seconds(traced); }
  double kernel_error() const { return seconds(predicted_kernel_time - kernel_time) / seconds(kernel_time); }
};

Result<Outcome> predict(const Trace& trace, const Fit& fit, const TraceGraph& step) {
  Outcome outcome;
  TaskGraph graph = step.graph;
  std::vector<double> errors;
  for (std::size_t i = 0; i < graph.tasks.size(); ++i) {
    Task& task = graph.tasks[i];
    const auto known = fit.times.find(host_key(trace, graph, TaskId(i)));
    const Nanoseconds real = task.duration;
    if (known != fit.times.end()) task.duration = known->second;
    if (task.kind != TaskKind::kKernel) continue;
    ++outcome.kernels;
    if (known == fit.times.end()) ++outcome.unknown;
    outcome.kernel_time += real;
    outcome.predicted_kernel_time += task.duration;
    if (real > Nanoseconds(0)) errors.push_back(std::abs(seconds(task.duration - real) / seconds(real)));
  }
  for (Edge& edge : graph.edges) edge.delay = typical_delay(fit.typical, edge);
  COHORT_TRY(const std::vector<TaskTimes> recorded, run_flat(step.graph));
  COHORT_TRY(const std::vector<TaskTimes> times, run_flat(graph));
  outcome.traced = span_of(recorded);
  outcome.predicted = span_of(times);
  std::sort(errors.begin(), errors.end());
  if (!errors.empty()) {
    outcome.median_error = errors[errors.size() / 2];
    outcome.p90_error = errors[errors.size() * 9 / 10];
  }
  return outcome;
}

Result<TraceGraph> graph_of(const Trace& trace, std::size_t index) {
  StepOptions options;
  const StepList steps = find_steps(trace);
  options.repetition = steps.source == StepSource::kRepetition;
  if (steps.source == StepSource::kAnnotation) options.annotation = "ProfilerStep#*";
  options.index = index;
  COHORT_TRY(const StepSelection selection, select_replay_step(trace, options));
  TraceGraphOptions graph_options;
  graph_options.window = selection.step.window;
  graph_options.in_flight = false;
  return build_trace_graph(trace, graph_options);
}

Result<void> run(const std::string& file, std::optional<std::size_t> from, std::optional<std::size_t> to) {
  COHORT_TRY(const Trace trace, read_trace(file));
  const std::size_t steps = find_steps(trace).steps.size();
  std::vector<TraceGraph> graphs;
  std::vector<Nanoseconds> spans;
  for (std::size_t i = 0; i < steps; ++i) {
    COHORT_TRY(TraceGraph graph, graph_of(trace, i));
    COHORT_TRY(const std::vector<TaskTimes> times, run_flat(graph.graph));
    spans.push_back(span_of(times));
    graphs.push_back(std::move(graph));
  }
  fmt::print(
      "# One step predicted from another\n\nMade by `build/release/bin/step_transfer {}`; {}, {} steps. Each "
      "step alone on an idle device: \"recorded\" is its replay with its own times.\n\n"
      "| fitted on | predicted | recorded span | predicted span | error | if it took as long as the one fitted on | "
      "kernels | never seen | kernel time error "
      "| median kernel error | p90 |\n|---|---|---|---|---|---|---|---|---|---|---|\n",
      std::filesystem::path(file).filename().string(), trace.info.device.name, steps);
  std::vector<double> errors;
  for (std::size_t i = 0; i < steps; ++i) {
    if (from && *from != i) continue;
    const Fit fitted = fit(trace, graphs[i]);
    for (std::size_t k = 0; k < steps; ++k) {
      if (to ? *to != k : k == i) continue;
      COHORT_TRY(const Outcome outcome, predict(trace, fitted, graphs[k]));
      errors.push_back(std::abs(outcome.span_error()));
      const double same = seconds(spans[i] - outcome.traced) / seconds(outcome.traced);
      fmt::print("| {} | {} | {} | {} | {:+.2f}% | {:+.2f}% | {} | {} | {:+.2f}% | {:.2f}% | {:.2f}% |\n", i, k,
                 format_time(outcome.traced), format_time(outcome.predicted), 100 * outcome.span_error(), 100 * same,
                 outcome.kernels, outcome.unknown, 100 * outcome.kernel_error(), 100 * outcome.median_error,
                 100 * outcome.p90_error);
    }
  }
  std::sort(errors.begin(), errors.end());
  if (!errors.empty()) {
    fmt::print("\nSpan: median error {:.2f}%, worst {:.2f}%, over {} predictions.\n", 100 * errors[errors.size() / 2],
               100 * errors.back(), errors.size());
  }
  return {};
}

std::optional<std::size_t> number(int argc, char** argv, int at) {
  return argc > at ? std::optional<std::size_t>(std::stoul(argv[at])) : std::nullopt;
}

}  // namespace

int main(int argc, char** argv) {
  if (argc < 2 || argc > 4) {
    fmt::print(stderr, "usage: step_transfer TRACE [FIT [PREDICT]]\n");
    return 2;
  }
  const Result<void> done = run(argv[1], number(argc, argv, 2), number(argc, argv, 3));
  if (done) return 0;
  fmt::print(stderr, "{}\n", done.error().message);
  return 1;
}
