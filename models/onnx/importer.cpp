#include "models/onnx/importer.hpp"

#include <fmt/ranges.h>

#include <algorithm>

#include "base/file.hpp"
#include "models/onnx/container.hpp"
#include "models/onnx/cut_graph.hpp"
#include "models/onnx/given_tensors.hpp"
#include "models/onnx/graph_inputs.hpp"
#include "models/onnx/masked_updates.hpp"
#include "models/onnx/node_order.hpp"
#include "models/onnx/nodes_import.hpp"
#include "models/onnx/number_types.hpp"
#include "models/onnx/rename.hpp"

namespace cohort::onnx {

namespace {

using WeightNames = std::set<std::string>;

Constant constant_from(const NamedTensor& tensor) {
  if (tensor.is_whole) return make_constant(tensor.shape, tensor.integers);
  return make_constant(tensor.shape, tensor.values);
}

Result<void> add_input(ImportState& state, const GraphInput& input, const ReadOptions& options, InputShapes& shapes,
                       bool lists_are_constant) {
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
    COHORT_TRY(pending.shape, shapes.of(input));
  }
  const auto element = element_of_type(input.type);
  if (!element) return in_context(fmt::format("input {}", input.name), element.error());
  pending.element = *element;
  pending.type = input.type;
  if (is_narrow(input.type)) state.whole_in_float.emplace(input.name, input.type);
  const bool is_whole = pending.element != ElementType::kFloat32;
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

/// Samples are the first axis, of sequences [T, N, I] the second.
bool has_minibatch(const Shape& shape, std::int64_t minibatch) {
  return (!shape.empty() && shape[0] == minibatch) || (shape.size() == 3 && shape[1] == minibatch);
}

/// A file may fix the minibatch; asking for another one must not be answered with that one.
Result<void> check_minibatch(const PendingInput& input, std::int64_t minibatch) {
  if (minibatch == 1 || input.is_random || has_minibatch(input.shape, minibatch)) return {};
  return fail(ErrorCode::kInvalidInput,
              "input {} has shape {}, so the minibatch cannot be {}; export the model with an open first dimension",
              input.name, to_string(input.shape), minibatch);
}

/// Lists the inputs in the file's order, those that nothing reads, too, unless they were constants.
Result<void> finish_inputs(ImportState& state, const ReadOptions& options) {
  const auto& from = options.from;
  for (std::size_t i = 0; i < state.inputs.size(); ++i) {
    const PendingInput& input = state.inputs[i];
    if (!input.id && (input.was_needed || input.is_random)) continue;
    if (options.same_minibatch && std::find(from.begin(), from.end(), input.name) == from.end())
      COHORT_CHECK(check_minibatch(input, options.minibatch));
    state.model.inputs.push_back(input_tensor(state, i));
  }
  return {};
}

/// The graph's name, as far as it can name a folder: members of plans are called so, and have one for their results.
std::string name_of(const Graph& graph) {
  std::string name = graph.name.empty() ? "onnx" : graph.name;
  std::replace(name.begin(), name.end(), '/', '_');
  if (name.front() == '.') name.front() = '_';
  return name;
}

/// The constant as a tensor of the model from the start, so that no node which reads it is computed beforehand.
void keep_as_tensor(ImportState& state, const std::string& name, const Constant& constant) {
  const auto id = TensorId(static_cast<std::uint32_t>(state.model.tensors.size()));
  state.model.tensors.push_back({name, constant.shape, TensorRole::kWeight});
  state.weights.by_tensor.push_back(std::get<WeightValues>(constant.values));
  state.weight_names.insert(name);
  state.file_names.erase(name);
  state.values.insert_or_assign(name, TensorValue{id, {}});
}

ImportState start(const Graph& graph, std::size_t file_size, const ReadOptions& options, const WeightNames& tensors) {
  ImportState state;
  // Of its own, and as much again as the file can hold: weights may be transposed.
  state.element_budget = options.most_elements + static_cast<std::int64_t>(file_size);
  state.flop_budget = options.most_elements;
  state.for_training = options.for_training;
  state.opset = graph.opset;
  state.model.name = name_of(graph);
  for (const auto& [name, constant] : graph.constants) {
    state.names.insert(name);
    if (options.fixed.count(name) == 0) state.learned.add(name, constant);
    state.values.emplace(name, constant);
  }
  for (const GraphInput& input : graph.inputs) state.names.insert(input.name);
  for (const std::string& output : graph.outputs) {
    state.read_names.insert(output);
    state.weight_names.insert(output);  // the name of the copy that a constant output needs
  }
  for (const Node& node : graph.nodes) {
    state.names.insert(node.outputs.begin(), node.outputs.end());
    for (const std::string& input : reads_of(node)) {
      if (!input.empty()) state.read_names.insert(input);
    }
  }
  state.names.erase("");
  if (options.given == nullptr) state.file_names = state.names;
  for (const std::string& name : tensors) {
    const auto found = graph.constants.find(name);
    if (found != graph.constants.end()) keep_as_tensor(state, name, found->second);
  }
  return state;
}

/// An output whose int32 values are held in float32 leaves as the whole numbers that they are.
Result<void> add_whole_output(ImportState& state, const std::string& name) {
  const Node cast{"", "Cast", "", {name}, {name + "_int32"}, {}, state.opset};
  NodeImport import(state, cast, op_name_for(state, cast, 0));
  COHORT_TRY(const TensorId x, import.tensor(0));
  COHORT_TRY(const TensorId y, import.emit("", Cast{ElementType::kFloat32, ElementType::kInt32, false}, {x}));
  Tensor &sum = state.model.tensors[to_index(x)], &whole = state.model.tensors[to_index(y)];
  if (sum.name == name) sum.name = whole.name;
  whole.name = name;
  state.model.outputs.push_back(y);
  return {};
}

/// Gives the tensor that a graph output stands for the output's name. One that has to keep its own,
/// or is no activation, is copied.
Result<void> add_output(ImportState& state, const std::string& name, const std::set<std::string>& output_names) {
  const auto found = state.values.find(name);
  if (found == state.values.end())
    return fail(ErrorCode::kInvalidInput, "output {} has no value: nothing writes it", name);
  const auto held = state.whole_in_float.find(name);
  if (held != state.whole_in_float.end() && !is_narrow(held->second)) return add_whole_output(state, name);
  if (const auto* value = std::get_if<TensorValue>(&found->second); value != nullptr && !value->viewed_as) {
    Tensor& tensor = state.model.tensors[to_index(value->id)];
    const bool is_free = tensor.name == name || output_names.count(tensor.name) == 0;
    if (tensor.role == TensorRole::kActivation && is_free) {
      tensor.name = name;
      state.model.outputs.push_back(value->id);
      return {};
    }
  }
  // An input keeps its name, too.
  std::string copy_name = name;
  if (std::holds_alternative<InputValue>(found->second)) {
    copy_name += "_output";
    while (!state.names.insert(copy_name).second) copy_name += "_";
  }
  const Node copy{"", "Identity", "", {name}, {copy_name}, {}, state.opset};
  NodeImport import(state, copy, op_name_for(state, copy, 0));
  import.read_narrow_as_float();
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

/// The model's ops. `is_whole`: the graph is all that is read, so that each of options.dims has to be for it.
/// `tensors`: weights that are not read as constants.
Result<ImportState> import_nodes(const Graph& graph, std::size_t file_size, const ReadOptions& options,
                                 bool lists_are_constant, bool is_whole, const WeightNames& tensors = {}) {
  COHORT_TRY(const auto order, sorted_nodes(graph));
  ImportState state = start(graph, file_size, options, tensors);
  InputShapes shapes(graph, options);
  for (const GraphInput& input : graph.inputs)
    COHORT_CHECK(add_input(state, input, options, shapes, lists_are_constant));
  if (is_whole) {
    COHORT_CHECK(shapes.all_used());
  }
  NodesImport nodes(state, graph);
  for (const std::size_t i : order) nodes.add(graph.nodes[i], i);
  COHORT_CHECK(nodes.result());
  return state;
}

/// The same, for training of a graph whose weights are shared and computed with, too.
Result<ImportState> import_all_nodes(const Graph& graph, std::size_t file_size, const ReadOptions& options,
                                     bool lists_are_constant) {
  WeightNames tensors;
  for (;;) {
    Result<ImportState> state = import_nodes(graph, file_size, options, lists_are_constant, /*is_whole=*/true, tensors);
    if (!state && !tensors.empty())
      return fail(ErrorCode::kInvalidInput,
                  "weights that several nodes share, or compute with, cannot be trained here: {}: {}",
                  fmt::join(tensors, ", "), state.error().message);
    if (!state || !options.for_training) return state;
    const WeightNames apart = state->learned.not_as_constants();
    if (apart.empty()) return state;
    const std::size_t before = tensors.size();
    tensors.insert(apart.begin(), apart.end());
    if (tensors.size() == before)
      return fail(ErrorCode::kInvalidInput,
                  "weights of a branch, of a loop or of whole numbers that several nodes share, or compute with, "
                  "cannot be trained: {}",
                  fmt::join(apart, ", "));
  }
}

Result<LoadedModel> import_graph(const Graph& graph, std::size_t file_size, const ReadOptions& options,
                                 bool lists_are_constant) {
  COHORT_TRY(ImportState state, import_all_nodes(graph, file_size, options, lists_are_constant));
  if (graph.outputs.empty()) return fail(ErrorCode::kInvalidInput, "the graph has no outputs");
  std::set<std::string> output_names;
  for (const std::string& output : graph.outputs) {
    if (!output_names.insert(output).second) return fail(ErrorCode::kInvalidInput, "output {} is listed twice", output);
  }
  for (const std::string& output : graph.outputs) COHORT_CHECK(add_output(state, output, output_names));
  COHORT_CHECK(finish_inputs(state, options));
  COHORT_CHECK(validate(state.model));
  return LoadedModel{std::move(state.model), std::move(state.weights)};
}

/// Type and shape of a tensor of the graph. Errors: what computes it cannot be read.
Result<GraphInput> computed_tensor(Graph graph, const std::string& name, std::size_t file_size,
                                   const ReadOptions& options) {
  graph.outputs = {name};
  leave_out_unneeded(graph);
  COHORT_TRY(ImportState state,
             import_nodes(graph, file_size, options, /*lists_are_constant=*/false, /*is_whole=*/false));
  const Node reader{"", "Identity", "", {name}, {}, {}, state.opset};
  const NodeImport import(state, reader, "");
  COHORT_TRY(const Shape shape, import.shape(0));
  COHORT_TRY(const ElementType element, import.element(0));
  std::int64_t type = import.whole_type(0);
  if (type == 0) type = element == ElementType::kFloat32 ? Type::kFloat : Type::kInt64;
  return tensor_of(name, type, shape);
}

/// Initialisers whose values are given are inputs.
void use_given(Graph& graph, const ReadOptions& options) {
  if (options.given == nullptr) return;
  for (GraphInput& input : graph.defaulted) {
    if (options.given->count(input.name) == 0) continue;
    graph.constants.erase(input.name);
    graph.inputs.push_back(std::move(input));
  }
}

/// What is given is an input of the model where that is possible; else lists of whole numbers, from which
/// others may be computed that an op needs beforehand, are constants.
Result<LoadedModel> import_graph(Graph graph, std::size_t file_size, const ReadOptions& options) {
  recognise_masked_updates(graph);
  COHORT_TRY(const std::set<std::string> in_the_middle, fix_inputs(graph, options));
  use_given(graph, options);
  if (!options.until.empty()) COHORT_CHECK(end_at(graph, options.until));
  COHORT_CHECK(give_tensors(graph, in_the_middle, options, [&](const Graph& whole, const std::string& name) {
    return computed_tensor(whole, name, file_size, options);
  }));
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
  COHORT_TRY(Graph graph, parse_graph(bytes));
  return import_graph(std::move(graph), bytes.size(), options);
}

Result<LoadedModel> parse_model(std::string_view bytes, const std::filesystem::path& folder,
                                const ReadOptions& options) {
  COHORT_CHECK(check_minibatch(options));
  COHORT_TRY(Graph graph, parse_graph(bytes, folder));
  return import_graph(std::move(graph), bytes.size(), options);
}

Result<LoadedModel> read_model(const std::filesystem::path& path, const ReadOptions& options) {
  COHORT_TRY(std::string bytes, read_file(path));
  const auto parse = [&]() -> Result<LoadedModel> {
    COHORT_CHECK(check_minibatch(options));
    COHORT_TRY(Graph graph, parse_graph(bytes, path.parent_path()));
    const std::size_t size = bytes.size();
    std::string().swap(bytes);  // their memory is free before weights are turned and folded
    return import_graph(std::move(graph), size, options);
  };
  Result<LoadedModel> loaded = parse();
  if (!loaded) return in_context(path.string(), loaded.error());
  return loaded;
}

}  // namespace cohort::onnx
