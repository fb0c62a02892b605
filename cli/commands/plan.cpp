#include <algorithm>
#include <cmath>
#include <functional>
#include <memory>
#include <nlohmann/json.hpp>

#include "cli/command.hpp"
#include "cli/fallbacks_json.hpp"
#include "cli/given_options.hpp"
#include "cli/planning_options.hpp"
#include "cli/step_options.hpp"
#include "cli/text_checks.hpp"
#include "cli/trace_planning.hpp"
#include "devices/devices.hpp"
#include "planning/check_plans.hpp"
#include "planning/plan_files.hpp"
#include "planning/profiled_catalog.hpp"
#include "simulator/report/prediction_json.hpp"
#include "simulator/report/prediction_text.hpp"
#include "simulator/report/ranking_json.hpp"
#include "tracer/file/trace_file.hpp"

namespace cohort {
namespace {

using nlohmann::ordered_json;

struct PlanCommandOptions {
  explicit PlanCommandOptions(CLI::App& app) : steps(app, TraceCount::kSeveral) {}

  StepOptionSet steps;
  OptionList of_traces;    ///< options that profiles do not have
  OptionList of_profiles;  ///< options that traces of runs do not have
  PlanningFlags planning;
  std::filesystem::path resolve;  ///< a plan to resolve instead of searching for one
  std::filesystem::path output;
  std::filesystem::path candidates;
  std::optional<double> check;  ///< seconds
  std::size_t rows = 10;
  std::string objective = "throughput";
  bool explain = false;
  bool pareto = false;
  const CLI::Option* input_option = nullptr;
  const CLI::Option* buffers_option = nullptr;
  const CLI::Option* launch_threads_option = nullptr;
};

/// Takes latency=... out of the limits; what is left is of memory.
Result<std::optional<Nanoseconds>> take_latency_limit(std::vector<std::string>& limits) {
  constexpr std::string_view kName = "latency=";
  std::optional<Nanoseconds> latency;
  for (const std::string& text : limits) {
    if (!text.starts_with(kName)) continue;
    const Result<Nanoseconds> time = parse_time(std::string_view(text).substr(kName.size()));
    if (!time || *time <= Nanoseconds(0))
      return fail(ErrorCode::kUsage, "--limit latency must be like latency=10ms, not \"{}\"", text);
    latency = *time;
  }
  limits.erase(std::remove_if(limits.begin(), limits.end(), [&](const auto& text) { return text.starts_with(kName); }),
               limits.end());
  return latency;
}

/// Where the results go.
Result<PlanFiles> files_for(const PlanCommandOptions& options, const PlanningInput& input,
                            const CommandContext& context) {
  const PlanFiles files =
      PlanFiles::of(options.output.empty() ? std::filesystem::path(input.name() + ".plan.json") : options.output);
  COHORT_CHECK(files.check(context.overwrite));
  return files;
}

/// Adds the chosen plan and returns what can be said of it; nothing once interrupted: who asked for an end wants it
/// now.
Result<std::optional<PlanReport>> add_best(PlanningResult& result, std::size_t rank, const PlanningInput& input,
                                           const PlanFiles& files, PendingFiles& pending) {
  const PlanCandidate& best = result.ranked[rank];
  const PlanningCase& planning_case = input.cases()[best.planning_case];
  if (result.interrupted) {
    COHORT_TRY(const PlanPrediction prediction, predict_plan(planning_case, best.plan, input.device()));
    COHORT_CHECK(files.add(prediction.plan, prediction.run.trace, pending));
    return std::nullopt;
  }
  COHORT_TRY(PlanReport report, report_ranked(planning_case, result, rank, input.device()));
  result.ranked[rank].program.reset();  // of many members as large as the trace that is written now
  COHORT_CHECK(files.add(report.plan, report.trace, pending));
  return report;
}

/// Where a good part of the plan's ops run on plain loops, other runtimes may be faster than plan and baseline alike.
void warn_of_plain_loops(const Fallbacks& fallbacks, CommandContext& context) {
  constexpr double kMuch = 0.05;
  if (fallbacks.part() > kMuch)
    context.console.note(fmt::format("{}: other runtimes may be faster at these", format_fallbacks(fallbacks)));
}

/// The table, or reasons; then how sure the prediction of what is written is, and with reasons its critical path.
std::string to_text(const PlanningResult& result, const std::optional<PlanReport>& best,
                    const PlanCommandOptions& options) {
  std::string text = options.explain ? explain(result, options.rows) : print(result, options.rows);
  if (best) text += options.explain ? "the best, as written:\n" + path_text(*best) : confidence_line(*best);
  if (options.pareto) text += "\n" + print_pareto(result);
  return text;
}

/// `make_document` makes what --json prints.
void report(const PlanFiles& files, const std::function<ordered_json()>& make_document, const std::string& text,
            CommandContext& context) {
  if (context.json) {
    ordered_json document = make_document();
    document["plan"] = files.plan.string();
    document["predicted"] = files.predicted.string();
    context.console.print_json(document);
  } else {
    context.console.print(text);
    context.console.note(fmt::format("wrote {} and {}", files.plan.string(), files.predicted.string()));
  }
}

/// Runs the first few on the profiled device.
Result<PlanCheck> check_on_device(const PlanCommandOptions& options, const PlanningInput& input,
                                  const PlanningResult& result, CommandContext& context) {
  COHORT_CHECK(check_can_be_timed(input.device(), "--check"));
  COHORT_TRY(const auto backend, open_device(input.device().id));
  COHORT_CHECK(check_profiled_device(backend->info(), input.device(), "--check"));
  CheckOptions check;
  check.budget = Nanoseconds(std::llround(*options.check * 1e9));
  check.progress = [&](const std::string& what) { context.console.progress(what); };
  auto done = check_plans(*backend, result, check, context.cancel);
  context.console.clear_progress();
  if (!done) return in_context("--check", done.error());
  return done;
}

/// What was found before Ctrl-C is written all the same; the exit code says that there may be better.
Result<void> search(const PlanCommandOptions& options, CommandContext& context) {
  PlanningFlags flags = options.planning;
  PlannerOptions planner;
  COHORT_TRY(planner.objective, objective_from(options.objective));
  const bool by_latency = planner.objective == Objective::kP99Latency || planner.objective == Objective::kBalancedGain;
  if (options.check && by_latency)
    return fail(ErrorCode::kUsage,
                "--check measures throughput, not the latencies that --objective {} ranks by; leave out one of them",
                options.objective);
  COHORT_TRY(planner.latency_limit, take_latency_limit(flags.limits));
  COHORT_TRY(const PlanningOptions planning, planning_options(flags));
  COHORT_TRY(const auto input, PlanningInput::open(planning, context.read));
  COHORT_TRY(const PlanFiles files, files_for(options, *input, context));
  planner.cancel = &context.cancel;
  planner.pareto = options.pareto;
  planner.search_decode_workers = planning.input.decode_workers == 0;
  planner.search_buffers = options.buffers_option->count() == 0;
  planner.search_launch_threads = options.launch_threads_option->count() == 0;
  planner.most_explained = options.explain ? std::max(options.rows, planner.most_explained) : planner.most_explained;
  planner.progress = [&](std::size_t done, std::size_t of) {
    context.console.progress(fmt::format("simulated {} of at most {} plans", done, of));
  };
  const bool chooses = planning.members.choose_minibatch || planning.members.choose_models || input->cases().size() > 1;
  COHORT_TRY(PlanningResult result,
             chooses ? plan_best_of(input->cases(), planner) : plan_model_batch(input->planning_case(), planner));
  context.console.clear_progress();
  PlanCheck check;
  const bool checks = options.check && !result.interrupted;
  if (checks) {
    COHORT_TRY(check, check_on_device(options, *input, result, context));
  }
  PendingFiles pending(context.overwrite);
  COHORT_TRY(const std::optional<PlanReport> best, add_best(result, check.best, *input, files, pending));
  if (!options.candidates.empty()) COHORT_CHECK(add_candidates(result, options.candidates, pending));
  PendingFiles learned(Overwrite::kAllow);
  COHORT_CHECK(add_check(check, result, input->profiles(), learned));
  COHORT_CHECK(pending.commit());
  COHORT_CHECK(learned.commit());
  const Fallbacks fallbacks = best ? find_fallbacks(best->trace) : Fallbacks();
  const auto make_document = [&] {
    ordered_json document = to_json(result, planning.members.choose_models.has_value());
    document["best"] = best ? to_json(*best) : ordered_json();
    if (!fallbacks.ops.empty()) document["plain_loops"] = to_json(fallbacks);
    if (checks) document["check"] = to_json(check, result);
    return document;
  };
  std::string text = to_text(result, best, options);
  if (checks) text += check_text(check, result) + fmt::format("written: {}\n", result.ranked[check.best].name);
  report(files, make_document, text, context);
  warn_of_plain_loops(fallbacks, context);
  if (result.interrupted) return context.cancel.check();
  return {};
}

/// Chooses algorithm and threads of every step of a plan that is there already.
Result<void> resolve(const PlanCommandOptions& options, CommandContext& context) {
  COHORT_TRY(Plan plan, read_plan(options.resolve));
  plan.resolved.reset();
  plan.baselines.clear();  // which may be of other members or limits than the plan has by now
  COHORT_TRY(const auto input, PlanningInput::open(options.planning.values.profiles, plan,
                                                   options.planning.values.gpu_profile, context.read));
  COHORT_TRY(const PlanFiles files, files_for(options, *input, context));
  auto prediction = predict_plan(input->planning_case(), plan, input->device());
  if (!prediction) return in_context(options.resolve.string(), prediction.error());
  PendingFiles pending(context.overwrite);
  COHORT_CHECK(files.add(prediction->plan, prediction->run.trace, pending));
  COHORT_CHECK(pending.commit());
  const Nanoseconds step = prediction->run.prediction.step_time;
  const auto make_document = [&] {
    return ordered_json{{"step_ns", step.count()},
                        {"baseline_ns", prediction->baseline.count()},
                        {"predicted_speedup", prediction->speedup}};
  };
  report(files, make_document,
         fmt::format("{} members: {} a step predicted, {} one by one, speedup {:.2f}x\n", plan.members.size(),
                     format_time(step), format_time(prediction->baseline), prediction->speedup),
         context);
  return {};
}

Result<void> search_traces(const PlanCommandOptions& options, Trace first, CommandContext& context) {
  const std::vector<std::filesystem::path>& files = options.planning.values.profiles;
  if (const auto names = given(options.of_profiles); !names.empty())
    return fail(ErrorCode::kUsage, "{} is the trace of a run; only profiles (cohort profile MODEL) take {}",
                files.front().string(), names_of(names));
  COHORT_TRY(const std::vector<StepOptions> steps, options.steps.options(files.size()));
  const auto if_given = [](const CLI::Option* option, int value) {
    return option->count() > 0 ? std::optional(value) : std::nullopt;
  };
  TracePlanningOptions traces;
  traces.files = files;
  traces.models = options.planning.values.members.counts;
  traces.buffers = if_given(options.buffers_option, options.planning.values.input.buffers);
  traces.launch_threads = if_given(options.launch_threads_option, options.planning.values.launch_threads);
  traces.shared_input = options.input_option->count() > 0 && options.planning.input == "shared";
  traces.limits = options.planning.limits;
  traces.device_profile = options.planning.values.gpu_profile;
  traces.rows = options.rows;
  traces.explain = options.explain;
  traces.output = options.output;
  return plan_traces(traces, std::move(first), steps, context);
}

/// Profiles of models are planned with; traces of runs can only be asked what would be if.
Result<void> run(const PlanCommandOptions& options, CommandContext& context) {
  if (!options.resolve.empty()) return resolve(options, context);
  COHORT_CHECK(check_usage(options.planning));
  COHORT_TRY(Trace first, read_trace(options.planning.values.profiles.front(), context.read));
  if (first.info.kind != TraceKind::kProfile) return search_traces(options, std::move(first), context);
  if (const auto names = given(options.of_traces); !names.empty())
    return fail(ErrorCode::kUsage, "{} is a profile; only traces of runs take {}",
                options.planning.values.profiles.front().string(), names_of(names));
  return search(options, context);
}

/// What is looked for unless it is given.
void add_searched_options(CLI::App& app, PlanCommandOptions& options) {
  app.get_option("--decode-workers")
      ->description("Decoding threads; default with --data: the best of 1, 2, 4, ... and all cores");
  options.buffers_option = app.get_option("--buffers");
  app.get_option("--buffers")->description("Minibatches in flight per input; default with --data: the best of 1 to 4");
  options.launch_threads_option = app.add_option("--launch-threads", options.planning.values.launch_threads,
                                                 "GPUs only: host threads that launch kernels, where several streams "
                                                 "run without graphs; default: the best of 1, 2, 4 and 8");
  app.add_option("--choose-models", options.planning.values.members.choose_models,
                 "Instead of -n: choose among 1, 2, 4, ... and MAX members per profile the number that is best by the "
                 "objective; throughput counts samples per second over all members. Of numbers within 2% of the best "
                 "the smallest is taken; with --choose-minibatch every number is tried at every minibatch, and the "
                 "fewest samples per step within 2% are taken")
      ->type_name("MAX")
      ->excludes(app.get_option("--models"))
      ->excludes(app.get_option("--members"));
  app.add_flag("--choose-minibatch", options.planning.values.members.choose_minibatch,
               "Given profiles that differ only in minibatch, choose the one that is best by the objective; throughput "
               "counts samples per second. Of those within 2% of the best the smallest is taken")
      ->excludes(app.get_option("--members"));
}

/// Once all others are there: the plan says what they would, or nothing is searched.
void add_resolve_option(CLI::App& app, PlanCommandOptions& options) {
  CLI::Option* const resolved = app.add_option("--resolve", options.resolve,
                                               "Instead of searching, choose algorithms and threads by recorded cost "
                                               "for this plan, which was written or edited by hand");
  resolved->type_name("PLAN");
  for (const char* name :
       {"--models",  "--members",    "--data",       "--input",      "--bad-images",       "--decode-workers",
        "--buffers", "--input-seed", "--limit",      "--precision",  "--launch-threads",   "--objective",
        "--explain", "--pareto",     "--rows",       "--candidates", "--choose-minibatch", "--choose-models",
        "--step",    "--steps",      "--annotation", "--repetition", "--window",           "--check"}) {
    resolved->excludes(app.get_option(name));
  }
}

/// What is best, and what is told and written of it.
void add_result_options(CLI::App& app, PlanCommandOptions& options) {
  app.add_option(
         "--objective", options.objective,
         "What to optimise. throughput; step-time: from a step's launch to its end; p99-latency: until a "
         "member's results are there, at the 99th percentile (nearest rank) over members and steps of the "
         "predicted schedule, which for fewer than 100 values is the longest; balanced: maximise the gain of the "
         "member that gains least, compared with an equal share of the device")
      ->check(CLI::IsMember({"throughput", "step-time", "p99-latency", "balanced"}))
      ->capture_default_str();
  app.add_flag("--explain", options.explain,
               "Print for every plan its bounds, its bottleneck, where its gain comes from and why it is slower than "
               "the best; what was not simulated, and why; and for the best its critical path and confidence");
  app.add_flag("--pareto", options.pareto,
               "Also print the Pareto front of time and memory, including plans with less workspace");
  app.add_option("--rows", options.rows, "Plans to print")->check(is_whole_number)->capture_default_str();
  app.add_option("--candidates", options.candidates,
                 "Write every ranked plan into this folder, and with --pareto the plans of the front")
      ->type_name("FOLDER");
  app.add_option(
         "--check", options.check,
         "Run the first 4 plans alternately with the baseline for this long, write the fastest, and add what was "
         "measured to the profiles for later plans")
      ->type_name("SECONDS")
      ->check(CLI::Range(0.05, 3600.0))
      ->check(is_number);
  app.add_option("-o,--output", options.output,
                 "Plan to write, with the predicted trace beside it; default: MODEL.plan.json, after the first "
                 "profile's model. From traces of runs: the predicted trace; default: TRACE.predicted.json.gz")
      ->type_name("FILE");
}

}  // namespace

Command plan_command() {
  Command command;
  command.name = "plan";
  command.help = "Rank ways to run a model batch by predicted time; write the best plan and its predicted trace";
  command.example =
      "cohort profile lenet5\n  cohort plan lenet5.trace.json.gz -n 16\n  cohort plan lenet5.trace.json.gz -n 16 -f "
      "--objective balanced --limit latency=1s --explain\n  cohort plan lenet5.trace.json.gz -f --choose-models 32 "
      "--limit memory=1GiB\n  cohort plan lenet5.trace.json.gz -n 16 -f --check 1\n  cohort profile lenet5 --minibatch "
      "16 -o lenet5-b16.trace.json.gz\n  cohort plan lenet5.trace.json.gz lenet5-b16.trace.json.gz -n 16 -f "
      "--choose-minibatch\n  cohort plan lenet5.trace.json.gz lenet5-b16.trace.json.gz -f --choose-minibatch "
      "--choose-models 32\n  (from PyTorch's profiler: cohort plan trace.json.gz -n 8; from two traces: cohort plan "
      "a.json.gz b.json.gz -n 3,2)";
  command.reads_traces = true;
  command.writes_files = true;
  command.setup = [](CLI::App& app) -> RunFunction {
    const std::size_t before = app.get_options().size();
    const auto options = std::make_shared<PlanCommandOptions>(app);
    for (std::size_t i = before; i < app.get_options().size(); ++i) options->of_traces.push_back(app.get_options()[i]);
    add_planning_options(app, options->planning);
    app.get_option("PROFILE")->description(
        "Profiles of the members' models, from cohort profile; or traces of runs, whose steps to run together");
    add_searched_options(app, *options);
    options->input_option = app.get_option("--input");
    app.get_option("--limit")->description(
        "memory=8GiB, workspace=64MiB, or latency=10ms for a member's results at the 99th percentile; repeatable");
    add_result_options(app, *options);
    add_resolve_option(app, *options);
    options->of_profiles = options_named(
        app, {"--members", "--data", "--bad-images", "--decode-workers", "--input-seed", "--precision", "--objective",
              "--pareto", "--candidates", "--choose-minibatch", "--choose-models", "--check"});
    for (const char* name : kImageOptions) options->of_profiles.push_back(app.get_option(name));
    return [options](CommandContext& context) { return run(*options, context); };
  };
  return command;
}

}  // namespace cohort
