#pragma once

#include <map>
#include <optional>
#include <set>
#include <string>
#include <string_view>
#include <variant>
#include <vector>

#include "models/onnx/graph.hpp"
#include "models/onnx/learned_constants.hpp"
#include "models/onnx/onnx_file.hpp"

namespace cohort::onnx {

/// A tensor of the model. `viewed_as`, where set, is the shape that the file gives it: the Reshape
/// is made only if somebody needs it.
struct TensorValue {
  TensorId id{};
  std::optional<Shape> viewed_as;
};

/// An input of the graph, by its position in ImportState::inputs.
struct InputValue {
  std::size_t index = 0;
};

/// What a name of the file stands for once its node has been read.
using Value = std::variant<Constant, TensorValue, InputValue>;

/// An input of the graph, which becomes one of the model where an op reads it.
struct PendingInput {
  std::string name;
  Shape shape;
  std::int64_t type = 0;  ///< of Type
  ElementType element = ElementType::kFloat32;
  std::optional<Constant> given;
  std::optional<TensorId> id;  ///< once it is one of the model's
  bool was_needed = false;     ///< its value was taken as a constant
  bool is_random = false;      ///< what a node of the file would draw; left out where no op reads it
};

/// The model as it grows, and what its names stand for.
struct ImportState {
  Model model;
  Weights weights;
  std::vector<PendingInput> inputs;
  std::int64_t opset = 0;
  std::map<std::string, Value, std::less<>> values;
  std::map<std::string, TensorId, std::less<>> weight_of;                  ///< constants that ops already read
  std::map<std::string, TensorId, std::less<>> float_weight_of;            ///< whole ones that they read as float32
  std::map<std::string, std::vector<TensorId>, std::less<>> weights_from;  ///< made from constants, each for some op
  std::set<std::string, std::less<>> names;                                ///< all of the file's, and our own tensors'
  std::set<std::string, std::less<>> file_names;                           ///< tensors that --set-input can name
  LearnedConstants learned;  ///< initialisers, and constants computed of them
  /// Whole numbers in float32 tensors (whole_in_float.hpp): their types.
  std::map<std::string, std::int64_t, std::less<>> whole_in_float;
  std::set<std::string, std::less<>> truth_values;  ///< tensors of them (truth_values.hpp)
  std::set<std::string, std::less<>> weight_names;  ///< constants whose name a weight has taken
  std::set<std::string, std::less<>> op_names;
  std::set<std::string, std::less<>> read_names;  ///< that a node or the graph's outputs read
  /// Elements of constants that may still be made; limits what a small file can ask for.
  std::int64_t element_budget = 0;
  /// Operations that may still be spent on computing constants.
  std::int64_t flop_budget = 0;
  bool for_training = false;
  std::optional<TensorId> random;  ///< key of the dropouts' random numbers
};

/// The input as a tensor of the model.
TensorId input_tensor(ImportState& state, std::size_t index);

/// One node while it is turned into ops or a constant. Every error is about this node; the caller
/// adds its name.
class NodeImport {
 public:
  NodeImport(ImportState& state, const Node& node, std::string op_name)
      : state_(state), node_(node), op_name_(std::move(op_name)) {}

  [[nodiscard]] std::int64_t opset() const { return node_.opset; }
  [[nodiscard]] const std::string& op_type() const { return node_.op_type; }
  [[nodiscard]] bool for_training() const { return state_.for_training; }

  // Inputs. `i` counts as in ONNX's operator documentation.
  [[nodiscard]] std::size_t input_count() const { return node_.inputs.size(); }
  [[nodiscard]] bool has_input(std::size_t i) const { return i < node_.inputs.size() && !node_.inputs[i].empty(); }
  /// Null where the input is left out or not constant.
  [[nodiscard]] const Constant* constant(std::size_t i) const;
  /// The same, but an input of the graph whose value is known is constant, too.
  [[nodiscard]] const Constant* needed_constant(std::size_t i) const;
  [[nodiscard]] bool all_constant() const;
  /// Whether the input is a constant that training changes, in a file that is read for training.
  [[nodiscard]] bool is_trained(std::size_t i) const {
    return state_.for_training && has_input(i) && state_.learned.is_trained(node_.inputs[i]);
  }
  /// Constants of 8- and 16-bit whole numbers are read as float32 tensors.
  void read_narrow_as_float() { narrow_as_float_ = true; }
  Result<Shape> shape(std::size_t i) const;
  Result<ElementType> element(std::size_t i) const;
  /// Errors: kInvalidInput where the input is left out, or not a constant of that kind.
  Result<const Constant*> floats(std::size_t i, std::string_view what) const;
  Result<std::vector<std::int64_t>> integers(std::size_t i, std::string_view what) const;
  /// The error where the input, `what` of the op, is missing or no constant.
  [[nodiscard]] tl::unexpected<Error> not_constant(std::size_t i, std::string_view what) const;
  /// The input as a tensor of the model; a constant becomes a weight.
  Result<TensorId> tensor(std::size_t i);
  [[nodiscard]] const Value* value(std::size_t i) const;
  /// The type, of Type, that the file gives a constant or an input of the graph; 0 where it gives none.
  [[nodiscard]] std::int64_t declared_type(std::size_t i) const;
  /// See whole_in_float.hpp.
  [[nodiscard]] std::int64_t whole_type(std::size_t i) const;
  /// See truth_values.hpp.
  [[nodiscard]] bool is_truth(std::size_t i) const;

  // Attributes: the value, or the default where the node has none. Errors: another kind of value.
  [[nodiscard]] bool has_attribute(std::string_view name) const {
    return node_.attributes.count(std::string(name)) > 0;
  }
  Result<std::int64_t> integer(const std::string& name, std::int64_t otherwise);
  Result<float> number(const std::string& name, float otherwise);
  Result<std::string> text(const std::string& name, std::string otherwise);
  Result<std::vector<std::int64_t>> integer_list(const std::string& name, std::vector<std::int64_t> otherwise);
  Result<std::vector<float>> number_list(const std::string& name);
  Result<std::vector<std::string>> text_list(const std::string& name);
  /// Null where the node has none.
  Result<const Constant*> constant_attribute(const std::string& name);
  /// An attribute without a meaning for inference.
  void ignore(const std::string& name) { seen_.insert(name); }
  /// Errors: kInvalidInput naming an attribute that the converter did not read, as its meaning would be lost.
  [[nodiscard]] Result<void> all_attributes_seen() const;

  // Ops. The one that stands for the node has an empty suffix and takes its name. What has no elements
  // is a weight instead.
  Result<TensorId> emit(std::string_view suffix, OpAttributes attributes, std::vector<TensorId> inputs);
  Result<TensorId> emit_reshape(std::string_view suffix, TensorId x, Shape shape);
  /// A weight made from the constant `like`, whose name it takes if that is free. Ops that make the same share it.
  Result<TensorId> weight(std::size_t like, Shape shape, std::vector<float> values);
  /// A weight made for this node; whole numbers are given as they are, up to 2^24.
  Result<TensorId> made_weight(std::string_view suffix, Shape shape, std::vector<float> values,
                               ElementType element = ElementType::kFloat32);
  /// A weight of one element, made for this node.
  TensorId scalar(std::string_view suffix, float value, ElementType element = ElementType::kFloat32);
  [[nodiscard]] const Shape& shape_of(TensorId id) const { return state_.model.tensor(id).shape; }
  [[nodiscard]] ElementType element_of(TensorId id) const { return state_.model.tensor(id).element; }
  /// The op that writes this tensor; null where none does.
  [[nodiscard]] const Op* writer_of(TensorId id) const;
  /// Training does not change this tensor, even if the file has it among its initialisers.
  void fix(TensorId id) { state_.model.tensors[to_index(id)].fixed = true; }
  /// The model's random key input, made at first use.
  TensorId random();
  /// Takes `elements` from what constants may be made of.
  Result<void> claim(std::int64_t elements);

  // Outputs.
  [[nodiscard]] bool is_read(std::size_t output) const;
  [[nodiscard]] std::size_t output_count() const { return node_.outputs.size(); }
  /// Output `output` of the node is `y`, made by emit().
  void set_result(TensorId y, std::size_t output = 0);
  /// Output `output` of the node is what `value` is.
  void set_alias(Value value, std::size_t output = 0);
  /// The node's first output, of that type, is an input of the model.
  void set_random_input(Shape shape, std::int64_t type);

 private:
  const AttributeValue* attribute(const std::string& name);
  static std::string unique(std::string name, std::set<std::string, std::less<>>& taken);
  /// The constant's own name for the first weight made of it.
  std::string weight_name(const std::string& constant_name);
  TensorId new_tensor(std::string name, Shape shape, TensorRole role);
  /// A weight that no training changes.
  TensorId new_fixed(std::string name, Shape shape, ElementType element);
  TensorId nothing(Shape shape, ElementType element);
  [[nodiscard]] ElementType element_of(const Constant& constant) const;
  [[nodiscard]] bool is_learned(const std::string& name) const;
  TensorId append(std::string_view suffix, OpAttributes attributes, std::vector<TensorId> inputs, Shape shape);

  ImportState& state_;
  const Node& node_;
  std::string op_name_;
  std::set<std::string> seen_;
  bool narrow_as_float_ = false;
};

/// Turns a node into ops.
using Convert = Result<void> (*)(NodeImport& node);
/// Computes a node whose inputs are constant.
using Fold = Result<Constant> (*)(NodeImport& node);

/// How to read one type of ONNX op. Without `convert` the type is supported only with constant inputs,
/// without `fold` constants are computed by what `convert` makes; so are float32 ones where `fold_whole_only`.
struct OpSupport {
  std::string_view op_type;  ///< with its domain, as type_of() has it
  Convert convert = nullptr;
  Fold fold = nullptr;
  bool fold_whole_only = false;
};

/// Computes a node whose inputs are all constant by making a model of it alone; its outputs become
/// constants. False where that is too much work to do while reading a file: nothing has changed then.
Result<bool> fold_node(ImportState& state, const Node& node, const OpSupport& support);

/// Null where the op is not supported.
const OpSupport* find_support(const Node& node);

/// `axis` counted from the front. Errors: kInvalidInput where it is out of [-rank, rank).
Result<std::size_t> normalize_axis(std::int64_t axis, std::size_t rank);
/// All of them, in ascending order.
Result<std::vector<std::int64_t>> normalize_axes(const std::vector<std::int64_t>& axes, std::size_t rank);

}  // namespace cohort::onnx
