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
  std::filesystem::path plan;
  std::string strategy = "serial";
  int streams = 1;
  std::filesystem::path output;
};

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
  COHORT_TRY(const std::string text, read_file(options.plan));
  auto plan = parse_plan(text);
  if (!plan) return in_context(options.plan.string(), plan.error());
  return PlanningInput::open(options.planning.profiles, std::move(*plan));
}

Result<void> run(const Options& options, CommandContext& context) {
  if (!options.output.empty()) COHORT_CHECK(check_writable(options.output, context.overwrite));
  COHORT_TRY(const auto input, open_input(options));
  COHORT_TRY(const Plan plan, plan_of(options, *input));
  COHORT_TRY(const PlanPrediction predicted, predict_plan(input->planning_case(), plan, input->device()));
  if (!options.output.empty()) COHORT_CHECK(write_trace(options.output, predicted.run.trace, context.overwrite));
  const Prediction& prediction = predicted.run.prediction;
  if (context.json) {
    context.console.print_json(ordered_json{{"predicted_ns", prediction.step_time.count()},
                                            {"baseline_ns", predicted.baseline.count()},
                                            {"predicted_speedup", predicted.speedup},
                                            {"samples_per_second", prediction.samples_per_second},
                                            {"lower_bound_ns", prediction.lower_bound.count()},
                                            {"serial_sum_ns", prediction.serial_sum.count()},
                                            {"binding", prediction.binding.resource},
                                            {"memory_bytes", prediction.memory.total().value}});
    return {};
  }
  context.console.print(
      fmt::format("{} members: {} a step predicted (at least {}, at most {}), {:.0f} samples/s, {} binds, {}\n"
                  "one by one: {} a step; speedup {:.2f}x\n",
                  plan.members.size(), format_time(prediction.step_time), format_time(prediction.lower_bound),
                  format_time(prediction.serial_sum), prediction.samples_per_second, prediction.binding.resource,
                  format_bytes(prediction.memory.total()), format_time(predicted.baseline), predicted.speedup));
  if (!options.output.empty()) context.console.note(fmt::format("wrote {}", options.output.string()));
  return {};
}

}  // namespace

Command simulate_command() {
  Command command;
  command.name = "simulate";
  command.help = "Predict one way of running a model batch from profiles of its models alone";
  command.example =
      "cohort profile lenet5\n  cohort simulate lenet5.trace.json.gz -n 16 --strategy concurrent --streams 2";
  command.writes_files = true;
  command.setup = [](CLI::App& app) -> RunFunction {
    const auto options = std::make_shared<Options>();
    add_planning_options(app, options->planning);
    auto* plan =
        app.add_option("--plan", options->plan, "Predict this plan, its members and input included")->type_name("FILE");
    app.add_option("--strategy", options->strategy, "Of all ops: serial, concurrent, strided_batch, ...")
        ->excludes(plan)
        ->capture_default_str();
    app.add_option("--streams", options->streams, "Streams or workers of concurrent members")
        ->excludes(plan)
        ->check(CLI::Range(1, 1024))
        ->capture_default_str();
    app.add_option("-o,--output", options->output, "Write the predicted trace")->type_name("FILE");
    return [options](CommandContext& context) { return run(*options, context); };
  };
  return command;
}

}  // namespace cohort
