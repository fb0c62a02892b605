#include "models/onnx/given_tensors.hpp"

#include <algorithm>
#include <set>
#include <string_view>
#include <utility>

#include "models/onnx/cut_graph.hpp"
#include "models/onnx/graph_inputs.hpp"
#include "models/onnx/node_order.hpp"
#include "models/onnx/number_types.hpp"

namespace cohort::onnx {

namespace {

/// Names in options.fixed that are no inputs: these are constants of the graph by now.
std::set<std::string> fixed_in_the_middle(const Graph& graph, const ReadOptions& options) {
  std::set<std::string> names;
  for (const auto& [name, text] : options.fixed) {
    if (graph.constants.count(name) == 0) names.insert(name);
  }
  return names;
}

/// How many dimensions options.dims gives the tensor: "t:0", "t:1" and so on.
std::size_t given_rank(const ReadOptions& options, const std::string& name) {
  std::size_t rank = 0;
  while (options.dims.count(fmt::format("{}:{}", name, rank)) > 0) ++rank;
  return rank;
}

/// What is known of the tensor. Exporters write the shape [] for what they do not know; of whole numbers, which may be
/// a limit or a count, it is taken to be meant.
GraphInput known_of(const Graph& graph, const std::string& name, const ReadOptions& options,
                    const ComputedTensor& computed) {
  const auto described = graph.described.find(name);
  const GraphInput of_file = described != graph.described.end() ? described->second : GraphInput{name, 0, {}};
  if (std::optional<GraphInput> own = computed(graph, name)) {
    // The file tells truth values and whole numbers of 32 bits from others.
    if (own->type == Type::kInt64 && is_whole(of_file.type)) own->type = of_file.type;
    return *std::move(own);
  }
  GraphInput known = of_file;
  if (known.shape && known.shape->empty() && !is_whole(known.type)) known.shape.reset();
  const std::size_t rank = given_rank(options, name);
  if (rank > 0 && (!known.shape || known.shape->size() != rank)) known.shape.emplace(rank);
  return known;
}

Result<void> add_input(Graph& graph, GraphInput known) {
  if (!known.shape)
    return fail(ErrorCode::kInvalidInput,
                "--from {}: its shape is not known; give its dimensions, --dim {}:0=N and so on", known.name,
                known.name);
  if (known.type == 0) known.type = Type::kFloat;
  graph.inputs.push_back(std::move(known));
  return {};
}

Result<void> add_constant(Graph& graph, const GraphInput& known, const std::string& text) {
  auto value = fixed_value(known, text);
  if (!value) return fail(ErrorCode::kInvalidInput, "tensor {} {}", known.name, value.error().message);
  graph.constants.insert_or_assign(known.name, *std::move(value));
  return {};
}

/// The tensors of options.from, the last inputs of the graph, in their places.
void put_in_places(Graph& graph, const std::vector<std::string>& from) {
  const auto place = [&](const GraphInput& input) { return std::find(from.begin(), from.end(), input.name); };
  std::sort(graph.inputs.end() - std::ssize(from), graph.inputs.end(),
            [&](const GraphInput& a, const GraphInput& b) { return place(a) < place(b); });
}

Result<void> check_needed(const Graph& graph, const std::vector<std::string>& from) {
  for (const GraphInput& input : graph.left_out) {
    if (std::find(from.begin(), from.end(), input.name) != from.end())
      return fail(ErrorCode::kInvalidInput, "--from {}: nothing that is computed needs it", input.name);
  }
  return {};
}

}  // namespace

Result<void> give_tensors(Graph& graph, const ReadOptions& options, const ComputedTensor& computed) {
  std::set<std::string> fixed = fixed_in_the_middle(graph, options);
  std::set<std::string> from(options.from.begin(), options.from.end());
  if (fixed.empty() && from.empty()) return {};
  // In the order in which they are written: the shape of one may follow from the value of another.
  COHORT_TRY(const std::vector<std::size_t> order, sorted_nodes(graph));
  for (const std::size_t node : order) {
    for (std::size_t i = 0; i < graph.nodes[node].outputs.size(); ++i) {
      const std::string name = graph.nodes[node].outputs[i];
      const bool is_input = from.erase(name) > 0;
      const bool is_constant = fixed.erase(name) > 0;
      if (is_input && is_constant)
        return fail(ErrorCode::kInvalidInput, "tensor {} is given by --from and by --set-input", name);
      if (!is_input && !is_constant) continue;
      const GraphInput known = known_of(graph, name, options, computed);
      graph.nodes[node].outputs[i].clear();
      COHORT_CHECK(is_input ? add_input(graph, known) : add_constant(graph, known, options.fixed.at(name)));
    }
  }
  if (!from.empty()) return no_such_tensor(graph, "--from", *from.begin());
  if (!fixed.empty()) return no_such_tensor(graph, "--set-input", *fixed.begin(), true);
  put_in_places(graph, options.from);
  leave_out_unneeded(graph);
  return check_needed(graph, options.from);
}

}  // namespace cohort::onnx
