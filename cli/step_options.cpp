#include "cli/step_options.hpp"

#include <array>
#include <utility>

#include "cli/text_checks.hpp"
#include "simulator/what_if/replay.hpp"
#include "tracer/file/microseconds.hpp"
#include "tracer/steps/cut.hpp"

namespace cohort {

StepOptionSet::StepOptionSet(CLI::App& app) {
  auto* step = app.add_option("--step", options_.index, "Take the N-th step, counted from 0")
                   ->check(is_whole_number)
                   ->type_name("N");
  app.add_option("--steps", options_.count, "Take this many consecutive steps")
      ->check(CLI::PositiveNumber)
      ->capture_default_str();
  auto* annotation =
      app.add_option("--annotation", options_.annotation,
                     "Steps are ranges of this name, '*' for any text (without: ProfilerStep#*, else what repeats)")
          ->type_name("NAME");
  auto* repetition =
      app.add_flag("--repetition", options_.repetition, "Steps are what repeats in the sequence of kernels")
          ->excludes(annotation);
  app.add_option("--window", window_, "Take this part, from the trace's start on: 10ms..25ms")
      ->type_name("FROM..TO")
      ->excludes(step)
      ->excludes(annotation)
      ->excludes(repetition);
}

Result<StepOptions> StepOptionSet::options() const {
  StepOptions options = options_;
  if (!window_.empty()) {
    COHORT_TRY(options.window, parse_window(window_));
  }
  return options;
}

Result<Trace> StepOptionSet::take(Trace trace) const {
  COHORT_TRY(const StepOptions chosen, options());
  if (!chosen.selects() && chosen.count == 1) return trace;
  COHORT_TRY(const StepSelection selection, select_replay_step(trace, chosen));
  return cut(trace, selection.step);
}

Result<Nanoseconds> parse_time(std::string_view text) {
  // As exponents of microseconds, so that the decimal text is read exactly.
  constexpr std::array<std::pair<std::string_view, std::string_view>, 4> kUnits = {
      {{"ns", "e-3"}, {"us", "e0"}, {"ms", "e3"}, {"s", "e6"}}};
  for (const auto& [unit, exponent] : kUnits) {
    if (!text.ends_with(unit)) continue;
    std::string_view number = text.substr(0, text.size() - unit.size());
    while (number.ends_with(' ')) number.remove_suffix(1);
    const auto time = microseconds_from(std::string(number) + std::string(exponent));
    if (time) return *time;
    break;
  }
  return fail(ErrorCode::kUsage, "'{}' is no time; write it as 150ns, 800us, 12.5ms or 2s", text);
}

Result<TimeWindow> parse_window(std::string_view text) {
  const std::size_t dots = text.find("..");
  if (dots == std::string_view::npos)
    return fail(ErrorCode::kUsage, "--window '{}': write it as FROM..TO, such as 10ms..25ms", text);
  TimeWindow window;
  COHORT_TRY(window.start, parse_time(text.substr(0, dots)));
  COHORT_TRY(window.end, parse_time(text.substr(dots + 2)));
  if (window.end <= window.start) return fail(ErrorCode::kUsage, "--window '{}' ends before it starts", text);
  return window;
}

}  // namespace cohort
