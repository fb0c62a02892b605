#include <fmt/ranges.h>

#include <algorithm>
#include <filesystem>
#include <map>
#include <memory>
#include <nlohmann/json.hpp>

#include "cli/command.hpp"
#include "cli/model_options.hpp"
#include "cli/shapes_json.hpp"
#include "models/networks/networks.hpp"
#include "models/onnx/onnx_file.hpp"

namespace cohort {
namespace {

using nlohmann::ordered_json;

struct ModelsCommandOptions {
  ModelOptions model;
  std::filesystem::path output;
};

/// A number of things for people: "61.1 M".
std::string format_count(std::int64_t count) {
  constexpr std::array kUnits = {"", " k", " M", " G", " T"};
  double value = static_cast<double>(count);
  std::size_t unit = 0;
  while (value >= 999.5 && unit + 1 < kUnits.size()) {
    value /= 1000;
    ++unit;
  }
  return fmt::format("{:.{}f}{}", value, unit == 0 || value >= 100 ? 0 : value >= 10 ? 1 : 2, kUnits[unit]);
}

ordered_json to_json(const Network& network, const Model& model) {
  ordered_json arguments = ordered_json::array();
  for (const NetworkArgument& argument : network.arguments)
    arguments.push_back({{"name", argument.name}, {"default", argument.default_value}, {"help", argument.help}});
  return {{"name", network.name},
          {"description", network.description},
          {"parameters", parameter_count(model)},
          {"flops", work_of(model).flops.value},
          {"ops", model.ops.size()},
          {"inputs", shapes_json(model, model.inputs)},
          {"outputs", shapes_json(model, model.outputs)},
          {"arguments", std::move(arguments)}};
}

std::string to_text(const Network& network, const Model& model) {
  std::string text =
      fmt::format("{:<15} {:>8} parameters  {:>8} FLOPs a step  {}\n", network.name,
                  format_count(parameter_count(model)), format_count(work_of(model).flops.value), network.description);
  for (const NetworkArgument& argument : network.arguments)
    text += fmt::format("{:<15}   {}={}: {}\n", "", argument.name, argument.default_value, argument.help);
  return text;
}

/// How many ops there are of each type, the most frequent first.
std::vector<std::pair<std::string, std::int64_t>> op_counts(const Model& model) {
  std::map<std::string, std::int64_t> by_type;
  for (const Op& op : model.ops) ++by_type[std::string(op_type(op.attributes))];
  std::vector<std::pair<std::string, std::int64_t>> counts(by_type.begin(), by_type.end());
  std::stable_sort(counts.begin(), counts.end(), [](const auto& a, const auto& b) { return a.second > b.second; });
  return counts;
}

std::string tensors_text(std::string_view what, const Model& model, const std::vector<TensorId>& tensors) {
  std::string text;
  for (const TensorId id : tensors) {
    const Tensor& tensor = model.tensor(id);
    text += fmt::format("  {} {}: {} {}\n", what, tensor.name, to_string(tensor.element), to_string(tensor.shape));
  }
  return text;
}

/// What a file holds, as it would run. Errors: what is wrong with it, or not supported.
Result<void> describe(const ModelSource& source, CommandContext& context) {
  COHORT_TRY(const LoadedModel loaded, onnx::load(source, 0));
  const Model& model = loaded.model;
  const auto counts = op_counts(model);
  if (context.json) {
    ordered_json ops = ordered_json::object();
    for (const auto& [type, count] : counts) ops[type] = count;
    context.console.print_json(ordered_json{{"model", source.model},
                                            {"parameters", parameter_count(model)},
                                            {"flops", work_of(model).flops.value},
                                            {"ops", std::move(ops)},
                                            {"inputs", shapes_json(model, model.inputs)},
                                            {"outputs", shapes_json(model, model.outputs)}});
    return {};
  }
  std::vector<std::string> types;
  for (const auto& [type, count] : counts) types.push_back(fmt::format("{} {}", count, type));
  context.console.print(fmt::format(
      "{}: {} parameters, {} FLOPs a step\n{}{}  {} ops: {}\n", source.model, format_count(parameter_count(model)),
      format_count(work_of(model).flops.value), tensors_text("input", model, model.inputs),
      tensors_text("output", model, model.outputs), model.ops.size(), fmt::join(types, ", ")));
  return {};
}

Result<void> export_model(const ModelsCommandOptions& options, CommandContext& context) {
  COHORT_CHECK(check_writable(options.output, context.overwrite));
  COHORT_TRY(const ModelSource source, model_source(options.model));
  if (onnx::is_file(source.model))
    return fail(ErrorCode::kUsage, "--export writes a built-in network, and {} is a file", source.model);
  LoadedModel loaded;
  COHORT_TRY(loaded.model, make_network(source.model, source.minibatch, source.arguments));
  loaded.weights = random_weights(loaded.model, options.model.seed);
  COHORT_TRY(const std::string bytes, onnx::serialize_model(loaded));
  COHORT_CHECK(context.cancel.check());
  COHORT_CHECK(write_file(options.output, bytes, context.overwrite));
  if (context.json) {
    context.console.print_json(ordered_json{{"model", source.model},
                                            {"file", options.output.string()},
                                            {"bytes", bytes.size()},
                                            {"parameters", parameter_count(loaded.model)}});
  } else {
    context.console.note(fmt::format("wrote {} ({}, weights from seed {})", options.output.string(),
                                     format_bytes(Bytes{static_cast<std::int64_t>(bytes.size())}), options.model.seed));
  }
  return {};
}

Result<void> list(const ModelsCommandOptions& options, CommandContext& context) {
  COHORT_TRY(const ModelSource source, model_source(options.model));
  if (source.model.empty() && !source.arguments.empty())
    return fail(ErrorCode::kUsage, "--set needs the NAME of the network it is for");
  if (onnx::is_file(source.model)) return describe(source, context);
  ordered_json all = ordered_json::array();
  std::string text;
  for (const Network& network : networks()) {
    if (!source.model.empty() && network.name != source.model) continue;
    COHORT_TRY(const Model model, make_network(network.name, source.minibatch, source.arguments));
    all.push_back(to_json(network, model));
    text += to_text(network, model);
  }
  if (all.empty()) {  // for the message that lists the networks known
    COHORT_CHECK(make_network(source.model, source.minibatch, source.arguments).map([](const Model&) {}));
  }
  if (context.json) {
    context.console.print_json(all);
  } else {
    context.console.print(text);
  }
  return {};
}

Result<void> run(const ModelsCommandOptions& options, CommandContext& context) {
  return options.output.empty() ? list(options, context) : export_model(options, context);
}

}  // namespace

Command models_command() {
  Command command;
  command.name = "models";
  command.help =
      "List the built-in networks with their arguments, parameters and FLOPs, export one to ONNX, or say what an .onnx "
      "file holds";
  command.example = "cohort models mlp --set hidden=512 --export mlp.onnx\n  cohort models mlp.onnx";
  command.writes_files = true;
  command.setup = [](CLI::App& app) -> RunFunction {
    const auto options = std::make_shared<ModelsCommandOptions>();
    auto* name =
        app.add_option("NAME", options->model.model, "Show only this network, or an .onnx file as it would run");
    app.add_option("--export", options->output, "Write network NAME with random weights as ONNX")
        ->type_name("FILE.onnx")
        ->needs(name);
    add_model_options(app, options->model);
    return [options](CommandContext& context) { return run(*options, context); };
  };
  return command;
}

}  // namespace cohort
