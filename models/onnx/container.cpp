#include "models/onnx/container.hpp"

#include <limits>
#include <set>

#include "base/file.hpp"
#include "models/onnx/inline_functions.hpp"
#include "models/onnx/model_parts.hpp"
#include "models/onnx/number_types.hpp"
#include "models/onnx/onnx_file.hpp"
#include "models/onnx/other_content.hpp"
#include "models/onnx/tensor_values.hpp"

namespace cohort::onnx {

namespace {

/// Forms of before opset 6 are read where they are the same as later ones.
constexpr std::int64_t kOldestOpset = 1;

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
      const auto type = attribute.t().data_type();
      if (type != ::onnx::TensorProto::UNDEFINED && !is_readable(type))
        return AttributeValue(Unreadable{type_name(type)});
      COHORT_TRY(Constant constant, parse_constant(attribute.t(), folder));
      return AttributeValue(std::move(constant));
    }
    case Proto::SPARSE_TENSOR:
      return AttributeValue(Unreadable{"a sparse tensor"});
    default:
      return AttributeValue();
  }
}

Result<Graph> parse_inner(const ::onnx::GraphProto& proto, std::int64_t opset, Folder folder);

std::string domain_of(const std::string& name) { return name == "ai.onnx" ? std::string() : name; }

Result<Node> parse_node(const ::onnx::NodeProto& proto, std::int64_t opset, Folder folder) {
  Node node{proto.name(), proto.op_type(), domain_of(proto.domain()), {}, {}, {}, opset};
  node.inputs.assign(proto.input().begin(), proto.input().end());
  node.outputs.assign(proto.output().begin(), proto.output().end());
  for (const auto& attribute : proto.attribute()) {
    if (!attribute.ref_attr_name().empty()) {
      node.references[attribute.name()] = attribute.ref_attr_name();
      continue;
    }
    if (attribute.has_g()) {
      COHORT_TRY(Graph inner, parse_inner(attribute.g(), opset, folder));
      node.graphs[attribute.name()] = std::make_shared<const Graph>(std::move(inner));
    }
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

/// Of a tensor.
GraphInput described_by(const ::onnx::ValueInfoProto& proto) {
  GraphInput input;
  input.name = proto.name();
  const auto& type = proto.type().tensor_type();
  input.type = type.elem_type();
  if (!type.has_shape()) return input;
  input.shape.emplace();
  for (const auto& dimension : type.shape().dim()) {
    const bool known = dimension.has_dim_value() && dimension.dim_value() > 0;
    input.shape->push_back(
        {known ? std::optional<std::int64_t>(dimension.dim_value()) : std::nullopt, dimension.dim_param()});
  }
  return input;
}

Result<GraphInput> parse_input(const ::onnx::ValueInfoProto& proto) {
  if (!proto.type().has_tensor_type()) return fail(ErrorCode::kInvalidInput, "input {} is not a tensor", proto.name());
  return described_by(proto);
}

/// Of a model or a function.
template <class Proto>
Result<std::int64_t> imported_opset(const Proto& proto) {
  for (const auto& opset : proto.opset_import()) {
    if (!opset.domain().empty() && opset.domain() != "ai.onnx") continue;
    if (opset.version() < kOldestOpset)
      return fail(ErrorCode::kInvalidInput, "opset {} is too old; supported are {} and later", opset.version(),
                  kOldestOpset);
    return opset.version();
  }
  return fail(ErrorCode::kInvalidInput, "it names no opset; supported are {} and later", kOldestOpset);
}

/// Names that nodes of the graph read, also inside of their own graphs, and its outputs.
void add_read_names(const ::onnx::GraphProto& graph, std::set<std::string>& names) {
  for (const auto& output : graph.output()) names.insert(output.name());
  for (const auto& node : graph.node()) {
    names.insert(node.input().begin(), node.input().end());
    for (const auto& attribute : node.attribute()) {
      if (attribute.has_g()) add_read_names(attribute.g(), names);
      for (const auto& inner : attribute.graphs()) add_read_names(inner, names);
    }
  }
}

/// Reads initialisers, one after the other: those that something reads, and of the others only that they are whole.
class InitializerReader {
 public:
  /// Errors: kInvalidInput where a sparse initialiser of the graph is read.
  static Result<InitializerReader> of(const ::onnx::GraphProto& proto, Folder folder) {
    InitializerReader reader(folder);
    add_read_names(proto, reader.needed_);
    for (const auto& tensor : proto.sparse_initializer()) {
      if (reader.needed_.count(tensor.values().name()) > 0)
        return fail(ErrorCode::kInvalidInput, "tensor {} is sparse, which is not supported", tensor.values().name());
    }
    return reader;
  }

  Result<void> read(const ::onnx::TensorProto& tensor, Graph& graph) {
    if (!names_.insert(tensor.name()).second)
      return fail(ErrorCode::kInvalidInput, "tensor {} has two initialisers", tensor.name());
    const auto parse = [&]() -> Result<void> {
      if (needed_.count(tensor.name()) == 0) return check_whole(tensor);
      COHORT_TRY(Constant constant, parse_constant(tensor, folder_));
      graph.constants.emplace(tensor.name(), std::move(constant));
      return {};
    };
    if (auto parsed = parse(); !parsed) return in_context(fmt::format("tensor {}", tensor.name()), parsed.error());
    return {};
  }

  [[nodiscard]] const std::set<std::string>& names() const { return names_; }

 private:
  explicit InitializerReader(Folder folder) : folder_(folder) {}

  Folder folder_;
  std::set<std::string> needed_;  ///< those that something reads
  std::set<std::string> names_;   ///< of all initialisers
};

Result<void> parse_nodes(const ::onnx::GraphProto& proto, Folder folder, Graph& graph) {
  graph.name = proto.name();
  for (const auto& node : proto.node()) {
    COHORT_TRY(Node parsed, parse_node(node, graph.opset, folder));
    graph.nodes.push_back(std::move(parsed));
  }
  for (const auto& output : proto.output()) graph.outputs.push_back(output.name());
  return {};
}

/// A graph inside of a node: a branch of an If, the body of a Loop.
Result<Graph> parse_inner(const ::onnx::GraphProto& proto, std::int64_t opset, Folder folder) {
  Graph graph;
  graph.opset = opset;
  COHORT_TRY(InitializerReader initializers, InitializerReader::of(proto, folder));
  for (const auto& tensor : proto.initializer()) COHORT_CHECK(initializers.read(tensor, graph));
  COHORT_CHECK(parse_nodes(proto, folder, graph));
  for (const auto& input : proto.input()) graph.inputs.push_back({input.name(), {}, {}, false});
  return graph;
}

/// Default values of a function's attributes: field 11, attribute_proto, which protobuf's code of onnx before 1.13 does
/// not know and keeps as bytes.
Result<std::map<std::string, AttributeValue>> defaults_of(const ::onnx::FunctionProto& proto, Folder folder) {
  constexpr int kAttributeProto = 11;
  const auto& reflection = *proto.GetReflection();
  std::vector<::onnx::AttributeProto> attributes;
  if (const auto* field = proto.GetDescriptor()->FindFieldByNumber(kAttributeProto); field != nullptr) {
    for (int i = 0; i < reflection.FieldSize(proto, field); ++i) {
      attributes.emplace_back();
      attributes.back().MergeFrom(reflection.GetRepeatedMessage(proto, field, i));
    }
  }
  const auto& unknown = reflection.GetUnknownFields(proto);
  for (int i = 0; i < unknown.field_count(); ++i) {
    const auto& field = unknown.field(i);
    if (field.number() != kAttributeProto || field.type() != field.TYPE_LENGTH_DELIMITED) continue;
    if (!attributes.emplace_back().ParseFromString(field.length_delimited()))
      return fail(ErrorCode::kInvalidInput, "function {}: the default of an attribute is cut short", proto.name());
  }
  std::map<std::string, AttributeValue> defaults;
  for (const ::onnx::AttributeProto& attribute : attributes) {
    COHORT_TRY(defaults[attribute.name()], parse_attribute(attribute, folder));
  }
  return defaults;
}

Result<Functions> parse_functions(const ::onnx::ModelProto& model, std::int64_t opset, Folder folder) {
  Functions functions;
  for (const auto& proto : model.functions()) {
    Function function;
    // One that uses no op of ONNX itself names no opset of it.
    function.opset = imported_opset(proto).value_or(opset);
    COHORT_TRY(function.defaults, defaults_of(proto, folder));
    function.inputs.assign(proto.input().begin(), proto.input().end());
    function.outputs.assign(proto.output().begin(), proto.output().end());
    for (const auto& node : proto.node()) {
      Result<Node> parsed = parse_node(node, function.opset, folder);
      if (!parsed) return in_context(fmt::format("function {}", proto.name()), parsed.error());
      function.nodes.push_back(*std::move(parsed));
    }
    if (!functions.emplace(std::pair(domain_of(proto.domain()), proto.name()), std::move(function)).second)
      return fail(ErrorCode::kInvalidInput, "function {} of domain {} stands twice", proto.name(), proto.domain());
  }
  return functions;
}

Result<void> check_size(std::string_view bytes) {
  // The limit of protobuf itself.
  if (bytes.size() <= static_cast<std::size_t>(std::numeric_limits<int>::max())) return {};
  return fail(ErrorCode::kInvalidInput, "files of 2 GiB and more are not supported");
}

Result<::onnx::TensorProto> tensor_of(std::string_view bytes) {
  if (const auto other = other_content(bytes))
    return fail(ErrorCode::kInvalidInput, "not an ONNX tensor: it is {}", *other);
  ::onnx::TensorProto tensor;
  if (!tensor.ParseFromArray(bytes.data(), static_cast<int>(bytes.size())))
    return fail(ErrorCode::kInvalidInput, "not an ONNX tensor, or cut short");
  return tensor;
}

Result<Graph> graph_of(std::string_view bytes, Folder folder) {
  COHORT_CHECK(check_size(bytes));
  COHORT_TRY(const ModelParts parts, parts_of(bytes));
  Graph graph;
  COHORT_TRY(graph.opset, imported_opset(parts.model));
  const ::onnx::GraphProto& proto = parts.model.graph();
  COHORT_TRY(InitializerReader initializers, InitializerReader::of(proto, folder));
  COHORT_CHECK(
      for_each_initializer(parts, [&](const ::onnx::TensorProto& tensor) { return initializers.read(tensor, graph); }));
  COHORT_CHECK(parse_nodes(proto, folder, graph));
  for (const auto& input : proto.input()) {
    COHORT_TRY(GraphInput parsed, parse_input(input));
    const bool has_value = initializers.names().count(input.name()) > 0;
    (has_value ? graph.defaulted : graph.inputs).push_back(std::move(parsed));
  }
  for (const auto* const list : {&proto.value_info(), &proto.output()}) {
    for (const auto& tensor : *list) {
      if (tensor.type().has_tensor_type()) graph.described.emplace(tensor.name(), described_by(tensor));
    }
  }
  COHORT_TRY(const Functions functions, parse_functions(parts.model, graph.opset, folder));
  COHORT_CHECK(inline_functions(graph, functions));
  return graph;
}

}  // namespace

Constant make_constant(Shape shape, std::vector<float> values, std::int64_t type) {
  return {std::move(shape), std::make_shared<const std::vector<float>>(std::move(values)),
          static_cast<std::int32_t>(type)};
}

Constant make_constant(Shape shape, std::vector<std::int64_t> values, std::int64_t type) {
  return {std::move(shape), std::make_shared<const std::vector<std::int64_t>>(std::move(values)),
          static_cast<std::int32_t>(type)};
}

GraphInput tensor_of(std::string name, std::int64_t type, const Shape& shape) {
  GraphInput tensor;
  tensor.name = std::move(name);
  tensor.type = static_cast<std::int32_t>(type);
  tensor.shape.emplace();
  for (const std::int64_t extent : shape) tensor.shape->push_back({extent, {}});
  return tensor;
}

std::vector<float> floats_of(const Constant& constant) {
  if (const auto* floats = constant.floats()) return *floats;
  const auto& integers = *constant.integers();
  std::vector<float> values;
  values.reserve(integers.size());
  for (const std::int64_t value : integers) values.push_back(static_cast<float>(value));
  return values;
}

Result<Graph> parse_graph(std::string_view bytes) { return graph_of(bytes, nullptr); }

Result<Graph> parse_graph(std::string_view bytes, const std::filesystem::path& folder) {
  return graph_of(bytes, &folder);
}

Result<std::vector<InputName>> input_names(std::string_view bytes) {
  COHORT_CHECK(check_size(bytes));
  COHORT_TRY(const ModelParts parts, parts_of(bytes));
  std::set<std::string> initialized;
  COHORT_CHECK(for_each_initializer(parts, [&](const ::onnx::TensorProto& tensor) -> Result<void> {
    initialized.insert(tensor.name());
    return {};
  }));
  std::vector<InputName> names;
  for (const auto& input : parts.model.graph().input()) {
    COHORT_TRY(const GraphInput parsed, parse_input(input));
    names.push_back({parsed.name, initialized.count(parsed.name) > 0});
  }
  return names;
}

Result<NamedTensor> read_tensor(const std::filesystem::path& path) {
  COHORT_TRY(const std::string bytes, read_file(path));
  const auto parse = [&]() -> Result<NamedTensor> {
    COHORT_CHECK(check_size(bytes));
    COHORT_TRY(const ::onnx::TensorProto proto, tensor_of(bytes));
    COHORT_TRY(const ElementType element, element_of_type(proto.data_type()));
    COHORT_TRY(const Constant constant, parse_constant(proto, nullptr));
    NamedTensor tensor{
        proto.name(), constant.shape, {}, {}, element != ElementType::kFloat32, spacing_of(proto.data_type())};
    if (tensor.is_whole) {
      tensor.integers = *constant.integers();
    } else {
      tensor.values = floats_of(constant);
    }
    return tensor;
  };
  Result<NamedTensor> tensor = parse();
  if (!tensor) return in_context(path.string(), tensor.error());
  return tensor;
}

Result<void> check_container(std::string_view bytes) {
  if (!check_size(bytes)) return {};
  COHORT_TRY(const ModelParts parts, parts_of(bytes));
  if (parts.model.opset_import_size() == 0)
    return fail(ErrorCode::kInvalidInput, "not an ONNX model: it names no opset");
  return for_each_initializer(parts, [](const ::onnx::TensorProto& tensor) -> Result<void> {
    if (auto whole = check_whole(tensor); !whole)
      return in_context(fmt::format("tensor {}", tensor.name()), whole.error());
    return {};
  });
}

Result<void> check_tensor(const std::filesystem::path& path) {
  COHORT_TRY(const std::string bytes, read_file(path));
  if (!check_size(bytes)) return {};
  auto checked = tensor_of(bytes).and_then(check_whole);
  if (!checked) return in_context(path.string(), checked.error());
  return {};
}

}  // namespace cohort::onnx
