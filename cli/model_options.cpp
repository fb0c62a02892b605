#include "cli/model_options.hpp"

#include <CLI/CLI.hpp>

namespace cohort {

void add_model_options(CLI::App& app, ModelOptions& options) {
  app.add_option("--set", options.arguments, "Argument of a built-in network, as name=value; may be repeated")
      ->type_name("NAME=VALUE")
      ->allow_extra_args(false);
  app.add_option("--minibatch", options.minibatch, "Samples in a step")
      ->check(CLI::Range(1, 65536))
      ->capture_default_str()
      ->type_name("N");
  app.add_option("--seed", options.seed, "Seed of random weights")->capture_default_str()->type_name("N");
}

Result<ModelSource> model_source(const ModelOptions& options) {
  ModelSource source;
  source.model = options.model;
  source.minibatch = options.minibatch;
  for (const std::string& argument : options.arguments) {
    const std::size_t sign = argument.find('=');
    if (sign == 0 || sign == std::string::npos)
      return fail(ErrorCode::kUsage, "--set takes name=value (as hidden=512), not \"{}\"", argument);
    if (!source.arguments.emplace(argument.substr(0, sign), argument.substr(sign + 1)).second)
      return fail(ErrorCode::kUsage, "--set gives {} twice", argument.substr(0, sign));
  }
  return source;
}

}  // namespace cohort
