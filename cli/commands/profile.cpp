#include <cmath>
#include <filesystem>
#include <memory>
#include <nlohmann/json.hpp>
#include <optional>

#include "base/statistics.hpp"
#include "cli/calibration.hpp"
#include "cli/command.hpp"
#include "cli/cupti_tracer.hpp"
#include "cli/devices.hpp"
#include "cli/given_options.hpp"
#include "cli/image_options.hpp"
#include "cli/members.hpp"
#include "cli/model_options.hpp"
#include "cli/precision_option.hpp"
#include "cli/provenance.hpp"
#include "cli/trace_program.hpp"
#include "executor/feeder.hpp"
#include "executor/input/stages.hpp"
#include "executor/profile/beside.hpp"
#include "executor/profile/kernels.hpp"
#include "executor/profile/profile.hpp"
#include "models/onnx/onnx_file.hpp"
#include "simulator/plan/tensor_layout.hpp"
#include "tracer/file/trace_file.hpp"

namespace cohort {
namespace {

using nlohmann::ordered_json;

struct ProfileCommandOptions {
  ModelOptions model;
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
  TraceProgramOptions trace;
  OptionList of_models;    ///< options that a program's recording has no use for
  OptionList of_programs;  ///< options that a model's profile has no use for
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
    if (model.tensor(id).shape.size() == 4) shape = &model.tensor(id).shape;
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

Result<void> run(ProfileCommandOptions options, CommandContext& context) {
  if (!context.program.empty()) {
    if (!options.model.model.empty()) return fail(ErrorCode::kUsage, "give a MODEL or a program after --, not both");
    if (const auto names = given(options.of_models); !names.empty())
      return fail(ErrorCode::kUsage, "{}: of a MODEL, not of a program after --", names_of(names));
    options.trace.program = context.program;
    options.trace.output = options.output;
    return trace_program(options.trace, context);
  }
  if (options.model.model.empty()) return fail(ErrorCode::kUsage, "MODEL is required, or a program after --");
  if (const auto names = given(options.of_programs); !names.empty())
    return fail(ErrorCode::kUsage, "{}: of a program after --, not of a MODEL", names_of(names));
  COHORT_TRY(const ModelSource source, model_source(options.model));
  if (options.output.empty()) options.output = base_name(source.model) + ".trace.json.gz";
  COHORT_CHECK(check_writable(options.output, context.overwrite));
  COHORT_TRY(const LoadedModel loaded, onnx::load(source, options.model.seed));
  COHORT_TRY(const auto backend, open_device(options.device));

  std::optional<TimedInput> input;
  if (!options.data.empty()) {
    COHORT_TRY(input, timed_input(options, loaded.model));
  }
  ProfileOptions profile;
  if (!options.precision.empty()) {
    COHORT_TRY(profile.precision, precision_from(options.precision));
  }
  profile.layout = usual_layout(backend->info().kind, profile.precision);
  if (!options.layout.empty()) {
    COHORT_TRY(profile.layout, layout_from(options.layout));
  }
  profile.fused_widths = options.no_fused ? std::vector<int>() : options.fused_widths;
  if (options.most_ways > 0) profile.most_alternatives = options.most_ways;
  // No neighbour takes a GPU away for a while, and loading a case costs more there than timing it.
  if (backend->info().kind == "cuda") profile.passes = 1;
  if (!options.thorough && backend->info().kind != "cuda") {
    profile.budget = options.budget ? Nanoseconds(std::llround(*options.budget * 1e9)) : usual_budget(loaded.model);
  }
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
  COHORT_TRY(Trace trace, profile_model(*backend, loaded, profile, context.cancel));
  trace.info.settings.merge(provenance());
  write_source(source, trace.info.settings);
  trace.info.settings["precision"] = to_string(profile.precision);
  trace.info.settings["layout"] = to_string(profile.layout);
  COHORT_CHECK(write_trace(options.output, trace, context.overwrite));

  const bool recorded = trace.info.wall(kWallBeforeTracing) != nullptr;
  const double perturbation = median_ratio(trace, kWallTraced, recorded ? kWallBeforeTracing : kWallUntraced) - 1;
  const Nanoseconds step = median(trace.info.wall(kWallUntraced)->samples);
  if (context.json) {
    context.console.print_json(ordered_json{{"file", options.output.string()},
                                            {"model", source.model},
                                            {"device", backend->info().name},
                                            {"step_ns", step.count()},
                                            {"perturbation", perturbation},
                                            {"records", trace.slices.size()}});
  } else {
    context.console.print(
        fmt::format("{}: one step takes {} on {} (all cores on an op), tracing it changes that by {:+.1f}%\n",
                    source.model, format_time(step), backend->info().name, 100 * perturbation));
    if (const auto reason = trace.info.settings.find(std::string(kNotRecorded)); reason != trace.info.settings.end())
      context.console.note(fmt::format("kernels are not in the profile, only times: {}", reason->second));
    if (const auto lacking = trace.info.settings.find(std::string(kLacking)); lacking != trace.info.settings.end())
      context.console.note(fmt::format("not timed: {}; --budget SECONDS or --thorough gives it time", lacking->second));
    context.console.note(fmt::format("wrote {} ({} timings)", options.output.string(), trace.slices.size()));
  }
  return context.cancel.check();  // interrupted, it has written what it had
}

void add_program_options(CLI::App& app, TraceProgramOptions& trace) {
  app.add_flag("--whole-graphs", trace.whole_graphs,
               "Of a program: one record a graph launch, which is cheaper, instead of one a node");
  app.add_flag("--latency", trace.latency_timestamps, "Of a program: also when each launch was queued and submitted");
  app.add_flag("--event-times", trace.event_times, "Of a program: also the device's time of each event");
  app.add_option("--end-wait", trace.end_wait,
                 "Of a program: how long it may wait at its end for what its GPUs still do; the trace of one whose "
                 "kernels do not end is kept, as incomplete")
      ->type_name("SECONDS")
      ->check(CLI::Range(0.0, 86400.0))
      ->capture_default_str();
  app.add_flag("--twice", trace.twice,
               "Of a program: run it first without tracing, and say how much tracing changes its time");
}

}  // namespace

Command profile_command() {
  Command command;
  command.name = "profile";
  command.help =
      "Time each op of one model alone, the device's overheads, and with --data the input's stages; or, after --, "
      "record "
      "what any CUDA program does on the GPU";
  command.example =
      "cohort profile lenet5 --minibatch 16 -o lenet5-b16.trace.json.gz\n  cohort trace info lenet5-b16.trace.json.gz\n"
      "  (also what a program of yours does on a GPU: cohort profile -- python3 train.py --epochs 1)";
  command.takes_program = true;
  command.writes_files = true;
  command.setup = [](CLI::App& app) -> RunFunction {
    const auto options = std::make_shared<ProfileCommandOptions>();
    app.add_option("MODEL", options->model.model, "A built-in network (cohort models lists them) or an .onnx file");
    add_model_options(app, options->model);
    add_precision_option(app, options->precision,
                         "What ops compute in, float32 unless given; a device that cannot says what it can");
    app.add_option("--layout", options->layout, "How images lie in memory; unless given nhwc, on a GPU in float32 nchw")
        ->check(CLI::IsMember({"nhwc", "nchw"}));
    app.add_option("--device", options->device, "Device to profile on (cohort devices lists them)")
        ->capture_default_str();
    app.add_option("--data", options->data, "Folder of labelled JPEGs: time reading, decoding and resizing, too")
        ->type_name("FOLDER");
    add_image_options(app, options->images);
    auto* widths = app.add_option("--fused-widths", options->fused_widths, "Members of the fused calls that are timed")
                       ->delimiter(',')
                       ->check(CLI::Range(2, 1024));
    app.add_flag("--no-fused", options->no_fused, "Time no fused call; predictions then estimate them from single ops")
        ->excludes(widths);
    app.add_option(
           "--most-ways", options->most_ways,
           "Ways to run each op that are timed (cohort devices --ways lists them); all of a CPU's, 3 of a GPU's "
           "unless given, among them that with the least workspace")
        ->check(CLI::Range(1, 1000));
    auto* budget = app.add_option("--budget", options->budget,
                                  "Seconds that a CPU's profile may take; unless given 9, of a model with more than 90 "
                                  "distinct ops up to 27. What there is no time for is said, and left out")
                       ->check(CLI::Range(0.0, 86400.0));
    app.add_flag("--thorough", options->thorough,
                 "Time everything, however many minutes it takes; a GPU's profiles are always so")
        ->excludes(budget);
    app.add_flag(
        "--beside", options->beside,
        "Also time the ops that take most beside themselves, each other and, on a GPU, kernels of known demand");
    app.add_flag("--no-kernels", options->no_kernels, "On a GPU: do not record each op's kernels and calls by CUPTI");
    add_program_options(app, options->trace);
    app.add_option("-o,--output", options->output,
                   "Profile to write; MODEL.trace.json.gz or PROGRAM.trace.json.gz unless given")
        ->type_name("FILE");
    options->of_models = options_named(
        app, {"--set", "--dim", "--minibatch", "--seed", "--precision", "--layout", "--device", "--data",
              "--fused-widths", "--no-fused", "--most-ways", "--budget", "--thorough", "--beside", "--no-kernels"});
    for (const char* const name : kImageOptions) options->of_models.push_back(app.get_option(name));
    options->of_programs =
        options_named(app, {"--whole-graphs", "--latency", "--event-times", "--end-wait", "--twice"});
    return [options](CommandContext& context) { return run(*options, context); };
  };
  return command;
}

}  // namespace cohort
