#include "models/onnx/importer.hpp"

#include <fmt/ranges.h>

#include <algorithm>
#include <queue>

#include "base/file.hpp"
#include "models/onnx/container.hpp"

namespace cohort::onnx {

namespace {

std::string describe(const Node& node, std::int64_t opset) {
  const std::string_view name = !node.name.empty()      ? std::string_view(node.name)
                                : !node.outputs.empty() ? std::string_view(node.outputs[0])
                                                        : std::string_view("without a name");
  const std::string domain = node.domain.empty() ? std::string() : node.domain + ".";
  return fmt::format("node {} ({}{}, opset {})", name, domain, node.op_type, opset);
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

/// Extents of an input, open ones filled in. `used` gets the names of options.dims that were.
Result<Shape> input_shape(const GraphInput& input, const ReadOptions& options, std::set<std::string>& used) {
  if (!input.shape) return fail(ErrorCode::kInvalidInput, "the file gives no shape for input {}", input.name);
  Shape shape;
  for (std::size_t i = 0; i < input.shape->size(); ++i) {
    const Dimension& dimension = (*input.shape)[i];
    const auto named = options.dims.find(dimension.name);
    if (dimension.extent) {
      shape.push_back(*dimension.extent);
    } else if (!dimension.name.empty() && named != options.dims.end()) {
      shape.push_back(named->second);
      used.insert(dimension.name);
    } else if (i == 0) {
      shape.push_back(options.minibatch);
    } else if (dimension.name.empty()) {
      return fail(ErrorCode::kInvalidInput,
                  "input {} leaves dimension {} open without a name; export the model with a named or fixed one",
                  input.name, i);
    } else {
      return fail(ErrorCode::kInvalidInput,
                  "input {} leaves dimension {} open, which the file calls {}; set it with "
                  "--dim {}=N",
                  input.name, i, dimension.name, dimension.name);
    }
  }
  if (auto checked = check_shape(shape, 0); !checked) return in_context("input " + input.name, checked.error());
  return shape;
}

Constant constant_from(const NamedTensor& tensor) {
  if (tensor.is_whole) return make_constant(tensor.shape, tensor.integers);
  return make_constant(tensor.shape, tensor.values);
}

Result<void> add_input(ImportState& state, const GraphInput& input, const ReadOptions& options,
                       std::set<std::string>& used_dims, bool lists_are_constant) {
  PendingInput pending;
  pending.name = input.name;
  if (options.given != nullptr) {
    const auto found = options.given->find(input.name);
    if (found != options.given->end()) pending.given = constant_from(found->second);
  }
  // What is given may be empty, or of a type that no op can read at run time.
  if (pending.given) {
    pending.shape = pending.given->shape;
  } else {
    COHORT_TRY(pending.shape, input_shape(input, options, used_dims));
  }
  const bool is_whole = input.element_type == "INT64" || input.element_type == "INT32" || input.element_type == "BOOL";
  if (input.element_type != "float32" && !is_whole)
    return fail(ErrorCode::kInvalidInput, "input {} is {}; supported are float32, int64, int32 and bool", input.name,
                input.element_type);
  if (is_whole) pending.element = ElementType::kInt32;
  const bool is_list = is_whole && pending.given && pending.shape.size() <= 1;
  if (element_count(pending.shape) == 0) {  // is known, and nothing can be read of it
    state.values.emplace(input.name, is_whole ? make_constant(pending.shape, std::vector<std::int64_t>())
                                              : make_constant(pending.shape, std::vector<float>()));
    return {};
  }
  if (is_list && lists_are_constant) {
    state.values.emplace(input.name, *std::move(pending.given));
    return {};
  }
  state.values.emplace(input.name, InputValue{state.inputs.size()});
  state.inputs.push_back(std::move(pending));
  return {};
}

Result<void> add_inputs(ImportState& state, const Graph& graph, const ReadOptions& options, bool lists_are_constant) {
  std::set<std::string> used_dims;
  for (const GraphInput& input : graph.inputs)
    COHORT_CHECK(add_input(state, input, options, used_dims, lists_are_constant));
  for (const auto& [name, extent] : options.dims) {
    if (used_dims.count(name) == 0)
      return fail(ErrorCode::kInvalidInput, "no input has an open dimension called {}", name);
  }
  return {};
}

/// Lists the inputs in the file's order, those that nothing reads, too, unless they were constants.
Result<void> finish_inputs(ImportState& state) {
  for (std::size_t i = 0; i < state.inputs.size(); ++i) {
    const PendingInput& input = state.inputs[i];
    if (!input.id && input.was_needed) continue;
    state.model.inputs.push_back(input_tensor(state, i));
  }
  return {};
}

ImportState start(const Graph& graph, std::size_t file_size, const ReadOptions& options) {
  ImportState state;
  // Of its own, and as much again as the file can hold: weights may be transposed.
  state.element_budget = options.most_elements + static_cast<std::int64_t>(file_size);
  state.flop_budget = options.most_elements;
  state.for_training = options.for_training;
  state.opset = graph.opset;
  state.model.name = graph.name.empty() ? "onnx" : graph.name;
  for (const auto& [name, constant] : graph.constants) {
    state.names.insert(name);
    state.learned.insert(name);
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

Result<void> import_supported(ImportState& state, const Node& node, std::size_t index, const OpSupport& support) {
  if (node.outputs.empty()) return fail(ErrorCode::kInvalidInput, "has no outputs");
  NodeImport import(state, node, op_name_for(state, node, index));
  const bool constant = import.all_constant();
  if (constant && import.reads_learned()) import.set_learned();
  const Constant* first = import.constant(0);
  const bool folds = !support.fold_whole_only || (first != nullptr && first->integers() != nullptr);
  if (support.fold != nullptr && ((constant && folds) || support.convert == nullptr)) {
    COHORT_TRY(Constant folded, support.fold(import));
    import.set_alias(std::move(folded));
  } else {
    if (constant && import.input_count() > 0) {
      COHORT_TRY(const bool is_folded, fold_node(state, node, support));
      if (is_folded) return {};
    }
    COHORT_CHECK(support.convert(import));
  }
  for (std::size_t i = 0; i < node.outputs.size(); ++i) {
    if (import.is_read(i) && state.values.count(node.outputs[i]) == 0)
      return fail(ErrorCode::kInvalidInput, "output {} ({}) is not supported", i, node.outputs[i]);
  }
  return import.all_attributes_seen();
}

/// Imports nodes one by one and keeps what is wrong with each; nodes behind a wrong one are passed over.
class NodesImport {
 public:
  NodesImport(ImportState& state, const Graph& graph) : state_(state), graph_(graph) {}

  void add(std::size_t index) {
    const Node& node = graph_.nodes[index];
    const OpSupport* support = node.domain.empty() ? find_support(node.op_type) : nullptr;
    const bool is_behind = std::any_of(node.inputs.begin(), node.inputs.end(),
                                       [&](const std::string& input) { return missing_.count(input) > 0; });
    if (support == nullptr) {
      unsupported_.push_back(describe(node, graph_.opset));
    } else if (!is_behind) {
      const auto imported = import_supported(state_, node, index, *support);
      if (imported) return;
      wrong_.push_back(fmt::format("{}: {}", describe(node, graph_.opset), imported.error().message));
    }
    missing_.insert(node.outputs.begin(), node.outputs.end());
    missing_.erase(std::string());
  }

  /// One error for all of them.
  [[nodiscard]] Result<void> result() const {
    if (unsupported_.empty() && wrong_.empty()) return {};
    if (unsupported_.empty() && wrong_.size() == 1) return fail(ErrorCode::kInvalidInput, "{}", wrong_[0]);
    std::vector<std::string> parts;
    if (!unsupported_.empty())
      parts.push_back(fmt::format("{} not supported: {}", unsupported_.size() == 1 ? "an op is" : "some ops are",
                                  fmt::join(unsupported_, ", ")));
    parts.insert(parts.end(), wrong_.begin(), wrong_.end());
    return fail(ErrorCode::kInvalidInput, "{}", fmt::join(parts, "; "));
  }

 private:
  ImportState& state_;
  const Graph& graph_;
  std::vector<std::string> unsupported_, wrong_;
  std::set<std::string, std::less<>> missing_;  ///< names that stay without a value
};

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

Result<LoadedModel> import_graph(const Graph& graph, std::size_t file_size, const ReadOptions& options,
                                 bool lists_are_constant) {
  COHORT_TRY(const auto order, sorted_nodes(graph));
  ImportState state = start(graph, file_size, options);
  COHORT_CHECK(add_inputs(state, graph, options, lists_are_constant));
  NodesImport nodes(state, graph);
  for (const std::size_t i : order) nodes.add(i);
  COHORT_CHECK(nodes.result());
  if (graph.outputs.empty()) return fail(ErrorCode::kInvalidInput, "the graph has no outputs");
  std::set<std::string> output_names;
  for (const std::string& output : graph.outputs) {
    if (!output_names.insert(output).second) return fail(ErrorCode::kInvalidInput, "output {} is listed twice", output);
  }
  for (const std::string& output : graph.outputs) COHORT_CHECK(add_output(state, output, output_names));
  COHORT_CHECK(finish_inputs(state));
  COHORT_CHECK(validate(state.model));
  return LoadedModel{std::move(state.model), std::move(state.weights)};
}

/// What is given is an input of the model where that is possible; else lists of whole numbers, from which
/// others may be computed that an op needs beforehand, are constants.
Result<LoadedModel> import_graph(const Graph& graph, std::size_t file_size, const ReadOptions& options) {
  Result<LoadedModel> loaded = import_graph(graph, file_size, options, false);
  if (loaded || options.given == nullptr) return loaded;
  Result<LoadedModel> by_constants = import_graph(graph, file_size, options, true);
  return by_constants ? std::move(by_constants) : std::move(loaded);
}

Result<void> check_minibatch(const ReadOptions& options) {
  if (options.minibatch >= 1) return {};
  return fail(ErrorCode::kInvalidInput, "the minibatch must be at least 1, not {}", options.minibatch);
}

}  // namespace

Result<void> check_model(std::string_view bytes) {
  COHORT_CHECK(check_container(bytes));
  const Result<Graph> graph = parse_graph(bytes);
  if (!graph) return {};  // holds what is not supported
  COHORT_CHECK(sorted_nodes(*graph));
  return {};
}

Result<LoadedModel> parse_model(std::string_view bytes, const ReadOptions& options) {
  COHORT_CHECK(check_minibatch(options));
  COHORT_TRY(const Graph graph, parse_graph(bytes));
  return import_graph(graph, bytes.size(), options);
}

Result<LoadedModel> read_model(const std::filesystem::path& path, const ReadOptions& options) {
  COHORT_TRY(const std::string bytes, read_file(path));
  const auto read = [&]() -> Result<LoadedModel> {
    COHORT_CHECK(check_minibatch(options));
    COHORT_TRY(const Graph graph, parse_graph(bytes, path.parent_path()));
    return import_graph(graph, bytes.size(), options);
  };
  Result<LoadedModel> loaded = read();
  if (!loaded) return in_context(path.string(), loaded.error());
  return loaded;
}

}  // namespace cohort::onnx
