#include <algorithm>
#include <memory>
#include <nlohmann/json.hpp>

#include "cli/command.hpp"
#include "cli/given_options.hpp"
#include "cli/planning.hpp"
#include "cli/run_report.hpp"
#include "cli/step_options.hpp"
#include "cli/text_checks.hpp"
#include "cli/trace_planning.hpp"
#include "tracer/file/trace_file.hpp"

namespace cohort {
namespace {

using nlohmann::ordered_json;

struct PlanCommandOptions {
  explicit PlanCommandOptions(CLI::App& app) : steps(app, TraceCount::kSeveral) {}

  StepOptionSet steps;
  OptionList of_traces;    ///< options that profiles do not have
  OptionList of_profiles;  ///< options that traces of runs do not have
  PlanningOptions planning;
  std::filesystem::path resolve;  ///< a plan to resolve instead of searching for one
  std::filesystem::path output;
  std::filesystem::path candidates;
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

/// What the best saves more than this one, by cause.
ordered_json lost_json(const PlanCandidate& best, const PlanCandidate& candidate) {
  ordered_json lost = ordered_json::object();
  for (const LostGain& each : lost_to(best, candidate)) lost[std::string(to_string(each.cause))] = each.less.count();
  return lost;
}

ordered_json to_json(const PlanCandidate& candidate, const PlanCandidate& best) {
  ordered_json gain = ordered_json::object();
  for (std::size_t i = 0; i < kGainCauses; ++i) {
    const auto cause = static_cast<GainCause>(i);
    gain[std::string(to_string(cause))] = candidate.attribution.of(cause).count();
  }
  const MemoryUse& memory = candidate.prediction.memory;
  ordered_json json = {{"name", candidate.name},
                       {"step_ns", candidate.prediction.step_time.count()},
                       {"predicted_speedup", candidate.speedup},
                       {"speedup_80_low", candidate.interval.low},
                       {"speedup_80_high", candidate.interval.high},
                       {"samples_per_second", candidate.prediction.samples_per_second},
                       {"launch_to_end_ns", candidate.prediction.launch_to_end.count()},
                       {"p99_latency_ns", candidate.prediction.p99_latency.count()},
                       {"least_gain", candidate.least_gain},
                       {"lower_bound_ns", candidate.prediction.lower_bound.count()},
                       {"upper_bound_ns", candidate.prediction.upper_bound.count()},
                       {"binding", candidate.prediction.binding.resource},
                       {"utilisation", candidate.prediction.binding.utilisation},
                       {"steps_profiled", candidate.prediction.steps(CostOrigin::kProfiled)},
                       {"steps_interpolated", candidate.prediction.steps(CostOrigin::kInterpolated)},
                       {"steps_analytic", candidate.prediction.steps(CostOrigin::kAnalytic)},
                       {"memory_bytes", memory.total().value},
                       {"workspace_bytes", memory.workspace.value},
                       {"saved_ns", std::move(gain)},
                       {"explanation", candidate.explanation}};
  if (candidate.limited && candidate.explained) {
    json["equal_shares_ns"] = candidate.equal_shares ? ordered_json(candidate.equal_shares->count()) : ordered_json();
  }
  const bool comparable = candidate.planning_case == best.planning_case;
  if (candidate.explained && comparable) json["lost_to_best_ns"] = lost_json(best, candidate);
  return json;
}

/// Each case that was chosen from.
ordered_json cases_json(const PlanningResult& result) {
  ordered_json cases = ordered_json::array();
  for (const CaseOutcome& each : result.cases) {
    const PlanCandidate& best = result.ranked[each.best];
    cases.push_back({{"name", each.name},
                     {"members", each.members},
                     {"minibatch", each.minibatch ? ordered_json(*each.minibatch) : ordered_json()},
                     {"baseline_ns", each.baseline.count()},
                     {"samples_per_second", each.baseline_samples_per_second},
                     {"best_rank", each.best + 1},
                     {"best_step_ns", best.prediction.step_time.count()},
                     {"best_samples_per_second", best.prediction.samples_per_second},
                     {"best_speedup", best.speedup},
                     {"best_p99_latency_ns", best.prediction.p99_latency.count()},
                     {"best_memory_bytes", best.prediction.memory.total().value}});
  }
  return cases;
}

/// `by_models`: its cases are of several numbers of members, each perhaps at several minibatches.
ordered_json to_json(const PlanningResult& result, bool by_models) {
  ordered_json ranked = ordered_json::array();
  for (const PlanCandidate& candidate : result.ranked) ranked.push_back(to_json(candidate, result.ranked.front()));
  ordered_json screened = ordered_json::array();
  for (const ScreenedCandidate& candidate : result.screened) {
    screened.push_back(
        {{"name", candidate.name}, {"bound_ns", candidate.bound.count()}, {"cannot_win", candidate.cannot_win}});
  }
  ordered_json refused = ordered_json::array();
  for (const RefusedCandidate& candidate : result.refused)
    refused.push_back({{"name", candidate.name}, {"reason", candidate.reason}});
  ordered_json pareto = ordered_json::array();
  for (const ParetoPoint& point : result.pareto) {
    pareto.push_back({{"name", point.name},
                      {"step_ns", point.step_time.count()},
                      {"memory_bytes", point.memory.total().value},
                      {"workspace_bytes", point.memory.workspace.value}});
  }
  return {{"baseline_ns", result.baseline.step_time.count()},
          {"minibatches", by_models ? ordered_json::array() : cases_json(result)},
          {"model_batches", by_models ? cases_json(result) : ordered_json::array()},
          {"objective", to_string(result.objective)},
          {"interrupted", result.interrupted},
          {"ranked", std::move(ranked)},
          {"pareto", std::move(pareto)},
          {"screened", std::move(screened)},
          {"refused", std::move(refused)}};
}

/// Every ranked candidate's plan, named by its rank in as many digits as the last one's, so that others than the best
/// can be run too; and those of less memory.
Result<void> add_candidates(const PlanningResult& result, const std::filesystem::path& folder, PendingFiles& pending) {
  COHORT_CHECK(pending.make_folder(folder));
  const std::size_t digits = std::max<std::size_t>(2, std::to_string(result.ranked.size()).size());
  for (std::size_t i = 0; i < result.ranked.size(); ++i) {
    const std::string name = fmt::format("{:0{}}.plan.json", i + 1, digits);
    COHORT_CHECK(pending.add(folder / name, write_plan(result.ranked[i].plan)));
  }
  for (std::size_t i = 0; i < result.pareto.size(); ++i)
    COHORT_CHECK(pending.add(folder / fmt::format("pareto-{:02}.plan.json", i + 1), write_plan(result.pareto[i].plan)));
  return {};
}

/// Where the results go: the plan, and its predicted trace beside it.
struct Files {
  std::filesystem::path plan;
  std::filesystem::path predicted;
};

Result<Files> files_for(const PlanCommandOptions& options, const PlanningInput& input, const CommandContext& context) {
  Files files;
  files.plan = options.output.empty() ? std::filesystem::path(input.name() + ".plan.json") : options.output;
  files.predicted = files.plan;
  while (files.predicted.has_extension()) files.predicted.replace_extension();
  files.predicted += ".predicted.json.gz";
  COHORT_CHECK(check_writable(files.plan, context.overwrite));
  COHORT_CHECK(check_writable(files.predicted, context.overwrite));
  return files;
}

Result<void> add(const Plan& plan, const Trace& predicted, const Files& files, PendingFiles& pending) {
  COHORT_CHECK(pending.add(files.plan, write_plan(plan)));
  return pending.add(files.predicted, trace_bytes(files.predicted, predicted));
}

/// Adds the best plan and returns what can be said of it; nothing once interrupted: who asked for an end wants it
/// now.
Result<std::optional<PlanReport>> add_best(const PlanningResult& result, const PlanningInput& input, const Files& files,
                                           PendingFiles& pending) {
  const PlanCandidate& best = result.ranked.front();
  const PlanningCase& planning_case = input.cases()[best.planning_case];
  if (result.interrupted) {
    COHORT_TRY(const PlanPrediction prediction, predict_plan(planning_case, best.plan, input.device()));
    COHORT_CHECK(add(prediction.plan, prediction.run.trace, files, pending));
    return std::nullopt;
  }
  COHORT_TRY(PlanReport report, report_plan(planning_case, best.plan, input.device()));
  COHORT_CHECK(add(report.plan, report.trace, files, pending));
  return report;
}

/// The table, or reasons; then how sure the prediction of the best is, and with reasons its critical path.
std::string to_text(const PlanningResult& result, const std::optional<PlanReport>& best,
                    const PlanCommandOptions& options) {
  std::string text = options.explain ? explain(result, options.rows) : print(result, options.rows);
  if (best) text += options.explain ? "the best, as written:\n" + path_text(*best) : confidence_line(*best);
  if (options.pareto) text += "\n" + print_pareto(result);
  return text;
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

/// What was found before Ctrl-C is written all the same; the exit code says that there may be better.
Result<void> search(const PlanCommandOptions& options, CommandContext& context) {
  PlanningOptions planning = options.planning;
  PlannerOptions planner;
  COHORT_TRY(planner.objective, objective_from(options.objective));
  COHORT_TRY(planner.latency_limit, take_latency_limit(planning.limits));
  COHORT_TRY(const auto input, PlanningInput::open(planning, context.read));
  COHORT_TRY(const Files files, files_for(options, *input, context));
  planner.cancel = &context.cancel;
  planner.pareto = options.pareto;
  planner.search_decode_workers = planning.decode_workers == 0;
  planner.search_buffers = options.buffers_option->count() == 0;
  planner.search_launch_threads = options.launch_threads_option->count() == 0;
  planner.most_explained = options.explain ? std::max(options.rows, planner.most_explained) : planner.most_explained;
  planner.progress = [&](std::size_t done, std::size_t of) {
    context.console.progress(fmt::format("simulated {} of at most {} plans", done, of));
  };
  const bool chooses = planning.choose_minibatch || planning.choose_models;
  COHORT_TRY(const PlanningResult result,
             chooses ? plan_best_of(input->cases(), planner) : plan_model_batch(input->planning_case(), planner));
  context.console.clear_progress();
  PendingFiles pending(context.overwrite);
  COHORT_TRY(const std::optional<PlanReport> best, add_best(result, *input, files, pending));
  if (!options.candidates.empty()) COHORT_CHECK(add_candidates(result, options.candidates, pending));
  COHORT_CHECK(pending.commit());
  ordered_json document = to_json(result, planning.choose_models.has_value());
  document["best"] = best ? to_json(*best) : ordered_json();
  report(files, std::move(document), to_text(result, best, options), context);
  if (result.interrupted) return context.cancel.check();
  return {};
}

/// Chooses algorithm and threads of every step of a plan that is there already.
Result<void> resolve(const PlanCommandOptions& options, CommandContext& context) {
  COHORT_TRY(Plan plan, read_plan(options.resolve));
  plan.resolved.reset();
  COHORT_TRY(const auto input,
             PlanningInput::open(options.planning.profiles, plan, options.planning.gpu_profile, context.read));
  COHORT_TRY(const Files files, files_for(options, *input, context));
  auto prediction = predict_plan(input->planning_case(), plan, input->device());
  if (!prediction) return in_context(options.resolve.string(), prediction.error());
  PendingFiles pending(context.overwrite);
  COHORT_CHECK(add(prediction->plan, prediction->run.trace, files, pending));
  COHORT_CHECK(pending.commit());
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

Result<void> search_traces(const PlanCommandOptions& options, Trace first, CommandContext& context) {
  const std::vector<std::filesystem::path>& files = options.planning.profiles;
  if (const auto names = given(options.of_profiles); !names.empty())
    return fail(ErrorCode::kUsage, "{} is the trace of a run; {}: of profiles (cohort profile MODEL)",
                files.front().string(), names_of(names));
  COHORT_TRY(const std::vector<StepOptions> steps, options.steps.options(files.size()));
  const auto if_given = [](const CLI::Option* option, int value) {
    return option->count() > 0 ? std::optional(value) : std::nullopt;
  };
  TracePlanningOptions traces;
  traces.files = files;
  traces.models = options.planning.counts;
  traces.buffers = if_given(options.buffers_option, options.planning.buffers);
  traces.launch_threads = if_given(options.launch_threads_option, options.planning.launch_threads);
  traces.shared_input = options.input_option->count() > 0 && options.planning.input == "shared";
  traces.limits = options.planning.limits;
  traces.device_profile = options.planning.gpu_profile;
  traces.rows = options.rows;
  traces.explain = options.explain;
  traces.output = options.output;
  return plan_traces(traces, std::move(first), steps, context);
}

/// Profiles of models are planned with; traces of runs can only be asked what would be if.
Result<void> run(const PlanCommandOptions& options, CommandContext& context) {
  if (!options.resolve.empty()) return resolve(options, context);
  COHORT_CHECK(check_usage(options.planning));
  COHORT_TRY(Trace first, read_trace(options.planning.profiles.front(), context.read));
  if (first.info.kind != TraceKind::kProfile) return search_traces(options, std::move(first), context);
  if (const auto names = given(options.of_traces); !names.empty())
    return fail(ErrorCode::kUsage, "{} is a profile; {}: of traces of runs", options.planning.profiles.front().string(),
                names_of(names));
  return search(options, context);
}

/// What is looked for unless it is given.
void add_searched_options(CLI::App& app, PlanCommandOptions& options) {
  app.get_option("--decode-workers")
      ->description("Threads that decode; with --data the best of 1, 2, 4 ... and all cores unless given");
  options.buffers_option = app.get_option("--buffers");
  app.get_option("--buffers")
      ->description("Minibatches in flight per input; with --data the best of 1 to 4 unless given");
  options.launch_threads_option =
      app.add_option("--launch-threads", options.planning.launch_threads,
                     "Of a GPU: host threads that launch, where several streams' steps are launched one by one; the "
                     "best of 1, 2, 4 and 8 unless given");
  app.add_option(
         "--choose-models", options.planning.choose_models,
         "Instead of -n: of 1, 2, 4, ... and MAX members of each profiled model the number that is best by the "
         "objective, with throughput in samples a second over all members; the fewest within 2% of the best; with "
         "--choose-minibatch each number at each minibatch, and the fewest samples a step within 2%")
      ->type_name("MAX")
      ->excludes(app.get_option("--models"))
      ->excludes(app.get_option("--members"));
  app.add_flag("--choose-minibatch", options.planning.choose_minibatch,
               "Of profiles that differ only in their minibatch, run one: what is best by the objective, with "
               "throughput in samples a second; the least within 2% of the best")
      ->excludes(app.get_option("--members"));
}

/// Once all others are there: the plan says what they would, or nothing is searched.
void add_resolve_option(CLI::App& app, PlanCommandOptions& options) {
  CLI::Option* const resolved = app.add_option(
      "--resolve", options.resolve,
      "Instead of searching, choose algorithms and threads by recorded cost for this plan, made or edited "
      "by hand");
  resolved->type_name("PLAN");
  for (const char* name : {"--models",         "--members",          "--data",          "--input",  "--bad-images",
                           "--decode-workers", "--buffers",          "--input-seed",    "--limit",  "--precision",
                           "--launch-threads", "--objective",        "--explain",       "--pareto", "--rows",
                           "--candidates",     "--choose-minibatch", "--choose-models", "--step",   "--steps",
                           "--annotation",     "--repetition",       "--window"}) {
    resolved->excludes(app.get_option(name));
  }
}

}  // namespace

Command plan_command() {
  Command command;
  command.name = "plan";
  command.help = "Rank ways to run a model batch by predicted time, and write the best plan and its predicted trace";
  command.example =
      "cohort profile lenet5\n  cohort plan lenet5.trace.json.gz -n 16\n"
      "  cohort plan lenet5.trace.json.gz -n 16 -f --objective balanced --limit latency=1s --explain\n"
      "  cohort plan lenet5.trace.json.gz -f --choose-models 32 --limit memory=1GiB\n"
      "  cohort profile lenet5 --minibatch 16 -o lenet5-b16.trace.json.gz\n"
      "  cohort plan lenet5.trace.json.gz lenet5-b16.trace.json.gz -n 16 -f --choose-minibatch\n"
      "  cohort plan lenet5.trace.json.gz lenet5-b16.trace.json.gz -f --choose-minibatch --choose-models 32\n"
      "  (also of PyTorch's profiler, how to run its steps together: cohort plan trace.json.gz -n 8, and those of "
      "two: cohort plan a.json.gz b.json.gz -n 3,2)";
  command.reads_traces = true;
  command.writes_files = true;
  command.setup = [](CLI::App& app) -> RunFunction {
    const std::size_t before = app.get_options().size();
    const auto options = std::make_shared<PlanCommandOptions>(app);
    for (std::size_t i = before; i < app.get_options().size(); ++i) options->of_traces.push_back(app.get_options()[i]);
    add_planning_options(app, options->planning);
    app.get_option("PROFILE")->description(
        "Profiles of the members' models (cohort profile); or traces of runs, whose steps are run together");
    add_searched_options(app, *options);
    options->input_option = app.get_option("--input");
    app.get_option("--limit")->description(
        "memory=8GiB, workspace=64MiB, or latency=10ms of a member's results at the 99th percentile");
    app.add_option(
           "--objective", options->objective,
           "throughput; step-time: a program step from its launch to its end; p99-latency: until a member's "
           "results are there, 99th percentile (nearest rank) over members and steps of a predicted schedule without "
           "chance, so that below 100 of them it is the longest; balanced: the largest gain of the member "
           "that gains least, against an equal share of the device")
        ->check(CLI::IsMember({"throughput", "step-time", "p99-latency", "balanced"}))
        ->capture_default_str();
    app.add_flag("--explain", options->explain,
                 "Say of every plan its bounds, what binds it, where its gain comes from and what it lost to the best, "
                 "what was not simulated and why, and of the best its critical path and confidence");
    app.add_flag("--pareto", options->pareto,
                 "Also print time against memory: the plans that no other beats in both, with less workspace, too");
    app.add_option("--rows", options->rows, "Candidates to print")->check(is_whole_number)->capture_default_str();
    app.add_option("--candidates", options->candidates,
                   "Write every ranked plan into this folder, by rank, and with --pareto those too")
        ->type_name("FOLDER");
    app.add_option("-o,--output", options->output,
                   "Plan to write; NAME.plan.json unless given. The predicted trace goes beside it. Of traces of runs "
                   "the predicted trace; NAME.predicted.json.gz unless given")
        ->type_name("FILE");
    add_resolve_option(app, *options);
    options->of_profiles =
        options_named(app, {"--members", "--data", "--bad-images", "--decode-workers", "--input-seed", "--precision",
                            "--objective", "--pareto", "--candidates", "--choose-minibatch", "--choose-models"});
    for (const char* name : kImageOptions) options->of_profiles.push_back(app.get_option(name));
    return [options](CommandContext& context) { return run(*options, context); };
  };
  return command;
}

}  // namespace cohort
