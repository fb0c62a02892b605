#include "cli/step_options.hpp"

#include <array>
#include <charconv>
#include <utility>

#include "base/one_or_each.hpp"
#include "cli/list_option.hpp"
#include "cli/text_checks.hpp"
#include "simulator/what_if/replay.hpp"
#include "tracer/file/microseconds.hpp"
#include "tracer/steps/cut.hpp"

namespace cohort {

namespace {

Result<std::size_t> parse_index(const std::string& text) {
  if (std::string wrong = is_whole_number(text); !wrong.empty()) return fail(ErrorCode::kUsage, "{}", wrong);
  std::size_t index = 0;
  std::from_chars(text.data(), text.data() + text.size(), index);
  return index;
}

}  // namespace

StepOptionSet::StepOptionSet(CLI::App& app, TraceCount count) {
  const bool several = count == TraceCount::kSeveral;
  const auto help = [&](const std::string& text, const char* by_trace) { return several ? text + by_trace : text; };
  constexpr const char* kListed = "; one for all traces, or one per trace";
  constexpr const char* kRepeated = "; once for all traces, or once per trace";
  auto* step = add_list_option(app, "--step", indices_, parse_index, help("Take step N, counted from 0", kListed))
                   ->type_name(several ? "N[,...]" : "N");
  app.add_option("--steps", common_.count, "Take this many consecutive steps")
      ->check(CLI::PositiveNumber)
      ->capture_default_str();
  auto* annotation =
      app.add_option(
             "--annotation", annotations_,
             help("Steps are the ranges of this name, * matches any text; default: ProfilerStep#*, else repetitions",
                  kRepeated))
          ->type_name("NAME")
          ->allow_extra_args(false);
  auto* repetition =
      app.add_flag("--repetition", common_.repetition, "Steps are repetitions in the sequence of kernels")
          ->excludes(annotation);
  add_list_option(app, "--window", windows_, parse_window,
                  help("Take this part, in time since the trace's start, such as 10ms..25ms", kListed))
      ->type_name(several ? "FROM..TO[,...]" : "FROM..TO")
      ->excludes(step)
      ->excludes(annotation)
      ->excludes(repetition);
}

Result<std::vector<StepOptions>> StepOptionSet::options(std::size_t traces) const {
  for (const auto& [option, values] :
       {std::pair("--step", indices_.size()), std::pair("--annotation", annotations_.size()),
        std::pair("--window", windows_.size())}) {
    if (values > 0) COHORT_CHECK(check_one_or_each(option, values, traces, "trace"));
  }
  std::vector<StepOptions> options(traces, common_);
  for (std::size_t i = 0; i < traces; ++i) {
    if (!indices_.empty()) options[i].index = one_or_each(indices_, i);
    if (!annotations_.empty()) options[i].annotation = one_or_each(annotations_, i);
    if (!windows_.empty()) options[i].window = one_or_each(windows_, i);
  }
  return options;
}

Result<Trace> StepOptionSet::take(Trace trace) const {
  COHORT_TRY(const std::vector<StepOptions> of_trace, options(1));
  const StepOptions& chosen = of_trace.front();
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
    return fail(ErrorCode::kUsage, "'{}' is no part of a trace; write it as FROM..TO, such as 10ms..25ms", text);
  TimeWindow window;
  COHORT_TRY(window.start, parse_time(text.substr(0, dots)));
  COHORT_TRY(window.end, parse_time(text.substr(dots + 2)));
  if (window.end <= window.start) return fail(ErrorCode::kUsage, "'{}' ends before it starts", text);
  return window;
}

}  // namespace cohort
