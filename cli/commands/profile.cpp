#include <cmath>
#include <filesystem>
#include <memory>
#include <nlohmann/json.hpp>
#include <optional>
#include <span>

#include "base/statistics.hpp"
#include "cli/calibration.hpp"
#include "cli/command.hpp"
#include "cli/given_options.hpp"
#include "cli/image_options.hpp"
#include "cli/model_options.hpp"
#include "cli/precision_option.hpp"
#include "cli/profile_from_times.hpp"
#include "cli/text_checks.hpp"
#include "cli/trace_program.hpp"
#include "devices/cupti_tracer.hpp"
#include "devices/devices.hpp"
#include "executor/feeder.hpp"
#include "executor/input/stages.hpp"
#include "executor/profile/beside.hpp"
#include "executor/profile/kernels.hpp"
#include "executor/profile/profile.hpp"
#include "models/onnx/onnx_file.hpp"
#include "planning/members.hpp"
#include "planning/profile_additions.hpp"
#include "planning/profile_of_model.hpp"
#include "planning/recorded_settings.hpp"
#include "simulator/costs/cost_table.hpp"
#include "simulator/plan/tensor_layout.hpp"
#include "simulator/planner/uncertainty.hpp"
#include "tracer/file/trace_file.hpp"
#include "tracer/summary/fallbacks.hpp"

namespace cohort {
namespace {

using nlohmann::ordered_json;

struct ProfileCommandOptions {
  ModelOptions model;
  TrainingOptions training;
  std::string device{default_device()};
  std::string data;
  ImageOptions images;
  std::string precision;
  std::string layout;
  std::vector<int> fused_widths{4, 16};
  bool no_fused = false;
  int most_ways = 0;
  std::optional<double> budget;  ///< seconds
  bool thorough = false;
  bool no_kernels = false;
  bool beside = false;
  std::filesystem::path output;
  ProfileAdditionOptions add;
  ProfileFromTimesOptions times;
  TraceProgramOptions trace;
  OptionList of_models;     ///< options that a program's recording has no use for
  OptionList of_programs;   ///< options that a model's profile has no use for
  OptionList not_of_times;  ///< options about what is timed
  OptionList not_of_added;  ///< options that what is added to a profile takes from it
};

/// The input whose stages are timed.
struct TimedInput {
  ImagePreparation images;
  ImageTarget target;
  ImageFolder folder;
};

/// For the first image input of a model; what is wrong with it is told before minutes of profiling.
Result<TimedInput> timed_input(const ProfileCommandOptions& options, const Model& model) {
  const Shape* shape = nullptr;
  for (const TensorId id : model.inputs) {
    if (shape == nullptr && model.tensor(id).shape.size() == 4) shape = &model.tensor(id).shape;
  }
  if (shape == nullptr)
    return fail(ErrorCode::kInvalidInput, "--data: {} has no input of images [N, C, H, W]", model.name);
  TimedInput input;
  COHORT_TRY(input.images, images_of(options.images));
  input.target = image_target(input.images);
  input.target.channels = static_cast<int>((*shape)[1]);
  input.target.height = static_cast<int>((*shape)[2]);
  input.target.width = static_cast<int>((*shape)[3]);
  if (const auto valid = validate(input.target); !valid)
    return in_context(fmt::format("--data: {}", model.name), valid.error());
  COHORT_TRY(input.folder, scan_image_folder(options.data));
  return input;
}

Result<void> profile_input(const TimedInput& input, const CancelToken& cancel, Trace& trace) {
  StageSampling sampling;
  sampling.cancel = &cancel;
  COHORT_TRY(const StageSamples samples, measure_input_stages(input.folder, input.target, sampling));
  const auto add = [&](std::string_view signature, const std::vector<Nanoseconds>& times) {
    std::vector<ProfileRecord> records;
    for (const Nanoseconds time : times) {
      ProfileRecord record;
      record.signature = std::string(signature);
      record.strategy = "serial";
      record.time = time;
      records.push_back(std::move(record));
    }
    add_profile_records(trace, "input stages", signature, records);
  };
  add(kInputReadRecord, samples.read);
  add(kInputDecodeRecord, samples.decode);
  add(kInputResizeRecord, samples.transform);
  write_images(input.images, trace.info.settings);
  return {};
}

/// Ops beside others, on a GPU beside probes, too.
Result<void> profile_beside(Backend& backend, const LoadedModel& loaded, const ProfileOptions& profile,
                            const CancelToken& cancel, Trace& trace) {
  BesideOptions options;
  options.precision = profile.precision;
  options.layout = profile.layout;
  std::unique_ptr<ProbeKernels> probes;
  if (backend.info().kind == "cuda") {
    COHORT_TRY(const int index, gpu_index(backend.info().id));
    COHORT_TRY(const CalibrationPlugin* const plugin, open_calibration_plugin());
    COHORT_TRY(probes, plugin->probes(index));
  }
  return measure_beside(backend, loaded, options, probes.get(), cancel, trace);
}

double median_ratio(const Trace& trace, std::string_view a, std::string_view b) {
  const auto typical = [&](std::string_view what) { return seconds(median(trace.info.wall(what)->samples)); };
  return typical(a) / typical(b);
}

/// How the model is profiled on the device, but for what follows its ops.
Result<ProfileOptions> profiling(const ProfileCommandOptions& options, const DeviceInfo& device, const Model& model) {
  ProfileOptions profile;
  COHORT_TRY(const auto computed, precision_and_layout(options.precision, options.layout, device.kind));
  profile.precision = computed.precision;
  profile.layout = computed.layout;
  profile.fused_widths = options.no_fused ? std::vector<int>() : options.fused_widths;
  if (options.most_ways > 0) profile.most_alternatives = options.most_ways;
  // No neighbour takes a GPU away for a while, and loading a case costs more there than timing it.
  if (device.kind == "cuda") profile.passes = 1;
  if (!options.thorough && device.kind != "cuda")
    profile.budget = options.budget ? Nanoseconds(std::llround(*options.budget * 1e9)) : usual_budget(model);
  return profile;
}

void print_profile(const ProfileCommandOptions& options, const ModelSource& source, const Trace& trace,
                   CommandContext& context) {
  const bool recorded = trace.info.wall(kWallBeforeTracing) != nullptr;
  const double perturbation = median_ratio(trace, kWallTraced, recorded ? kWallBeforeTracing : kWallUntraced) - 1;
  const Nanoseconds step = median(trace.info.wall(kWallUntraced)->samples);
  const Trace* const profile = &trace;
  const auto costs = CostTable::from(std::span(&profile, 1));
  if (context.json) {
    context.console.print_json(
        ordered_json{{"file", options.output.string()},
                     {"model", source.model},
                     {"device", trace.info.device.name},
                     {"step_ns", step.count()},
                     {"perturbation", perturbation},
                     {"unexplained", costs ? ordered_json(costs->unexplained()) : ordered_json()},
                     {"records", trace.slices.size()}});
    return;
  }
  context.console.print(
      fmt::format("{}: one step takes {} on {} (all cores on an op), tracing it changes that by {:+.1f}%\n",
                  source.model, format_time(step), trace.info.device.name, 100 * perturbation));
  if (costs && costs->unexplained() > kMostUnexplained) {
    context.console.note(fmt::format(
        "the profile does not add up: a whole step and its ops differ by {:.0f}%; profile again when no other "
        "programs run, or predictions are uncertain by as much",
        100 * costs->unexplained()));
  }
  const auto setting = [&](std::string_view key) { return trace.info.settings.find(std::string(key)); };
  if (const auto reason = setting(kNotRecorded); reason != trace.info.settings.end())
    context.console.note(fmt::format("kernels are not in the profile, only times: {}", reason->second));
  if (const auto lacking = setting(kLacking); lacking != trace.info.settings.end())
    context.console.note(fmt::format("not timed: {}; allow more with --budget SECONDS or --thorough", lacking->second));
  if (const std::string fallbacks = format_fallbacks(find_fallbacks(trace)); !fallbacks.empty())
    context.console.note(fallbacks);
  context.console.note(fmt::format("wrote {} ({} timings)", options.output.string(), trace.slices.size()));
}

Result<void> run_of_model(ProfileCommandOptions options, CommandContext& context) {
  COHORT_TRY(ModelSource source, model_source(options.model));
  COHORT_TRY(source.training, training_spec(options.training));
  if (options.output.empty()) {
    const std::string& optimizer = options.training.optimizer;
    options.output = base_name(source.model) + (optimizer.empty() ? "" : "-" + optimizer) + ".trace.json.gz";
  }
  if (options.times.is_given())
    return profile_from_times(options.times, source, options.model.seed, options.precision, options.layout,
                              options.output, context);
  COHORT_CHECK(check_writable(options.output, context.overwrite));
  COHORT_TRY(const LoadedModel loaded, onnx::load(source, options.model.seed));
  COHORT_TRY(const auto backend, open_device(options.device));
  std::optional<TimedInput> input;
  if (!options.data.empty()) {
    COHORT_TRY(input, timed_input(options, loaded.model));
  }
  COHORT_TRY(ProfileOptions profile, profiling(options, backend->info(), loaded.model));
  profile.progress = [&](const std::string& what) { context.console.progress("profiling " + what); };
  const auto tracer = options.no_kernels ? nullptr : tracer_of(backend->info().id);
  profile.tracer = tracer.get();
  profile.more = [&](Trace& trace) -> Result<void> {
    if (options.beside) {
      context.console.progress("profiling ops beside others");
      COHORT_CHECK(profile_beside(*backend, loaded, profile, context.cancel, trace));
    }
    return input ? profile_input(*input, context.cancel, trace) : Result<void>();
  };
  COHORT_TRY(const Trace trace, profile_to_plan_with(*backend, loaded, source, profile, context.cancel));
  COHORT_CHECK(write_trace(options.output, trace, context.overwrite));
  print_profile(options, source, trace, context);
  return context.cancel.check();  // interrupted, it has written what it had
}

ordered_json to_json(const ProfileAddition& addition) {
  return {{"file", addition.file.string()},
          {"calls_wanted", addition.wanted},
          {"calls_without_time", addition.without_time},
          {"calls_that_failed", addition.failed},
          {"records_added", addition.records}};
}

void print(const ProfileAddition& addition, Console& console) {
  const std::string file = addition.file.string();
  console.print(addition.wanted == 0 ? fmt::format("{}: every call of the plans is in it\n", file)
                                     : fmt::format("{}: {} calls of the plans were not in it, {} timings added\n", file,
                                                   addition.wanted, addition.records));
  if (addition.without_time > 0)
    console.note(
        fmt::format("{} of these calls were not timed; --budget SECONDS gives them time", addition.without_time));
  for (const std::string& each : addition.failed) console.note(fmt::format("not timed: {}", each));
}

Result<void> run_additions(ProfileAdditionOptions options, CommandContext& context) {
  options.read = context.read;
  options.progress = [&](const std::string& what) { context.console.progress("profiling " + what); };
  COHORT_TRY(const std::vector<ProfileAddition> additions, add_to_profiles(options, context.cancel));
  ordered_json document = ordered_json::array();
  for (const ProfileAddition& addition : additions) {
    if (context.json) {
      document.push_back(to_json(addition));
    } else {
      print(addition, context.console);
    }
  }
  if (context.json) context.console.print_json(document);
  return context.cancel.check();
}

Result<void> run(ProfileCommandOptions options, CommandContext& context) {
  if (!context.program.empty()) {
    if (!options.model.model.empty()) return fail(ErrorCode::kUsage, "give either a MODEL or a program after --");
    if (const auto names = given(options.of_models); !names.empty())
      return fail(ErrorCode::kUsage, "{}: only for a MODEL, not for a program after --", names_of(names));
    options.trace.program = context.program;
    options.trace.output = options.output;
    return trace_program(options.trace, context);
  }
  if (!options.add.profiles.empty()) {
    if (!options.model.model.empty())
      return fail(ErrorCode::kUsage, "--add: the profile already says which MODEL it is of");
    if (const auto names = given(options.not_of_added); !names.empty())
      return fail(ErrorCode::kUsage, "{}: not with --add, where the profile already says so", names_of(names));
    options.add.budget = options.budget;
    return run_additions(options.add, context);
  }
  if (options.model.model.empty()) return fail(ErrorCode::kUsage, "MODEL is required, or a program after --");
  if (const auto names = given(options.of_programs); !names.empty())
    return fail(ErrorCode::kUsage, "{}: only for a program after --, not for a MODEL", names_of(names));
  if (const auto names = given(options.not_of_times); options.times.is_given() && !names.empty())
    return fail(ErrorCode::kUsage, "{}: not with --times, where nothing is timed", names_of(names));
  return run_of_model(std::move(options), context);
}

void add_program_options(CLI::App& app, TraceProgramOptions& trace) {
  app.add_flag("--whole-graphs", trace.whole_graphs,
               "Programs only: record each graph launch as one, which is cheaper, instead of each node");
  app.add_flag("--latency", trace.latency_timestamps,
               "Programs only: also record when each launch was queued and submitted");
  app.add_flag("--event-times", trace.event_times, "Programs only: also record the device's time of each event");
  app.add_option("--end-wait", trace.end_wait,
                 "Programs only: how long to wait at exit for its GPUs to finish; if they do not, the trace is kept "
                 "and marked incomplete")
      ->type_name("SECONDS")
      ->check(CLI::Range(0.0, 86400.0))
      ->check(is_number)
      ->capture_default_str();
  app.add_flag("--twice", trace.twice,
               "Programs only: run it once without tracing first, and report how much tracing slows it");
}

/// What of the model's ops is timed, and for how long.
void add_case_options(CLI::App& app, ProfileCommandOptions& options) {
  auto* widths =
      app.add_option("--fused-widths", options.fused_widths,
                     "Numbers of members at which fused calls are timed and the best plans are run; default: 4,16")
          ->delimiter(',')
          ->allow_extra_args(false)
          ->check(CLI::Range(2, 1024));
  app.add_flag("--no-fused", options.no_fused, "Time no fused calls; predictions then estimate them from single ops")
      ->excludes(widths);
  app.add_option("--most-ways", options.most_ways,
                 "Algorithms to time for each op (cohort devices --ways lists them); default: all on a CPU, 3 on a "
                 "GPU, among them the one with the least workspace")
      ->check(CLI::Range(1, 1000));
  auto* budget = app.add_option("--budget", options.budget,
                                "Seconds to spend on a CPU; default: 9, and up to 27 for models of more than 90 "
                                "distinct ops. What does not fit is left out and listed")
                     ->check(CLI::Range(0.0, 86400.0))
                     ->check(is_number);
  app.add_flag("--thorough", options.thorough, "Time everything, even if it takes minutes; always on for GPUs")
      ->excludes(budget);
  app.add_flag("--beside", options.beside,
               "Also time the slowest ops beside copies of themselves, beside each other and, on a GPU, beside kernels "
               "of known demand");
  app.add_flag("--no-kernels", options.no_kernels, "GPUs only: do not record kernels and calls with CUPTI");
}

void add_addition_options(CLI::App& app, ProfileAdditionOptions& add_options) {
  auto* add = app.add_option("--add", add_options.profiles,
                             "Instead of profiling a MODEL, add to these profiles the timings that the plans of --for "
                             "need but the profiles lack")
                  ->type_name("PROFILE");
  app.add_option("--for", add_options.plans, "Plans, from cohort plan, whose calls to time")
      ->type_name("PLAN")
      ->needs(add);
  add->needs(app.get_option("--for"));
}

}  // namespace

Command profile_command() {
  Command command;
  command.name = "profile";
  command.help =
      "Time each op of one model in place and alone, the best plans for a few numbers of members, the device's "
      "overheads and, with --data, the input pipeline. After --, record what any CUDA program does on the GPU";
  command.example =
      "cohort profile lenet5 --minibatch 16 -o lenet5-b16.trace.json.gz\n  cohort trace info "
      "lenet5-b16.trace.json.gz\n  cohort plan lenet5-b16.trace.json.gz -n 6 -o lenet5-b16.plan.json\n  cohort profile "
      "--add lenet5-b16.trace.json.gz --for lenet5-b16.plan.json\n  cohort profile lenet5 --train sgd --minibatch "
      "32\n  (what your own program does on a GPU: cohort profile -- python3 train.py --epochs 1)";
  command.takes_program = true;
  command.writes_files = true;
  command.setup = [](CLI::App& app) -> RunFunction {
    const auto options = std::make_shared<ProfileCommandOptions>();
    app.add_option("MODEL", options->model.model, "Built-in network (cohort models lists them) or .onnx file");
    add_model_options(app, options->model);
    app.add_flag("--strict-nan", options->model.strict_nan, kStrictNanHelp);
    add_training_options(app, options->training);
    add_precision_option(app, options->precision, "Precision that ops compute in; default: float32");
    app.add_option("--layout", options->layout, "Memory layout of images; default: nhwc, but nchw on a GPU in float32")
        ->check(CLI::IsMember({"nhwc", "nchw"}));
    app.add_option("--device", options->device, "Device to profile on (cohort devices lists them)")
        ->capture_default_str();
    app.add_option("--data", options->data, "Folder of labelled JPEGs: also time reading, decoding and resizing")
        ->type_name("FOLDER");
    add_image_options(app, options->images);
    add_case_options(app, *options);
    add_addition_options(app, options->add);
    add_times_options(app, options->times);
    add_program_options(app, options->trace);
    app.add_option("-o,--output", options->output,
                   "Profile to write; default: MODEL.trace.json.gz, with --train MODEL-OPTIMIZER.trace.json.gz, or "
                   "PROGRAM.trace.json.gz")
        ->type_name("FILE");
    options->of_models =
        options_named(app, {"--set",          "--dim",        "--set-input", "--from",           "--until",
                            "--strict-nan",   "--minibatch",  "--seed",      "--train",          "--loss",
                            "--clip",         "--precision",  "--layout",    "--device",         "--data",
                            "--fused-widths", "--no-fused",   "--most-ways", "--budget",         "--thorough",
                            "--beside",       "--no-kernels", "--times",     "--device-profile", "--copied"});
    options->not_of_times = options_named(app, {"--train", "--device", "--data", "--fused-widths", "--no-fused",
                                                "--most-ways", "--budget", "--thorough", "--beside", "--no-kernels"});
    for (const char* const name : kImageOptions) options->of_models.push_back(app.get_option(name));
    options->not_of_added = options->of_models;
    std::erase_if(options->not_of_added, [budget = app.get_option("--budget")](const auto* o) { return o == budget; });
    for (const char* const name : {"--add", "--for"}) options->of_models.push_back(app.get_option(name));
    options->of_programs =
        options_named(app, {"--whole-graphs", "--latency", "--event-times", "--end-wait", "--twice"});
    options->not_of_added.push_back(app.get_option("--output"));  // the profile itself gets more
    options->not_of_added.insert(options->not_of_added.end(), options->of_programs.begin(), options->of_programs.end());
    return [options](CommandContext& context) { return run(*options, context); };
  };
  return command;
}

}  // namespace cohort
