#include "models/onnx/importer.hpp"

#include <fmt/ranges.h>

#include <queue>

#include "base/file.hpp"

namespace cohort::onnx {

namespace {

std::string describe(const Node& node, std::int64_t opset) {
  const std::string_view name = !node.name.empty()      ? std::string_view(node.name)
                                : !node.outputs.empty() ? std::string_view(node.outputs[0])
                                                        : std::string_view("without a name");
  const std::string domain = node.domain.empty() ? std::string() : node.domain + ".";
  return fmt::format("node {} ({}{}, opset {})", name, domain, node.op_type, opset);
}

/// One error for all ops that cannot be read.
Result<void> check_supported(const Graph& graph) {
  std::vector<std::string> unsupported;
  for (const Node& node : graph.nodes) {
    if (!node.domain.empty() || find_support(node.op_type) == nullptr)
      unsupported.push_back(describe(node, graph.opset));
  }
  if (unsupported.empty()) return {};
  return fail(ErrorCode::kInvalidInput, "{} not supported: {}", unsupported.size() == 1 ? "an op is" : "some ops are",
              fmt::join(unsupported, ", "));
}

/// Which node writes each name. Errors: a name written twice.
Result<std::map<std::string_view, std::size_t>> writers_of(const Graph& graph) {
  std::map<std::string_view, std::size_t> writers;
  std::set<std::string_view> given;
  for (const GraphInput& input : graph.inputs) {
    if (!given.insert(input.name).second) return fail(ErrorCode::kInvalidInput, "input {} stands twice", input.name);
  }
  for (std::size_t i = 0; i < graph.nodes.size(); ++i) {
    for (const std::string& output : graph.nodes[i].outputs) {
      if (output.empty()) continue;
      const bool known = graph.constants.count(output) > 0 || given.count(output) > 0;
      if (known || !writers.emplace(output, i).second)
        return fail(ErrorCode::kInvalidInput, "{} writes tensor {}, which has a value already",
                    describe(graph.nodes[i], graph.opset), output);
    }
  }
  return writers;
}

/// The nodes so that each comes after those whose outputs it reads, otherwise as in the file.
Result<std::vector<std::size_t>> sorted_nodes(const Graph& graph) {
  COHORT_TRY(const auto writers, writers_of(graph));
  std::set<std::string_view> given;
  for (const GraphInput& input : graph.inputs) given.insert(input.name);
  std::vector<std::size_t> missing(graph.nodes.size(), 0);
  std::vector<std::vector<std::size_t>> followers(graph.nodes.size());
  for (std::size_t i = 0; i < graph.nodes.size(); ++i) {
    for (const std::string& input : graph.nodes[i].inputs) {
      if (input.empty() || given.count(input) > 0 || graph.constants.count(input) > 0) continue;
      const auto writer = writers.find(input);
      if (writer == writers.end())
        return fail(ErrorCode::kInvalidInput, "{} reads tensor {}, which nothing writes",
                    describe(graph.nodes[i], graph.opset), input);
      followers[writer->second].push_back(i);
      ++missing[i];
    }
  }
  std::priority_queue<std::size_t, std::vector<std::size_t>, std::greater<>> ready;
  for (std::size_t i = 0; i < missing.size(); ++i) {
    if (missing[i] == 0) ready.push(i);
  }
  std::vector<std::size_t> order;
  while (!ready.empty()) {
    order.push_back(ready.top());
    ready.pop();
    for (const std::size_t follower : followers[order.back()]) {
      if (--missing[follower] == 0) ready.push(follower);
    }
  }
  if (order.size() == graph.nodes.size()) return order;
  std::size_t waiting = 0;
  while (missing[waiting] == 0) ++waiting;
  return fail(ErrorCode::kInvalidInput, "{} is in a cycle of nodes, or behind one",
              describe(graph.nodes[waiting], graph.opset));
}

Result<void> add_input(ImportState& state, const GraphInput& input, std::int64_t minibatch) {
  if (input.element_type != "float32")
    return fail(ErrorCode::kInvalidInput, "input {} is {}; only float32 is supported", input.name, input.element_type);
  if (!input.shape) return fail(ErrorCode::kInvalidInput, "the file gives no shape for input {}", input.name);
  Shape shape;
  for (std::size_t i = 0; i < input.shape->size(); ++i) {
    const auto& extent = (*input.shape)[i];
    if (!extent && i > 0)
      return fail(ErrorCode::kInvalidInput, "input {} leaves dimension {} open; only the first may be", input.name, i);
    shape.push_back(extent.value_or(minibatch));
  }
  if (auto checked = check_shape(shape); !checked) return in_context("input " + input.name, checked.error());
  const auto id = TensorId(static_cast<std::uint32_t>(state.model.tensors.size()));
  state.model.tensors.push_back({input.name, std::move(shape), TensorRole::kInput});
  state.weights.by_tensor.emplace_back();
  state.model.inputs.push_back(id);
  state.values.emplace(input.name, TensorValue{id, {}});
  return {};
}

ImportState start(const Graph& graph, std::size_t file_size) {
  ImportState state;
  // A gibielement of its own, and as much again as the file can hold: weights may be transposed.
  state.element_budget = (std::int64_t{1} << 28) + static_cast<std::int64_t>(file_size);
  state.opset = graph.opset;
  state.model.name = graph.name.empty() ? "onnx" : graph.name;
  for (const auto& [name, constant] : graph.constants) {
    state.names.insert(name);
    state.values.emplace(name, constant);
  }
  for (const GraphInput& input : graph.inputs) state.names.insert(input.name);
  for (const std::string& output : graph.outputs) {
    state.read_names.insert(output);
    state.weight_names.insert(output);  // the name of the copy that a constant output needs
  }
  for (const Node& node : graph.nodes) {
    state.names.insert(node.outputs.begin(), node.outputs.end());
    for (const std::string& input : node.inputs) {
      if (!input.empty()) state.read_names.insert(input);
    }
  }
  return state;
}

/// A name for the node's op that no other op has: the node's own if possible.
std::string op_name_for(ImportState& state, const Node& node, std::size_t index) {
  std::string name = node.name;
  if (name.empty() && !node.outputs.empty()) name = node.outputs[0];
  if (name.empty()) name = fmt::format("{}_{}", node.op_type, index);
  while (!state.op_names.insert(name).second) name += "_";
  return name;
}

Result<void> import_node(ImportState& state, const Node& node, std::size_t index) {
  const OpSupport& support = *find_support(node.op_type);
  NodeImport import(state, node, op_name_for(state, node, index));
  if (support.fold != nullptr && import.all_constant()) {
    COHORT_TRY(Constant constant, support.fold(import));
    import.set_alias(std::move(constant));
  } else if (support.convert != nullptr) {
    COHORT_CHECK(support.convert(import));
  } else {
    return fail(ErrorCode::kInvalidInput, "is supported only where its inputs are constant");
  }
  for (std::size_t i = 1; i < node.outputs.size(); ++i) {
    if (import.is_read(i) && state.values.count(node.outputs[i]) == 0)
      return fail(ErrorCode::kInvalidInput, "output {} ({}) is not supported", i, node.outputs[i]);
  }
  return import.all_attributes_seen();
}

/// Gives the tensor that a graph output stands for the output's name. One that has to keep its own,
/// or is no activation, is copied.
Result<void> add_output(ImportState& state, const std::string& name, const std::set<std::string>& output_names) {
  const auto found = state.values.find(name);
  if (found == state.values.end())
    return fail(ErrorCode::kInvalidInput, "output {} has no value: nothing writes it", name);
  if (const auto* value = std::get_if<TensorValue>(&found->second); value != nullptr && !value->viewed_as) {
    Tensor& tensor = state.model.tensors[to_index(value->id)];
    const bool is_free = tensor.name == name || output_names.count(tensor.name) == 0;
    if (tensor.role == TensorRole::kActivation && is_free) {
      tensor.name = name;
      state.model.outputs.push_back(value->id);
      return {};
    }
  }
  if (const auto* constant = std::get_if<Constant>(&found->second);
      constant != nullptr && constant->floats() == nullptr)
    return fail(ErrorCode::kInvalidInput, "output {} holds whole numbers; only float32 is supported", name);
  const Node copy{"", "Identity", "", {name}, {name}, {}};
  NodeImport import(state, copy, op_name_for(state, copy, 0));
  COHORT_TRY(const Shape shape, import.shape(0));
  const auto* value = std::get_if<TensorValue>(&found->second);
  TensorId x{};
  if (value != nullptr) {
    x = value->id;
  } else {
    COHORT_TRY(x, import.tensor(0));
  }
  COHORT_TRY(const TensorId y, import.emit_reshape("", x, shape));
  import.set_result(y);
  state.model.outputs.push_back(y);
  return {};
}

Result<LoadedModel> import_graph(const Graph& graph, std::size_t file_size, const ReadOptions& options) {
  COHORT_CHECK(check_supported(graph));
  COHORT_TRY(const auto order, sorted_nodes(graph));
  ImportState state = start(graph, file_size);
  for (const GraphInput& input : graph.inputs) COHORT_CHECK(add_input(state, input, options.minibatch));
  for (const std::size_t i : order) {
    if (auto imported = import_node(state, graph.nodes[i], i); !imported)
      return in_context(describe(graph.nodes[i], graph.opset), imported.error());
  }
  if (graph.outputs.empty()) return fail(ErrorCode::kInvalidInput, "the graph has no outputs");
  std::set<std::string> output_names;
  for (const std::string& output : graph.outputs) {
    if (!output_names.insert(output).second) return fail(ErrorCode::kInvalidInput, "output {} is listed twice", output);
  }
  for (const std::string& output : graph.outputs) COHORT_CHECK(add_output(state, output, output_names));
  COHORT_CHECK(validate(state.model));
  return LoadedModel{std::move(state.model), std::move(state.weights)};
}

}  // namespace

Result<LoadedModel> parse_model(std::string_view bytes, const ReadOptions& options) {
  if (options.minibatch < 1)
    return fail(ErrorCode::kInvalidInput, "the minibatch must be at least 1, not {}", options.minibatch);
  COHORT_TRY(const Graph graph, parse_graph(bytes));
  return import_graph(graph, bytes.size(), options);
}

Result<LoadedModel> read_model(const std::filesystem::path& path, const ReadOptions& options) {
  COHORT_TRY(const std::string bytes, read_file(path));
  Result<LoadedModel> loaded = parse_model(bytes, options);
  if (!loaded) return in_context(path.string(), loaded.error());
  return loaded;
}

}  // namespace cohort::onnx
