#pragma once

#include <onnx/onnx_pb.h>

#include <map>
#include <set>
#include <string>
#include <string_view>

#include "models/model.hpp"
#include "models/onnx/splits.hpp"

namespace cohort::onnx {

/// The file beside a model that holds its larger tensors.
struct DataFile {
  std::string name;
  std::string bytes = {};
};

/// Writes ops as nodes, each with its post-ops as nodes behind it. The last node of an op writes its
/// output's name, the first has the op's name. Whole numbers and truth values are int32 in the file:
/// where ONNX has int64 or bool, nodes around it convert.
class GraphWriter {
 public:
  /// `data` gets what need not lie in the graph; null: all does.
  GraphWriter(const LoadedModel& loaded, std::int64_t opset, ::onnx::GraphProto& graph, DataFile* data);

  Result<void> write();

 private:
  using Node = ::onnx::NodeProto;

  // writer.cpp
  std::string unique(std::string name);
  Result<std::string> write_weight(TensorId id, const Shape& shape);
  /// The name wanted goes to the first that asks for it.
  std::string initializer_name(const std::string& wanted);
  std::string write_floats(const std::string& wanted, const Shape& shape, const std::vector<float>& values,
                           ElementType element = ElementType::kFloat32);
  void write_values(::onnx::TensorProto& tensor, const std::vector<float>& values);
  std::string write_integers(const std::string& wanted, const std::vector<std::int64_t>& values);
  /// The name an op reads input `i` by; a weight is written with the first op that reads it.
  Result<std::string> input_name(const Op& op, std::size_t i);
  Result<void> add_inputs(Node& node, const Op& op, std::size_t first = 0);
  Node& add_node(const std::string& name, std::string_view type);
  /// A node that takes one tensor, with a name of its own; returns the name of what it writes.
  std::string chain(const Op& op, const char* type, const std::string& x);
  /// `x` as another type, under a name of its own or as `y`.
  std::string cast(const Op& op, const std::string& x, ::onnx::TensorProto::DataType type);
  void cast_to(const Op& op, const std::string& x, ::onnx::TensorProto::DataType type, const std::string& y);
  std::string reshape(const Op& op, const std::string& x, const Shape& shape);
  /// A node of `type` that reads the op's inputs as they are and writes `y`.
  Result<Node*> add_plain_node(const Op& op, std::string_view type, const std::string& y);
  [[nodiscard]] const Shape& shape_of(const Op& op, std::size_t i) const { return model_.tensor(op.inputs[i]).shape; }

  Result<void> write_op(const Op& op);
  Result<void> write_split(const Split& split);
  Result<void> write_post_op(const Op& op, const PostOp& post_op, const std::string& x, const std::string& y);
  void write_fake_quantize(const std::string& name, const Activation& activation, const std::string& x,
                           const std::string& y);
  void write_swish(const std::string& name, float alpha, const std::string& x, const std::string& y);
  void write_activation(const std::string& name, const Activation& activation, const std::string& x,
                        const std::string& y);

  // write_dense.cpp
  Result<void> write_node(const Op& op, const Convolution& convolution, const std::string& y);
  Result<void> write_node(const Op& op, const ConvTranspose& convolution, const std::string& y);
  Result<void> write_node(const Op& op, const Pool& pool, const std::string& y);
  Result<void> write_padded_average(const Op& op, const Window& own, Window written, const std::string& y);
  Result<void> write_node(const Op& op, const MaxPoolIndices& pool, const std::string& y);
  Result<void> write_node(const Op& op, const Gemm& gemm, const std::string& y);
  Result<void> write_stacked_gemm(const Op& op, const std::string& y);
  Result<std::string> transposed_matrices(const Op& op, std::size_t i);
  Result<void> write_node(const Op& op, const MatMul& product, const std::string& y);
  Result<void> write_node(const Op& op, const BatchNormalization& normalization, const std::string& y);
  Result<void> write_node(const Op& op, const GroupNormalization& normalization, const std::string& y);
  Result<void> write_node(const Op& op, const LayerNormalization& normalization, const std::string& y);
  Result<void> write_root_mean_square(const Op& op, const LayerNormalization& normalization, const std::string& y);
  Result<void> write_node(const Op& op, const LocalResponseNormalization& normalization, const std::string& y);
  Result<void> write_node(const Op& op, const Softmax& softmax, const std::string& y);
  Result<void> write_node(const Op& op, const Lstm& lstm, const std::string& y);
  Result<void> write_node(const Op& op, const Recurrent& recurrent, const std::string& y);

  // write_simple.cpp
  Result<void> write_nearest(const Op& op, const Resize& resize, const std::string& y);
  Result<void> write_node(const Op& op, const Activation& activation, const std::string& y);
  Result<void> write_node(const Op& op, const Binary& binary, const std::string& y);
  Result<void> write_node(const Op& op, const Select& select, const std::string& y);
  Result<void> write_node(const Op& op, const Cast& conversion, const std::string& y);
  Result<void> write_node(const Op& op, const Concat& concat, const std::string& y);
  Result<void> write_node(const Op& op, const Reshape& reshape, const std::string& y);
  Result<void> write_node(const Op& op, const Transpose& transpose, const std::string& y);
  Result<void> write_node(const Op& op, const TensorSlice& slice, const std::string& y);
  Result<void> write_node(const Op& op, const Pad& pad, const std::string& y);
  Result<void> write_node(const Op& op, const Gather& gather, const std::string& y);
  Result<void> write_node(const Op& op, const Scatter& scatter, const std::string& y);
  Result<void> write_node(const Op& op, const Expand& expand, const std::string& y);
  Result<void> write_node(const Op& op, const Tile& tile, const std::string& y);
  Result<void> write_node(const Op& op, const Resize& resize, const std::string& y);
  Result<void> write_node(const Op& op, const Reduce& reduce, const std::string& y);
  Result<void> write_node(const Op& op, const ArgMax& arg_max, const std::string& y);

  // write_training.cpp: what files for inference hold, too
  Result<void> write_node(const Op& op, const Dropout& dropout, const std::string& y);
  Result<void> write_node(const Op& op, const SoftmaxCrossEntropy& loss, const std::string& y);
  template <TrainingOp Training>
  Result<void> write_node(const Op& op, const Training& /*attributes*/, const std::string& /*y*/) {
    return fail(ErrorCode::kInvalidInput, "{} belongs to a training step; ONNX files hold models for inference",
                op_type(op.attributes));
  }

  const Model& model_;
  const Weights& weights_;
  std::int64_t opset_;
  ::onnx::GraphProto& graph_;
  DataFile* data_;
  std::set<std::string> names_;
  std::set<std::string> written_;                                   ///< initialisers
  std::map<std::pair<TensorId, Shape>, std::string> weight_names_;  ///< by how they are seen
};

void set(::onnx::NodeProto& node, const char* name, std::int64_t value);
void set(::onnx::NodeProto& node, const char* name, float value);
void set(::onnx::NodeProto& node, const char* name, const char* value);
void set(::onnx::NodeProto& node, const char* name, const std::vector<std::int64_t>& values);
void set(::onnx::NodeProto& node, const char* name, const std::vector<float>& values);
/// kernel_shape, strides, pads and dilations.
void set_window(::onnx::NodeProto& node, const Window& window);

}  // namespace cohort::onnx
