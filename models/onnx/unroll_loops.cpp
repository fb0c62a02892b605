#include <algorithm>

#include "models/onnx/node_order.hpp"
#include "models/onnx/nodes_import.hpp"
#include "models/onnx/rename.hpp"

namespace cohort::onnx {

namespace {

/// Whether the node, or one inside of it, draws random numbers: others in each turn.
bool draws_numbers(const Node& node) {
  if (node.domain.empty() && node.op_type.starts_with("Random")) return true;
  return std::any_of(node.graphs.begin(), node.graphs.end(), [](const auto& inner) {
    return std::any_of(inner.second->nodes.begin(), inner.second->nodes.end(), draws_numbers);
  });
}

}  // namespace

/// A loop's body, whose names are the only ones of their kind.
struct NodesImport::Body {
  Graph graph;
  /// Nodes that draw random numbers or read, however far behind, what changes from turn to turn; in order.
  std::vector<std::size_t> varying;
};

Result<NodesImport::Body> NodesImport::open_body(const Node& node, const std::string& op_name) {
  const auto found = node.graphs.find("body");
  if (found == node.graphs.end()) return fail(ErrorCode::kInvalidInput, "attribute body is missing");
  Body body;
  body.graph = renamed(*found->second, {},
                       [&](const std::string& inner) { return fresh(fmt::format("{}/{}", op_name, inner)); });
  COHORT_TRY(const auto order, sorted_nodes(body.graph, true));
  add_contents(body.graph);
  state_.read_names.insert(body.graph.outputs.begin(), body.graph.outputs.end());
  state_.read_names.erase(std::string());
  std::set<std::string> changing;
  for (const GraphInput& input : body.graph.inputs) changing.insert(input.name);
  for (const std::size_t i : order) {
    const Node& inner = body.graph.nodes[i];
    const std::vector<std::string> reads = reads_of(inner);
    if (!draws_numbers(inner) &&
        std::none_of(reads.begin(), reads.end(), [&](const auto& name) { return changing.count(name) > 0; })) {
      add(inner, i);
      continue;
    }
    changing.insert(inner.outputs.begin(), inner.outputs.end());
    changing.erase(std::string());
    body.varying.push_back(i);
  }
  return body;
}

Result<std::vector<std::string>> NodesImport::add_turn(const Node& node, const Body& body, std::size_t turn,
                                                       const std::vector<std::string>& inputs) {
  if (!claim_nodes(std::max<std::size_t>(1, body.varying.size())))
    return fail(ErrorCode::kInvalidInput, "its turns, of which {} are done, make the file more than {} nodes", turn,
                kMostUnrolled);
  const auto of_turn = [&](const std::string& name) { return fresh(fmt::format("{}/{}", name, turn)); };
  Names names;
  for (std::size_t i = 0; i < inputs.size(); ++i) names[body.graph.inputs[i].name] = inputs[i];
  std::vector<Node> nodes;
  for (const std::size_t i : body.varying) {
    for (const std::string& output : body.graph.nodes[i].outputs) {
      if (!output.empty()) names[output] = of_turn(output);
    }
  }
  for (const std::size_t i : body.varying) {
    Node& inner = nodes.emplace_back(renamed(body.graph.nodes[i], names, of_turn));
    if (!inner.name.empty()) inner.name = fmt::format("{}/{}", inner.name, turn);
    for (const std::string& name : reads_of(inner)) state_.read_names.insert(name);
  }
  std::vector<std::string> outputs;
  for (const std::string& output : body.graph.outputs) {
    const auto own = names.find(output);
    outputs.push_back(own == names.end() ? output : own->second);
    state_.read_names.insert(outputs.back());
  }
  state_.read_names.erase(std::string());
  const std::size_t wrong = wrong_.size() + unsupported_.size();
  for (std::size_t i = 0; i < nodes.size(); ++i) add(nodes[i], body.varying[i]);
  if (wrong_.size() + unsupported_.size() > wrong) {  // the other turns would say the same once more
    missing_.insert(node.outputs.begin(), node.outputs.end());
    return std::vector<std::string>();
  }
  return outputs;
}

void NodesImport::stack(const Node& node, std::size_t output, const std::vector<std::string>& turns,
                        std::int64_t axis) {
  constexpr std::int64_t kAxesAsAttribute = 11;  // the opset whose Unsqueeze has them so
  Node concat{node.name, "Concat", "", {}, {node.outputs[output]}, {{"axis", axis}}, kAxesAsAttribute};
  for (std::size_t turn = 0; turn < turns.size(); ++turn) {
    concat.inputs.push_back(fresh(fmt::format("{}/{}", node.outputs[output], turn)));
    state_.read_names.insert(concat.inputs.back());
    const Node unsqueeze{
        node.name,       "Unsqueeze", "", {turns[turn]}, {concat.inputs.back()}, {{"axes", std::vector{axis}}},
        kAxesAsAttribute};
    add(unsqueeze, turn);
    if (missing_.count(concat.inputs.back()) > 0) {  // the others would say the same once more
      missing_.insert(node.outputs[output]);
      return;
    }
  }
  add(concat, output);
}

Result<void> NodesImport::give(const Node& node, const std::vector<std::string>& states,
                               const std::vector<std::vector<std::string>>& of_turns,
                               const std::vector<std::int64_t>& axes) {
  for (std::size_t i = 0; i < states.size(); ++i) pass_on(states[i], node, i);
  for (std::size_t i = 0; i < of_turns.size(); ++i) {
    const std::string& output = node.outputs[states.size() + i];
    if (output.empty() || state_.read_names.count(output) == 0) continue;
    if (of_turns[i].empty())
      return fail(ErrorCode::kInvalidInput, "output {} is of turns, of which there are none", output);
    stack(node, states.size() + i, of_turns[i], axes[i]);
  }
  return {};
}

Result<std::optional<bool>> NodesImport::truth_of(const Node& node, const std::string& name) {
  Node reader = node;
  reader.inputs = {name};
  const Constant* const known = NodeImport(state_, reader, "").needed_constant(0);
  if (known == nullptr) return std::nullopt;
  if (known->integers() == nullptr || known->integers()->size() != 1)
    return fail(ErrorCode::kInvalidInput, "its condition must be one truth value");
  return known->integers()->front() != 0;
}

Result<void> NodesImport::import_loop(const Node& node, std::size_t index) {
  if (node.inputs.size() < 2)
    return fail(ErrorCode::kInvalidInput, "has {} inputs, but needs a number of turns and a condition, empty or not",
                node.inputs.size());
  const std::size_t states = node.inputs.size() - 2;
  std::int64_t most = INT64_MAX;
  if (!node.inputs[0].empty()) {
    NodeImport import(state_, node, "");
    const Constant* const turns = import.needed_constant(0);
    if (turns == nullptr) return import.not_constant(0, "number of turns");
    if (turns->integers() == nullptr || turns->integers()->size() != 1)
      return fail(ErrorCode::kInvalidInput, "its number of turns must be one whole number");
    most = turns->integers()->front();
  }
  std::optional<bool> goes_on = true;
  if (!node.inputs[1].empty()) {
    COHORT_TRY(goes_on, truth_of(node, node.inputs[1]));
  }
  const std::string name = op_name_for(state_, node, index);
  COHORT_TRY(const Body body, open_body(node, name));
  if (body.graph.inputs.size() != 2 + states || body.graph.outputs.size() <= states ||
      body.graph.outputs.size() != node.outputs.size() + 1)
    return fail(ErrorCode::kInvalidInput,
                "its body has {} inputs and {} outputs, which do not fit the node's {} and {}",
                body.graph.inputs.size(), body.graph.outputs.size(), node.inputs.size(), node.outputs.size());
  std::vector<std::string> current(node.inputs.begin() + 2, node.inputs.end());
  std::vector<std::vector<std::string>> given(node.outputs.size() - states);
  for (std::size_t turn = 0; goes_on.value_or(true) && static_cast<std::int64_t>(turn) < most; ++turn) {
    if (!goes_on)
      return fail(ErrorCode::kInvalidInput, "its condition is computed at run time, which is not supported");
    std::vector<std::string> inputs{fresh(fmt::format("{}/turn/{}", name, turn)),
                                    fresh(fmt::format("{}/condition/{}", name, turn))};
    state_.values.emplace(inputs[0], make_constant({}, std::vector<std::int64_t>{static_cast<std::int64_t>(turn)}));
    state_.values.emplace(inputs[1], make_constant({}, std::vector<std::int64_t>{1}));
    inputs.insert(inputs.end(), current.begin(), current.end());
    COHORT_TRY(const auto outputs, add_turn(node, body, turn, inputs));
    if (outputs.empty()) return {};
    COHORT_TRY(goes_on, truth_of(node, outputs[0]));
    current.assign(outputs.begin() + 1, outputs.begin() + 1 + static_cast<std::ptrdiff_t>(states));
    for (std::size_t i = 0; i < given.size(); ++i) given[i].push_back(outputs[1 + states + i]);
  }
  return give(node, current, given, std::vector<std::int64_t>(given.size(), 0));
}

namespace {

/// An attribute of a Scan with one entry for each of `count`; zeros where it is left out.
Result<std::vector<std::int64_t>> each_of(NodeImport& import, const std::string& attribute, std::size_t count) {
  COHORT_TRY(auto values, import.integer_list(attribute, std::vector<std::int64_t>(count, 0)));
  if (values.size() != count)
    return fail(ErrorCode::kInvalidInput, "attribute {} must have {} entries, not {}", attribute, count, values.size());
  return values;
}

}  // namespace

Result<void> NodesImport::import_scan(const Node& node, std::size_t index) {
  constexpr std::int64_t kFirst = 9;  // before, it had sequences of several lengths
  if (node.opset < kFirst)
    return fail(ErrorCode::kInvalidInput, "is supported from opset {} on, not in {}", kFirst, node.opset);
  NodeImport import(state_, node, "");
  import.ignore("body");
  COHORT_TRY(const std::int64_t count, import.integer("num_scan_inputs", 0));
  if (count < 1 || count > static_cast<std::int64_t>(node.inputs.size()))
    return fail(ErrorCode::kInvalidInput, "attribute num_scan_inputs must be from 1 to {}, not {}", node.inputs.size(),
                count);
  const std::size_t scanned = static_cast<std::size_t>(count), states = node.inputs.size() - scanned;
  if (node.outputs.size() < states)
    return fail(ErrorCode::kInvalidInput, "has {} outputs for {} states", node.outputs.size(), states);
  const std::size_t stacked = node.outputs.size() - states;
  COHORT_TRY(const auto axes, each_of(import, "scan_input_axes", scanned));
  COHORT_TRY(const auto directions, each_of(import, "scan_input_directions", scanned));
  COHORT_TRY(const auto output_axes, each_of(import, "scan_output_axes", stacked));
  COHORT_TRY(const auto output_directions, each_of(import, "scan_output_directions", stacked));
  COHORT_CHECK(import.all_attributes_seen());
  std::optional<std::int64_t> turns;
  for (std::size_t i = 0; i < scanned; ++i) {
    COHORT_TRY(const Shape shape, import.shape(states + i));
    COHORT_TRY(const std::size_t axis, normalize_axis(axes[i], shape.size()));
    if (turns && *turns != shape[axis])
      return fail(ErrorCode::kInvalidInput, "scans {} and {} entries at a time", *turns, shape[axis]);
    turns = shape[axis];
  }
  const std::string name = op_name_for(state_, node, index);
  COHORT_TRY(const Body body, open_body(node, name));
  if (body.graph.inputs.size() != node.inputs.size() || body.graph.outputs.size() != node.outputs.size())
    return fail(ErrorCode::kInvalidInput, "its body has {} inputs and {} outputs, the node {} and {}",
                body.graph.inputs.size(), body.graph.outputs.size(), node.inputs.size(), node.outputs.size());
  std::vector<std::string> current(node.inputs.begin(), node.inputs.begin() + static_cast<std::ptrdiff_t>(states));
  std::vector<std::vector<std::string>> given(stacked);
  for (std::int64_t turn = 0; turn < *turns; ++turn) {
    std::vector<std::string> inputs = current;
    for (std::size_t i = 0; i < scanned; ++i) {
      const std::string& from = node.inputs[states + i];
      const std::string place = fresh(fmt::format("{}/place/{}", from, turn));
      const std::int64_t at = directions[i] == 0 ? turn : *turns - 1 - turn;
      state_.values.emplace(place, make_constant({}, std::vector<std::int64_t>{at}));
      inputs.push_back(fresh(fmt::format("{}/{}", from, turn)));
      state_.read_names.insert(inputs.back());
      const Node gather{node.name, "Gather", "", {from, place}, {inputs.back()}, {{"axis", axes[i]}}, node.opset};
      add(gather, static_cast<std::size_t>(turn));
    }
    COHORT_TRY(const auto outputs, add_turn(node, body, static_cast<std::size_t>(turn), inputs));
    if (outputs.empty()) return {};
    current.assign(outputs.begin(), outputs.begin() + static_cast<std::ptrdiff_t>(states));
    for (std::size_t i = 0; i < stacked; ++i) {
      std::vector<std::string>& mine = given[i];
      mine.insert(output_directions[i] == 0 ? mine.end() : mine.begin(), outputs[states + i]);
    }
  }
  return give(node, current, given, output_axes);
}

}  // namespace cohort::onnx
