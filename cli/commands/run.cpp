#include <memory>
#include <nlohmann/json.hpp>

#include "base/statistics.hpp"
#include "cli/command.hpp"
#include "cli/cupti_tracer.hpp"
#include "cli/devices.hpp"
#include "cli/members.hpp"
#include "cli/planning.hpp"
#include "cli/precision_option.hpp"
#include "cli/provenance.hpp"
#include "executor/run/plan_run.hpp"
#include "tracer/file/trace_file.hpp"

namespace cohort {
namespace {

using nlohmann::ordered_json;

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

ordered_json to_json(const SubjectTimes& times) {
  ordered_json samples = ordered_json::array();
  for (const Nanoseconds sample : times.wall.samples) samples.push_back(sample.count());
  return {{"median_ns", times.median.count()},        {"lower_quartile_ns", times.lower.count()},
          {"upper_quartile_ns", times.upper.count()}, {"samples_ns", std::move(samples)},
          {"discarded", times.wall.discarded},        {"disturbed", times.disturbed}};
}

ordered_json beside_json(const PlanRun::Times& times) {
  ordered_json json = ordered_json::array();
  for (const SubjectTimes& other : times.beside) {
    ordered_json one = to_json(other);
    one["file"] = other.wall.what;
    one["measured_speedup"] = speedup(times.baseline, other);
    json.push_back(std::move(one));
  }
  return json;
}

std::string row(std::string_view name, const SubjectTimes& times, std::int64_t samples_per_step) {
  const double per_second = static_cast<double>(samples_per_step) / seconds(times.median);
  return fmt::format("{:<9} {:>9} a step ({} to {}), {:.0f} samples/s, {} blocks, {} discarded{}\n", name,
                     format_time(times.median), format_time(times.lower), format_time(times.upper), per_second,
                     times.wall.samples.size(), times.wall.discarded,
                     times.disturbed ? "; the machine was never quiet" : "");
}

/// Why kernels that were to be recorded are not there; null where they are, or nobody wanted them.
ordered_json not_recorded(const Trace& trace) {
  const auto reason = trace.info.settings.find(std::string(kNotRecorded));
  return reason != trace.info.settings.end() ? ordered_json(reason->second) : ordered_json(nullptr);
}

/// Each step that was traced, by its wall time.
ordered_json traced_steps(const Trace& trace) {
  ordered_json samples = ordered_json::array();
  const WallTimes* const traced = trace.info.wall("plan traced");
  for (std::size_t i = 0; traced != nullptr && i < traced->samples.size(); ++i)
    samples.push_back(traced->samples[i].count());
  return samples;
}

void report(const Plan& plan, const PlanRun& plan_run, const PlanRun::Times& times, const Trace& trace,
            CommandContext& context) {
  const Program& program = plan_run.program();
  const std::vector<BadImage> bad = plan_run.bad_images();
  std::int64_t samples = 0;
  for (const Member& member : plan.members) samples += member.source.minibatch;
  if (context.json) {
    ordered_json images = ordered_json::array();
    for (const BadImage& image : bad)
      images.push_back({{"path", image.path}, {"reason", image.reason}, {"count", image.count}});
    context.console.print_json(ordered_json{{"plan", to_json(times.plan)},
                                            {"baseline", to_json(times.baseline)},
                                            {"measured_speedup", times.speedup()},
                                            {"beside", beside_json(times)},
                                            {"samples_per_step", samples},
                                            {"memory_bytes", program.memory.total().value},
                                            {"traced_samples_ns", traced_steps(trace)},
                                            {"kernels_not_recorded", not_recorded(trace)},
                                            {"bad_images", std::move(images)}});
    return;
  }
  context.console.print(
      fmt::format("{} members, {} steps of one program, {} (weights {}, activations {}, workspace {}, input {})\n",
                  plan.members.size(), program.steps.size(), format_bytes(program.memory.total()),
                  format_bytes(program.memory.weights), format_bytes(program.memory.activations),
                  format_bytes(program.memory.workspace), format_bytes(program.memory.input)));
  context.console.print(row("together", times.plan, samples));
  context.console.print(row("one by one", times.baseline, samples));
  context.console.print(fmt::format("speedup   {:.2f}x measured\n", times.speedup()));
  for (const SubjectTimes& other : times.beside) {
    context.console.print(row("beside", other, samples));
    context.console.print(
        fmt::format("speedup   {:.2f}x measured: {}\n", speedup(times.baseline, other), other.wall.what));
  }
  for (const BadImage& image : bad) context.console.note(fmt::format("skipped {} ({})", image.path, image.reason));
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
  context.console.note(fmt::format(
      "{} is not resolved, or was edited since: the device's first choice of algorithm and threads is taken "
      "(cohort plan PROFILE --resolve PLAN chooses by recorded cost)",
      file.string()));
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
  context.console.note(fmt::format("tracing changed the time of a step by {:+.1f}%", 100 * (ratio - 1)));
}

Result<void> run(RunCommandOptions options, CommandContext& context) {
  COHORT_TRY(Plan plan, read_plan(options.plan));
  COHORT_CHECK(set_precision(plan, options.precision));
  if (options.output.empty()) {
    options.output = options.plan.filename();
    while (options.output.has_extension()) options.output.replace_extension();
    options.output += ".measured.json.gz";
  }
  COHORT_CHECK(check_writable(options.output, context.overwrite));
  COHORT_TRY(const auto backend, open_device(options.device.empty() ? plan.device : options.device));
  COHORT_TRY(const LoadedMembers members, LoadedMembers::load(plan.members));
  if (plan.baselines.empty())
    context.console.note("the plan names no baseline: members alone run with the device's first choices");

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
  context.console.progress("measuring the plan, its baseline and what is beside them in turn");
  COHORT_TRY(const PlanRun::Times times, plan_run.measure(measure));
  const auto tracer = options.no_kernels ? nullptr : tracer_of(backend->info().id);
  context.console.progress("tracing");
  COHORT_TRY(Trace trace, plan_run.trace(times, options.iterations, tracer.get()));
  trace.info.settings.merge(provenance());
  COHORT_CHECK(pending.add(options.output, trace_bytes(options.output, trace)));
  COHORT_CHECK(pending.commit());
  report(plan, plan_run, times, trace, context);
  note_tracing(trace, context);
  context.console.note(fmt::format("wrote {}", options.output.string()));
  return {};
}

}  // namespace

Command run_command() {
  Command command;
  command.name = "run";
  command.help = "Run a plan, measured in turn with its members one by one, and record a trace of it";
  command.example = "cohort profile lenet5\n  cohort plan lenet5.trace.json.gz -n 16\n  cohort run lenet5.plan.json";
  command.writes_files = true;
  command.setup = [](CLI::App& app) -> RunFunction {
    const auto options = std::make_shared<RunCommandOptions>();
    app.add_option("PLAN", options->plan, "Plan to run (cohort plan writes one)")->required();
    app.add_option("--beside", options->beside,
                   "Other plans of the same members, to be measured in turn with it: speedups are over its baseline")
        ->type_name("FILE");
    app.add_option("-o,--output", options->output, "Trace to write; PLAN.measured.json.gz unless given")
        ->type_name("FILE");
    app.add_option("--outputs", options->outputs,
                   "Keep each member's results of the first step as .npy below this folder, and those of plans beside "
                   "it below beside-1, beside-2 ... in it")
        ->type_name("FOLDER");
    app.add_option("--device", options->device, "Another device than the plan's");
    add_precision_option(app, options->precision, "Another precision than the plan's, for the members alone, too");
    app.add_option("--blocks", options->blocks, "Undisturbed blocks to measure of each")
        ->check(CLI::Range(1, 1000))
        ->capture_default_str();
    app.add_option("--block-ms", options->block_ms, "Least length of a block")
        ->check(CLI::Range(1, 600000))
        ->capture_default_str();
    app.add_flag("--no-kernels", options->no_kernels,
                 "On a GPU: trace tasks alone, by events, instead of kernels, copies and calls by CUPTI");
    app.add_option("--iterations", options->iterations, "Steps in the trace")
        ->check(CLI::Range(1, 100000))
        ->capture_default_str();
    return [options](CommandContext& context) { return run(*options, context); };
  };
  return command;
}

}  // namespace cohort
