#include <filesystem>
#include <map>
#include <memory>
#include <nlohmann/json.hpp>
#include <string>
#include <vector>

#include "cli/calibration.hpp"
#include "cli/command.hpp"
#include "cli/device_fit.hpp"
#include "cli/given_options.hpp"
#include "planning/provenance.hpp"
#include "tracer/file/trace_file.hpp"

namespace cohort {
namespace {

using nlohmann::ordered_json;

struct CalibrateCommandOptions {
  std::string device = "cuda:0";
  std::filesystem::path output;
  std::filesystem::path properties;
  std::filesystem::path fit;
  std::vector<std::filesystem::path> kernels;
  int repetitions = 5;
  int seconds = 110;
  OptionList of_measuring;  ///< options that fitting a recording has no use for
};

/// Descriptions of the device, one file each, named after it.
struct WrittenProperties {
  std::vector<std::string> files;
  std::map<std::string, std::string> missing;  ///< by the file's name: why there is none
};

Result<WrittenProperties> add_properties(const CalibrationPlugin& plugin, int index,
                                         const std::filesystem::path& folder, PendingFiles& pending) {
  WrittenProperties written;
  if (folder.empty()) return written;
  COHORT_TRY(const DeviceDescriptions descriptions, plugin.properties(index));
  for (const auto& [name, json] : descriptions.json) {
    const std::filesystem::path file = folder / (name + ".json");
    COHORT_CHECK(pending.add(file, json));
    written.files.push_back(file.string());
  }
  for (const auto& [name, reason] : descriptions.missing) written.missing.emplace(name + ".json", reason);
  return written;
}

/// From measurements that were made before to a profile.
Result<void> fit_recording(const CalibrateCommandOptions& options, CommandContext& context) {
  if (const auto names = given(options.of_measuring); !names.empty()) {
    return fail(ErrorCode::kUsage, "{}: not with --fit, which measures nothing", names_of(names));
  }
  const std::filesystem::path output = options.output.empty() ? "device.profile.json" : options.output;
  COHORT_CHECK(check_writable(output, context.overwrite));
  const auto named = [&](const std::filesystem::path& file) -> Result<NamedTrace> {
    COHORT_TRY(Trace trace, read_trace(file, context.read));
    return NamedTrace{file, std::make_shared<const Trace>(std::move(trace))};
  };
  COHORT_TRY(const NamedTrace recording, named(options.fit));
  std::vector<NamedTrace> profiles;
  for (const std::filesystem::path& file : options.kernels) {
    COHORT_TRY(profiles.emplace_back(), named(file));
  }
  return write_device_fit(recording, profiles, output, context);
}

Result<void> run(const CalibrateCommandOptions& chosen, CommandContext& context) {
  if (!chosen.fit.empty()) return fit_recording(chosen, context);
  CalibrateCommandOptions options = chosen;
  if (options.output.empty()) options.output = "calibration.trace.json.gz";
  COHORT_TRY(const int index, gpu_index(options.device));
  COHORT_CHECK(check_writable(options.output, context.overwrite));
  COHORT_TRY(const CalibrationPlugin* const plugin, open_calibration_plugin());
  PendingFiles pending(context.overwrite);
  COHORT_TRY(const WrittenProperties properties, add_properties(*plugin, index, options.properties, pending));
  CalibrationOptions calibration;
  calibration.device = index;
  calibration.repetitions = options.repetitions;
  calibration.budget = std::chrono::seconds(options.seconds);
  calibration.cancel = &context.cancel;
  calibration.progress = [&](const std::string& block) { context.console.progress("measuring " + block); };
  COHORT_TRY(Trace trace, plugin->calibrate(calibration));
  trace.info.settings.merge(provenance());
  for (const auto& [file, reason] : properties.missing) trace.info.settings[file + " not written"] = reason;
  COHORT_CHECK(pending.add(options.output, trace_bytes(options.output, trace)));
  COHORT_CHECK(pending.commit());
  if (context.json) {
    context.console.print_json(ordered_json{{"file", options.output.string()},
                                            {"device", trace.info.device.name},
                                            {"records", trace.slices.size()},
                                            {"properties", properties.files},
                                            {"properties_missing", properties.missing},
                                            {"left_out", trace.info.dropped}});
    return {};
  }
  context.console.print(fmt::format("{}: {} measurements\n", trace.info.device.name, trace.slices.size()));
  for (const auto& [reason, count] : trace.info.dropped) context.console.note(reason);
  for (const std::string& file : properties.files) context.console.note("wrote " + file);
  for (const auto& [file, reason] : properties.missing)
    context.console.note(fmt::format("{} is not written: {}", file, reason));
  context.console.note(fmt::format("wrote {}", options.output.string()));
  return {};
}

}  // namespace

Command calibrate_command() {
  Command command;
  command.name = "calibrate";
  command.help =
      "Measure a GPU with small kernels of known work: launches, graphs, block dispatch, copies, throughput and pairs. "
      "Every repetition is recorded; --fit turns the recording into a device profile";
  command.example = "cohort calibrate --device cuda:0 --properties .";
  command.reads_traces = true;
  command.writes_files = true;
  command.setup = [](CLI::App& app) -> RunFunction {
    const auto options = std::make_shared<CalibrateCommandOptions>();
    app.add_option("--device", options->device, "GPU to measure")->capture_default_str();
    app.add_option("--repetitions", options->repetitions, "Repetitions of each measurement")
        ->check(CLI::Range(1, 1000))
        ->capture_default_str();
    app.add_option("--seconds", options->seconds, "Start no further measurements after this time; 0 measures nothing")
        ->check(CLI::Range(0, 3600))
        ->capture_default_str();
    app.add_option("--properties", options->properties,
                   "Also write descriptions of the device into this folder: cuda.json, and cudnn.json, from which "
                   "cuDNN lists its engines on machines without the device")
        ->type_name("FOLDER");
    app.add_option(
           "--fit", options->fit,
           "Measure nothing: fit a device profile to this recording, starting from the device's published figures")
        ->type_name("TRACE");
    app.add_option("--kernels", options->kernels,
                   "With --fit: profiles made with --beside, to find what their ops use of the device")
        ->type_name("PROFILE")
        ->needs("--fit");
    app.add_option("-o,--output", options->output,
                   "File to write; default: calibration.trace.json.gz, or device.profile.json with --fit")
        ->type_name("FILE");
    options->of_measuring = options_named(app, {"--device", "--repetitions", "--seconds", "--properties"});
    return [options](CommandContext& context) { return run(*options, context); };
  };
  return command;
}

}  // namespace cohort
