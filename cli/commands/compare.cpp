#include <cmath>
#include <memory>
#include <nlohmann/json.hpp>

#include "cli/command.hpp"
#include "cli/text_checks.hpp"
#include "simulator/report/compare.hpp"
#include "simulator/report/comparison_json.hpp"
#include "tracer/file/trace_file.hpp"

namespace cohort {
namespace {

struct CompareCommandOptions {
  std::filesystem::path predicted;
  std::filesystem::path measured;
  std::size_t rows = 20;
  std::optional<double> tolerance;
};

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
  if (comparison.different_plans)
    return fail(ErrorCode::kInvalidInput, "--tolerance needs traces of one plan; these are of different ones");
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
      "Compare a predicted trace with the measured one: speedup of the step, then time per group and task, largest "
      "difference first. Groups have no speedup of their own, as only the whole baseline is measured";
  command.example =
      "cohort profile lenet5\n  cohort plan lenet5.trace.json.gz -n 16\n  cohort run lenet5.plan.json\n"
      "  cohort compare lenet5.predicted.json.gz lenet5.measured.json.gz";
  command.reads_traces = true;
  command.setup = [](CLI::App& app) -> RunFunction {
    const auto options = std::make_shared<CompareCommandOptions>();
    app.add_option("PREDICTED", options->predicted, "Trace from cohort plan or cohort simulate")->required();
    app.add_option("MEASURED", options->measured, "Trace from cohort run")->required();
    app.add_option("--rows", options->rows, "Tasks to print")->check(is_whole_number)->capture_default_str();
    app.add_option("--tolerance", options->tolerance,
                   "Exit with 1 if the speedup's relative error is larger, such as 0.05");
    return [options](CommandContext& context) { return run(*options, context); };
  };
  return command;
}

}  // namespace cohort
