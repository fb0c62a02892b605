#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "base/result.hpp"
#include "base/units.hpp"
#include "tracer/trace.hpp"

namespace cohort {

/// The half-open part [start, end) of a trace's time.
struct TimeWindow {
  Nanoseconds start{};
  Nanoseconds end{};

  [[nodiscard]] Nanoseconds length() const { return end - start; }
  [[nodiscard]] bool contains(Nanoseconds time) const { return start <= time && time < end; }
  friend bool operator==(const TimeWindow&, const TimeWindow&) = default;
};

/// How a step was found.
enum class StepSource {
  kWholeTrace,  ///< no step was asked for
  kAnnotation,  ///< a range that the program marked
  kRepetition,  ///< the kernel names of the busiest stream repeat
  kWindow,      ///< stated by the user
};
std::string_view to_string(StepSource source);

/// One iteration of a program that repeats its work.
struct TraceStep {
  std::string name;   ///< of the annotation; "repetition 2"; "window"; "whole trace"
  TimeWindow window;  ///< annotation: as the host marked it. Repetition: from its first kernel's start
                      ///< to the next repetition's
  /// First start to last end of the device work that belongs to it: annotation and window: what calls
  /// inside the window launched, which may run long after it; repetition: its kernels. Absent where
  /// there is none.
  std::optional<TimeWindow> device_work;
  std::int64_t kernels = 0;  ///< launched by it
};

/// Steps in order of their start.
struct StepList {
  StepSource source = StepSource::kWholeTrace;
  std::vector<TraceStep> steps;
};

/// Ranges of a trace named `pattern` ('*' stands for any text), on the host thread that has most of
/// them; on a stream where no host thread has any. Time: O(n) in the slices.
StepList find_annotated_steps(const Trace& trace, std::string_view pattern);

/// What repeats in the sequence of kernel names on the stream with most kernel time: the maximal
/// repetition that covers most launches, at least twice, cut where the stream waits longest. What one
/// call launched, as a graph, is one launch: layers that repeat within it are no steps.
/// Time: O(n log n) in the kernels of that stream.
/// Source of the method: Bannai et al., "The 'Runs' Theorem", SIAM J. Comput. 46(5), 2017.
StepList find_repeated_steps(const Trace& trace);

/// PyTorch's "ProfilerStep#N" where there are any, else what repeats.
StepList find_steps(const Trace& trace);

/// Position of the typical step: the first of median length, not counting the very first step if there are at least
/// three. `steps` must not be empty.
std::size_t typical_step(const std::vector<TraceStep>& steps);

/// Selects a part of a trace; by default all of it.
struct StepOptions {
  std::optional<TimeWindow> window;  ///< relative to the start of the trace's first slice; excludes the rest
  std::string annotation;            ///< steps are ranges of this name, with '*'; excludes `repetition`
  bool repetition = false;           ///< steps are what repeats among the kernels
  /// Position among the steps found, from 0. Absent: with `annotation` or `repetition` the typical one
  /// (typical_step()) of those with device work, or of all where none has any.
  std::optional<std::size_t> index;
  std::size_t count = 1;  ///< consecutive steps taken together

  [[nodiscard]] bool selects() const { return window || !annotation.empty() || repetition || index; }
};

/// The part of a trace that was asked for.
struct StepSelection {
  StepSource source = StepSource::kWholeTrace;
  TraceStep step;         ///< of several steps: first start to last end
  std::size_t index = 0;  ///< among `found`
  std::size_t count = 1;  ///< steps it spans
  std::size_t found = 0;  ///< steps there are to choose from
  std::size_t idle = 0;   ///< of these without device work, and so passed over; 0 where the index was stated
};

/// Errors: kInvalidInput where the trace has no such step; the message names those it has.
/// kUsage where options exclude each other or the window is empty.
Result<StepSelection> select_step(const Trace& trace, const StepOptions& options);

/// True where `text` is `pattern`, whose '*' stand for any text.
bool matches_pattern(std::string_view text, std::string_view pattern);

}  // namespace cohort
