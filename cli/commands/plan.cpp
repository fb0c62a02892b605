#include <memory>
#include <nlohmann/json.hpp>

#include "cli/command.hpp"
#include "cli/planning.hpp"
#include "tracer/trace_file.hpp"

namespace cohort {
namespace {

using nlohmann::ordered_json;

struct Options {
  PlanningOptions planning;
  std::filesystem::path output;
  std::filesystem::path candidates;
  std::size_t rows = 10;
};

ordered_json to_json(const PlanCandidate& candidate) {
  ordered_json gain = ordered_json::object();
  for (std::size_t i = 0; i < kGainCauses; ++i) {
    const auto cause = static_cast<GainCause>(i);
    gain[std::string(to_string(cause))] = candidate.attribution.of(cause).count();
  }
  const MemoryUse& memory = candidate.prediction.memory;
  return {{"name", candidate.name},
          {"step_ns", candidate.prediction.step_time.count()},
          {"predicted_speedup", candidate.speedup},
          {"samples_per_second", candidate.prediction.samples_per_second},
          {"lower_bound_ns", candidate.prediction.lower_bound.count()},
          {"serial_sum_ns", candidate.prediction.serial_sum.count()},
          {"binding", candidate.prediction.binding.resource},
          {"steps_profiled", candidate.prediction.steps(CostOrigin::kProfiled)},
          {"steps_interpolated", candidate.prediction.steps(CostOrigin::kInterpolated)},
          {"steps_analytic", candidate.prediction.steps(CostOrigin::kAnalytic)},
          {"memory_bytes", memory.total().value},
          {"saved_ns", std::move(gain)},
          {"explanation", candidate.explanation}};
}

ordered_json to_json(const PlanningResult& result) {
  ordered_json ranked = ordered_json::array();
  for (const PlanCandidate& candidate : result.ranked) ranked.push_back(to_json(candidate));
  ordered_json refused = ordered_json::array();
  for (const RefusedCandidate& candidate : result.refused)
    refused.push_back({{"name", candidate.name}, {"reason", candidate.reason}});
  return {{"baseline_ns", result.baseline.step_time.count()},
          {"ranked", std::move(ranked)},
          {"refused", std::move(refused)}};
}

/// Every ranked candidate's plan, named by its rank, so that others than the best can be run too.
Result<void> write_candidates(const PlanningResult& result, const std::filesystem::path& folder, Overwrite overwrite) {
  std::error_code error;
  std::filesystem::create_directories(folder, error);
  if (error) return fail(ErrorCode::kInvalidInput, "cannot make folder {}: {}", folder.string(), error.message());
  for (std::size_t i = 0; i < result.ranked.size(); ++i)
    COHORT_CHECK(
        write_file(folder / fmt::format("{:02}.plan.json", i + 1), write_plan(result.ranked[i].plan), overwrite));
  return {};
}

Result<void> run(Options options, CommandContext& context) {
  COHORT_TRY(const auto input, PlanningInput::open(options.planning));
  if (options.output.empty()) options.output = input->name() + ".plan.json";
  std::filesystem::path predicted = options.output;
  while (predicted.has_extension()) predicted.replace_extension();
  predicted += ".predicted.json.gz";
  COHORT_CHECK(check_writable(options.output, context.overwrite));
  COHORT_CHECK(check_writable(predicted, context.overwrite));

  PlannerOptions planner;
  planner.cancel = &context.cancel;
  COHORT_TRY(const PlanningResult result, plan_model_batch(input->planning_case(), planner));
  const Plan& best = result.ranked.front().plan;
  COHORT_TRY(const PlanPrediction prediction, predict_plan(input->planning_case(), best, input->device()));
  COHORT_CHECK(write_file(options.output, write_plan(prediction.plan), context.overwrite));
  COHORT_CHECK(write_trace(predicted, prediction.run.trace, context.overwrite));
  if (!options.candidates.empty()) COHORT_CHECK(write_candidates(result, options.candidates, context.overwrite));

  if (context.json) {
    ordered_json document = to_json(result);
    document["plan"] = options.output.string();
    document["predicted"] = predicted.string();
    context.console.print_json(document);
  } else {
    context.console.print(print(result, options.rows));
    context.console.note(fmt::format("wrote {} and {}", options.output.string(), predicted.string()));
  }
  return {};
}

}  // namespace

Command plan_command() {
  Command command;
  command.name = "plan";
  command.help = "Rank ways to run a model batch by predicted time, and write the best plan and its predicted trace";
  command.example = "cohort profile lenet5\n  cohort plan lenet5.trace.json.gz -n 16";
  command.writes_files = true;
  command.setup = [](CLI::App& app) -> RunFunction {
    const auto options = std::make_shared<Options>();
    add_planning_options(app, options->planning);
    app.add_option("--rows", options->rows, "Candidates to print")->capture_default_str();
    app.add_option("--candidates", options->candidates, "Write every ranked plan into this folder, by rank")
        ->type_name("FOLDER");
    app.add_option("-o,--output", options->output,
                   "Plan to write; NAME.plan.json unless given. The predicted trace goes beside it")
        ->type_name("FILE");
    return [options](CommandContext& context) { return run(*options, context); };
  };
  return command;
}

}  // namespace cohort
