#include "models/onnx/rename.hpp"

#include <set>

namespace cohort::onnx {

namespace {

const std::string& called(const std::string& name, const Names& names) {
  const auto found = names.find(name);
  return found != names.end() ? found->second : name;
}

std::set<std::string> defined_in(const Graph& graph) {
  std::set<std::string> defined;
  for (const GraphInput& input : graph.inputs) defined.insert(input.name);
  for (const auto& [name, constant] : graph.constants) defined.insert(name);
  for (const Node& node : graph.nodes) defined.insert(node.outputs.begin(), node.outputs.end());
  defined.erase(std::string());
  return defined;
}

}  // namespace

Node renamed(const Node& node, const Names& names, const Fresh& fresh) {
  Node result = node;
  for (std::string& input : result.inputs) input = called(input, names);
  for (std::string& output : result.outputs) output = called(output, names);
  for (auto& [name, graph] : result.graphs) graph = std::make_shared<const Graph>(renamed(*graph, names, fresh));
  return result;
}

Graph renamed(const Graph& graph, Names names, const Fresh& fresh) {
  for (const std::string& name : defined_in(graph)) names[name] = fresh(name);
  Graph result;
  result.name = graph.name;
  result.opset = graph.opset;
  for (const GraphInput& input : graph.inputs)
    result.inputs.push_back({called(input.name, names), input.type, input.shape});
  for (const auto& [name, constant] : graph.constants) result.constants.emplace(called(name, names), constant);
  for (const Node& node : graph.nodes) result.nodes.push_back(renamed(node, names, fresh));
  for (const std::string& output : graph.outputs) result.outputs.push_back(called(output, names));
  return result;
}

std::vector<std::string> reads_of(const Node& node) {
  std::vector<std::string> names = node.inputs;
  for (const auto& [attribute, graph] : node.graphs) {
    const std::set<std::string> inside = defined_in(*graph);
    const auto add = [&](const std::string& name) {
      if (inside.count(name) == 0) names.push_back(name);
    };
    for (const Node& inner : graph->nodes) {
      for (const std::string& name : reads_of(inner)) add(name);
    }
    for (const std::string& output : graph->outputs) add(output);
  }
  return names;
}

}  // namespace cohort::onnx
