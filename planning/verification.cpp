#include "planning/verification.hpp"

#include <algorithm>
#include <bit>
#include <cmath>
#include <map>
#include <nlohmann/json.hpp>
#include <optional>
#include <set>
#include <system_error>

#include "base/file.hpp"
#include "base/json.hpp"
#include "executor/input_values.hpp"
#include "executor/runner.hpp"
#include "models/compute/fold_constants.hpp"
#include "models/onnx/onnx_file.hpp"
#include "simulator/plan/lower.hpp"

namespace cohort {
namespace {

namespace fs = std::filesystem;

struct Tolerance {
  double rtol = 1e-3;
  double atol = 1e-7;        ///< at least
  double of_largest = 1e-6;  ///< part of the tensor's largest element that atol is raised to
};

/// A case that cannot be run, or was run and went wrong.
struct Outcome {
  CaseStatus status = CaseStatus::kPassed;
  std::string reason;
};

Result<Tolerance> tolerance_of(const fs::path& folder) {
  Tolerance tolerance;
  const fs::path file = folder / "data.json";
  if (!fs::exists(file)) return tolerance;
  COHORT_TRY(const std::string text, read_file(file));
  const auto data = parse_json(text);
  if (!data) return in_context(file.string(), data.error());
  const auto read = [&](const char* key, double& value) -> Result<void> {
    if (!data->is_object() || !data->contains(key)) return {};
    if (!data->at(key).is_number())
      return fail(ErrorCode::kInvalidInput, "{}: {} must be a number", file.string(), key);
    value = data->at(key).get<double>();
    return {};
  };
  COHORT_CHECK(read("rtol", tolerance.rtol));
  COHORT_CHECK(read("atol", tolerance.atol));
  if (data->is_object() && data->contains("atol")) tolerance.of_largest = 0;
  return tolerance;
}

std::vector<fs::path> data_sets(const fs::path& folder) {
  std::vector<fs::path> sets;
  std::error_code error;
  for (fs::directory_iterator it(folder, error), end; !error && it != end; it.increment(error)) {
    if (it->is_directory() && it->path().filename().string().starts_with("test_data_set_")) sets.push_back(it->path());
  }
  std::sort(sets.begin(), sets.end());
  return sets;
}

/// The files of a data set that are called `kind`_0.pb, `kind`_1.pb and so on.
std::vector<fs::path> tensor_files(const fs::path& set, std::string_view kind) {
  std::vector<fs::path> files;
  while (true) {
    fs::path file = set / fmt::format("{}_{}.pb", kind, files.size());
    if (!fs::exists(file)) return files;
    files.push_back(std::move(file));
  }
}

Result<std::vector<onnx::NamedTensor>> read_tensors(const std::vector<fs::path>& files) {
  std::vector<onnx::NamedTensor> tensors;
  for (const fs::path& file : files) {
    COHORT_TRY(tensors.emplace_back(), onnx::read_tensor(file));
  }
  return tensors;
}

/// Errors: the first file that is no tensor, or only a part of one.
Result<void> check_tensors(const std::vector<fs::path>& files) {
  for (const fs::path& file : files) COHORT_CHECK(onnx::check_tensor(file));
  return {};
}

std::string position_of(const Shape& shape, std::size_t element) {
  Shape index(shape.size());
  for (std::size_t d = shape.size(); d-- > 0;) {
    index[d] = static_cast<std::int64_t>(element) % shape[d];
    element /= static_cast<std::size_t>(shape[d]);
  }
  return to_string(index);
}

/// How far `value` is outside of what `expected` allows; not above zero where it is inside.
double excess(double value, double expected, const Tolerance& tolerance) {
  constexpr double kInfinity = std::numeric_limits<double>::infinity();
  if (std::isnan(value) || std::isnan(expected)) return std::isnan(value) && std::isnan(expected) ? 0 : kInfinity;
  if (std::isinf(value) || std::isinf(expected)) return value == expected ? 0 : kInfinity;
  return std::abs(value - expected) - tolerance.atol - tolerance.rtol * std::abs(expected);
}

double expected_at(const onnx::NamedTensor& expected, std::size_t i) {
  return expected.is_whole ? static_cast<double>(expected.integers[i]) : static_cast<double>(expected.values[i]);
}

double number_at(const Tensor& tensor, const std::vector<float>& elements, std::size_t i) {
  if (tensor.element == ElementType::kFloat32) return static_cast<double>(elements[i]);
  return static_cast<double>(std::bit_cast<std::int32_t>(elements[i]));
}

/// The tolerance for this tensor: sums of float32 are exact to a part of their largest terms, so that an element near
/// zero is, too. Values of 16 bits were rounded, as were those that they were computed from.
Tolerance scaled(Tolerance tolerance, const onnx::NamedTensor& expected) {
  double largest = 0;
  for (const float value : expected.values) {
    if (std::isfinite(value)) largest = std::max(largest, std::abs(static_cast<double>(value)));
  }
  const auto spacing = static_cast<double>(expected.spacing);
  tolerance.rtol = std::max(tolerance.rtol, 2 * spacing);
  tolerance.atol = std::max(tolerance.atol, std::max(tolerance.of_largest, spacing) * largest);
  return tolerance;
}

/// Empty where all elements are within the tolerance; else the worst of them.
std::string compare(const onnx::NamedTensor& expected, const Tensor& tensor, const std::vector<float>& elements,
                    const Tolerance& of_case) {
  const bool is_whole = tensor.element != ElementType::kFloat32;
  if (is_whole != expected.is_whole)
    return fmt::format("output {} holds {}, expected are {}", tensor.name, is_whole ? "whole numbers" : "float32",
                       expected.is_whole ? "whole numbers" : "float32");
  if (expected.shape != tensor.shape)
    return fmt::format("output {} has shape {}, expected is {}", tensor.name, to_string(tensor.shape),
                       to_string(expected.shape));
  const Tolerance tolerance = scaled(of_case, expected);
  double worst = 0;
  std::size_t at = 0;
  std::size_t outside = 0;
  for (std::size_t i = 0; i < elements.size(); ++i) {
    const double excessive = excess(number_at(tensor, elements, i), expected_at(expected, i), tolerance);
    if (excessive <= 0) continue;
    ++outside;
    if (excessive > worst) at = i;
    worst = std::max(worst, excessive);
  }
  if (outside == 0) return {};
  return fmt::format("output {}: {} of {} elements are outside the tolerance; worst is {} at {}, expected {}",
                     tensor.name, outside, elements.size(), number_at(tensor, elements, at),
                     position_of(tensor.shape, at), expected_at(expected, at));
}

/// Values as the model's input holds them. Errors: a whole number that does not fit 32 bits.
Result<std::vector<float>> elements_of(const onnx::NamedTensor& tensor) {
  if (!tensor.is_whole) return tensor.values;
  std::vector<float> elements;
  for (const std::int64_t value : tensor.integers) {
    if (value < INT32_MIN || value > INT32_MAX)
      return fail(ErrorCode::kInvalidInput, "input {} holds {}, which does not fit 32 bits", tensor.name, value);
    elements.push_back(std::bit_cast<float>(static_cast<std::int32_t>(value)));
  }
  return elements;
}

/// A model loaded on a device, as the only member of a model batch.
class LoadedCase {
 public:
  LoadedCase(Backend& backend, LoadedModel loaded) : backend_(backend), loaded_(std::move(loaded)) {}

  /// Runs it once on the inputs.
  Result<void> run(const std::map<std::string, onnx::NamedTensor>& inputs) {
    const Plan plan = uniform_plan({Member{"case", {}, 0}}, Strategy::kSerial, 1);
    const Model* const models[] = {&loaded_.model};
    const Weights* const weights[] = {&loaded_.weights};
    COHORT_TRY(program_, lower(plan, models, backend_.catalog()));
    const auto fill = [&](Runner& runner) { return fill_inputs(runner, inputs); };
    COHORT_TRY(runner_, Runner::create(backend_, program_, weights, fill));
    return runner_->step(0);
  }

  [[nodiscard]] const Model& model() const { return loaded_.model; }

  Result<std::vector<float>> output(std::size_t i) { return runner_->session().read_output(i); }

 private:
  Result<void> fill_inputs(Runner& runner, const std::map<std::string, onnx::NamedTensor>& inputs) const {
    for (std::size_t i = 0; i < program_.inputs.size(); ++i) {
      const onnx::NamedTensor& input = inputs.at(program_.inputs[i].name);
      COHORT_TRY(const std::vector<float> elements, elements_of(input));
      for (int slot = 0; slot < program_.input_buffers; ++slot) COHORT_CHECK(write_input(runner, i, slot, elements));
    }
    for (int slot = 0; slot < program_.input_buffers; ++slot) runner.upload(slot);
    return {};
  }

  Backend& backend_;
  LoadedModel loaded_;
  Program program_;
  std::unique_ptr<Runner> runner_;
};

Outcome unsupported(const Error& error) { return {CaseStatus::kUnsupported, error.message}; }
Outcome failed(std::string reason) { return {CaseStatus::kFailed, std::move(reason)}; }

/// The inputs that a data set's files are for, in order. Files give no values for inputs that have a default, as
/// weights in old files are, unless there are more files than other inputs.
std::vector<std::string> names_of_files(const std::vector<onnx::InputName>& inputs, std::size_t files) {
  std::vector<std::string> all, needed;
  for (const onnx::InputName& input : inputs) {
    all.push_back(input.name);
    if (!input.has_default) needed.push_back(input.name);
  }
  return files <= needed.size() ? needed : all;
}

/// Inputs by name: the tensors' own, where each is that of an input; else by position.
/// Errors: more than the model takes.
Result<std::map<std::string, onnx::NamedTensor>> name_inputs(std::vector<onnx::NamedTensor> tensors,
                                                             const std::vector<onnx::InputName>& inputs) {
  if (tensors.size() > inputs.size())
    return fail(ErrorCode::kInvalidInput, "there are {} inputs for a model that takes {}", tensors.size(),
                inputs.size());
  std::set<std::string> known, own;
  for (const onnx::InputName& input : inputs) known.insert(input.name);
  for (const onnx::NamedTensor& tensor : tensors) {
    if (known.count(tensor.name) > 0) own.insert(tensor.name);
  }
  const bool by_name = own.size() == tensors.size();
  const std::vector<std::string> names = names_of_files(inputs, tensors.size());
  std::map<std::string, onnx::NamedTensor> named;
  for (std::size_t i = 0; i < tensors.size(); ++i) {
    std::string name = by_name ? tensors[i].name : names[i];
    named.emplace(std::move(name), std::move(tensors[i]));
  }
  return named;
}

Outcome check_outputs(LoadedCase& running, const std::vector<onnx::NamedTensor>& expected, const Tolerance& tolerance) {
  const Model& model = running.model();
  if (expected.size() != model.outputs.size())
    return failed(fmt::format("the model has {} outputs, expected are {}", model.outputs.size(), expected.size()));
  for (std::size_t i = 0; i < expected.size(); ++i) {
    const auto values = running.output(i);
    if (!values) return failed(values.error().message);
    std::string difference = compare(expected[i], model.tensor(model.outputs[i]), *values, tolerance);
    if (!difference.empty()) return failed(std::move(difference));
  }
  return {};
}

/// Empty where the inputs are what the model takes.
std::string mismatch(const Model& model, const std::map<std::string, onnx::NamedTensor>& inputs) {
  for (const TensorId id : model.inputs) {
    const Tensor& input = model.tensor(id);
    const auto found = inputs.find(input.name);
    if (found == inputs.end()) return fmt::format("there is no input_*.pb for {}", input.name);
    if (found->second.is_whole != (input.element != ElementType::kFloat32))
      return fmt::format("input {} holds another type than the model takes", input.name);
    if (found->second.shape != input.shape)
      return fmt::format("input {} has shape {}, the model takes {}", input.name, to_string(found->second.shape),
                         to_string(input.shape));
  }
  return {};
}

/// An input that stands for numbers which the file would draw itself; empty where there is none.
std::string random_input(const Model& model, const std::vector<onnx::InputName>& names) {
  for (const TensorId id : model.inputs) {
    const std::string& input = model.tensor(id).name;
    if (std::none_of(names.begin(), names.end(), [&](const auto& known) { return known.name == input; })) return input;
  }
  return {};
}

/// Errors: kInterrupted alone.
Result<Outcome> run_set(const fs::path& set, const std::string& model, const Tolerance& tolerance, Backend& backend,
                        bool strict_nan, const CancelToken& cancel) {
  const auto names = onnx::input_names(model);
  if (!names) return unsupported(names.error());
  const std::vector<fs::path> input_files = tensor_files(set, "input");
  if (const auto whole = check_tensors(input_files); !whole) return failed(whole.error().message);
  auto tensors = read_tensors(input_files);
  if (!tensors) return unsupported(tensors.error());
  const auto inputs = name_inputs(std::move(*tensors), *names);
  if (!inputs) return failed(inputs.error().message);
  COHORT_CHECK(cancel.check());

  // Before outputs are read, which are no tensors where an op gives something else.
  onnx::ReadOptions options;
  options.given = &*inputs;
  auto loaded = onnx::parse_model(model, set.parent_path(), options);
  if (!loaded) return unsupported(loaded.error());
  const std::vector<fs::path> output_files = tensor_files(set, "output");
  if (output_files.empty()) return failed(fmt::format("{} holds no output_0.pb", set.filename().string()));
  if (const auto whole = check_tensors(output_files); !whole) return failed(whole.error().message);
  const auto expected = read_tensors(output_files);
  if (!expected) return unsupported(expected.error());

  if (const std::string drawn = random_input(loaded->model, *names); !drawn.empty())
    return Outcome{CaseStatus::kUnsupported,
                   fmt::format("{} holds random numbers, so that no output can be expected", drawn)};
  LoadedCase running(backend, optimize_for_inference(std::move(*loaded), strict_nan));
  if (std::string reason = mismatch(running.model(), *inputs); !reason.empty()) return failed(std::move(reason));
  COHORT_CHECK(cancel.check());
  if (const auto ran = running.run(*inputs); !ran) return failed(ran.error().message);
  COHORT_CHECK(cancel.check());
  return check_outputs(running, *expected, tolerance);
}

Result<Outcome> run_sets(const fs::path& folder, Backend& backend, bool strict_nan, const CancelToken& cancel) {
  const auto model = read_file(folder / "model.onnx");
  if (!model) return failed(model.error().message);
  if (const auto whole = onnx::check_model(*model); !whole) return failed("model.onnx: " + whole.error().message);
  const auto tolerance = tolerance_of(folder);
  if (!tolerance) return failed(tolerance.error().message);
  const std::vector<fs::path> sets = data_sets(folder);
  if (sets.empty()) return Outcome{CaseStatus::kUnsupported, "there is no test_data_set_* beside the model"};
  for (const fs::path& set : sets) {
    COHORT_CHECK(cancel.check());
    COHORT_TRY(Outcome outcome, run_set(set, *model, *tolerance, backend, strict_nan, cancel));
    if (outcome.status == CaseStatus::kPassed) continue;
    if (sets.size() > 1) outcome.reason = set.filename().string() + ": " + outcome.reason;
    return outcome;
  }
  return Outcome{};
}

}  // namespace

Result<std::vector<fs::path>> find_cases(const std::vector<fs::path>& roots) {
  std::vector<fs::path> folders;
  for (const fs::path& root : roots) {
    std::error_code error;
    if (!fs::is_directory(root, error)) return fail(ErrorCode::kInvalidInput, "{} is not a folder", root.string());
    const std::size_t before = folders.size();
    for (fs::recursive_directory_iterator it(root, error), end; !error && it != end; it.increment(error)) {
      if (it->path().filename() == "model.onnx") folders.push_back(it->path().parent_path().lexically_normal());
    }
    if (error) return fail(ErrorCode::kInvalidInput, "{}: {}", root.string(), error.message());
    if (folders.size() == before)
      return fail(ErrorCode::kInvalidInput, "{} holds no model.onnx at any depth", root.string());
  }
  std::sort(folders.begin(), folders.end());
  folders.erase(std::unique(folders.begin(), folders.end()), folders.end());
  return folders;
}

Result<CaseResult> run_case(const fs::path& folder, Backend& backend, bool strict_nan, const CancelToken& cancel) {
  COHORT_CHECK(cancel.check());
  COHORT_TRY(Outcome outcome, run_sets(folder, backend, strict_nan, cancel));
  return CaseResult{folder.filename().string(), folder, outcome.status, std::move(outcome.reason)};
}

}  // namespace cohort
