#include <onnx/onnx_pb.h>

#include <algorithm>
#include <array>
#include <cstring>
#include <limits>
#include <set>

#include "base/file.hpp"
#include "models/onnx/container.hpp"
#include "models/onnx/external_data.hpp"
#include "models/onnx/graph.hpp"
#include "models/onnx/onnx_file.hpp"

namespace cohort::onnx {

namespace {

/// Forms of before opset 6 are read where they are the same as later ones.
constexpr std::int64_t kOldestOpset = 1;

std::string element_type_name(std::int32_t type) {
  switch (type) {
    case ::onnx::TensorProto::FLOAT:
      return "float32";
    case ::onnx::TensorProto::UNDEFINED:
      return "undefined";
    default:
      break;
  }
  if (!::onnx::TensorProto::DataType_IsValid(type)) return fmt::format("type {}", type);
  return ::onnx::TensorProto::DataType_Name(static_cast<::onnx::TensorProto::DataType>(type));
}

/// Extents and number of elements, both bounded, so that later arithmetic cannot overflow.
Result<Shape> shape_of(const ::onnx::TensorProto& tensor) {
  constexpr std::int64_t kMost = std::int64_t{1} << 40;
  Shape shape(tensor.dims().begin(), tensor.dims().end());
  std::int64_t non_zero = 1;
  for (const std::int64_t extent : shape) {
    const bool overflows = extent > 0 && __builtin_mul_overflow(non_zero, extent, &non_zero);
    if (extent < 0 || overflows || non_zero > kMost)
      return fail(ErrorCode::kInvalidInput, "its shape {} is not valid", to_string(shape));
  }
  return shape;
}

/// The values of `tensor`: `count` elements of type Stored as raw bytes, or else those of `field`.
template <class Stored, class Value, class Field>
Result<std::vector<Value>> values_of(const ::onnx::TensorProto& tensor, std::size_t count, const Field& field) {
  std::vector<Value> values;
  if (tensor.has_raw_data()) {
    const std::string& raw = tensor.raw_data();
    if (raw.size() != count * sizeof(Stored))
      return fail(ErrorCode::kInvalidInput, "it holds {} bytes where its {} elements of {} need {}", raw.size(), count,
                  element_type_name(tensor.data_type()), count * sizeof(Stored));
    values.resize(count);
    for (std::size_t i = 0; i < count; ++i) {
      Stored stored{};
      std::memcpy(&stored, raw.data() + i * sizeof(Stored), sizeof(Stored));
      values[i] = static_cast<Value>(stored);
    }
    return values;
  }
  if (static_cast<std::size_t>(field.size()) != count)
    return fail(ErrorCode::kInvalidInput, "it holds {} values where its shape needs {}", field.size(), count);
  values.reserve(count);
  for (const auto value : field) values.push_back(static_cast<Value>(value));
  return values;
}

template <class Stored, class Value, class Field>
Result<Constant> constant_of(const ::onnx::TensorProto& tensor, Shape shape, const Field& field) {
  const auto count = static_cast<std::size_t>(element_count(shape));
  COHORT_TRY(auto values, (values_of<Stored, Value>(tensor, count, field)));
  return make_constant(std::move(shape), std::move(values));
}

/// Where the files lie that tensors may name; null: they may name none.
using Folder = const std::filesystem::path*;

Result<Constant> parse_constant(const ::onnx::TensorProto& tensor, Folder folder);

Result<Constant> parse_external(const ::onnx::TensorProto& tensor, Folder folder) {
  if (folder == nullptr)
    return fail(ErrorCode::kInvalidInput, "its values lie in another file, which only a model in a file can name");
  std::map<std::string, std::string> fields;
  for (const auto& field : tensor.external_data()) fields[field.key()] = field.value();
  COHORT_TRY(std::string bytes, external_bytes(*folder, fields));
  ::onnx::TensorProto inside;
  inside.set_data_type(tensor.data_type());
  *inside.mutable_dims() = tensor.dims();
  inside.set_raw_data(std::move(bytes));
  return parse_constant(inside, nullptr);
}

Result<Constant> parse_constant(const ::onnx::TensorProto& tensor, Folder folder) {
  using Proto = ::onnx::TensorProto;
  if (tensor.data_location() == Proto::EXTERNAL || tensor.external_data_size() > 0)
    return parse_external(tensor, folder);
  COHORT_TRY(Shape shape, shape_of(tensor));
  switch (tensor.data_type()) {
    case Proto::FLOAT:
      return constant_of<float, float>(tensor, std::move(shape), tensor.float_data());
    case Proto::DOUBLE:
      return constant_of<double, float>(tensor, std::move(shape), tensor.double_data());
    case Proto::INT64:
      return constant_of<std::int64_t, std::int64_t>(tensor, std::move(shape), tensor.int64_data());
    case Proto::INT32:
      return constant_of<std::int32_t, std::int64_t>(tensor, std::move(shape), tensor.int32_data());
    case Proto::UINT8:
    case Proto::BOOL:
      return constant_of<std::uint8_t, std::int64_t>(tensor, std::move(shape), tensor.int32_data());
    default:
      return fail(ErrorCode::kInvalidInput, "its type is {}; supported are float32 and whole numbers",
                  element_type_name(tensor.data_type()));
  }
}

/// Whether a tensor is whole, be its type supported or not. Values in another file are not looked at.
Result<void> check_whole(const ::onnx::TensorProto& tensor) {
  using Proto = ::onnx::TensorProto;
  if (tensor.data_location() == Proto::EXTERNAL || tensor.external_data_size() > 0) return {};
  COHORT_CHECK(shape_of(tensor));
  if (tensor.data_type() == Proto::UNDEFINED) return fail(ErrorCode::kInvalidInput, "it says no type");
  constexpr std::array kRead{Proto::FLOAT, Proto::DOUBLE, Proto::INT64, Proto::INT32, Proto::UINT8, Proto::BOOL};
  if (std::find(kRead.begin(), kRead.end(), tensor.data_type()) == kRead.end()) return {};
  COHORT_CHECK(parse_constant(tensor, nullptr));
  return {};
}

/// The kind of an attribute; files before IR 2 leave it to which field is set.
::onnx::AttributeProto::AttributeType kind_of(const ::onnx::AttributeProto& attribute) {
  using Proto = ::onnx::AttributeProto;
  if (attribute.type() != Proto::UNDEFINED) return attribute.type();
  if (attribute.has_i()) return Proto::INT;
  if (attribute.has_f()) return Proto::FLOAT;
  if (attribute.has_s()) return Proto::STRING;
  if (attribute.has_t()) return Proto::TENSOR;
  if (attribute.floats_size() > 0) return Proto::FLOATS;
  if (attribute.strings_size() > 0) return Proto::STRINGS;
  return Proto::INTS;
}

Result<AttributeValue> parse_attribute(const ::onnx::AttributeProto& attribute, Folder folder) {
  using Proto = ::onnx::AttributeProto;
  switch (kind_of(attribute)) {
    case Proto::INT:
      return AttributeValue(static_cast<std::int64_t>(attribute.i()));
    case Proto::FLOAT:
      return AttributeValue(attribute.f());
    case Proto::STRING:
      return AttributeValue(attribute.s());
    case Proto::INTS:
      return AttributeValue(std::vector<std::int64_t>(attribute.ints().begin(), attribute.ints().end()));
    case Proto::FLOATS:
      return AttributeValue(std::vector<float>(attribute.floats().begin(), attribute.floats().end()));
    case Proto::STRINGS:
      return AttributeValue(std::vector<std::string>(attribute.strings().begin(), attribute.strings().end()));
    case Proto::TENSOR: {
      COHORT_TRY(Constant constant, parse_constant(attribute.t(), folder));
      return AttributeValue(std::move(constant));
    }
    default:
      return AttributeValue();
  }
}

Result<Node> parse_node(const ::onnx::NodeProto& proto, Folder folder) {
  Node node{proto.name(), proto.op_type(), proto.domain() == "ai.onnx" ? "" : proto.domain(), {}, {}, {}};
  node.inputs.assign(proto.input().begin(), proto.input().end());
  node.outputs.assign(proto.output().begin(), proto.output().end());
  for (const auto& attribute : proto.attribute()) {
    Result<AttributeValue> value = parse_attribute(attribute, folder);
    if (!value)
      return in_context(fmt::format("node {} ({}): attribute {}", node.name, node.op_type, attribute.name()),
                        value.error());
    if (!node.attributes.emplace(attribute.name(), *std::move(value)).second)
      return fail(ErrorCode::kInvalidInput, "node {} ({}): attribute {} stands twice", node.name, node.op_type,
                  attribute.name());
  }
  return node;
}

Result<GraphInput> parse_input(const ::onnx::ValueInfoProto& proto) {
  GraphInput input{proto.name(), {}, {}};
  if (!proto.type().has_tensor_type()) return fail(ErrorCode::kInvalidInput, "input {} is not a tensor", input.name);
  const auto& type = proto.type().tensor_type();
  input.element_type = element_type_name(type.elem_type());
  if (!type.has_shape()) return input;
  input.shape.emplace();
  for (const auto& dimension : type.shape().dim()) {
    const bool known = dimension.has_dim_value() && dimension.dim_value() > 0;
    input.shape->push_back(
        {known ? std::optional<std::int64_t>(dimension.dim_value()) : std::nullopt, dimension.dim_param()});
  }
  return input;
}

Result<std::int64_t> opset_of(const ::onnx::ModelProto& model) {
  for (const auto& opset : model.opset_import()) {
    if (!opset.domain().empty() && opset.domain() != "ai.onnx") continue;
    if (opset.version() < kOldestOpset)
      return fail(ErrorCode::kInvalidInput, "opset {} is too old; supported are {} and later", opset.version(),
                  kOldestOpset);
    return opset.version();
  }
  return fail(ErrorCode::kInvalidInput, "it names no opset; supported are {} and later", kOldestOpset);
}

Result<void> parse_initializers(const ::onnx::GraphProto& proto, Folder folder, Graph& graph) {
  if (proto.sparse_initializer_size() > 0) return fail(ErrorCode::kInvalidInput, "sparse tensors are not supported");
  for (const auto& tensor : proto.initializer()) {
    Result<Constant> constant = parse_constant(tensor, folder);
    if (!constant) return in_context(fmt::format("tensor {}", tensor.name()), constant.error());
    if (!graph.constants.emplace(tensor.name(), *std::move(constant)).second)
      return fail(ErrorCode::kInvalidInput, "tensor {} has two initialisers", tensor.name());
  }
  return {};
}

Result<void> check_size(std::string_view bytes) {
  // The limit of protobuf itself.
  if (bytes.size() <= static_cast<std::size_t>(std::numeric_limits<int>::max())) return {};
  return fail(ErrorCode::kInvalidInput, "files of 2 GiB and more are not supported");
}

Result<::onnx::ModelProto> model_of(std::string_view bytes) {
  ::onnx::ModelProto model;
  if (!model.ParseFromArray(bytes.data(), static_cast<int>(bytes.size())))
    return fail(ErrorCode::kInvalidInput, "not an ONNX model, or cut short");
  if (!model.has_graph()) return fail(ErrorCode::kInvalidInput, "not an ONNX model: it has no graph");
  return model;
}

Result<::onnx::TensorProto> tensor_of(std::string_view bytes) {
  ::onnx::TensorProto tensor;
  if (!tensor.ParseFromArray(bytes.data(), static_cast<int>(bytes.size())))
    return fail(ErrorCode::kInvalidInput, "not an ONNX tensor, or cut short");
  return tensor;
}

Result<Graph> graph_of(std::string_view bytes, Folder folder) {
  COHORT_CHECK(check_size(bytes));
  COHORT_TRY(const ::onnx::ModelProto model, model_of(bytes));
  Graph graph;
  COHORT_TRY(graph.opset, opset_of(model));
  const ::onnx::GraphProto& proto = model.graph();
  graph.name = proto.name();
  COHORT_CHECK(parse_initializers(proto, folder, graph));
  for (const auto& node : proto.node()) {
    COHORT_TRY(Node parsed, parse_node(node, folder));
    graph.nodes.push_back(std::move(parsed));
  }
  for (const auto& input : proto.input()) {
    if (graph.constants.count(input.name()) > 0) continue;
    COHORT_TRY(GraphInput parsed, parse_input(input));
    graph.inputs.push_back(std::move(parsed));
  }
  for (const auto& output : proto.output()) graph.outputs.push_back(output.name());
  return graph;
}

}  // namespace

Constant make_constant(Shape shape, std::vector<float> values) {
  return {std::move(shape), std::make_shared<const std::vector<float>>(std::move(values))};
}

Constant make_constant(Shape shape, std::vector<std::int64_t> values) { return {std::move(shape), std::move(values)}; }

Result<Graph> parse_graph(std::string_view bytes) { return graph_of(bytes, nullptr); }

Result<Graph> parse_graph(std::string_view bytes, const std::filesystem::path& folder) {
  return graph_of(bytes, &folder);
}

Result<std::vector<std::string>> input_names(std::string_view bytes) {
  COHORT_TRY(const Graph graph, parse_graph(bytes));
  std::vector<std::string> names;
  for (const GraphInput& input : graph.inputs) names.push_back(input.name);
  return names;
}

Result<NamedTensor> read_tensor(const std::filesystem::path& path) {
  COHORT_TRY(const std::string bytes, read_file(path));
  const auto parse = [&]() -> Result<NamedTensor> {
    COHORT_CHECK(check_size(bytes));
    COHORT_TRY(const ::onnx::TensorProto proto, tensor_of(bytes));
    const auto type = proto.data_type();
    const bool is_whole =
        type == ::onnx::TensorProto::INT64 || type == ::onnx::TensorProto::INT32 || type == ::onnx::TensorProto::BOOL;
    if (type != ::onnx::TensorProto::FLOAT && !is_whole)
      return fail(ErrorCode::kInvalidInput, "holds {}; supported are float32, int64, int32 and bool",
                  element_type_name(type));
    COHORT_TRY(const Constant constant, parse_constant(proto, nullptr));
    NamedTensor tensor{proto.name(), constant.shape, {}, {}, is_whole};
    if (is_whole) {
      tensor.integers = *constant.integers();
    } else {
      tensor.values = *constant.floats();
    }
    return tensor;
  };
  Result<NamedTensor> tensor = parse();
  if (!tensor) return in_context(path.string(), tensor.error());
  return tensor;
}

Result<void> check_container(std::string_view bytes) {
  if (!check_size(bytes)) return {};
  COHORT_TRY(const ::onnx::ModelProto model, model_of(bytes));
  if (model.opset_import_size() == 0) return fail(ErrorCode::kInvalidInput, "not an ONNX model: it names no opset");
  for (const auto& tensor : model.graph().initializer()) {
    if (auto whole = check_whole(tensor); !whole)
      return in_context(fmt::format("tensor {}", tensor.name()), whole.error());
  }
  return {};
}

Result<void> check_tensor(const std::filesystem::path& path) {
  COHORT_TRY(const std::string bytes, read_file(path));
  if (!check_size(bytes)) return {};
  auto checked = tensor_of(bytes).and_then(check_whole);
  if (!checked) return in_context(path.string(), checked.error());
  return {};
}

}  // namespace cohort::onnx
