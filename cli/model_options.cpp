#include "cli/model_options.hpp"

#include <CLI/CLI.hpp>
#include <algorithm>
#include <filesystem>

#include "cli/text_checks.hpp"
#include "models/file_arguments.hpp"
#include "models/networks/networks.hpp"
#include "models/onnx/onnx_file.hpp"

namespace cohort {

void add_model_options(CLI::App& app, ModelOptions& options) {
  app.add_option("--set", options.arguments, "Argument of a built-in network; repeatable")
      ->type_name("NAME=VALUE")
      ->allow_extra_args(false);
  app.add_option("--dim", options.dims,
                 "Size of an open dimension of an .onnx file, by its name or as INPUT:POSITION (x:2=48); repeatable")
      ->type_name("NAME=N")
      ->allow_extra_args(false);
  app.add_option(
         "--set-input", options.set_inputs,
         "Make an input or another tensor of an .onnx file a constant, as the condition of an If or a length that "
         "is computed; VALUE is a number, or a list with commas; repeatable")
      ->type_name("NAME=VALUE")
      ->allow_extra_args(false);
  app.add_option("--from", options.from,
                 "Take this tensor of an .onnx file as an input, and leave out the ops that are only needed to compute "
                 "it; repeatable")
      ->type_name("TENSOR")
      ->allow_extra_args(false);
  app.add_option("--until", options.until,
                 "Compute this tensor of an .onnx file in place of the file's outputs, and leave out what it does not "
                 "need, such as a NonMaxSuppression behind it; repeatable")
      ->type_name("TENSOR")
      ->allow_extra_args(false);
  app.add_option("--minibatch", options.minibatch, "Samples per step")
      ->check(CLI::Range(1, 65536))
      ->capture_default_str()
      ->type_name("N");
  app.add_option("--seed", options.seed, "Seed for random weights")
      ->check(is_whole_number)
      ->capture_default_str()
      ->type_name("N");
}

void add_training_options(CLI::App& app, TrainingOptions& options) {
  auto* train = app.add_option("--train", options.optimizer,
                               "A training step instead of inference, with sgd, momentum, nesterov, adam or adamw")
                    ->type_name("OPTIMIZER");
  app.add_option("--loss", options.loss,
                 "Loss to minimise: cross_entropy of the first output and labels (default), mean_squared_error of the "
                 "first output and targets, or model_output where the model computes its own loss")
      ->needs(train);
  app.add_flag("--clip", options.clip, "Clip the gradient by its norm")->needs(train);
}

Result<std::optional<TrainingSpec>> training_spec(const TrainingOptions& options) {
  if (options.optimizer.empty()) return std::optional<TrainingSpec>();
  TrainingSpec spec;
  const auto update = optimizer_from(options.optimizer);
  if (!update) return fail(ErrorCode::kUsage, "--train: {}", update.error().message);
  spec.update = *update;
  spec.update.clip = options.clip;
  if (!options.loss.empty()) {
    const auto loss = loss_from(options.loss);
    if (!loss) return fail(ErrorCode::kUsage, "--loss: {}", loss.error().message);
    spec.loss = *loss;
  }
  return std::optional(spec);
}

namespace {

Result<void> add_arguments(std::string_view option, std::string_view example, const std::vector<std::string>& texts,
                           ModelSource& source, std::string_view prefix = "") {
  for (const std::string& text : texts) {
    const std::size_t sign = text.rfind('=');  // tensors of a file may have one in their names
    if (sign == 0 || sign == std::string::npos)
      return fail(ErrorCode::kUsage, "{} takes name=value (as {}), not \"{}\"", option, example, text);
    if (!source.arguments.emplace(std::string(prefix) + text.substr(0, sign), text.substr(sign + 1)).second)
      return fail(ErrorCode::kUsage, "{} gives {} twice", option, text.substr(0, sign));
  }
  return {};
}

/// Each with its place.
Result<void> add_tensors(std::string_view option, const std::vector<std::string>& tensors, ModelSource& source,
                         std::string_view prefix) {
  for (std::size_t i = 0; i < tensors.size(); ++i) {
    if (!source.arguments.emplace(std::string(prefix) + tensors[i], std::to_string(i + 1)).second)
      return fail(ErrorCode::kUsage, "{} names {} twice", option, tensors[i]);
  }
  return {};
}

}  // namespace

Result<ModelSource> model_source(const ModelOptions& options) {
  ModelSource source;
  source.model = options.model;
  COHORT_CHECK(check_utf8("model", options.model));
  source.minibatch = options.minibatch;
  source.strict_nan = options.strict_nan;
  const bool from_file = onnx::is_file(source.model);
  const auto is_named = [&](const Network& network) { return network.name == source.model; };
  std::error_code ignored;
  if (!from_file && std::none_of(networks().begin(), networks().end(), is_named) &&
      std::filesystem::exists(source.model, ignored))
    return fail(ErrorCode::kInvalidInput, "{} is no built-in network, and a model's file ends in .onnx", source.model);
  if (from_file && !options.arguments.empty())
    return fail(ErrorCode::kUsage, "--set is for built-in networks; --dim sets open dimensions of {}", source.model);
  for (const auto& [option, given] : {std::pair("--dim", &options.dims), std::pair("--set-input", &options.set_inputs),
                                      std::pair("--from", &options.from), std::pair("--until", &options.until)}) {
    if (!from_file && !given->empty())
      return fail(ErrorCode::kUsage, "{} is for .onnx files; --set gives arguments of built-in networks", option);
  }
  COHORT_CHECK(add_arguments("--set", "hidden=512", options.arguments, source));
  COHORT_CHECK(add_arguments("--dim", "seq=128", options.dims, source));
  COHORT_CHECK(add_arguments("--set-input", "mask=1", options.set_inputs, source, kSetInput));
  COHORT_CHECK(add_tensors("--from", options.from, source, kFrom));
  COHORT_CHECK(add_tensors("--until", options.until, source, kUntil));
  return source;
}

}  // namespace cohort
