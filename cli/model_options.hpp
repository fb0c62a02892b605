#pragma once

#include <CLI/CLI.hpp>
#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "base/result.hpp"
#include "models/source.hpp"

namespace cohort {

/// How the command line names a model.
struct ModelOptions {
  std::string model;
  std::vector<std::string> arguments;   ///< "hidden=512"
  std::vector<std::string> dims;        ///< "seq=128", "x:2=48"
  std::vector<std::string> set_inputs;  ///< "mask=1"
  std::vector<std::string> from;        ///< "features"
  std::vector<std::string> until;       ///< "boxes"
  std::int64_t minibatch = 1;
  std::uint64_t seed = 0;
  bool strict_nan = false;
};

/// How the command line names a training step.
struct TrainingOptions {
  std::string optimizer;  ///< empty: inference
  std::string loss;
  bool clip = false;
};

/// Declares --train, and --loss and --clip, which need it.
void add_training_options(CLI::App& app, TrainingOptions& options);
/// Errors: kUsage naming the option and what it takes.
Result<std::optional<TrainingSpec>> training_spec(const TrainingOptions& options);

/// Help of --strict-nan, which commands declare that run the model.
inline constexpr const char* kStrictNanHelp =
    "Keep every Relu, Clip and other activation a separate op that propagates NaN; fused into the convolution, product "
    "or addition before it, it may turn a NaN into a number (oneDNN). Slower";

/// Declares --set, --dim, --set-input, --from, --until, --minibatch and --seed; the command declares the model itself.
void add_model_options(CLI::App& app, ModelOptions& options);

/// Errors: kUsage for an argument or dimension that is not of the form name=value or is given twice.
Result<ModelSource> model_source(const ModelOptions& options);

}  // namespace cohort
