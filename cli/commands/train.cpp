#include <algorithm>
#include <memory>
#include <nlohmann/json.hpp>

#include "base/rate.hpp"
#include "base/spelling.hpp"
#include "cli/command.hpp"
#include "cli/planning_options.hpp"
#include "devices/devices.hpp"
#include "planning/members.hpp"
#include "training/checkpoint.hpp"
#include "training/forecast.hpp"
#include "training/prepared_sweep.hpp"
#include "training/step_profile.hpp"
#include "training/trainer.hpp"

namespace cohort {
namespace {

struct TrainCommandOptions {
  std::filesystem::path sweep;
  std::filesystem::path output;
  std::string device{default_device()};
  std::vector<std::filesystem::path> profiles;
  std::vector<std::string> limits;
  bool dry_run = false;
  bool resume = false;
  bool make_profiles = false;
};

/// In the folder of a sweep.
constexpr const char* kProfiles = "profiles";

/// What tells that a folder holds a sweep.
constexpr const char* kOfSweeps[] = {"checkpoint.json", "results.csv"};

/// A folder that holds a sweep is not begun anew unasked.
Result<void> check_folder(const TrainCommandOptions& options, const CommandContext& context) {
  if (options.resume || context.overwrite == Overwrite::kAllow) return {};
  std::error_code error;
  for (const char* const file : kOfSweeps) {
    if (std::filesystem::exists(options.output / file, error))
      return fail(ErrorCode::kInvalidInput, "{} holds a sweep already; --resume goes on with it, -f begins anew",
                  options.output.string());
  }
  return {};
}

/// Networks of the sweep's members, m00.onnx and on: those of the next sweep may be fewer.
void remove_models(const std::filesystem::path& folder) {
  std::error_code error;
  std::vector<std::filesystem::path> models;
  for (const auto& entry : std::filesystem::directory_iterator(folder, error)) {
    const std::string name = entry.path().stem().string();
    const bool is_members =
        name.size() > 1 && name.front() == 'm' && name.find_first_not_of("0123456789", 1) == std::string::npos;
    if (is_members && entry.path().extension() == ".onnx") models.push_back(entry.path());
  }
  for (const auto& model : models) std::filesystem::remove(model, error);
}

/// For a sweep that begins anew, once all that it reads has been read: that may be here, too.
void clear_folder(const TrainCommandOptions& options, const CommandContext& context) {
  if (options.resume || context.overwrite != Overwrite::kAllow) return;
  std::error_code error;
  const bool is_of_sweep = std::any_of(std::begin(kOfSweeps), std::end(kOfSweeps), [&](const char* file) {
    return std::filesystem::exists(options.output / file, error);
  });
  if (!is_of_sweep) return;  // a folder of profiles may be anybody's
  std::filesystem::remove_all(options.output / kProfiles, error);
  remove_models(options.output / "models");
  for (const char* const file : kOfSweeps) std::filesystem::remove(options.output / file, error);
}

Result<SweepPlanner> open_planner(const TrainCommandOptions& options, const Sweep& sweep, const Backend& backend,
                                  CommandContext& context) {
  SweepPlannerOptions planner;
  planner.profiles = options.profiles;
  COHORT_TRY(planner.limits, parse_limits(options.limits));
  const bool separate = sweep.data.augmentation.sharing == Augmentation::Sharing::kPerMember;
  planner.sharing = separate ? InputSharing::kSeparate : InputSharing::kShared;
  planner.most_together = sweep.most_together;
  planner.cancel = &context.cancel;
  return SweepPlanner::open(backend.info(), std::move(planner));
}

Result<std::vector<std::string>> read_profiles(const TrainCommandOptions& options) {
  std::vector<std::string> files;
  for (const std::filesystem::path& file : options.profiles) {
    COHORT_TRY(std::string bytes, read_file(file));
    files.push_back(std::move(bytes));
  }
  return files;
}

/// A sweep that is resumed plans by the profiles that it began with: they are kept beside its results.
Result<std::vector<std::filesystem::path>> keep_profiles(const std::vector<std::string>& given,
                                                         const TrainCommandOptions& options) {
  MadeFolders made;
  std::vector<std::filesystem::path> kept;
  for (std::size_t i = 0; i < given.size(); ++i) {
    COHORT_CHECK(made.make(options.output / kProfiles));
    kept.push_back(options.output / kProfiles / fmt::format("given-{}.trace.json.gz", i + 1));
    COHORT_CHECK(write_file(kept.back(), given[i], Overwrite::kAllow));
  }
  return kept;
}

std::vector<std::filesystem::path> kept_profiles(const std::filesystem::path& folder) {
  std::vector<std::filesystem::path> files;
  std::error_code error;
  for (const auto& entry : std::filesystem::directory_iterator(folder / kProfiles, error))
    files.push_back(entry.path());
  std::sort(files.begin(), files.end());
  return files;
}

/// Of each network that trains and has none, into a folder beside the results.
Result<void> make_profiles(const TrainCommandOptions& options, const PreparedSweep& prepared, Backend& backend,
                           SweepPlanner& planner, CommandContext& context) {
  MadeFolders made;
  std::size_t number = 0;
  for (const auto& group : prepared.training_groups()) {
    const ModelSource& source = prepared.network_of[group.front()]->source;
    ++number;
    if (planner.has_profile(source)) continue;
    COHORT_CHECK(made.make(options.output / kProfiles));
    const auto file = options.output / kProfiles / fmt::format("{}-{}.trace.json.gz", base_name(source.model), number);
    COHORT_CHECK(profile_training_step(backend, source, file, context.cancel, [&](const std::string& what) {
      context.console.progress("profiling " + what);
    }));
    COHORT_CHECK(planner.add_profile(file));
    context.console.note(fmt::format("wrote {}", file.string()));
  }
  context.console.clear_progress();
  return {};
}

Result<void> dry_run(const TrainCommandOptions& options, PreparedSweep& prepared, Backend& backend,
                     SweepPlanner& planner, CommandContext& context) {
  OverheadProbe probe(prepared, backend, options.output, context.cancel);
  COHORT_TRY(const SweepForecast forecast, forecast_sweep(prepared, planner, backend, probe));
  if (context.json) {
    context.console.print_json(to_json(forecast, prepared));
  } else {
    context.console.print(to_text(forecast, prepared, options.device));
  }
  return {};
}

void report(const TrainCommandOptions& options, const PreparedSweep& prepared, const SweepTimes& times,
            CommandContext& context) {
  constexpr std::size_t kRows = 10;
  const Metric metric = prepared.sweep.metric;
  if (context.json) {
    context.console.print_json({{"folder", options.output.string()},
                                {"metric", to_string(metric)},
                                {"best", prepared.members[ranking(prepared.members, metric).front()].name},
                                {"run", to_json(times)},
                                {"members", results_json(prepared.members, metric)}});
    return;
  }
  context.console.print(results_text(prepared.members, metric, kRows));
  if (times.samples > 0)
    context.console.print(fmt::format(
        "trained {} samples in {}, {} over all members; {:.1f}% of it waiting for "
        "input, which took {} beside the steps; evaluation {}, checkpoints {}, results {}, loading {}\n",
        times.samples, format_time(times.steps), format_rate(times.samples_per_second()),
        100 * seconds(times.input) / seconds(times.steps), format_time(times.input_work), format_time(times.evaluation),
        format_time(times.checkpoints), format_time(times.results), format_time(times.loading)));
  context.console.note(fmt::format("wrote {}: results.csv, results.json, models", options.output.string()));
}

Result<void> run(TrainCommandOptions options, CommandContext& context) {
  COHORT_TRY(const std::string text, read_file(options.sweep));
  COHORT_TRY(Sweep sweep, parse_sweep(text, options.sweep));
  if (options.output.empty()) options.output = options.sweep.stem().string() + ".train";
  if (!options.dry_run) COHORT_CHECK(check_folder(options, context));
  COHORT_TRY(const auto backend, open_device(options.device));
  context.console.progress("loading");
  COHORT_TRY(PreparedSweep prepared, prepare_sweep(std::move(sweep), context.cancel));
  context.console.clear_progress();
  MadeFolders made;
  if (options.resume) {
    options.profiles = kept_profiles(options.output);
  } else if (!options.dry_run) {
    // What is wrong with the profiles is told before anything is removed; they may be among what is.
    COHORT_CHECK(open_planner(options, prepared.sweep, *backend, context).map([](const SweepPlanner&) {}));
    COHORT_TRY(const std::vector<std::string> given, read_profiles(options));
    clear_folder(options, context);
    COHORT_CHECK(made.make(options.output));
    COHORT_TRY(const auto kept, keep_profiles(given, options));
    for (std::size_t i = 0; i < kept.size(); ++i) {  // a profile elsewhere may have its model beside it
      std::error_code error;
      const auto folder = std::filesystem::weakly_canonical(options.profiles[i], error).parent_path();
      if (folder == std::filesystem::weakly_canonical(options.output / kProfiles, error)) options.profiles[i] = kept[i];
    }
  }
  COHORT_TRY(SweepPlanner planner, open_planner(options, prepared.sweep, *backend, context));
  if (options.make_profiles) COHORT_CHECK(made.make(options.output));
  if (options.make_profiles) COHORT_CHECK(make_profiles(options, prepared, *backend, planner, context));
  if (options.dry_run) return dry_run(options, prepared, *backend, planner, context);

  TrainerOptions trainer_options;
  trainer_options.folder = options.output;
  trainer_options.sweep_text = text;
  trainer_options.resume = options.resume;
  trainer_options.cancel = &context.cancel;
  trainer_options.progress = [&](const std::string& what) { context.console.progress(what); };
  trainer_options.note = [&](const std::string& what) { context.console.note(what); };
  Trainer trainer(prepared, *backend, planner, std::move(trainer_options));
  const Result<void> trained = trainer.run();
  context.console.clear_progress();
  const bool is_interrupted = !trained && trained.error().code == ErrorCode::kInterrupted;
  if (is_interrupted && !CheckpointFolder(options.output).has_checkpoint())
    return fail(ErrorCode::kInterrupted, "interrupted before the first step");
  if (is_interrupted)
    return fail(ErrorCode::kInterrupted, "interrupted; cohort train {} -o {}{} --resume goes on",
                as_shell_word(options.sweep.string()), as_shell_word(options.output.string()),
                options.device == default_device() ? "" : " --device " + as_shell_word(options.device));
  COHORT_CHECK(trained);
  report(options, prepared, trainer.times(), context);
  return {};
}

}  // namespace

Command train_command() {
  Command command;
  command.name = "train";
  command.help = "Train the models of a hyperparameter sweep together on one device, and rank them";
  command.example =
      "cohort dataset synth photos --classes 4 --images-per-class 25\n"
      "  cohort train sweep.toml --dry-run\n"
      "  cohort train sweep.toml -o trained      # --resume goes on after Ctrl-C\n\n"
      "sweep.toml:\n"
      "  model = \"smallcnn\"                  # or net.onnx\n"
      "  minibatch = 8\n"
      "  epochs = 2\n"
      "  optimizer = \"adam\"                  # sgd, momentum, nesterov, adam, adamw\n"
      "  [data]\n"
      "  folder = \"photos\"                   # or train = \"x.npy\", labels = \"y.npy\"; or csv = \"t.csv\", label = "
      "\"kind\"\n"
      "  held_out = 0.2\n"
      "  [space]\n"
      "  learning_rate = [0.001, 0.003]";
  command.writes_files = true;
  command.setup = [](CLI::App& app) -> RunFunction {
    const auto options = std::make_shared<TrainCommandOptions>();
    app.add_option("SWEEP", options->sweep, "What to train, on which data: a TOML file (docs/training.md)")->required();
    app.add_option("-o,--output", options->output,
                   "Folder for results, models and checkpoints; SWEEP.train unless given")
        ->type_name("FOLDER");
    auto* resume = app.add_flag("--resume", options->resume, "Go on from the folder's checkpoint, bit for bit");
    app.add_flag("--dry-run", options->dry_run,
                 "Train nothing: print members, plans and memory, and with profiles the time that all of it takes")
        ->excludes(resume);
    app.add_option("--device", options->device, "Device to train on (cohort devices lists them)")
        ->capture_default_str();
    app.add_option("--profile", options->profiles,
                   "Profiles of training steps (cohort profile MODEL --train OPTIMIZER): members run by the fastest "
                   "plan they predict; without profiles side by side")
        ->type_name("FILE")
        ->excludes(resume);
    app.add_flag("--make-profiles", options->make_profiles,
                 "Profile each network that has no --profile, in seconds each; plan with these profiles and keep them "
                 "in the folder")
        ->excludes(resume);
    app.add_option("--limit", options->limits, "memory=8GiB or workspace=64MiB, of each model batch")
        ->allow_extra_args(false)
        ->type_name("NAME=BYTES")
        ->excludes(resume);
    return [options](CommandContext& context) { return run(*options, context); };
  };
  return command;
}

}  // namespace cohort
