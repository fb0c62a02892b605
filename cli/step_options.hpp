#pragma once

#include <CLI/CLI.hpp>
#include <memory>
#include <string>
#include <string_view>
#include <vector>

#include "base/result.hpp"
#include "tracer/steps/steps.hpp"

namespace cohort {

/// How many traces a command reads.
enum class TraceCount { kOne, kSeveral };

/// Options by which commands that read traces are told which part of them is meant.
class StepOptionSet {
 public:
  /// Declares --step, --steps, --annotation, --repetition and --window; what they are parsed into
  /// lives as long as this, which must not move. `count` is for the help: it says that several traces may have a step,
  /// annotation or window each.
  StepOptionSet(CLI::App& app, TraceCount count);

  /// What is asked for of each of so many traces.
  /// Errors: kUsage for steps, annotations or windows that are neither one for all traces nor one for each.
  [[nodiscard]] Result<std::vector<StepOptions>> options(std::size_t traces) const;
  /// The part of the only trace that is asked for, chosen as simulate chooses it; all of it where nothing is asked for.
  /// Errors: as options() and select_replay_step().
  [[nodiscard]] Result<Trace> take(Trace trace) const;

 private:
  StepOptions common_;  ///< what is asked for of all traces alike
  std::vector<std::size_t> indices_;
  std::vector<std::string> annotations_;
  std::vector<TimeWindow> windows_;
};

/// A time such as "12.5ms", "800 us", "2s" or "150ns". Errors: kUsage with what would be right.
Result<Nanoseconds> parse_time(std::string_view text);

/// "10ms..25ms", times from a trace's start on. Errors: kUsage with what would be right.
Result<TimeWindow> parse_window(std::string_view text);

}  // namespace cohort
