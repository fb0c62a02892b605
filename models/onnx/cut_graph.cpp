#include "models/onnx/cut_graph.hpp"

#include <algorithm>
#include <iterator>
#include <set>
#include <string_view>

#include "base/spelling.hpp"
#include "models/onnx/node_order.hpp"

namespace cohort::onnx {

tl::unexpected<Error> no_such_tensor(const Graph& graph, std::string_view option, const std::string& name,
                                     bool may_be_input) {
  std::set<std::string_view> known, inputs;
  for (const Node& node : graph.nodes) known.insert(node.outputs.begin(), node.outputs.end());
  for (const auto* const list : {&graph.inputs, &graph.defaulted}) {
    for (const GraphInput& input : *list) inputs.insert(input.name);
  }
  if (may_be_input) known.insert(inputs.begin(), inputs.end());
  known.erase("");
  const auto nearest = nearest_word(name, std::vector<std::string_view>(known.begin(), known.end()));
  return fail(ErrorCode::kInvalidInput, "{} {}: {} of that name{}", option, name,
              may_be_input             ? "there is no input, and no node writes a tensor,"
              : inputs.count(name) > 0 ? "it is an input; no node writes a tensor"
                                       : "no node writes a tensor",
              nearest ? fmt::format("; did you mean \"{}\"?", *nearest) : std::string());
}

Result<void> end_at(Graph& graph, const std::vector<std::string>& until) {
  std::set<std::string_view> written;
  for (const Node& node : graph.nodes) written.insert(node.outputs.begin(), node.outputs.end());
  for (const std::string& name : until) {
    if (written.count(name) == 0) return no_such_tensor(graph, "--until", name);
  }
  graph.outputs = until;
  return {};
}

void leave_out_unneeded(Graph& graph) {
  const std::set<std::string> needed = tensors_behind(graph, graph.outputs);
  const auto is_needed = [&](const std::string& name) { return needed.count(name) > 0; };
  std::erase_if(graph.nodes, [&](const Node& node) {
    return std::none_of(node.outputs.begin(), node.outputs.end(),
                        [&](const std::string& output) { return !output.empty() && is_needed(output); });
  });
  const auto first_left_out = std::stable_partition(graph.inputs.begin(), graph.inputs.end(),
                                                    [&](const GraphInput& input) { return is_needed(input.name); });
  graph.left_out.insert(graph.left_out.end(), std::make_move_iterator(first_left_out),
                        std::make_move_iterator(graph.inputs.end()));
  graph.inputs.erase(first_left_out, graph.inputs.end());
  std::erase_if(graph.constants, [&](const auto& constant) { return !is_needed(constant.first); });
}

}  // namespace cohort::onnx
