#include <algorithm>
#include <memory>
#include <nlohmann/json.hpp>

#include "cli/command.hpp"
#include "cli/fuse_option.hpp"
#include "cli/given_options.hpp"
#include "cli/planning_options.hpp"
#include "cli/trace_simulation.hpp"
#include "planning/given_way.hpp"
#include "planning/plan_files.hpp"
#include "simulator/planner/plan_report.hpp"
#include "simulator/report/prediction_json.hpp"
#include "simulator/report/prediction_text.hpp"
#include "tracer/file/trace_file.hpp"

namespace cohort {
namespace {

struct SimulateCommandOptions {
  explicit SimulateCommandOptions(CLI::App& app) : traces(app) {}

  TraceSimulation traces;
  PlanningFlags planning;
  OptionList of_profiles;  ///< options that traces of runs do not have
  OptionList of_members;   ///< options for what a plan says itself
  const CLI::Option* input_option = nullptr;
  const CLI::Option* buffers_option = nullptr;
  const CLI::Option* streams_option = nullptr;
  std::filesystem::path plan;
  std::string strategy = "serial";
  int streams = 1;
  std::string fuse = "none";
  bool graphs = false;
  std::string workspace;
  std::filesystem::path output;
};

Result<GivenPlan> plan_of(const SimulateCommandOptions& options, const PlanningInput& input, CommandContext& context) {
  if (!options.plan.empty()) return GivenPlan{*input.planning_case().base, false, std::nullopt, {}};
  GivenWay way;
  way.streams = options.streams;
  COHORT_TRY(way.strategy, strategy_from(options.strategy));
  COHORT_TRY(way.fuse, parse_fuse(options.fuse));
  COHORT_TRY(GivenPlan given, plan_given_way(input.planning_case(), way, context.cancel));
  if (given.nothing_fused)
    context.console.note("--fuse auto: nothing is fused, as no op of equal members can be within the limits");
  if (!given.left_alone.empty())
    context.console.note(fmt::format("--fuse: left unfused, as no strategy applies to them there: {}",
                                     fmt::join(given.left_alone, ", ")));
  return given;
}

/// What no profile can answer, and what excludes each other.
Result<void> check_what_ifs(const SimulateCommandOptions& options) {
  if (!options.plan.empty()) return {};  // which says it all
  const int threads = options.planning.values.launch_threads;
  if (threads > 1 && options.graphs)
    return fail(ErrorCode::kUsage, "--launch-threads {} and --graphs: a graph is one launch; give one of them",
                threads);
  COHORT_TRY(const FuseRequest fuse, parse_fuse(options.fuse));
  COHORT_TRY(const Strategy strategy, strategy_from(options.strategy));
  if (fuse.choice != FuseChoice::kNone && is_fused(strategy))
    return fail(ErrorCode::kUsage, "--fuse {}: --strategy {} already says how all ops run; give one of them",
                options.fuse, options.strategy);
  return {};
}

Result<std::optional<Bytes>> workspace_limit(const SimulateCommandOptions& options) {
  if (options.workspace.empty()) return std::nullopt;
  const auto is_same = [](const std::string& limit) { return limit.starts_with("workspace="); };
  if (std::any_of(options.planning.limits.begin(), options.planning.limits.end(), is_same)) {
    return fail(ErrorCode::kUsage, "--workspace and --limit workspace= are the same limit: give one of them");
  }
  COHORT_TRY(const Bytes limit, parse_bytes("--workspace", options.workspace));
  return limit;
}

Result<std::unique_ptr<PlanningInput>> open_input(const SimulateCommandOptions& options, const TraceReadOptions& read) {
  COHORT_TRY(const std::optional<Bytes> workspace, workspace_limit(options));
  if (options.plan.empty()) {
    COHORT_TRY(PlanningOptions planning, planning_options(options.planning));
    if (workspace) planning.limits.workspace = *workspace;
    planning.launch = options.graphs ? LaunchMode::kGraph : LaunchMode::kSingle;
    return PlanningInput::open(planning, read);
  }
  if (const auto names = given(options.of_members); !names.empty()) {
    return fail(ErrorCode::kUsage, "{}: {} already says that; edit the plan, or leave --plan out", names_of(names),
                options.plan.string());
  }
  COHORT_TRY(Plan plan, read_plan(options.plan));
  if (workspace) {  // another limit asks for other algorithms, and for a baseline within it
    plan.limits.workspace = *workspace;
    plan.resolved.reset();
    plan.baselines.clear();
  }
  return PlanningInput::open(options.planning.values.profiles, std::move(plan), options.planning.values.gpu_profile,
                             read);
}

Result<SharedSimulationOptions> shared_options(const SimulateCommandOptions& options) {
  const auto given = [](const CLI::Option* option, auto value) {
    return option->count() > 0 ? std::optional(value) : std::nullopt;
  };
  SharedSimulationOptions shared;
  shared.files = options.planning.values.profiles;
  shared.models = options.planning.values.members.counts;
  shared.streams = given(options.streams_option, options.streams);
  shared.buffers = given(options.buffers_option, options.planning.values.input.buffers);
  shared.input = given(options.input_option, options.planning.input);
  COHORT_TRY(shared.workspace, workspace_limit(options));
  COHORT_TRY(shared.fuse, parse_fuse(options.fuse));
  shared.graphs = options.graphs;
  shared.launch_threads = options.planning.values.launch_threads;
  shared.device_profile = options.planning.values.gpu_profile;
  shared.output = options.output;
  return shared;
}

Result<void> run_traces(const SimulateCommandOptions& options, Trace first, CommandContext& context) {
  if (const auto names = given(options.of_profiles); !names.empty()) {
    return fail(ErrorCode::kUsage, "{} is the trace of a run; only profiles (cohort profile MODEL) take {}",
                options.planning.values.profiles.front().string(), names_of(names));
  }
  COHORT_TRY(const SharedSimulationOptions shared, shared_options(options));
  return options.traces.run(shared, std::move(first), context);
}

Result<void> run_plan(const SimulateCommandOptions& options, CommandContext& context) {
  if (const auto names = options.traces.given(); !names.empty()) {
    return fail(ErrorCode::kUsage, "{} is a profile; only traces of runs take {}{}",
                options.planning.values.profiles.front().string(), names_of(names),
                std::find(names.begin(), names.end(), "--minibatch") == names.end()
                    ? ""
                    : "; profile at another minibatch instead");
  }
  COHORT_CHECK(check_what_ifs(options));
  if (!options.output.empty()) COHORT_CHECK(check_writable(options.output, context.overwrite));
  COHORT_TRY(const auto input, open_input(options, context.read));
  COHORT_TRY(const GivenPlan simulated, plan_of(options, *input, context));
  if (simulated.plan.members.size() == 1 && options.fuse != "none" && options.plan.empty())
    context.console.note("--fuse changes nothing with one member; -n N makes several");
  COHORT_TRY(PlanReport report, report_plan(input->planning_case(), simulated.plan, input->device()));
  report.unfused = simulated.unfused;
  COHORT_CHECK(context.cancel.check());
  if (!options.output.empty()) COHORT_CHECK(write_trace(options.output, report.trace, context.overwrite));
  if (context.json) {
    context.console.print_json(to_json(report));
  } else {
    context.console.print(to_text(report));
  }
  if (!options.output.empty()) context.console.note(fmt::format("wrote {}", options.output.string()));
  return {};
}

/// What-ifs of how steps are launched and which ops members compute together.
std::vector<const CLI::Option*> add_what_ifs(CLI::App& app, SimulateCommandOptions& options) {
  return {app.add_option("--fuse", options.fuse,
                         "Ops to fuse across members: none, auto (where it makes the whole step faster), or "
                         "comma-separated names of ops, for traces also of kernels and layers; * matches any text. "
                         "Profiles need --strategy serial or concurrent")
              ->type_name("none|auto|OPS")
              ->capture_default_str(),
          app.add_flag("--graphs", options.graphs,
                       "GPUs only: launch CUDA graphs, one per step for profiles, one between waits for traces; "
                       "default: single launches"),
          app.add_option(
                 "--launch-threads", options.planning.values.launch_threads,
                 "GPUs only: host threads that launch kernels; for profiles at most --streams, and not with --graphs")
              ->capture_default_str()};
}

/// A trace of a run is replayed or changed; a profile is what plans are predicted from.
Result<void> run(const SimulateCommandOptions& options, CommandContext& context) {
  if (!options.plan.empty()) return run_plan(options, context);
  COHORT_TRY(Trace first, read_trace(options.planning.values.profiles.front(), context.read));
  if (first.info.kind == TraceKind::kProfile) return run_plan(options, context);
  return run_traces(options, std::move(first), context);
}

}  // namespace

Command simulate_command() {
  Command command;
  command.name = "simulate";
  command.help =
      "Predict one way to run a model batch, from profiles of single models or from traces of runs. Without options a "
      "trace is replayed as it is";
  command.example =
      "cohort profile lenet5\n  cohort simulate lenet5.trace.json.gz -n 16 --strategy concurrent --streams 2\n  cohort "
      "plan lenet5.trace.json.gz -n 16\n  cohort run lenet5.plan.json\n  cohort simulate lenet5.measured.json.gz\n  "
      "(from PyTorch's profiler: cohort simulate trace.json.gz --models 8 --graphs --scale '*gemm*=2'; from two "
      "traces: cohort simulate a.json.gz b.json.gz --models 3,2 --step 5,12)";
  command.reads_traces = true;
  command.writes_files = true;
  command.setup = [](CLI::App& app) -> RunFunction {
    const auto options = std::make_shared<SimulateCommandOptions>(app);
    add_planning_options(app, options->planning);
    app.get_option("PROFILE")->description("Profiles of the members' models, from cohort profile, or traces of runs");
    auto* plan = app.add_option("--plan", options->plan, "Predict this plan, including its members and input")
                     ->type_name("FILE");
    auto* strategy = app.add_option("--strategy", options->strategy, "How to run ops across members")
                         ->excludes(plan)
                         ->check(CLI::IsMember(strategy_names()))
                         ->capture_default_str();
    options->streams_option =
        app.add_option("--streams", options->streams,
                       "Streams or workers of --strategy concurrent; of traces, default: one for each member")
            ->excludes(plan)
            ->check(CLI::Range(1, 1024))
            ->capture_default_str();
    const std::vector<const CLI::Option*> what_ifs = add_what_ifs(app, *options);
    app.add_option("--workspace", options->workspace,
                   "Limit all workspaces together, as --limit workspace= does, and report what that costs, compared "
                   "with an equal part for each member")
        ->type_name("BYTES");
    options->input_option = app.get_option("--input");
    options->buffers_option = app.get_option("--buffers");
    options->of_profiles = options_named(
        app, {"--members", "--data", "--bad-images", "--decode-workers", "--input-seed", "--limit", "--precision"});
    for (const char* const name : kImageOptions) options->of_profiles.push_back(app.get_option(name));
    options->of_members = options->of_profiles;
    options->of_profiles.push_back(strategy);
    for (const char* const shared : {"--models", "--input", "--buffers"}) {
      options->of_members.push_back(app.get_option(shared));
    }
    options->of_members.insert(options->of_members.end(), what_ifs.begin(), what_ifs.end());
    app.add_option("-o,--output", options->output, "Predicted trace to write")->type_name("FILE");
    return [options](CommandContext& context) { return run(*options, context); };
  };
  return command;
}

}  // namespace cohort
