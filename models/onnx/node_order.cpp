#include "models/onnx/node_order.hpp"

#include <map>
#include <queue>
#include <set>
#include <string_view>

#include "models/onnx/rename.hpp"

namespace cohort::onnx {

namespace {

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
                    describe(graph.nodes[i]), output);
    }
  }
  return writers;
}

}  // namespace

std::set<std::string> tensors_behind(const Graph& graph, const std::vector<std::string>& tensors) {
  std::map<std::string_view, const Node*> writers;
  for (const Node& node : graph.nodes) {
    for (const std::string& output : node.outputs) writers[output] = &node;
  }
  writers.erase("");  // outputs and inputs that are left out
  std::set<std::string> seen(tensors.begin(), tensors.end());
  std::vector<std::string> open = tensors;
  while (!open.empty()) {
    const auto writer = writers.find(open.back());
    open.pop_back();
    if (writer == writers.end()) continue;
    for (const std::string& input : reads_of(*writer->second)) {
      if (seen.insert(input).second) open.push_back(input);
    }
  }
  return seen;
}

std::string type_of(const Node& node) {
  return node.domain.empty() ? node.op_type : fmt::format("{}.{}", node.domain, node.op_type);
}

std::string describe(const Node& node) {
  const std::string_view name = !node.name.empty()      ? std::string_view(node.name)
                                : !node.outputs.empty() ? std::string_view(node.outputs[0])
                                                        : std::string_view("without a name");
  return fmt::format("node {} ({}, opset {})", name, type_of(node), node.opset);
}

Result<std::vector<std::size_t>> sorted_nodes(const Graph& graph, bool is_inner) {
  COHORT_TRY(const auto writers, writers_of(graph));
  std::set<std::string_view> given;
  for (const GraphInput& input : graph.inputs) given.insert(input.name);
  std::vector<std::size_t> missing(graph.nodes.size(), 0);
  std::vector<std::vector<std::size_t>> followers(graph.nodes.size());
  for (std::size_t i = 0; i < graph.nodes.size(); ++i) {
    for (const std::string& input : reads_of(graph.nodes[i])) {
      if (input.empty() || given.count(input) > 0 || graph.constants.count(input) > 0) continue;
      const auto writer = writers.find(input);
      if (writer == writers.end() && is_inner) continue;
      if (writer == writers.end())
        return fail(ErrorCode::kInvalidInput, "{} reads tensor {}, which nothing writes", describe(graph.nodes[i]),
                    input);
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
  return fail(ErrorCode::kInvalidInput, "{} is in a cycle of nodes, or behind one", describe(graph.nodes[waiting]));
}

}  // namespace cohort::onnx
