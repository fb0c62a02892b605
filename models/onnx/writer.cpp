#include "models/onnx/graph_writer.hpp"

#include <algorithm>
#include <limits>

#include "models/onnx/onnx_file.hpp"

namespace cohort::onnx {

namespace {

constexpr std::int64_t kIrVersion = 8;

std::int64_t opset_of(const Activation& activation) {
  switch (activation.kind) {
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

std::int64_t opset_of(const Binary& binary) { return is_bitwise(binary.kind) ? 18 : 0; }
std::int64_t opset_of(const Pool& pool) {
  const auto& dilation = pool.window.dilation;
  const bool dilated = std::any_of(dilation.begin(), dilation.end(), [](std::int64_t each) { return each != 1; });
  return pool.kind == PoolKind::kAverage && dilated ? 19 : 0;
}
std::int64_t opset_of(const LayerNormalization& op) { return op.centred ? 17 : 0; }
std::int64_t opset_of(const Pad& pad) { return pad.mode == PadMode::kWrap ? 19 : 0; }
std::int64_t opset_of(const Scatter& scatter) {
  if (!scatter.reduction) return 0;
  const bool is_least_or_most = *scatter.reduction == BinaryKind::kMin || *scatter.reduction == BinaryKind::kMax;
  return is_least_or_most ? 18 : 16;
}
std::int64_t opset_of(const Resize& resize) {
  if (resize.positions == ResizePositions::kHalfPixelSymmetric) return 19;
  return resize.antialias ? 18 : 0;
}
template <class Other>
std::int64_t opset_of(const Other& /*op*/) {
  return 0;
}

/// The oldest that has every op, for the most readers.
std::int64_t opset_of(const Model& model) {
  std::int64_t opset = 13;
  for (const Op& op : model.ops) {
    opset = std::max(opset, std::visit([](const auto& attributes) { return opset_of(attributes); }, op.attributes));
    if (element_count(model.tensor(op.outputs[0]).shape) == 0) opset = std::max<std::int64_t>(opset, 14);
    for (const PostOp& post_op : op.post_ops) {
      if (const auto* activation = std::get_if<Activation>(&post_op)) opset = std::max(opset, opset_of(*activation));
    }
  }
  return opset;
}

void write_value_info(::onnx::ValueInfoProto& info, const Tensor& tensor) {
  info.set_name(tensor.name);
  auto& type = *info.mutable_type()->mutable_tensor_type();
  type.set_elem_type(tensor.element == ElementType::kFloat32 ? ::onnx::TensorProto::FLOAT : ::onnx::TensorProto::INT32);
  auto& shape = *type.mutable_shape();  // there also where it has no dimensions
  for (const std::int64_t extent : tensor.shape) shape.add_dim()->set_dim_value(extent);
}

::onnx::AttributeProto& add_attribute(::onnx::NodeProto& node, const char* name,
                                      ::onnx::AttributeProto::AttributeType type) {
  auto& attribute = *node.add_attribute();
  attribute.set_name(name);
  attribute.set_type(type);
  return attribute;
}

}  // namespace

void set(::onnx::NodeProto& node, const char* name, std::int64_t value) {
  add_attribute(node, name, ::onnx::AttributeProto::INT).set_i(value);
}
void set(::onnx::NodeProto& node, const char* name, float value) {
  add_attribute(node, name, ::onnx::AttributeProto::FLOAT).set_f(value);
}
void set(::onnx::NodeProto& node, const char* name, const char* value) {
  add_attribute(node, name, ::onnx::AttributeProto::STRING).set_s(value);
}
void set(::onnx::NodeProto& node, const char* name, const std::vector<std::int64_t>& values) {
  auto& attribute = add_attribute(node, name, ::onnx::AttributeProto::INTS);
  for (const std::int64_t value : values) attribute.add_ints(value);
}
void set(::onnx::NodeProto& node, const char* name, const std::vector<float>& values) {
  auto& attribute = add_attribute(node, name, ::onnx::AttributeProto::FLOATS);
  for (const float value : values) attribute.add_floats(value);
}

GraphWriter::GraphWriter(const LoadedModel& loaded, std::int64_t opset, ::onnx::GraphProto& graph, DataFile* data)
    : model_(loaded.model), weights_(loaded.weights), opset_(opset), graph_(graph), data_(data) {
  for (const Tensor& tensor : model_.tensors) names_.insert(tensor.name);
}

Result<void> GraphWriter::write() {
  graph_.set_name(model_.name);
  for (const TensorId id : model_.inputs) {
    const Tensor& input = model_.tensor(id);
    if (input.role != TensorRole::kSetting) write_value_info(*graph_.add_input(), input);
  }
  for (const TensorId id : model_.outputs) write_value_info(*graph_.add_output(), model_.tensor(id));
  const std::vector<Split> splits = find_splits(model_);
  std::map<OpId, const Split*> split_of;
  for (const Split& split : splits) {
    for (const OpId id : split.slices) split_of[id] = &split;
  }
  std::set<const Split*> done;
  for (std::size_t i = 0; i < model_.ops.size(); ++i) {
    const Op& op = model_.ops[i];
    if (const auto found = split_of.find(static_cast<OpId>(i)); found != split_of.end()) {
      if (done.insert(found->second).second) COHORT_CHECK(write_split(*found->second));
    } else if (auto written = write_op(op); !written) {
      return in_context(fmt::format("op {}", op.name), written.error());
    }
  }
  return {};
}

Result<void> GraphWriter::write_split(const Split& split) {
  const Op& first = model_.op(split.slices[0]);
  COHORT_TRY(const std::string x, input_name(first, 0));
  std::vector<std::int64_t> extents;
  Node& node = add_node(first.name, "Split");
  node.add_input(x);
  for (const OpId id : split.slices) {
    const Tensor& part = model_.tensor(model_.op(id).outputs[0]);
    node.add_output(part.name);
    extents.push_back(part.shape[static_cast<std::size_t>(split.axis)]);
  }
  node.add_input(write_integers(first.name + ".extents", extents));
  set(node, "axis", split.axis);
  return {};
}

std::string GraphWriter::unique(std::string name) {
  while (!names_.insert(name).second) name += "_";
  return name;
}

/// An initialiser with the values of weight `id`, seen as `shape`; returns its name. Ops that see it alike share it.
Result<std::string> GraphWriter::write_weight(TensorId id, const Shape& shape) {
  const auto known = weight_names_.find({id, shape});
  if (known != weight_names_.end()) return known->second;
  const Tensor& tensor = model_.tensor(id);
  const WeightValues& values = weights_.of(id);
  if (values == nullptr) return fail(ErrorCode::kInvalidInput, "weight {} has no values", tensor.name);
  return weight_names_[{id, shape}] = write_floats(tensor.name, shape, *values, tensor.element);
}

std::string GraphWriter::initializer_name(const std::string& wanted) {
  if (written_.insert(wanted).second) return wanted;
  std::string name = unique(wanted);
  written_.insert(name);
  return name;
}

/// Whole numbers lie among the values by their bits.
std::string GraphWriter::write_floats(const std::string& wanted, const Shape& shape, const std::vector<float>& values,
                                      ElementType element) {
  auto& tensor = *graph_.add_initializer();
  tensor.set_name(initializer_name(wanted));
  tensor.set_data_type(element == ElementType::kFloat32 ? ::onnx::TensorProto::FLOAT : ::onnx::TensorProto::INT32);
  for (const std::int64_t extent : shape) tensor.add_dims(extent);
  write_values(tensor, values);
  return tensor.name();
}

/// Small ones stay in the graph, where checkers and shape inference see them. Others begin at pages, so that readers
/// can map them.
void GraphWriter::write_values(::onnx::TensorProto& tensor, const std::vector<float>& values) {
  constexpr std::size_t kLarge = 1024, kPage = 4096;
  const std::size_t size = values.size() * sizeof(float);
  if (data_ == nullptr || size < kLarge) {
    tensor.set_raw_data(values.data(), size);
    return;
  }
  data_->bytes.resize((data_->bytes.size() + kPage - 1) / kPage * kPage);
  tensor.set_data_location(::onnx::TensorProto::EXTERNAL);
  const std::pair<const char*, std::string> fields[] = {
      {"location", data_->name}, {"offset", std::to_string(data_->bytes.size())}, {"length", std::to_string(size)}};
  for (const auto& [key, value] : fields) {
    auto& field = *tensor.add_external_data();
    field.set_key(key);
    field.set_value(value);
  }
  data_->bytes.append(reinterpret_cast<const char*>(values.data()), size);
}

std::string GraphWriter::write_integers(const std::string& wanted, const std::vector<std::int64_t>& values) {
  auto& tensor = *graph_.add_initializer();
  tensor.set_name(unique(wanted));
  tensor.set_data_type(::onnx::TensorProto::INT64);
  tensor.add_dims(static_cast<std::int64_t>(values.size()));
  tensor.set_raw_data(values.data(), values.size() * sizeof(std::int64_t));
  return tensor.name();
}

Result<std::string> GraphWriter::input_name(const Op& op, std::size_t i) {
  const TensorId id = op.inputs[i];
  const Tensor& tensor = model_.tensor(id);
  return tensor.role == TensorRole::kWeight ? write_weight(id, tensor.shape) : Result<std::string>(tensor.name);
}

Result<void> GraphWriter::add_inputs(Node& node, const Op& op, std::size_t first) {
  for (std::size_t i = first; i < own_input_count(op); ++i) {
    COHORT_TRY(const std::string name, input_name(op, i));
    node.add_input(name);
  }
  return {};
}

GraphWriter::Node& GraphWriter::add_node(const std::string& name, std::string_view type) {
  auto& node = *graph_.add_node();
  node.set_name(name);
  node.set_op_type(std::string(type));
  return node;
}

std::string GraphWriter::chain(const Op& op, const char* type, const std::string& x) {
  std::string y = unique(fmt::format("{}/{}", op.name, type));
  Node& node = add_node(y, type);
  node.add_input(x);
  node.add_output(y);
  return y;
}

std::string GraphWriter::cast(const Op& op, const std::string& x, ::onnx::TensorProto::DataType type) {
  std::string y = chain(op, "Cast", x);
  set(*graph_.mutable_node(graph_.node_size() - 1), "to", std::int64_t{type});
  return y;
}

void GraphWriter::cast_to(const Op& op, const std::string& x, ::onnx::TensorProto::DataType type,
                          const std::string& y) {
  Node& node = add_node(unique(op.name + "/cast"), "Cast");
  node.add_input(x);
  node.add_output(y);
  set(node, "to", std::int64_t{type});
}

std::string GraphWriter::reshape(const Op& op, const std::string& x, const Shape& shape) {
  std::string y = chain(op, "Reshape", x);
  const int node = graph_.node_size() - 1;
  graph_.mutable_node(node)->add_input(write_integers(op.name + ".shape", shape));
  return y;
}

Result<GraphWriter::Node*> GraphWriter::add_plain_node(const Op& op, std::string_view type, const std::string& y) {
  Node& node = add_node(op.name, type);
  COHORT_CHECK(add_inputs(node, op));
  node.add_output(y);
  return &node;
}

Result<void> GraphWriter::write_op(const Op& op) {
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

Result<void> GraphWriter::write_post_op(const Op& op, const PostOp& post_op, const std::string& x,
                                        const std::string& y) {
  if (const auto* activation = std::get_if<Activation>(&post_op)) {
    write_activation(y, *activation, x, y);
    return {};
  }
  Node& node = add_node(y, "Add");
  node.add_input(x);
  COHORT_TRY(const std::string operand, input_name(op, std::get<AddOperand>(post_op).operand));
  node.add_input(operand);
  node.add_output(y);
  return {};
}

/// x * sigmoid(alpha x): as an op only since opset 24, which few readers have.
void GraphWriter::write_swish(const std::string& name, float alpha, const std::string& x, const std::string& y) {
  const std::string scaled = unique(y + "/scaled"), share = unique(y + "/share");
  Node& scale = add_node(name, "Mul");
  scale.add_input(x);
  scale.add_input(write_floats(unique(y + "/alpha"), {}, {alpha}));
  scale.add_output(scaled);
  Node& sigmoid = add_node(share, "Sigmoid");
  sigmoid.add_input(scaled);
  sigmoid.add_output(share);
  Node& product = add_node(unique(name + "/product"), "Mul");
  product.add_input(x);
  product.add_input(share);
  product.add_output(y);
}

void GraphWriter::write_fake_quantize(const std::string& name, const Activation& activation, const std::string& x,
                                      const std::string& y) {
  const std::string levels = unique(y + "/levels");
  const std::string step = write_floats(unique(y + "/scale"), {}, {activation.alpha});
  auto& zero_point = *graph_.add_initializer();
  zero_point.set_name(unique(y + "/zero_point"));
  zero_point.set_data_type(::onnx::TensorProto::UINT8);
  zero_point.add_int32_data(static_cast<std::int32_t>(-activation.beta));
  const std::string zero = zero_point.name();
  const auto write = [&](const std::string& node_name, const char* type, const std::string& from,
                         const std::string& to) {
    Node& node = add_node(node_name, type);
    for (const std::string& input : {from, step, zero}) node.add_input(input);
    node.add_output(to);
  };
  write(unique(name + "/quantize"), "QuantizeLinear", x, levels);
  write(name, "DequantizeLinear", levels, y);
}

void GraphWriter::write_activation(const std::string& name, const Activation& activation, const std::string& x,
                                   const std::string& y) {
  if (activation.kind == ActivationKind::kSwish) return write_swish(name, activation.alpha, x, y);
  if (activation.kind == ActivationKind::kFakeQuantize) return write_fake_quantize(name, activation, x, y);
  Node& node = add_node(name, op_type(activation));
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
    case ActivationKind::kGeluTanh:
      node.set_op_type("Gelu");
      set(node, "approximate", "tanh");
      break;
    default:
      break;
  }
  if (activation.kind == ActivationKind::kClip) {
    node.add_input(write_floats(unique(y + "/min"), {}, {activation.alpha}));
    node.add_input(write_floats(unique(y + "/max"), {}, {activation.beta}));
  }
}

namespace {

Result<std::string> serialize(const LoadedModel& loaded, DataFile* data) {
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
  GraphWriter writer(loaded, opset.version(), *model.mutable_graph(), data);
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

std::size_t weight_bytes(const Weights& weights) {
  std::size_t bytes = 0;
  for (const WeightValues& values : weights.by_tensor) bytes += values ? values->size() * sizeof(float) : 0;
  return bytes;
}

}  // namespace

Result<std::string> serialize_model(const LoadedModel& loaded) { return serialize(loaded, nullptr); }

Result<ModelFiles> serialize_model(const LoadedModel& loaded, const std::string& data_name, Bytes most_inside) {
  const bool outside = weight_bytes(loaded.weights) > static_cast<std::size_t>(most_inside.value);
  DataFile data{data_name};
  COHORT_TRY(std::string model, serialize(loaded, outside ? &data : nullptr));
  return ModelFiles{std::move(model), std::move(data.bytes)};
}

}  // namespace cohort::onnx
