#include "simulator/what_if/replay.hpp"

#include <algorithm>
#include <cmath>
#include <optional>

#include "simulator/engine/flat_run.hpp"

namespace cohort {
namespace {

/// From moments of device work to those of the calls that launched it: of the stream that begins the window, as others
/// may get their work much earlier or later.
TimeWindow host_window(const Trace& trace, const TimeWindow& device) {
  const Records records = read_records(trace);
  TimeWindow window = device;
  bool begun = false;
  std::optional<std::uint32_t> stream;
  Nanoseconds last{};  // when the last call in the window began: that of a graph has kernels beyond the window, too
  for (const RecordedOp& op : records.ops) {
    if (op.start < device.start) continue;
    if (!stream) stream = op.stream;
    if (!op.call || op.stream != *stream) continue;
    const Nanoseconds call = records.calls[*op.call].start;
    if (!begun) window.start = call;
    if (op.start < device.end) {
      last = begun ? std::max(last, call) : call;
      window.end = std::max(window.start, records.calls[*op.call].end);
    } else if (!begun || call > last) {
      window.end = call;
      break;
    }
    begun = true;
  }
  return begun ? window : device;
}

}  // namespace

Result<StepSelection> select_replay_step(const Trace& trace, const StepOptions& options) {
  StepOptions chosen = options;
  if (!options.selects()) {
    const StepList steps = find_steps(trace);
    chosen.repetition = steps.source == StepSource::kRepetition && !steps.steps.empty();
    if (steps.source == StepSource::kAnnotation) chosen.annotation = "ProfilerStep#*";
  }
  COHORT_TRY(StepSelection selection, select_step(trace, chosen));
  if (selection.source == StepSource::kRepetition) {
    selection.step.window = host_window(trace, selection.step.window);
  }
  return selection;
}

Result<Replay> replay(const TraceGraph& trace_graph) {
  COHORT_TRY(const std::vector<TaskTimes> times, run_flat(trace_graph.graph));
  Replay result;
  std::vector<Nanoseconds> errors;
  Nanoseconds first = Nanoseconds::max();
  Nanoseconds last = Nanoseconds::min();
  Nanoseconds first_simulated = Nanoseconds::max();
  Nanoseconds last_simulated = Nanoseconds::min();
  for (std::size_t i = 0; i < times.size(); ++i) {
    // The end of a call that waits is that of its return, which has no recording of its own.
    if (const auto& recorded = trace_graph.recorded[i]) {
      first = std::min(first, recorded->start);
      last = std::max(last, recorded->end);
      first_simulated = std::min(first_simulated, times[i].start);
      errors.push_back(std::chrono::abs(times[i].start - recorded->start));
    }
    last_simulated = std::max(last_simulated, times[i].end);
  }
  if (errors.empty()) return result;
  result.tasks = errors.size();
  result.traced = last - first;
  result.simulated = last_simulated - first_simulated;
  if (result.traced > Nanoseconds(0)) {
    result.relative_error = seconds(result.simulated - result.traced) / seconds(result.traced);
  }
  constexpr std::size_t kPercent = 99;
  const std::size_t rank = std::min(errors.size() - 1, errors.size() * kPercent / 100);
  const auto place = errors.begin() + static_cast<std::ptrdiff_t>(rank);
  std::nth_element(errors.begin(), place, errors.end());
  result.start_error_p99 = *place;
  return result;
}

}  // namespace cohort
