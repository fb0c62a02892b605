#include <memory>
#include <nlohmann/json.hpp>

#include "cli/command.hpp"
#include "cli/planning.hpp"
#include "cli/trace_simulation.hpp"
#include "tracer/trace_file.hpp"

namespace cohort {
namespace {

using nlohmann::ordered_json;

struct Options {
  explicit Options(CLI::App& app) : traces(app) {}

  TraceSimulation traces;
  PlanningOptions planning;
  const CLI::Option* models_option = nullptr;
  const CLI::Option* input_option = nullptr;
  const CLI::Option* buffers_option = nullptr;
  const CLI::Option* streams_option = nullptr;
  std::filesystem::path plan;
  std::string strategy = "serial";
  int streams = 1;
  std::filesystem::path output;
};

/// What is wrong with the name of a strategy; empty: nothing.
std::string is_strategy(const std::string& text) {
  const auto strategy = strategy_from(text);
  return strategy ? std::string() : strategy.error().message;
}

Result<Plan> plan_of(const Options& options, const PlanningInput& input) {
  if (!options.plan.empty()) return *input.planning_case().base;
  COHORT_TRY(const Strategy strategy, strategy_from(options.strategy));
  const Plan& base = *input.planning_case().base;
  Plan plan = uniform_plan(base.members, strategy, options.streams);
  plan.device = base.device;
  plan.input = base.input;
  plan.limits = base.limits;
  COHORT_CHECK(validate(plan));
  return plan;
}

Result<std::unique_ptr<PlanningInput>> open_input(const Options& options) {
  if (options.plan.empty()) return PlanningInput::open(options.planning);
  COHORT_TRY(Plan plan, read_plan(options.plan));
  return PlanningInput::open(options.planning.profiles, std::move(plan));
}

/// A trace of a run is replayed; a profile is what plans are predicted from.
Result<bool> is_run(const Options& options) {
  if (!options.plan.empty()) return false;
  COHORT_TRY(const Trace trace, read_trace(options.planning.profiles.front()));
  return trace.info.kind != TraceKind::kProfile;
}

/// Why a prediction from profiles may be off.
std::vector<std::string> doubts_about(const Prediction& prediction) {
  std::vector<std::string> doubts;
  if (const std::size_t steps = prediction.steps(CostOrigin::kInterpolated); steps > 0) {
    doubts.push_back(fmt::format("{} ops are between recorded widths or sizes", steps));
  }
  if (const std::size_t steps = prediction.steps(CostOrigin::kAnalytic); steps > 0) {
    doubts.push_back(fmt::format("{} fused ops were never recorded: width times the single op", steps));
  }
  return doubts;
}

Confidence confidence_of(const Prediction& prediction) {
  if (prediction.steps(CostOrigin::kAnalytic) > 0) return Confidence::kLow;
  return prediction.steps(CostOrigin::kInterpolated) > 0 ? Confidence::kMedium : Confidence::kHigh;
}

ordered_json to_json(const PlanPrediction& predicted) {
  const Prediction& prediction = predicted.run.prediction;
  const MemoryUse& memory = prediction.memory;
  return {{"predicted_ns", prediction.step_time.count()},
          {"baseline_ns", predicted.baseline.count()},
          {"predicted_speedup", predicted.speedup},
          {"samples_per_second", prediction.samples_per_second},
          {"lower_bound_ns", prediction.lower_bound.count()},
          {"serial_sum_ns", prediction.serial_sum.count()},
          {"binding", prediction.binding.resource},
          {"binding_utilisation", prediction.binding.utilisation},
          {"memory_bytes", memory.total().value},
          {"memory",
           {{"weights_bytes", memory.weights.value},
            {"activations_bytes", memory.activations.value},
            {"workspace_bytes", memory.workspace.value},
            {"input_bytes", memory.input.value}}},
          {"confidence", to_string(confidence_of(prediction))},
          {"because", doubts_about(prediction)}};
}

SharedSimulationOptions shared_options(const Options& options) {
  const auto given = [](const CLI::Option* option, auto value) {
    return option->count() > 0 ? std::optional(value) : std::nullopt;
  };
  SharedSimulationOptions shared;
  shared.files = options.planning.profiles;
  shared.models = given(options.models_option, options.planning.count);
  shared.streams = given(options.streams_option, options.streams);
  shared.buffers = given(options.buffers_option, options.planning.buffers);
  shared.input = given(options.input_option, options.planning.input);
  shared.output = options.output;
  return shared;
}

Result<void> run(const Options& options, CommandContext& context) {
  COHORT_TRY(const bool traces, is_run(options));
  if (traces) return options.traces.run(shared_options(options), context);
  if (options.traces.asked()) {
    return fail(ErrorCode::kUsage,
                "{} is a profile; --fuse, --graphs, --launch-threads, --scale, --mixed-precision, --minibatch, "
                "--device-profile and --copy-speed are of traces of runs; profile at another minibatch instead",
                options.planning.profiles.front().string());
  }
  if (!options.output.empty()) COHORT_CHECK(check_writable(options.output, context.overwrite));
  COHORT_TRY(const auto input, open_input(options));
  COHORT_TRY(const Plan plan, plan_of(options, *input));
  COHORT_TRY(const PlanPrediction predicted, predict_plan(input->planning_case(), plan, input->device()));
  COHORT_CHECK(context.cancel.check());
  if (!options.output.empty()) COHORT_CHECK(write_trace(options.output, predicted.run.trace, context.overwrite));
  const Prediction& prediction = predicted.run.prediction;
  if (context.json) {
    context.console.print_json(to_json(predicted));
    return {};
  }
  context.console.print(
      fmt::format("{} members: {} a step predicted (at least {}, at most {}), {:.0f} samples/s, {} binds, {}\n"
                  "one by one: {} a step; speedup {:.2f}x\n"
                  "weights {}, activations {}, workspace {}, input {}\nconfidence {}\n",
                  plan.members.size(), format_time(prediction.step_time), format_time(prediction.lower_bound),
                  format_time(prediction.serial_sum), prediction.samples_per_second, prediction.binding.resource,
                  format_bytes(prediction.memory.total()), format_time(predicted.baseline), predicted.speedup,
                  format_bytes(prediction.memory.weights), format_bytes(prediction.memory.activations),
                  format_bytes(prediction.memory.workspace), format_bytes(prediction.memory.input),
                  to_string(confidence_of(prediction))));
  for (const std::string& doubt : doubts_about(prediction)) context.console.print(fmt::format("  {}\n", doubt));
  if (!options.output.empty()) context.console.note(fmt::format("wrote {}", options.output.string()));
  return {};
}

}  // namespace

Command simulate_command() {
  Command command;
  command.name = "simulate";
  command.help =
      "Predict one way of running a model batch, from profiles of its models alone or from traces of runs; replay the "
      "trace of a run where nothing is changed";
  command.example =
      "cohort profile lenet5\n  cohort simulate lenet5.trace.json.gz -n 16 --strategy concurrent --streams 2\n"
      "  cohort run lenet5.plan.json && cohort simulate lenet5.measured.json.gz\n"
      "  cohort simulate pytorch.json.gz --models 8 --graphs --scale '*gemm*=2'";
  command.writes_files = true;
  command.setup = [](CLI::App& app) -> RunFunction {
    const auto options = std::make_shared<Options>(app);
    add_planning_options(app, options->planning);
    app.get_option("PROFILE")->description("Profiles of the members' models (cohort profile), or traces of runs");
    auto* plan =
        app.add_option("--plan", options->plan, "Predict this plan, its members and input included")->type_name("FILE");
    app.add_option("--strategy", options->strategy, "Of all ops: serial, concurrent, strided_batch, ...")
        ->excludes(plan)
        ->check(is_strategy)
        ->capture_default_str();
    options->streams_option = app.add_option("--streams", options->streams, "Streams or workers of concurrent members")
                                  ->excludes(plan)
                                  ->check(CLI::Range(1, 1024))
                                  ->capture_default_str();
    options->models_option = app.get_option("--models");
    options->input_option = app.get_option("--input");
    options->buffers_option = app.get_option("--buffers");
    app.add_option("-o,--output", options->output, "Write the predicted trace")->type_name("FILE");
    return [options](CommandContext& context) { return run(*options, context); };
  };
  return command;
}

}  // namespace cohort
