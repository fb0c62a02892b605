#include "models/onnx/inline_functions.hpp"

#include <algorithm>
#include <set>

#include "models/onnx/rename.hpp"

namespace cohort::onnx {

namespace {

/// Work that a small file can ask for: nodes, and what copying their names and attributes takes.
constexpr std::int64_t kMostNodes = std::int64_t{1} << 18;
constexpr std::int64_t kMostBytes = std::int64_t{1} << 28;

/// Copies of constants share their values.
std::int64_t size_of(const AttributeValue& value) {
  if (const auto* text = std::get_if<std::string>(&value)) return static_cast<std::int64_t>(text->size());
  if (const auto* list = std::get_if<std::vector<std::int64_t>>(&value)) return 8 * std::ssize(*list);
  if (const auto* list = std::get_if<std::vector<float>>(&value)) return 4 * std::ssize(*list);
  if (const auto* list = std::get_if<std::vector<std::string>>(&value)) return 64 * std::ssize(*list);
  return 0;
}

constexpr std::size_t kMostOpen = 100;  // calls inside of one another

struct Cost {
  std::int64_t nodes = 0, bytes = 0;
};

void add_cost(const Node& node, Cost& cost);

void add_cost(const Graph& graph, Cost& cost) {
  for (const auto& [name, constant] : graph.constants) cost.bytes += size_of(constant) + std::ssize(name);
  for (const Node& node : graph.nodes) add_cost(node, cost);
}

void add_cost(const Node& node, Cost& cost) {
  ++cost.nodes;
  cost.bytes += std::ssize(node.name);
  for (const std::string& input : node.inputs) cost.bytes += std::ssize(input);
  for (const std::string& output : node.outputs) cost.bytes += std::ssize(output);
  for (const auto& [name, value] : node.attributes) cost.bytes += size_of(value);
  for (const auto& [name, graph] : node.graphs) add_cost(*graph, cost);
}

void add_names(const Graph& graph, std::set<std::string>& names) {
  for (const auto* const inputs : {&graph.inputs, &graph.defaulted}) {
    for (const GraphInput& input : *inputs) names.insert(input.name);
  }
  for (const auto& [name, constant] : graph.constants) names.insert(name);
  for (const Node& node : graph.nodes) {
    names.insert(node.outputs.begin(), node.outputs.end());
    for (const auto& [attribute, inner] : node.graphs) add_names(*inner, names);
  }
}

/// Attributes that the node takes from those of the function's call. One that the call leaves out is left out.
void resolve_references(Node& node, const Node& call, const Function& function) {
  for (const auto& [own, of_function] : node.references) {
    const auto given = call.attributes.find(of_function);
    const auto otherwise = function.defaults.find(of_function);
    if (given != call.attributes.end()) {
      node.attributes[own] = given->second;
    } else if (otherwise != function.defaults.end()) {
      node.attributes[own] = otherwise->second;
    }
    if (const auto graph = call.graphs.find(of_function); graph != call.graphs.end()) node.graphs[own] = graph->second;
  }
  node.references.clear();
  for (auto& [name, graph] : node.graphs) {
    Graph resolved = *graph;
    for (Node& inner : resolved.nodes) resolve_references(inner, call, function);
    graph = std::make_shared<const Graph>(std::move(resolved));
  }
}

class Inlining {
 public:
  Inlining(const Graph& graph, const Functions& functions) : functions_(functions) { add_names(graph, names_); }

  Result<void> run(Graph& graph) {
    std::vector<Node> nodes;
    for (Node& node : graph.nodes) COHORT_CHECK(add(std::move(node), nodes));
    graph.nodes = std::move(nodes);
    return {};
  }

 private:
  using Key = Functions::key_type;

  Result<void> add(Node node, std::vector<Node>& nodes) {
    for (auto& [name, inner] : node.graphs) {
      Graph graph = *inner;
      COHORT_CHECK(run(graph));
      inner = std::make_shared<const Graph>(std::move(graph));
    }
    const auto found = functions_.find({node.domain, node.op_type});
    if (found != functions_.end()) return call(node, found->first, found->second, nodes);
    nodes.push_back(std::move(node));
    return {};
  }

  Result<void> call(const Node& node, const Key& key, const Function& function, std::vector<Node>& nodes) {
    if (std::find(open_.begin(), open_.end(), &function) != open_.end())
      return fail(ErrorCode::kInvalidInput, "function {} calls itself", key.second);
    if (open_.size() >= kMostOpen)
      return fail(ErrorCode::kInvalidInput, "function {} is more than {} calls deep", key.second, kMostOpen);
    if (node.inputs.size() > function.inputs.size() || node.outputs.size() > function.outputs.size())
      return fail(ErrorCode::kInvalidInput, "node {} gives function {} {} inputs and {} outputs; it has {} and {}",
                  node.name, key.second, node.inputs.size(), node.outputs.size(), function.inputs.size(),
                  function.outputs.size());
    const std::string prefix = !node.name.empty() ? node.name : key.second;
    const auto fresh = [&](const std::string& name) { return unique(prefix + "/" + name); };
    const Names names = names_in(node, function, fresh, nodes);
    open_.push_back(&function);
    for (const Node& inner : function.nodes) {
      Node copy = inner;
      resolve_references(copy, node, function);
      copy = renamed(copy, names, fresh);
      copy.name = prefix + "/" + (inner.name.empty() ? inner.op_type : inner.name);
      add_cost(copy, cost_);
      if (cost_.nodes > kMostNodes || cost_.bytes > kMostBytes)
        return fail(ErrorCode::kInvalidInput, "its functions make more than {} nodes or {} MiB of attributes",
                    kMostNodes, kMostBytes >> 20);
      COHORT_CHECK(add(std::move(copy), nodes));
    }
    open_.pop_back();
    return {};
  }

  /// What the function's tensors are called in the graph, none by an empty name. An output that is an input is copied.
  Names names_in(const Node& node, const Function& function, const Fresh& fresh, std::vector<Node>& nodes) {
    Names names;
    for (std::size_t i = 0; i < function.inputs.size(); ++i)
      names[function.inputs[i]] = i < node.inputs.size() ? node.inputs[i] : std::string();
    const auto is_input = [&](const std::string& name) {
      return std::find(function.inputs.begin(), function.inputs.end(), name) != function.inputs.end();
    };
    for (std::size_t i = 0; i < function.outputs.size(); ++i) {
      const std::string& formal = function.outputs[i];
      const bool is_used = i < node.outputs.size() && !node.outputs[i].empty();
      if (is_input(formal)) {
        if (is_used)
          nodes.push_back({node.name, "Identity", "", {names[formal]}, {node.outputs[i]}, {}, function.opset});
      } else {
        names[formal] = is_used ? node.outputs[i] : fresh(formal);
      }
    }
    for (const Node& inner : function.nodes) {
      for (const std::string& output : inner.outputs) {
        if (names.count(output) == 0) names[output] = fresh(output);
      }
    }
    names.erase(std::string());
    return names;
  }

  std::string unique(const std::string& base) {
    std::string name = base;
    while (!names_.insert(name).second) name = fmt::format("{}_{}", base, ++uses_[base]);
    return name;
  }

  const Functions& functions_;
  std::set<std::string> names_;
  std::map<std::string, int> uses_;
  std::vector<const Function*> open_;
  Cost cost_;
};

}  // namespace

Result<void> inline_functions(Graph& graph, const Functions& functions) {
  if (functions.empty()) return {};
  return Inlining(graph, functions).run(graph);
}

}  // namespace cohort::onnx
