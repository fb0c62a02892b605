#include <memory>
#include <nlohmann/json.hpp>

#include "base/statistics.hpp"
#include "cli/command.hpp"
#include "cli/precision_option.hpp"
#include "devices/cupti_tracer.hpp"
#include "devices/devices.hpp"
#include "executor/run/plan_run.hpp"
#include "executor/run/run_report.hpp"
#include "planning/members.hpp"
#include "planning/plan_files.hpp"
#include "planning/provenance.hpp"
#include "tracer/file/trace_file.hpp"

namespace cohort {
namespace {

struct RunCommandOptions {
  std::filesystem::path plan;
  std::vector<std::filesystem::path> beside;
  std::filesystem::path output;
  std::filesystem::path outputs;
  std::string device;
  std::string precision;
  int blocks = 9;
  int block_ms = 200;
  int iterations = 20;
  bool no_kernels = false;
};

void report(const FinishedRun& finished, CommandContext& context) {
  if (context.json) {
    context.console.print_json(to_json(finished));
    return;
  }
  context.console.print(to_text(finished));
  for (const BadImage& image : finished.run.bad_images())
    context.console.note(fmt::format("skipped {} ({})", image.path, image.reason));
}

/// Algorithms were chosen for the plan's own precision: with another they are the device's first choices.
Result<void> set_precision(Plan& plan, const std::string& text) {
  if (text.empty()) return {};
  COHORT_TRY(const Precision asked, precision_from(text));
  if (asked == plan.precision) return {};
  plan.precision = asked;
  plan.resolved.reset();
  plan.baselines.clear();
  return {};
}

void note_unresolved(const Plan& plan, const std::filesystem::path& file, CommandContext& context) {
  if (plan.resolved && plan.resolved->fingerprint == fingerprint(plan)) return;
  context.console.note(
      fmt::format("{} is not resolved, or was edited since; it runs with the device's first choice of algorithms and "
                  "threads (cohort plan PROFILE --resolve PLAN chooses by recorded cost)",
                  file.string()));
}

/// Predictions hold for cores as far apart as they were when profiled.
void note_moved_cores(const Plan& plan, const PlanRun::Times& times, CommandContext& context) {
  if (!plan.resolved || plan.resolved->fingerprint != fingerprint(plan)) return;
  const Nanoseconds planned = plan.resolved->core_round_trip;
  const Nanoseconds now = times.round_trip();
  if (!cores_moved(planned, now)) return;
  context.console.note(fmt::format(
      "cores were moved {}: a round trip between two takes {}, and took {} when the model was profiled. Ops on several "
      "cores are {} than predicted; predictions hold again after another profile",
      now > planned ? "apart" : "together", format_time(now), format_time(planned),
      now > planned ? "slower" : "faster"));
}

/// What the trace lacks, and what tracing changed.
void note_tracing(const Trace& trace, CommandContext& context) {
  if (const auto reason = trace.info.settings.find(std::string(kNotRecorded)); reason != trace.info.settings.end())
    context.console.note(fmt::format("kernels are not in the trace, only tasks: {}", reason->second));
  for (const auto& [reason, records] : trace.info.dropped) context.console.note(fmt::format("{} {}", records, reason));
  const WallTimes* plan = trace.info.wall("plan");
  const WallTimes* traced = trace.info.wall("plan traced");
  if (plan == nullptr || traced == nullptr || plan->samples.empty() || traced->samples.empty()) return;
  const double ratio = seconds(median(traced->samples)) / seconds(median(plan->samples));
  constexpr double kFaster = 0.95;  // tracing makes nothing faster
  context.console.note(
      ratio < kFaster ? fmt::format("steps took {:.0f}% less time while traced; the machine was probably busier before",
                                    100 * (1 - ratio))
                      : fmt::format("tracing changed the time of a step by {:+.1f}%", 100 * (ratio - 1)));
}

Result<void> run(RunCommandOptions options, CommandContext& context) {
  COHORT_TRY(Plan plan, read_plan(options.plan));
  COHORT_CHECK(set_precision(plan, options.precision));
  if (options.output.empty()) {
    options.output = beside_plan(options.plan.filename(), ".measured.json.gz");
  }
  COHORT_CHECK(check_writable(options.output, context.overwrite));
  COHORT_TRY(const auto backend, open_device(options.device.empty() ? plan.device : options.device));
  COHORT_TRY(const LoadedMembers members, LoadedMembers::load(plan.members));
  if (plan.baselines.empty())
    context.console.note("the plan names no baseline; members alone run with the device's first choices");

  note_unresolved(plan, options.plan, context);
  context.console.progress("loading");
  auto opened = PlanRun::open(*backend, plan, members.models(), context.cancel);
  if (!opened) return in_context(options.plan.string(), opened.error());
  PlanRun& plan_run = **opened;
  for (const std::filesystem::path& file : options.beside) {
    COHORT_TRY(Plan other, read_plan(file));
    COHORT_CHECK(set_precision(other, options.precision));
    note_unresolved(other, file, context);
    auto added = plan_run.add_beside(file.string(), other, members.models());
    if (!added) return in_context(file.string(), added.error());
  }
  // Before a long measurement, which is lost where they cannot be written; and of the first step, which reads the
  // same input in every run.
  PendingFiles pending(context.overwrite);
  if (!options.outputs.empty()) COHORT_CHECK(plan_run.add_outputs(options.outputs, pending));
  MeasureOptions measure;
  measure.blocks = options.blocks;
  measure.most_rounds = 3 * options.blocks;
  measure.block = std::chrono::milliseconds(options.block_ms);
  // Blocks that are asked for are not cut off by the time that is enough for the usual ones.
  const auto subjects = static_cast<std::int64_t>(2 + options.beside.size());
  measure.limit = std::max(measure.limit, measure.block * (measure.most_rounds * subjects));
  measure.progress = [&](const std::string& what) { context.console.progress(what); };
  COHORT_TRY(const PlanRun::Times times, plan_run.measure(measure));
  const auto tracer = options.no_kernels ? nullptr : tracer_of(backend->info().id);
  context.console.progress("tracing");
  COHORT_TRY(Trace trace, plan_run.trace(times, options.iterations, tracer.get()));
  trace.info.settings.merge(provenance());
  COHORT_CHECK(pending.add(options.output, trace_bytes(options.output, trace)));
  COHORT_CHECK(pending.commit());
  report({plan, plan_run, times, trace}, context);
  note_moved_cores(plan, times, context);
  note_tracing(trace, context);
  context.console.note(fmt::format("wrote {}", options.output.string()));
  return {};
}

}  // namespace

Command run_command() {
  Command command;
  command.name = "run";
  command.help =
      "Run a plan, measure it and its baseline (the members one after another) alternately, and record a trace";
  command.example = "cohort profile lenet5\n  cohort plan lenet5.trace.json.gz -n 16\n  cohort run lenet5.plan.json";
  command.writes_files = true;
  command.setup = [](CLI::App& app) -> RunFunction {
    const auto options = std::make_shared<RunCommandOptions>();
    app.add_option("PLAN", options->plan, "Plan to run, from cohort plan")->required();
    app.add_option("--beside", options->beside,
                   "Other plans of the same members to measure alternately with this one, against the same baseline")
        ->type_name("FILE");
    app.add_option("-o,--output", options->output, "Trace to write; default: PLAN.measured.json.gz")->type_name("FILE");
    app.add_option("--outputs", options->outputs,
                   "Write each member's results of the first step as .npy into this folder; those of --beside into its "
                   "subfolders beside-1, beside-2, ...")
        ->type_name("FOLDER");
    app.add_option("--device", options->device, "Device to run on; default: the plan's");
    add_precision_option(app, options->precision, "Precision, also of the baseline; default: the plan's");
    app.add_option("--blocks", options->blocks, "Undisturbed blocks to measure of each plan and the baseline")
        ->check(CLI::Range(1, 1000))
        ->capture_default_str();
    app.add_option("--block-ms", options->block_ms, "Least length of a block in milliseconds")
        ->check(CLI::Range(1, 600000))
        ->capture_default_str();
    app.add_flag("--no-kernels", options->no_kernels,
                 "GPUs only: trace tasks with events instead of kernels, copies and calls with CUPTI");
    app.add_option("--iterations", options->iterations, "Steps in the trace")
        ->check(CLI::Range(1, 100000))
        ->capture_default_str();
    return [options](CommandContext& context) { return run(*options, context); };
  };
  return command;
}

}  // namespace cohort
