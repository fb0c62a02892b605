#include "models/onnx/cut_graph.hpp"

#include <algorithm>
#include <iterator>
#include <set>
#include <string_view>

#include "base/spelling.hpp"
#include "models/onnx/node_order.hpp"

namespace cohort::onnx {

namespace {

Result<void> check_written(const Graph& graph, const std::vector<std::string>& until) {
  std::set<std::string_view> written;
  for (const Node& node : graph.nodes) written.insert(node.outputs.begin(), node.outputs.end());
  const std::vector<std::string_view> known(written.begin(), written.end());
  for (const std::string& name : until) {
    if (written.count(name) > 0) continue;
    const auto nearest = nearest_word(name, known);
    return fail(ErrorCode::kInvalidInput, "--until {}: no node writes a tensor of that name{}", name,
                nearest ? fmt::format("; did you mean \"{}\"?", *nearest) : std::string());
  }
  return {};
}

}  // namespace

Result<void> cut_graph(Graph& graph, const std::vector<std::string>& until) {
  COHORT_CHECK(check_written(graph, until));
  const std::set<std::string> needed = tensors_behind(graph, until);
  const auto is_needed = [&](const std::string& name) { return needed.count(name) > 0; };
  std::erase_if(graph.nodes, [&](const Node& node) {
    return std::none_of(node.outputs.begin(), node.outputs.end(),
                        [&](const std::string& output) { return !output.empty() && is_needed(output); });
  });
  const auto first_left_out = std::stable_partition(graph.inputs.begin(), graph.inputs.end(),
                                                    [&](const GraphInput& input) { return is_needed(input.name); });
  graph.left_out.assign(std::make_move_iterator(first_left_out), std::make_move_iterator(graph.inputs.end()));
  graph.inputs.erase(first_left_out, graph.inputs.end());
  std::erase_if(graph.constants, [&](const auto& constant) { return !is_needed(constant.first); });
  graph.outputs = until;
  return {};
}

}  // namespace cohort::onnx
