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
  std::filesystem::path resolve;  ///< a plan to resolve instead of searching for one
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

/// Where the results go: the plan, and its predicted trace beside it.
struct Files {
  std::filesystem::path plan;
  std::filesystem::path predicted;
};

Result<Files> files_for(const Options& options, const PlanningInput& input, const CommandContext& context) {
  Files files;
  files.plan = options.output.empty() ? std::filesystem::path(input.name() + ".plan.json") : options.output;
  files.predicted = files.plan;
  while (files.predicted.has_extension()) files.predicted.replace_extension();
  files.predicted += ".predicted.json.gz";
  COHORT_CHECK(check_writable(files.plan, context.overwrite));
  COHORT_CHECK(check_writable(files.predicted, context.overwrite));
  return files;
}

Result<void> write(const PlanPrediction& prediction, const Files& files, const CommandContext& context) {
  COHORT_CHECK(write_file(files.plan, write_plan(prediction.plan), context.overwrite));
  return write_trace(files.predicted, prediction.run.trace, context.overwrite);
}

void report(const Files& files, ordered_json document, const std::string& text, CommandContext& context) {
  if (context.json) {
    document["plan"] = files.plan.string();
    document["predicted"] = files.predicted.string();
    context.console.print_json(document);
  } else {
    context.console.print(text);
    context.console.note(fmt::format("wrote {} and {}", files.plan.string(), files.predicted.string()));
  }
}

Result<void> search(const Options& options, CommandContext& context) {
  COHORT_TRY(const auto input, PlanningInput::open(options.planning));
  COHORT_TRY(const Files files, files_for(options, *input, context));
  PlannerOptions planner;
  planner.cancel = &context.cancel;
  COHORT_TRY(const PlanningResult result, plan_model_batch(input->planning_case(), planner));
  const Plan& best = result.ranked.front().plan;
  COHORT_TRY(const PlanPrediction prediction, predict_plan(input->planning_case(), best, input->device()));
  COHORT_CHECK(write(prediction, files, context));
  if (!options.candidates.empty()) COHORT_CHECK(write_candidates(result, options.candidates, context.overwrite));
  report(files, to_json(result), print(result, options.rows), context);
  return {};
}

/// Chooses algorithm and threads of every step of a plan that is there already.
Result<void> resolve(const Options& options, CommandContext& context) {
  COHORT_TRY(Plan plan, read_plan(options.resolve));
  plan.resolved.reset();
  COHORT_TRY(const auto input, PlanningInput::open(options.planning.profiles, plan));
  COHORT_TRY(const Files files, files_for(options, *input, context));
  auto prediction = predict_plan(input->planning_case(), plan, input->device());
  if (!prediction) return in_context(options.resolve.string(), prediction.error());
  COHORT_CHECK(write(*prediction, files, context));
  const Nanoseconds step = prediction->run.prediction.step_time;
  report(files,
         {{"step_ns", step.count()},
          {"baseline_ns", prediction->baseline.count()},
          {"predicted_speedup", prediction->speedup}},
         fmt::format("{} members: {} a step predicted, {} one by one, speedup {:.2f}x\n", plan.members.size(),
                     format_time(step), format_time(prediction->baseline), prediction->speedup),
         context);
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
    app.add_option("--resolve", options->resolve,
                   "Instead of searching, choose algorithms and threads by recorded cost for this plan, made or edited "
                   "by hand")
        ->type_name("PLAN");
    return [options](CommandContext& context) {
      return options->resolve.empty() ? search(*options, context) : resolve(*options, context);
    };
  };
  return command;
}

}  // namespace cohort
