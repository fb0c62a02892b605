#include "devices/devices.hpp"

#include <fmt/ranges.h>

#include <filesystem>
#include <memory>
#include <nlohmann/json.hpp>

#include "cli/command.hpp"
#include "cli/given_options.hpp"
#include "cli/model_options.hpp"
#include "cli/precision_option.hpp"
#include "models/onnx/onnx_file.hpp"
#include "planning/ways.hpp"
#include "simulator/plan/tensor_layout.hpp"

namespace cohort {
namespace {

using nlohmann::ordered_json;

struct DevicesCommandOptions {
  ModelOptions model;  ///< whose ways to run are listed; none: devices are
  std::string device{default_device()};
  TrainingOptions training;
  std::filesystem::path described;
  std::string precision;
  std::string layout;
  OptionList of_ways;
};

ordered_json to_json(const DeviceInfo& device) {
  return {{"id", device.id},
          {"kind", device.kind},
          {"available", device.available},
          {"reason", device.reason},
          {"name", device.name},
          {"cores", device.cores},
          {"memory_bytes", device.memory.value},
          {"settings", device.settings}};
}

std::string to_text(const DeviceInfo& device) {
  std::string text =
      fmt::format("{:<12} {:<14} {}\n", device.id, device.available ? "available" : "not available", device.name);
  const auto detail = [&](std::string_view what, std::string_view value) {
    text += fmt::format("{:<12} {}: {}\n", "", what, value);
  };
  if (!device.available) detail("reason", device.reason);
  if (device.available) detail("cores", std::to_string(device.cores));
  if (device.memory.value > 0) detail("memory", format_bytes(device.memory));
  for (const auto& [key, value] : device.settings) detail(key, value);
  return text;
}

Result<void> print_devices(CommandContext& context) {
  const std::vector<DeviceInfo> devices = list_devices();
  if (context.json) {
    ordered_json list = ordered_json::array();
    for (const DeviceInfo& device : devices) list.push_back(to_json(device));
    context.console.print_json(list);
    return {};
  }
  for (const DeviceInfo& device : devices) context.console.print(to_text(device));
  return {};
}

ordered_json to_json(const OpWays& op) {
  ordered_json ways = ordered_json::array();
  for (const Alternative& way : op.ways) {
    ways.push_back({{"algorithm", way.algorithm},
                    {"threads", way.threads},
                    {"workspace_bytes", way.workspace.value},
                    {"packed_weight_bytes", way.packed_weights.value}});
  }
  return {{"signature", op.signature}, {"ops", op.ops}, {"ways", std::move(ways)}};
}

std::string to_text(const OpWays& op, bool has_threads) {
  std::string text = fmt::format("{}\n  {}\n", fmt::join(op.ops, ", "), op.signature);
  for (const Alternative& way : op.ways) {
    const std::string threads =
        has_threads ? fmt::format(" {:>3} {:<7}", way.threads, way.threads == 1 ? "thread" : "threads") : "";
    text += fmt::format("  {:<40}{} workspace {:>9}   packed weights {:>9}\n", way.algorithm, threads,
                        format_bytes(way.workspace), format_bytes(way.packed_weights));
  }
  return text;
}

Result<void> print_ways(const DevicesCommandOptions& options, CommandContext& context) {
  COHORT_TRY(ModelSource source, model_source(options.model));
  COHORT_TRY(source.training, training_spec(options.training));
  COHORT_TRY(const LoadedModel loaded, onnx::load(source, options.model.seed));
  std::unique_ptr<OpCatalog> described;
  std::unique_ptr<Backend> device;
  if (options.described.empty()) {
    COHORT_TRY(device, open_device(options.device));
  } else {
    COHORT_TRY(described, described_device(options.described));
  }
  COHORT_TRY(const auto computed,
             precision_and_layout(options.precision, options.layout, described ? "cuda" : device->info().kind));
  const OpCatalog& catalog = described ? *described : device->catalog();
  COHORT_TRY(const auto all, ways_of_model(loaded.model, catalog, computed.precision, computed.layout));
  if (context.json) {
    ordered_json list = ordered_json::array();
    for (const OpWays& op : all) list.push_back(to_json(op));
    context.console.print_json(list);
    return {};
  }
  for (const OpWays& op : all) context.console.print(to_text(op, catalog.cores() > 1));
  return {};
}

Result<void> run(const DevicesCommandOptions& options, CommandContext& context) {
  if (!options.model.model.empty()) return print_ways(options, context);
  if (const auto names = given(options.of_ways); !names.empty())
    return fail(ErrorCode::kUsage, "{}: only with --ways MODEL", names_of(names));
  return print_devices(context);
}

}  // namespace

Command devices_command() {
  Command command;
  command.name = "devices";
  command.help =
      "List the devices that are available, and why others are not; or list the algorithms with which a device can run "
      "each op of a model";
  command.example = "cohort devices\n  cohort devices --ways lenet5 --minibatch 16";
  command.setup = [](CLI::App& app) -> RunFunction {
    const auto options = std::make_shared<DevicesCommandOptions>();
    app.add_option("--ways", options->model.model,
                   "For each op of this built-in network or .onnx file list the algorithms with their workspace and "
                   "packed weights, the library's first choice first")
        ->type_name("MODEL");
    auto* device = app.add_option("--device", options->device, "With --ways: the device")->capture_default_str();
    app.add_option("--described", options->described,
                   "With --ways: a GPU that is not here, from its description (cudnn.json of cohort calibrate "
                   "--properties); needs NVIDIA's libraries but no driver")
        ->type_name("FILE")
        ->excludes(device);
    add_model_options(app, options->model);
    app.add_flag("--strict-nan", options->model.strict_nan, kStrictNanHelp);
    add_training_options(app, options->training);
    add_precision_option(app, options->precision, "With --ways: precision that ops compute in; default: float32");
    app.add_option("--layout", options->layout,
                   "With --ways: memory layout of images; default: nhwc, but nchw on a GPU in float32")
        ->check(CLI::IsMember({"nhwc", "nchw"}));
    options->of_ways = options_named(
        app, {"--device", "--described", "--set", "--dim", "--set-input", "--from", "--until", "--strict-nan",
              "--minibatch", "--seed", "--train", "--loss", "--clip", "--precision", "--layout"});
    return [options](CommandContext& context) { return run(*options, context); };
  };
  return command;
}

}  // namespace cohort
