#include "simulator/report/compare.hpp"

#include <cmath>
#include <memory>
#include <nlohmann/json.hpp>

#include "cli/command.hpp"
#include "cli/text_checks.hpp"
#include "tracer/file/trace_file.hpp"

namespace cohort {
namespace {

using nlohmann::ordered_json;

struct CompareCommandOptions {
  std::filesystem::path predicted;
  std::filesystem::path measured;
  std::size_t rows = 20;
  std::optional<double> tolerance;
};

ordered_json optional_json(const std::optional<double>& value) {
  return value ? ordered_json(*value) : ordered_json(nullptr);
}

ordered_json to_json(const ComparedTask& task) {
  return {{"name", task.name},
          {"group", task.group},
          {"predicted_ns", task.predicted.count()},
          {"measured_ns", task.measured.count()},
          {"relative_error", optional_json(task.relative_error())}};
}

ordered_json to_json(const std::optional<ComparedTime>& time) {
  if (!time) return nullptr;
  return {{"predicted_ns", time->predicted.count()},
          {"measured_ns", time->measured.count()},
          {"relative_error", optional_json(time->relative_error())}};
}

ordered_json to_json(const Comparison& comparison) {
  ordered_json tasks = ordered_json::array();
  for (const ComparedTask& task : comparison.tasks) tasks.push_back(to_json(task));
  ordered_json groups = ordered_json::array();
  for (const ComparedTask& group : comparison.groups) groups.push_back(to_json(group));
  return {{"predicted_speedup", optional_json(comparison.predicted_speedup)},
          {"measured_speedup", optional_json(comparison.measured_speedup)},
          {"relative_error", optional_json(comparison.relative_error)},
          {"plan", to_json(comparison.plan)},
          {"baseline", to_json(comparison.baseline)},
          {"groups", std::move(groups)},
          {"tasks", std::move(tasks)},
          {"only_predicted", comparison.only_predicted},
          {"only_measured", comparison.only_measured}};
}

Result<Trace> read_kind(const std::filesystem::path& file, TraceKind kind, const TraceReadOptions& read) {
  COHORT_TRY(Trace trace, read_trace(file, read));
  if (trace.info.kind == kind) return trace;
  return fail(ErrorCode::kInvalidInput, "{}: a {} trace is needed, this is a {} one", file.string(), to_string(kind),
              to_string(trace.info.kind));
}

Result<void> run(const CompareCommandOptions& options, CommandContext& context) {
  if (options.tolerance && !(*options.tolerance >= 0))
    return fail(ErrorCode::kUsage, "--tolerance must not be negative, not {}", *options.tolerance);
  COHORT_TRY(const Trace predicted, read_kind(options.predicted, TraceKind::kPredicted, context.read));
  COHORT_TRY(const Trace measured, read_kind(options.measured, TraceKind::kMeasured, context.read));
  COHORT_CHECK(context.cancel.check());
  COHORT_TRY(const Comparison comparison, compare(predicted, measured));
  if (context.json) {
    context.console.print_json(to_json(comparison));
  } else {
    context.console.print(print(comparison, {options.rows}));
  }
  if (!options.tolerance) return {};
  if (!comparison.relative_error)
    return fail(ErrorCode::kInvalidInput, "--tolerance needs wall times of plan and baseline in both traces");
  if (std::abs(*comparison.relative_error) > *options.tolerance)
    return fail(ErrorCode::kNegativeAnswer, "the predicted speedup is {:+.1f}% off, more than {:.1f}%",
                100 * *comparison.relative_error, 100 * *options.tolerance);
  return {};
}

}  // namespace

Command compare_command() {
  Command command;
  command.name = "compare";
  command.help =
      "Hold a predicted trace against the measured one: speedup of the step, and time per group and task, largest "
      "difference first. A group has no speedup of its own: of the baseline only the whole is measured, and groups run "
      "beside each other or share what members alone do not";
  command.example =
      "cohort profile lenet5\n  cohort plan lenet5.trace.json.gz -n 16\n  cohort run lenet5.plan.json\n"
      "  cohort compare lenet5.predicted.json.gz lenet5.measured.json.gz";
  command.reads_traces = true;
  command.setup = [](CLI::App& app) -> RunFunction {
    const auto options = std::make_shared<CompareCommandOptions>();
    app.add_option("PREDICTED", options->predicted, "Trace that cohort plan or simulate wrote")->required();
    app.add_option("MEASURED", options->measured, "Trace that cohort run wrote")->required();
    app.add_option("--rows", options->rows, "Tasks to print")->check(is_whole_number)->capture_default_str();
    app.add_option("--tolerance", options->tolerance,
                   "Exit with 1 where the speedup's relative error is larger, as 0.05");
    return [options](CommandContext& context) { return run(*options, context); };
  };
  return command;
}

}  // namespace cohort
