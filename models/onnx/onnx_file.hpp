#pragma once

#include <cstdint>
#include <filesystem>
#include <map>
#include <string>
#include <string_view>
#include <vector>

#include "base/result.hpp"
#include "base/units.hpp"
#include "models/model.hpp"
#include "models/source.hpp"

namespace cohort::onnx {

/// A tensor of a file: floating-point numbers, or integers and booleans.
struct NamedTensor {
  std::string name;
  Shape shape;
  std::vector<float> values;
  std::vector<std::int64_t> integers;  ///< instead of `values` where `is_whole`
  bool is_whole = false;
  /// Distance of neighbouring values of the file's type, relative to them, where float32 has more of them; else 0.
  float spacing = 0;
};

struct ReadOptions {
  std::int64_t minibatch = 1;  ///< replaces an open first dimension of the inputs, and others of its name
  /// Refuses a file one of whose inputs has another minibatch, or none.
  bool same_minibatch = false;
  /// Keeps dropouts as ops, and batch normalisations in inference form; differentiate() turns them into what training
  /// runs.
  bool for_training = false;
  /// Extents of the inputs' other open dimensions by the names the file gives them, or by position: "x:2" is dimension
  /// 2 of input x, which has precedence over a name. What is given here has precedence over the minibatch.
  std::map<std::string, std::int64_t> dims = {};
  /// Inputs, and tensors that nodes write, that become constants: name and value, as text. A value is a number or a
  /// list of them with commas, in the order of the elements; one number stands for all elements.
  std::map<std::string, std::string> fixed = {};
  /// Tensors that nodes write that become inputs: what computes nothing else is left out, supported or not.
  std::vector<std::string> from = {};
  /// Tensors to compute in place of the graph's outputs, if any: what they do not need is left out, supported or not.
  std::vector<std::string> until = {};
  /// Inputs with known values, by name, or null. Such an input becomes a constant where an op needs one, and is then no
  /// input of the model, unless an op also reads it at run time. An initialiser that is an input is an input of the
  /// model only where it is given here.
  const std::map<std::string, NamedTensor>* given = nullptr;
  /// Most elements of constants beyond what the file itself holds: at 4 to 8 bytes each, this limits the memory that a
  /// small file can ask for. It also limits the floating-point operations spent on computing constants; what takes more
  /// is computed in each run.
  std::int64_t most_elements = std::int64_t{1} << 28;
};

/// Reads an ONNX model, weights included, as it stands (not simplified).
/// Errors: kInvalidInput naming the file and what is wrong; ops that are not supported are one
/// error that lists all of them with op and opset.
Result<LoadedModel> read_model(const std::filesystem::path& path, const ReadOptions& options);

/// The same from bytes in memory.
Result<LoadedModel> parse_model(std::string_view bytes, const ReadOptions& options);

/// The same, of a model whose weights may lie in other files in `folder`.
Result<LoadedModel> parse_model(std::string_view bytes, const std::filesystem::path& folder,
                                const ReadOptions& options);

/// Serialised ONNX (IR 8, opset 13 or the first that has all ops) that ONNX Runtime accepts. Ops may become
/// several nodes; whole numbers and truth values are int32 in the file.
/// Errors: kInvalidInput naming an op that ONNX has no nodes for.
Result<std::string> serialize_model(const LoadedModel& loaded);

/// A model whose weights may be too large for the one file.
struct ModelFiles {
  std::string model;
  std::string data;  ///< of the file beside it; empty where there is none
};
/// The same, with the weights in a second file, which is to be called `data_name`, where they have more than
/// `most_inside`: 2 GiB is the most that an ONNX file can have.
Result<ModelFiles> serialize_model(const LoadedModel& loaded, const std::string& data_name,
                                   Bytes most_inside = Bytes{2'000'000'000});

/// An input of the graph.
struct InputName {
  std::string name;
  bool has_default = false;  ///< an initialiser, which a given value replaces
};

/// The inputs of a model in memory, in the file's order.
Result<std::vector<InputName>> input_names(std::string_view bytes);

/// A tensor file of an ONNX test-data folder (input_0.pb, output_0.pb), of a type that an input may have.
Result<NamedTensor> read_tensor(const std::filesystem::path& path);

/// Checks that a file is a valid model, whether or not it is supported.
/// Errors: kInvalidInput where it is no ONNX model or tensor, is cut short, or contradicts itself: a tensor that holds
/// more or fewer values than its shape says, a node that reads what nothing writes.
Result<void> check_model(std::string_view bytes);
Result<void> check_tensor(const std::filesystem::path& path);

/// Whether ModelSource::model is the path of an ONNX file, and no built-in network's name.
bool is_file(std::string_view model);

/// The network of a source, built in or ONNX, with the file's weights or random ones from `seed`, not simplified, for
/// differentiate() and evaluation_model(). Includes dropout if the source is a training step.
Result<LoadedModel> load_network(const ModelSource& source, std::uint64_t seed);

/// What a member of that source runs: the network simplified for inference, or the step that trains it.
Result<LoadedModel> load(const ModelSource& source, std::uint64_t seed);

}  // namespace cohort::onnx
