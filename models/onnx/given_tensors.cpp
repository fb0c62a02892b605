#include "models/onnx/given_tensors.hpp"

#include <algorithm>
#include <string_view>

#include "models/onnx/cut_graph.hpp"
#include "models/onnx/graph_inputs.hpp"
#include "models/onnx/node_order.hpp"
#include "models/onnx/number_types.hpp"

namespace cohort::onnx {

namespace {

/// How many dimensions options.dims gives the tensor: "t:0", "t:1" and so on.
std::size_t given_rank(const ReadOptions& options, const std::string& name) {
  std::size_t rank = 0;
  while (options.dims.count(fmt::format("{}:{}", name, rank)) > 0) ++rank;
  return rank;
}

/// What the file and the user tell of the tensor. Exporters write the shape [] where they know none; only of whole
/// numbers, as limits and counts are, is it believed.
GraphInput described(const Graph& graph, const std::string& name, const ReadOptions& options) {
  const auto of_file = graph.described.find(name);
  GraphInput known;
  if (of_file != graph.described.end()) known = of_file->second;
  known.name = name;
  known.is_computed = true;
  if (known.shape && known.shape->empty() && !is_whole(known.type)) known.shape.reset();
  const std::size_t rank = given_rank(options, name);
  if (rank > 0 && (!known.shape || known.shape->size() <= rank)) known.shape = std::vector<Dimension>(rank);
  return known;
}

Result<void> add_input(Graph& graph, GraphInput known, const std::string& why_not_computed) {
  if (known.type == 0) known.type = Type::kFloat;
  if (!known.shape)
    return fail(ErrorCode::kInvalidInput,
                "--from {}: its shape is not known ({}); give its dimensions, as --dim {}:0=N, of {} numbers",
                known.name, why_not_computed, known.name, type_name(known.type));
  graph.inputs.push_back(std::move(known));
  return {};
}

Result<void> add_constant(Graph& graph, GraphInput known, const ReadOptions& options) {
  graph.left_out.push_back(known);  // the names of its open dimensions are known, too
  for (std::size_t i = 0; known.shape && i < known.shape->size(); ++i) {
    const auto* const given = given_dim(known, i, options);
    if (!(*known.shape)[i].extent && given != nullptr) (*known.shape)[i].extent = given->second;
  }
  auto value = fixed_value(known, options.fixed.at(known.name));
  if (!value) return fail(ErrorCode::kInvalidInput, "tensor {} {}", known.name, value.error().message);
  graph.constants.insert_or_assign(known.name, *std::move(value));
  return {};
}

/// Errors: kInvalidInput naming a tensor of `from` that is left out.
Result<void> check_needed(const Graph& graph, const std::vector<std::string>& from) {
  for (const GraphInput& input : graph.left_out) {
    if (std::find(from.begin(), from.end(), input.name) != from.end())
      return fail(ErrorCode::kInvalidInput, "--from {}: nothing that is computed needs it", input.name);
  }
  return {};
}

}  // namespace

Result<void> give_tensors(Graph& graph, std::set<std::string> fixed, const ReadOptions& options,
                          const ComputedTensor& computed) {
  std::set<std::string> from(options.from.begin(), options.from.end());
  if (fixed.empty() && from.empty()) {
    if (!options.until.empty()) leave_out_unneeded(graph);
    return {};
  }
  const std::ptrdiff_t own_inputs = std::ssize(graph.inputs);
  // In the order in which they are written: the shape of one may follow from the value of another.
  COHORT_TRY(const std::vector<std::size_t> order, sorted_nodes(graph));
  for (const std::size_t node : order) {
    for (std::size_t i = 0; i < graph.nodes[node].outputs.size(); ++i) {
      const std::string name = graph.nodes[node].outputs[i];
      if (name.empty()) continue;
      const bool is_input = from.erase(name) > 0;
      const bool is_constant = fixed.erase(name) > 0;
      if (is_input && is_constant)
        return fail(ErrorCode::kInvalidInput, "tensor {} is given by --from and by --set-input", name);
      if (!is_input && !is_constant) continue;
      const Result<GraphInput> own = computed(graph, name);
      GraphInput known = described(graph, name, options);
      if (own) {
        // The file tells truth values and whole numbers of 32 bits from others.
        if (own->type != Type::kInt64 || !is_whole(known.type)) known.type = own->type;
        known.shape = own->shape;
      }
      graph.nodes[node].outputs[i].clear();
      COHORT_CHECK(is_input ? add_input(graph, std::move(known), own ? std::string() : own.error().message)
                            : add_constant(graph, std::move(known), options));
    }
  }
  if (!from.empty()) return no_such_tensor(graph, "--from", *from.begin());
  if (!fixed.empty()) return no_such_tensor(graph, "--set-input", *fixed.begin(), true);
  const auto place = [&](const GraphInput& input) {
    return std::find(options.from.begin(), options.from.end(), input.name);
  };
  std::sort(graph.inputs.begin() + own_inputs, graph.inputs.end(),
            [&](const GraphInput& a, const GraphInput& b) { return place(a) < place(b); });
  leave_out_unneeded(graph);
  return check_needed(graph, options.from);
}

}  // namespace cohort::onnx
