#pragma once

#include <cstdint>
#include <map>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <variant>
#include <vector>

#include "models/model.hpp"

namespace cohort::onnx {

using WholeValues = std::shared_ptr<const std::vector<std::int64_t>>;

/// A tensor whose values are known; copies share them. Whole numbers of any width and booleans are kept as 64 bits.
struct Constant {
  Shape shape;  ///< extents may be zero
  std::variant<WeightValues, WholeValues> values;
  std::int32_t type = 0;  ///< that the file gives it, of TensorProto's; 0: computed, and not known any more

  /// Null where the values are whole numbers.
  [[nodiscard]] const std::vector<float>* floats() const {
    const auto* shared = std::get_if<WeightValues>(&values);
    return shared != nullptr ? shared->get() : nullptr;
  }
  /// Null where the values are floating point.
  [[nodiscard]] const std::vector<std::int64_t>* integers() const {
    const auto* shared = std::get_if<WholeValues>(&values);
    return shared != nullptr ? shared->get() : nullptr;
  }
};

/// `type` is one of Type, 0 where the file gives none.
Constant make_constant(Shape shape, std::vector<float> values, std::int64_t type = 0);
Constant make_constant(Shape shape, std::vector<std::int64_t> values, std::int64_t type = 0);

/// A constant's values as float32, also of whole numbers.
std::vector<float> floats_of(const Constant& constant);

/// A tensor whose values cannot be read.
struct Unreadable {
  std::string what;  ///< "STRING", "a sparse tensor"
};

/// An attribute's value; std::monostate for kinds that no supported op has (graphs, types).
using AttributeValue = std::variant<std::monostate, std::int64_t, float, std::string, std::vector<std::int64_t>,
                                    std::vector<float>, std::vector<std::string>, Constant, Unreadable>;

struct Graph;

struct Node {
  std::string name;  ///< as in the file, may be empty
  std::string op_type;
  std::string domain;                ///< empty for ONNX's own ops
  std::vector<std::string> inputs;   ///< an empty name is an input left out
  std::vector<std::string> outputs;  ///< likewise
  std::map<std::string, AttributeValue> attributes;
  std::int64_t opset = 0;                                           ///< of ONNX's own ops, where the node stands
  std::map<std::string, std::shared_ptr<const Graph>> graphs = {};  ///< attributes that are graphs
  /// Attributes whose value is that of an attribute of the function that the node is in.
  std::map<std::string, std::string> references = {};
};

/// A dimension of an input, or of another tensor that the file describes.
struct Dimension {
  std::optional<std::int64_t> extent;  ///< nothing where the file leaves it open
  std::string name;                    ///< what the file calls an open one, may be empty
};

struct GraphInput {
  std::string name;
  std::int32_t type = 0;  ///< of TensorProto's
  /// Nothing where the file gives no shape.
  std::optional<std::vector<Dimension>> shape;
  bool is_computed = false;  ///< by a node, in the file as it is; its first dimension need not be the minibatch
};

/// Of that shape, known to the last dimension.
GraphInput tensor_of(std::string name, std::int64_t type, const Shape& shape);

/// What an ONNX file holds, free of protobuf, not yet interpreted.
struct Graph {
  std::string name;
  std::int64_t opset = 0;
  std::vector<Node> nodes;
  std::vector<GraphInput> inputs;     ///< without those that have an initialiser
  std::vector<GraphInput> defaulted;  ///< those that have one, whose value may be replaced
  std::vector<GraphInput> left_out;   ///< those that nothing reads since the graph was cut
  std::vector<std::string> outputs;
  std::map<std::string, Constant> constants;  ///< the initialisers that something reads
  /// What the file says of tensors that nodes write, if anything; exporters are not always right.
  std::map<std::string, GraphInput> described;
};

/// Errors: kInvalidInput where the bytes are no ONNX model, the opset is before 6, or a tensor does
/// not hold as many values as its shape claims.
Result<Graph> parse_graph(std::string_view bytes);

}  // namespace cohort::onnx
