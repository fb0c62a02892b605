#include "models/onnx/cut_graph.hpp"

#include <algorithm>
#include <iterator>
#include <map>
#include <set>
#include <string_view>

#include "base/spelling.hpp"
#include "models/onnx/rename.hpp"

namespace cohort::onnx {

namespace {

/// Which node writes each tensor, by its place.
std::map<std::string_view, std::size_t> writers_of(const Graph& graph) {
  std::map<std::string_view, std::size_t> writers;
  for (std::size_t i = 0; i < graph.nodes.size(); ++i) {
    for (const std::string& output : graph.nodes[i].outputs) {
      if (!output.empty()) writers.emplace(output, i);
    }
  }
  return writers;
}

Result<void> check_written(const std::vector<std::string>& until,
                           const std::map<std::string_view, std::size_t>& writers) {
  for (const std::string& name : until) {
    if (writers.count(name) > 0) continue;
    std::vector<std::string_view> known;
    for (const auto& [written, node] : writers) known.push_back(written);
    const auto nearest = nearest_word(name, known);
    return fail(ErrorCode::kInvalidInput, "--until {}: no node writes a tensor of that name{}", name,
                nearest ? fmt::format("; did you mean \"{}\"?", *nearest) : std::string());
  }
  return {};
}

}  // namespace

Result<void> cut_graph(Graph& graph, const std::vector<std::string>& until) {
  const auto writers = writers_of(graph);
  COHORT_CHECK(check_written(until, writers));
  std::vector<bool> is_needed(graph.nodes.size(), false);
  std::set<std::string> needed(until.begin(), until.end());
  std::vector<std::string> open = until;
  while (!open.empty()) {
    const auto writer = writers.find(open.back());
    open.pop_back();
    if (writer == writers.end() || is_needed[writer->second]) continue;
    is_needed[writer->second] = true;
    for (const std::string& read : reads_of(graph.nodes[writer->second])) {
      if (needed.insert(read).second) open.push_back(read);
    }
  }
  std::vector<Node> nodes;
  for (std::size_t i = 0; i < graph.nodes.size(); ++i) {
    if (is_needed[i]) nodes.push_back(std::move(graph.nodes[i]));
  }
  graph.nodes = std::move(nodes);
  const auto first_left_out = std::stable_partition(
      graph.inputs.begin(), graph.inputs.end(), [&](const GraphInput& input) { return needed.count(input.name) > 0; });
  graph.left_out.assign(std::make_move_iterator(first_left_out), std::make_move_iterator(graph.inputs.end()));
  graph.inputs.erase(first_left_out, graph.inputs.end());
  std::erase_if(graph.constants, [&](const auto& constant) { return needed.count(constant.first) == 0; });
  graph.outputs = until;
  return {};
}

}  // namespace cohort::onnx
