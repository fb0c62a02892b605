#include <charconv>

#include "models/compute/fold_constants.hpp"
#include "models/file_arguments.hpp"
#include "models/networks/networks.hpp"
#include "models/onnx/onnx_file.hpp"
#include "models/training/differentiate.hpp"

namespace cohort::onnx {

namespace {

/// Arguments of a file are the extents of its open dimensions.
Result<std::map<std::string, std::int64_t>> dims_of(const std::map<std::string, std::string>& arguments) {
  constexpr std::int64_t kMost = std::int64_t{1} << 30;
  std::map<std::string, std::int64_t> dims;
  for (const auto& [name, text] : arguments) {
    if (name.starts_with(kSetInput) || name.starts_with(kFrom) || name.starts_with(kUntil)) continue;
    std::int64_t extent = 0;
    const char* const end = text.data() + text.size();
    const auto [read, error] = std::from_chars(text.data(), end, extent);
    if (error != std::errc{} || read != end || extent < 1 || extent > kMost)
      return fail(ErrorCode::kInvalidInput, "dimension {} must be a whole number from 1 to {}, not \"{}\"", name, kMost,
                  text);
    dims.emplace(name, extent);
  }
  return dims;
}

std::map<std::string, std::string> fixed_of(const std::map<std::string, std::string>& arguments) {
  std::map<std::string, std::string> fixed;
  for (const auto& [name, text] : arguments) {
    if (name.starts_with(kSetInput)) fixed.emplace(name.substr(kSetInput.size()), text);
  }
  return fixed;
}

/// The tensors of arguments that begin with `prefix`, kFrom or kUntil, in the order of their places.
Result<std::vector<std::string>> in_their_places(const std::map<std::string, std::string>& arguments,
                                                 std::string_view prefix) {
  std::map<std::int64_t, std::string> places;
  for (const auto& [name, text] : arguments) {
    if (!name.starts_with(prefix)) continue;
    std::int64_t place = 0;
    const char* const end = text.data() + text.size();
    const auto [read, error] = std::from_chars(text.data(), end, place);
    if (error != std::errc{} || read != end || !places.emplace(place, name.substr(prefix.size())).second)
      return fail(ErrorCode::kInvalidInput,
                  "\"{}\" must be its place among the {}, a whole number that no other has, not \"{}\"", name,
                  prefix == kFrom ? "inputs" : "outputs", text);
  }
  std::vector<std::string> tensors;
  for (auto& [place, name] : places) tensors.push_back(std::move(name));
  return tensors;
}

}  // namespace

bool is_file(std::string_view model) { return model.ends_with(".onnx"); }

Result<LoadedModel> load_network(const ModelSource& source, std::uint64_t seed) {
  if (is_file(source.model)) {
    ReadOptions options;
    options.minibatch = source.minibatch;
    options.same_minibatch = true;
    options.for_training = source.training.has_value();
    auto dims = dims_of(source.arguments);
    if (!dims) return in_context(source.model, dims.error());
    options.dims = std::move(*dims);
    options.fixed = fixed_of(source.arguments);
    auto from = in_their_places(source.arguments, kFrom);
    if (!from) return in_context(source.model, from.error());
    options.from = std::move(*from);
    auto until = in_their_places(source.arguments, kUntil);
    if (!until) return in_context(source.model, until.error());
    options.until = std::move(*until);
    return read_model(source.model, options);
  }
  COHORT_TRY(Model model, make_network(source.model, source.minibatch, source.arguments));
  Weights weights = random_weights(model, seed);
  return LoadedModel{std::move(model), std::move(weights)};
}

Result<LoadedModel> load(const ModelSource& source, std::uint64_t seed) {
  COHORT_TRY(LoadedModel network, load_network(source, seed));
  if (!source.training) return optimize_for_inference(std::move(network), source.strict_nan);
  COHORT_TRY(TrainingModel training, differentiate(network, *source.training, source.strict_nan));
  return std::move(training.loaded);
}

}  // namespace cohort::onnx
