#pragma once

#include <CLI/CLI.hpp>
#include <memory>
#include <string>
#include <string_view>

#include "base/result.hpp"
#include "tracer/steps/steps.hpp"

namespace cohort {

/// Options by which commands that read traces are told which part of them is meant.
class StepOptionSet {
 public:
  /// Declares --step, --steps, --annotation, --repetition and --window; what they are parsed into
  /// lives as long as this, which must not move.
  explicit StepOptionSet(CLI::App& app);

  /// Errors: kUsage where --window is not "FROM..TO".
  [[nodiscard]] Result<StepOptions> options() const;
  /// The part of a trace that is asked for, chosen as simulate chooses it; all of it where nothing is asked for.
  /// Errors: as options() and select_replay_step().
  [[nodiscard]] Result<Trace> take(Trace trace) const;

 private:
  StepOptions options_;
  std::string window_;
};

/// A time such as "12.5ms", "800 us", "2s" or "150ns". Errors: kUsage with what would be right.
Result<Nanoseconds> parse_time(std::string_view text);

/// "10ms..25ms", times from a trace's start on. Errors: kUsage.
Result<TimeWindow> parse_window(std::string_view text);

}  // namespace cohort
