#include <onnx/onnx_pb.h>

#include <algorithm>
#include <limits>
#include <set>

#include "models/onnx/onnx_file.hpp"

namespace cohort::onnx {

namespace {

constexpr std::int64_t kIrVersion = 8;

std::int64_t opset_of(const Activation* activation) {
  if (activation == nullptr) return 0;
  switch (activation->kind) {
    case ActivationKind::kHardSwish:
      return 14;
    case ActivationKind::kMish:
      return 18;
    case ActivationKind::kGelu:
    case ActivationKind::kGeluTanh:
      return 20;
    default:
      return 0;
  }
}

/// The oldest that has every op, for the most readers.
std::int64_t opset_of(const Model& model) {
  constexpr std::int64_t kLeast = 13, kLayerNormalization = 17;
  std::int64_t opset = kLeast;
  for (const Op& op : model.ops) {
    if (std::holds_alternative<LayerNormalization>(op.attributes)) opset = std::max(opset, kLayerNormalization);
    opset = std::max(opset, opset_of(std::get_if<Activation>(&op.attributes)));
    for (const PostOp& post_op : op.post_ops) opset = std::max(opset, opset_of(std::get_if<Activation>(&post_op)));
  }
  return opset;
}

/// Writes ops as nodes, each with its post-ops as nodes behind it. The last node of an op writes its
/// output's name, the first has the op's name.
class GraphWriter {
 public:
  GraphWriter(const LoadedModel& loaded, ::onnx::GraphProto& graph)
      : model_(loaded.model), weights_(loaded.weights), graph_(graph) {
    for (const Tensor& tensor : model_.tensors) names_.insert(tensor.name);
  }

  Result<void> write() {
    graph_.set_name(model_.name);
    for (const TensorId id : model_.inputs) write_value_info(*graph_.add_input(), model_.tensor(id));
    for (const TensorId id : model_.outputs) write_value_info(*graph_.add_output(), model_.tensor(id));
    for (const Op& op : model_.ops) {
      if (auto written = write_op(op); !written) return in_context(fmt::format("op {}", op.name), written.error());
    }
    return {};
  }

 private:
  static void write_value_info(::onnx::ValueInfoProto& info, const Tensor& tensor) {
    info.set_name(tensor.name);
    auto& type = *info.mutable_type()->mutable_tensor_type();
    type.set_elem_type(::onnx::TensorProto::FLOAT);
    for (const std::int64_t extent : tensor.shape) type.mutable_shape()->add_dim()->set_dim_value(extent);
  }

  std::string unique(std::string name) {
    while (!names_.insert(name).second) name += "_";
    return name;
  }

  /// An initialiser with the values of weight `id`, seen as `shape`; returns its name.
  Result<std::string> write_weight(TensorId id, const Shape& shape) {
    const Tensor& tensor = model_.tensor(id);
    const WeightValues& values = weights_.of(id);
    if (values == nullptr) return fail(ErrorCode::kInvalidInput, "weight {} has no values", tensor.name);
    return write_floats(tensor.name, shape, *values);
  }

  /// The name wanted goes to the first that asks for it.
  std::string initializer_name(const std::string& wanted) {
    if (written_.insert(wanted).second) return wanted;
    std::string name = unique(wanted);
    written_.insert(name);
    return name;
  }

  std::string write_floats(const std::string& wanted, const Shape& shape, const std::vector<float>& values) {
    auto& tensor = *graph_.add_initializer();
    tensor.set_name(initializer_name(wanted));
    tensor.set_data_type(::onnx::TensorProto::FLOAT);
    for (const std::int64_t extent : shape) tensor.add_dims(extent);
    tensor.set_raw_data(values.data(), values.size() * sizeof(float));
    return tensor.name();
  }

  std::string write_integers(const std::string& wanted, const std::vector<std::int64_t>& values) {
    auto& tensor = *graph_.add_initializer();
    tensor.set_name(unique(wanted));
    tensor.set_data_type(::onnx::TensorProto::INT64);
    tensor.add_dims(static_cast<std::int64_t>(values.size()));
    tensor.set_raw_data(values.data(), values.size() * sizeof(std::int64_t));
    return tensor.name();
  }

  /// The name an op reads input `i` by; a weight is written with the first op that reads it.
  Result<std::string> input_name(const Op& op, std::size_t i) {
    const TensorId id = op.inputs[i];
    const Tensor& tensor = model_.tensor(id);
    if (tensor.role != TensorRole::kWeight) return tensor.name;
    const auto known = weight_names_.find(id);
    if (known != weight_names_.end()) return known->second;
    COHORT_TRY(const std::string name, write_weight(id, tensor.shape));
    weight_names_.emplace(id, name);
    return name;
  }

  Result<void> add_inputs(::onnx::NodeProto& node, const Op& op, std::size_t first = 0) {
    for (std::size_t i = first; i < own_input_count(op); ++i) {
      COHORT_TRY(const std::string name, input_name(op, i));
      node.add_input(name);
    }
    return {};
  }

  ::onnx::NodeProto& add_node(const std::string& name, const char* type) {
    auto& node = *graph_.add_node();
    node.set_name(name);
    node.set_op_type(type);
    return node;
  }

  static ::onnx::AttributeProto& add_attribute(::onnx::NodeProto& node, const char* name,
                                               ::onnx::AttributeProto::AttributeType type) {
    auto& attribute = *node.add_attribute();
    attribute.set_name(name);
    attribute.set_type(type);
    return attribute;
  }
  static void set(::onnx::NodeProto& node, const char* name, std::int64_t value) {
    add_attribute(node, name, ::onnx::AttributeProto::INT).set_i(value);
  }
  static void set(::onnx::NodeProto& node, const char* name, float value) {
    add_attribute(node, name, ::onnx::AttributeProto::FLOAT).set_f(value);
  }
  static void set(::onnx::NodeProto& node, const char* name, const std::vector<std::int64_t>& values) {
    auto& attribute = add_attribute(node, name, ::onnx::AttributeProto::INTS);
    for (const std::int64_t value : values) attribute.add_ints(value);
  }
  static void set_window(::onnx::NodeProto& node, const Window& window) {
    set(node, "kernel_shape", window.kernel);
    set(node, "strides", window.stride);
    std::vector<std::int64_t> pads = window.pad_begin;
    pads.insert(pads.end(), window.pad_end.begin(), window.pad_end.end());
    set(node, "pads", pads);
  }

  /// A node of `type` that reads the op's inputs as they are and writes `y`.
  Result<::onnx::NodeProto*> add_plain_node(const Op& op, const char* type, const std::string& y) {
    ::onnx::NodeProto& node = add_node(op.name, type);
    COHORT_CHECK(add_inputs(node, op));
    node.add_output(y);
    return &node;
  }

  Result<void> write_op(const Op& op) {
    const std::string& last = model_.tensor(op.outputs[0]).name;
    std::string y = op.post_ops.empty() ? last : unique(last + "/result");
    COHORT_CHECK(std::visit([&](const auto& attributes) { return write_node(op, attributes, y); }, op.attributes));
    for (std::size_t i = 0; i < op.post_ops.size(); ++i) {
      const std::string next = i + 1 == op.post_ops.size() ? last : unique(fmt::format("{}/post{}", last, i));
      COHORT_CHECK(write_post_op(op, op.post_ops[i], y, next));
      y = next;
    }
    return {};
  }

  Result<void> write_post_op(const Op& op, const PostOp& post_op, const std::string& x, const std::string& y) {
    if (const auto* activation = std::get_if<Activation>(&post_op)) {
      write_activation(y, *activation, x, y);
      return {};
    }
    ::onnx::NodeProto& node = add_node(y, "Add");
    node.add_input(x);
    COHORT_TRY(const std::string operand, input_name(op, std::get<AddOperand>(post_op).operand));
    node.add_input(operand);
    node.add_output(y);
    return {};
  }

  void write_activation(const std::string& name, const Activation& activation, const std::string& x,
                        const std::string& y) {
    ::onnx::NodeProto& node = add_node(name, op_type(activation).data());
    node.add_input(x);
    node.add_output(y);
    switch (activation.kind) {
      case ActivationKind::kLeakyRelu:
      case ActivationKind::kElu:
      case ActivationKind::kCelu:
      case ActivationKind::kThresholdedRelu:
        set(node, "alpha", activation.alpha);
        break;
      case ActivationKind::kHardSigmoid:
        set(node, "alpha", activation.alpha);
        set(node, "beta", activation.beta);
        break;
      case ActivationKind::kSelu:
        set(node, "alpha", activation.alpha);
        set(node, "gamma", activation.beta);
        break;
      default:
        break;
    }
    if (activation.kind == ActivationKind::kGeluTanh) {
      node.set_op_type("Gelu");
      add_attribute(node, "approximate", ::onnx::AttributeProto::STRING).set_s("tanh");
    }
    if (activation.kind == ActivationKind::kClip) {
      node.add_input(write_floats(unique(y + "/min"), {}, {activation.alpha}));
      node.add_input(write_floats(unique(y + "/max"), {}, {activation.beta}));
    }
  }

  Result<void> write_node(const Op& op, const MatMul& product, const std::string& y) {
    if (product.transpose_a || product.transpose_b)
      return fail(ErrorCode::kInvalidInput, "ONNX has no MatMul of transposed operands");
    COHORT_TRY([[maybe_unused]] auto* const node, add_plain_node(op, "MatMul", y));
    return {};
  }

  Result<void> write_node(const Op& op, const LayerNormalization& normalization, const std::string& y) {
    COHORT_TRY(::onnx::NodeProto* const node, add_plain_node(op, "LayerNormalization", y));
    set(*node, "axis", normalization.axis);
    set(*node, "epsilon", normalization.epsilon);
    return {};
  }

  Result<void> write_node(const Op& op, const Transpose& transpose, const std::string& y) {
    COHORT_TRY(::onnx::NodeProto* const node, add_plain_node(op, "Transpose", y));
    set(*node, "perm", transpose.permutation);
    return {};
  }

  /// Without what few networks have: state from outside, lengths, peepholes, functions of their own.
  Result<void> write_node(const Op& op, const Recurrent& recurrent, const std::string& y) {
    Recurrent plain;
    plain.cell = recurrent.cell;
    plain.hidden = recurrent.hidden;
    plain.direction = recurrent.direction;
    plain.linear_before_reset = recurrent.linear_before_reset;
    if (!(recurrent == plain))
      return fail(ErrorCode::kInvalidInput, "a recurrent layer with more than its usual functions cannot be written");
    const char* const type = recurrent.cell == RecurrentCell::kRnn   ? "RNN"
                             : recurrent.cell == RecurrentCell::kGru ? "GRU"
                                                                     : "LSTM";
    COHORT_TRY(::onnx::NodeProto* const node, add_plain_node(op, type, y));
    set(*node, "hidden_size", recurrent.hidden);
    if (recurrent.linear_before_reset) set(*node, "linear_before_reset", std::int64_t{1});
    const char* const direction = recurrent.direction == Direction::kForward   ? "forward"
                                  : recurrent.direction == Direction::kReverse ? "reverse"
                                                                               : "bidirectional";
    add_attribute(*node, "direction", ::onnx::AttributeProto::STRING).set_s(direction);
    return {};
  }

  template <class Other>
  Result<void> write_node(const Op& op, const Other& /*attributes*/, const std::string& /*y*/) {
    return fail(ErrorCode::kInvalidInput, "{} cannot be written as ONNX", op_type(op.attributes));
  }

  Result<void> write_node(const Op& op, const Convolution& convolution, const std::string& y) {
    COHORT_TRY(::onnx::NodeProto* const node, add_plain_node(op, "Conv", y));
    set_window(*node, convolution.window);
    set(*node, "dilations", convolution.window.dilation);
    set(*node, "group", convolution.groups);
    return {};
  }

  Result<void> write_node(const Op& op, const Pool& pool, const std::string& y) {
    const bool is_max = pool.kind == PoolKind::kMax;
    const bool is_dilated = std::any_of(pool.window.dilation.begin(), pool.window.dilation.end(),
                                        [](std::int64_t dilation) { return dilation != 1; });
    if (!is_max && is_dilated) return fail(ErrorCode::kInvalidInput, "older opsets have no dilated average pooling");
    COHORT_TRY(::onnx::NodeProto* const node, add_plain_node(op, is_max ? "MaxPool" : "AveragePool", y));
    set_window(*node, pool.window);
    if (is_dilated) set(*node, "dilations", pool.window.dilation);
    if (pool.ceil_mode) set(*node, "ceil_mode", std::int64_t{1});
    if (pool.count_include_pad && !is_max) set(*node, "count_include_pad", std::int64_t{1});
    return {};
  }

  Result<void> write_node(const Op& op, const Gemm& gemm, const std::string& y) {
    if (gemm.stacked) return fail(ErrorCode::kInvalidInput, "ONNX has no Gemm over stacked models");
    std::string x = model_.tensor(op.inputs[0]).name;
    if (model_.tensor(op.inputs[0]).shape.size() != 2) {
      ::onnx::NodeProto& flatten = add_node(unique(op.name + "/flatten"), "Flatten");
      flatten.add_input(x);
      x = unique(x + "/flat");
      flatten.add_output(x);
      set(flatten, "axis", std::int64_t{1});
    }
    ::onnx::NodeProto& node = add_node(op.name, "Gemm");
    node.add_input(x);
    COHORT_CHECK(add_inputs(node, op, 1));
    node.add_output(y);
    set(node, "transB", std::int64_t{1});
    return {};
  }

  Result<void> write_node(const Op& op, const BatchNormalization& normalization, const std::string& y) {
    COHORT_TRY(::onnx::NodeProto* const node, add_plain_node(op, "BatchNormalization", y));
    set(*node, "epsilon", normalization.epsilon);
    return {};
  }

  Result<void> write_node(const Op& op, const LocalResponseNormalization& normalization, const std::string& y) {
    COHORT_TRY(::onnx::NodeProto* const node, add_plain_node(op, "LRN", y));
    set(*node, "size", normalization.size);
    set(*node, "alpha", normalization.alpha);
    set(*node, "beta", normalization.beta);
    set(*node, "bias", normalization.bias);
    return {};
  }

  Result<void> write_node(const Op& op, const Activation& activation, const std::string& y) {
    COHORT_TRY(const std::string x, input_name(op, 0));
    write_activation(op.name, activation, x, y);
    return {};
  }

  Result<void> write_node(const Op& op, const Binary& binary, const std::string& y) {
    COHORT_TRY([[maybe_unused]] auto* const node, add_plain_node(op, op_type(binary).data(), y));
    return {};
  }

  Result<void> write_node(const Op& op, const Concat& concat, const std::string& y) {
    COHORT_TRY(::onnx::NodeProto* const node, add_plain_node(op, "Concat", y));
    set(*node, "axis", concat.axis);
    return {};
  }

  Result<void> write_node(const Op& op, const Softmax& softmax, const std::string& y) {
    COHORT_TRY(::onnx::NodeProto* const node, add_plain_node(op, "Softmax", y));
    set(*node, "axis", softmax.axis);
    return {};
  }

  Result<void> write_node(const Op& op, const Reshape& /*reshape*/, const std::string& y) {
    COHORT_TRY(::onnx::NodeProto* const node, add_plain_node(op, "Reshape", y));
    node->add_input(write_integers(op.name + ".shape", model_.tensor(op.outputs[0]).shape));
    return {};
  }

  /// ONNX wants an axis for directions in the weights, and has one in the result.
  Result<void> write_node(const Op& op, const Lstm& lstm, const std::string& y) {
    for (std::size_t i = 1; i < 4; ++i) {
      if (model_.tensor(op.inputs[i]).role != TensorRole::kWeight || weights_.of(op.inputs[i]) == nullptr)
        return fail(ErrorCode::kInvalidInput, "weight {} has no values", model_.tensor(op.inputs[i]).name);
    }
    COHORT_TRY(const std::string x, input_name(op, 0));
    const std::int64_t rows = 4 * lstm.hidden;
    COHORT_TRY(const std::string w, write_weight(op.inputs[1], {1, rows, model_.tensor(op.inputs[0]).shape[2]}));
    COHORT_TRY(const std::string r, write_weight(op.inputs[2], {1, rows, lstm.hidden}));
    std::vector<float> bias = *weights_.of(op.inputs[3]);
    bias.resize(bias.size() * 2, 0.0F);
    const std::string b = write_floats(model_.tensor(op.inputs[3]).name, {1, 2 * rows}, bias);
    ::onnx::NodeProto& node = add_node(op.name, "LSTM");
    for (const std::string& input : {x, w, r, b}) node.add_input(input);
    const std::string directions = unique(y + "/directions");
    node.add_output(directions);
    set(node, "hidden_size", lstm.hidden);
    ::onnx::NodeProto& squeeze = add_node(unique(op.name + "/squeeze"), "Squeeze");
    squeeze.add_input(directions);
    squeeze.add_input(write_integers(op.name + ".direction_axis", {1}));
    squeeze.add_output(y);
    return {};
  }

  const Model& model_;
  const Weights& weights_;
  ::onnx::GraphProto& graph_;
  std::set<std::string> names_;
  std::set<std::string> written_;  ///< initialisers
  std::map<TensorId, std::string> weight_names_;
};

}  // namespace

Result<std::string> serialize_model(const LoadedModel& loaded) {
  COHORT_CHECK(validate(loaded.model));
  if (loaded.weights.by_tensor.size() != loaded.model.tensors.size())
    return fail(ErrorCode::kInvalidInput, "model {}: weights of {} tensors for {} tensors", loaded.model.name,
                loaded.weights.by_tensor.size(), loaded.model.tensors.size());
  ::onnx::ModelProto model;
  model.set_ir_version(kIrVersion);
  model.set_producer_name("cohort");
  auto& opset = *model.add_opset_import();
  opset.set_domain("");
  opset.set_version(opset_of(loaded.model));
  GraphWriter writer(loaded, *model.mutable_graph());
  if (auto written = writer.write(); !written)
    return in_context(fmt::format("model {}", loaded.model.name), written.error());
  if (model.ByteSizeLong() > static_cast<std::size_t>(std::numeric_limits<int>::max()))
    return fail(ErrorCode::kInvalidInput, "model {} is larger than the 2 GiB that an ONNX file may have",
                loaded.model.name);
  std::string bytes;
  if (!model.SerializeToString(&bytes))
    return fail(ErrorCode::kInvalidInput, "model {} cannot be serialised", loaded.model.name);
  return bytes;
}

}  // namespace cohort::onnx
