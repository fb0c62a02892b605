#include "models/onnx/nodes_import.hpp"

#include <fmt/ranges.h>

#include <algorithm>

#include "base/spelling.hpp"
#include "models/onnx/node_order.hpp"
#include "models/onnx/rename.hpp"
#include "models/onnx/runtime_ops.hpp"
#include "models/onnx/truth_values.hpp"
#include "models/onnx/whole_in_float.hpp"

namespace cohort::onnx {

namespace {

/// Errors: kInvalidInput naming an output that something reads, has no value, and is not among the `missing`, of which
/// another message tells.
Result<void> check_outputs(const ImportState& state, const Node& node,
                           const std::set<std::string, std::less<>>& missing) {
  for (std::size_t i = 0; i < node.outputs.size(); ++i) {
    const std::string& output = node.outputs[i];
    if (state.read_names.count(output) > 0 && state.values.count(output) == 0 && missing.count(output) == 0)
      return fail(ErrorCode::kInvalidInput, "output {} ({}) is not supported", i, output);
  }
  return {};
}

Result<void> import_supported(ImportState& state, const Node& node, std::size_t index, const OpSupport& support) {
  if (node.outputs.empty()) return fail(ErrorCode::kInvalidInput, "has no outputs");
  NodeImport import(state, node, op_name_for(state, node, index));
  const bool constant = import.all_constant();
  COHORT_TRY(const std::int64_t whole_type, whole_output_type(state, node));
  const auto note_types = [&] {
    note_whole_outputs(state, node, whole_type);
    note_truth_outputs(state, node);
  };
  if (constant) state.learned.compute(node, state.for_training);
  const Constant* first = import.constant(0);
  const bool folds = !support.fold_whole_only || (first != nullptr && first->integers() != nullptr);
  if (support.fold != nullptr && ((constant && folds) || support.convert == nullptr)) {
    COHORT_TRY(Constant folded, support.fold(import));
    import.set_alias(std::move(folded));
  } else {
    if (constant && import.input_count() > 0) {
      COHORT_TRY(const bool is_folded, fold_node(state, node, support));
      if (is_folded) {
        note_types();
        return {};
      }
    }
    import.read_narrow_as_float();
    COHORT_CHECK(support.convert(import));
  }
  note_types();
  COHORT_CHECK(check_outputs(state, node, {}));
  return import.all_attributes_seen();
}

}  // namespace

std::string op_name_for(ImportState& state, const Node& node, std::size_t index) {
  std::string name = node.name;
  if (name.empty() && !node.outputs.empty()) name = node.outputs[0];
  if (name.empty()) name = fmt::format("{}_{}", node.op_type, index);
  while (!state.op_names.insert(name).second) name += "_";
  return name;
}

void NodesImport::add(const Node& node, std::size_t index) {
  if (is_unread_constant(node)) return;
  if (index < graph_.nodes.size() && &node == &graph_.nodes[index]) order_.push_back(index);
  const bool is_if = node.domain.empty() && node.op_type == "If";
  const bool is_loop = node.domain.empty() && (node.op_type == "Loop" || node.op_type == "Scan");
  const OpSupport* support = find_support(node);
  const std::vector<std::string> reads = is_if ? std::vector{node.inputs.empty() ? "" : node.inputs[0]} : node.inputs;
  const bool is_behind =
      std::any_of(reads.begin(), reads.end(), [&](const std::string& input) { return missing_.count(input) > 0; });
  const bool is_runtime = is_runtime_op(node);
  const bool is_on_lists = !is_if && !is_loop && is_on_sequences(node, support != nullptr);
  if (support == nullptr && !is_if && !is_loop && !is_runtime && !is_on_lists) {
    unsupported_.push_back({type_of(node), describe(node)});
    behind_unsupported_ = order_.size();
  } else if (!is_behind) {
    const auto imported = is_on_lists              ? import_on_sequences(node)
                          : is_runtime             ? import_runtime_op(node)
                          : is_if                  ? import_if(node, index)
                          : node.op_type == "Loop" ? import_loop(node, index)
                          : node.op_type == "Scan" ? import_scan(node, index)
                                                   : import_supported(state_, node, index, *support);
    if (imported) return;
    wrong_.push_back(fmt::format("{}: {}", describe(node), imported.error().message));
  }
  missing_.insert(node.outputs.begin(), node.outputs.end());
  missing_.erase(std::string());
}

std::vector<std::string> NodesImport::first_of_each_type(const std::vector<UnsupportedNode>& nodes) {
  std::vector<std::string> first;
  std::set<std::string_view> types;
  for (const UnsupportedNode& node : nodes) {
    if (!types.insert(node.type).second) continue;
    const auto others = std::count_if(nodes.begin(), nodes.end(),
                                      [&](const UnsupportedNode& other) { return other.type == node.type; }) -
                        1;
    first.push_back(others == 0 ? node.text
                                : fmt::format("{} and {} of its type", node.text,
                                              others == 1 ? "another" : fmt::format("{} others", others)));
  }
  return first;
}

bool NodesImport::is_computed(const std::string& name) const {
  const auto value = state_.values.find(name);
  if (value == state_.values.end()) return false;
  const auto* tensor = std::get_if<TensorValue>(&value->second);
  return tensor != nullptr && state_.model.tensor(tensor->id).role == TensorRole::kActivation;
}

std::set<std::string> NodesImport::merged(std::set<std::string> tensors, std::size_t most) const {
  std::set<std::string> fewest = tensors;
  for (auto at = order_.rbegin(); at != order_.rend(); ++at) {
    const Node& node = graph_.nodes[*at];
    std::size_t removed = 0;
    for (const std::string& output : node.outputs) removed += tensors.erase(output);
    if (removed == 0) continue;
    bool is_from_others = false;
    for (const std::string& read : reads_of(node)) {
      if (!is_computed(read)) continue;
      is_from_others = true;
      tensors.insert(read);
    }
    const bool is_few = fewest.size() <= most;
    if (!is_from_others || (is_few && tensors.size() > fewest.size())) break;
    if (tensors.size() < fewest.size()) fewest = tensors;
  }
  return fewest.size() <= most ? fewest : std::set<std::string>();
}

std::vector<std::string> NodesImport::last_before_wrong(std::size_t most) const {
  std::set<std::string> last;
  for (const Node& node : graph_.nodes) {
    const bool is_left_out = std::any_of(node.outputs.begin(), node.outputs.end(),
                                         [&](const std::string& output) { return missing_.count(output) > 0; });
    if (!is_left_out) continue;
    for (const std::string& read : reads_of(node)) {
      if (is_computed(read)) last.insert(read);
    }
  }
  for (const std::string& output : graph_.outputs) {
    if (is_computed(output)) last.insert(output);
  }
  if (last.size() > most) last = merged(std::move(last), most);
  std::vector<std::string> in_order;
  for (const std::size_t i : order_) {
    for (const std::string& output : graph_.nodes[i].outputs) {
      if (last.count(output) > 0) in_order.push_back(output);
    }
  }
  return in_order;
}

std::vector<std::string> NodesImport::first_behind_unsupported(std::size_t most) const {
  std::map<std::string, std::size_t> last_read;
  for (std::size_t place = 0; place < order_.size(); ++place) {
    for (const std::string& read : reads_of(graph_.nodes[order_[place]])) last_read[read] = place;
  }
  for (const std::string& output : graph_.outputs) last_read[output] = order_.size();
  const auto is_missing = [&](const std::string& name) { return missing_.count(name) > 0; };
  const auto is_left_out = [&](std::size_t index) {
    const auto& outputs = graph_.nodes[index].outputs;
    return std::any_of(outputs.begin(), outputs.end(), is_missing);
  };
  auto left = std::count_if(order_.begin(), order_.end(), is_left_out);
  const std::ptrdiff_t few = std::max<std::ptrdiff_t>(8, std::ssize(order_) / 10);
  std::set<std::string> open, fewest, lists;
  const auto is_list = [&](const std::string& name) { return lists.count(name) > 0; };
  for (std::size_t place = 0; place < order_.size(); ++place) {
    for (const std::string& output : graph_.nodes[order_[place]].outputs) {
      if (is_missing(output)) open.insert(output);
      if (makes_sequence(graph_.nodes[order_[place]])) lists.insert(output);
    }
    if (is_left_out(order_[place])) --left;
    std::erase_if(open, [&](const std::string& name) { return last_read[name] <= place; });
    if (place + 1 < behind_unsupported_) continue;
    const bool has_output = std::any_of(open.begin(), open.end(),
                                        [&](const std::string& name) { return last_read[name] == order_.size(); });
    if (open.empty() || has_output || left <= few) break;
    if (std::any_of(open.begin(), open.end(), is_list)) continue;  // an input of the model is one tensor
    if (fewest.empty() || open.size() < fewest.size()) fewest = open;
  }
  return fewest.size() <= most ? std::vector<std::string>(fewest.begin(), fewest.end()) : std::vector<std::string>();
}

Result<void> NodesImport::result() const {
  if (unsupported_.empty() && wrong_.empty()) return {};
  std::vector<std::string> parts;
  if (!unsupported_.empty()) {
    const std::vector<std::string> types = first_of_each_type(unsupported_);
    parts.push_back(
        fmt::format("{} not supported: {}", types.size() == 1 ? "an op is" : "some ops are", fmt::join(types, ", ")));
  }
  parts.insert(parts.end(), wrong_.begin(), wrong_.end());
  const auto as_options = [](std::string_view option, std::vector<std::string> tensors) {
    std::transform(tensors.begin(), tensors.end(), tensors.begin(), as_shell_word);
    return fmt::format("{} {}", option, fmt::join(tensors, fmt::format(" {} ", option)));
  };
  constexpr std::size_t kMostGiven = 2;
  if (!unsupported_.empty()) {
    const auto given = first_behind_unsupported(kMostGiven);
    if (!given.empty()) parts.push_back("or, to give what they compute: " + as_options("--from", given));
  }
  constexpr std::size_t kMostNamed = 8;
  const auto last = last_before_wrong(kMostNamed);
  if (!last.empty()) parts.push_back("or, to compute only what comes before: " + as_options("--until", last));
  return fail(ErrorCode::kInvalidInput, "{}", fmt::join(parts, "; "));
}

bool NodesImport::is_unread_constant(const Node& node) const {
  return node.op_type == "Constant" && !node.attributes.empty() &&
         std::none_of(node.outputs.begin(), node.outputs.end(),
                      [&](const auto& name) { return state_.read_names.count(name) > 0; });
}

Result<void> NodesImport::check_not_a_setting(const Node& node) const {
  const std::set<std::string> behind = tensors_behind(graph_, {node.inputs.empty() ? "" : node.inputs[0]});
  std::vector<std::string> inputs;
  for (const GraphInput& input : graph_.inputs) {
    if (behind.count(input.name) > 0) inputs.push_back(input.name);
  }
  const bool is_setting = std::all_of(state_.inputs.begin(), state_.inputs.end(), [&](const PendingInput& input) {
    const bool is_behind = behind.count(input.name) > 0;
    if (is_behind && input.is_random) return false;
    const bool is_single = input.element == ElementType::kInt32 || input.shape.empty();
    return !is_behind || (is_single && element_count(input.shape) <= 1);
  });
  if (inputs.empty() || !is_setting) return {};
  return fail(ErrorCode::kInvalidInput, "its condition depends on {}, which --set-input NAME=VALUE fixes",
              fmt::join(inputs, ", "));
}

Result<std::vector<std::string>> NodesImport::import_branch(const Node& node, const std::string& attribute,
                                                            const std::string& op_name) {
  const auto found = node.graphs.find(attribute);
  if (found == node.graphs.end()) return fail(ErrorCode::kInvalidInput, "attribute {} is missing", attribute);
  const Graph branch = renamed(*found->second, {},
                               [&](const std::string& inner) { return fresh(fmt::format("{}/{}", op_name, inner)); });
  if (branch.outputs.size() != node.outputs.size())
    return fail(ErrorCode::kInvalidInput, "the branch has {} outputs, the node {}", branch.outputs.size(),
                node.outputs.size());
  COHORT_TRY(const auto order, sorted_nodes(branch, true));
  add_branch(node, branch);
  for (const std::size_t i : order) add(branch.nodes[i], i);
  for (std::size_t i = 0; i < branch.outputs.size(); ++i) {
    const std::string& inner = branch.outputs[i];
    if (state_.values.count(inner) > 0 || sequences_.count(inner) > 0) continue;
    if (missing_.count(inner) == 0)
      return fail(ErrorCode::kInvalidInput, "output {} of the branch has no value", inner);
    missing_.insert(node.outputs[i]);  // what is wrong is told where it is
  }
  return branch.outputs;
}

Result<void> NodesImport::import_if(const Node& node, std::size_t index) {
  if (node.inputs.size() != 1)
    return fail(ErrorCode::kInvalidInput, "has {} inputs where a condition is the only one", node.inputs.size());
  const std::string name = op_name_for(state_, node, index);
  NodeImport import(state_, node, name);
  const Constant* const condition = import.needed_constant(0);
  if (condition == nullptr) {
    COHORT_CHECK(check_not_a_setting(node));
    COHORT_TRY(const auto if_true, import_branch(node, "then_branch", name));
    COHORT_TRY(const auto if_false, import_branch(node, "else_branch", name));
    return choose(node, name, if_true, if_false);
  }
  if (condition->integers() == nullptr || condition->integers()->size() != 1)
    return fail(ErrorCode::kInvalidInput, "its condition must be one truth value");
  const bool is_true = condition->integers()->front() != 0;
  COHORT_TRY(const auto taken, import_branch(node, is_true ? "then_branch" : "else_branch", name));
  for (std::size_t i = 0; i < taken.size(); ++i) pass_on(taken[i], node, i);
  return {};
}

Result<void> NodesImport::import_runtime_op(const Node& node) {
  NodeImport import(state_, node, node.name);
  Graph inner;
  COHORT_TRY(inner.nodes, as_own_ops(import, node, [this](const std::string& name) { return fresh(name); }));
  add_contents(inner);
  state_.read_names.erase(std::string());
  for (std::size_t i = 0; i < inner.nodes.size(); ++i) add(inner.nodes[i], i);
  return check_outputs(state_, node, missing_);
}

void NodesImport::pass_on(const std::string& name, const Node& node, std::size_t output) {
  const std::string& as = node.outputs[output];
  if (as.empty()) return;
  if (const auto listed = sequences_.find(name); listed != sequences_.end())
    return set_sequence(node, output, listed->second);
  const auto value = state_.values.find(name);
  if (value == state_.values.end()) {
    missing_.insert(as);
    return;
  }
  state_.learned.copy(name, as);
  const auto held = state_.whole_in_float.find(name);
  if (held != state_.whole_in_float.end()) state_.whole_in_float.emplace(as, held->second);
  state_.values.insert_or_assign(as, Value(value->second));
}

std::string NodesImport::fresh(const std::string& name) {
  std::string own = name;
  while (!state_.names.insert(own).second) own += "_";
  return own;
}

Result<void> NodesImport::choose(const Node& node, const std::string& op_name, const std::vector<std::string>& if_true,
                                 const std::vector<std::string>& if_false) {
  Node choice = node;
  choice.inputs.insert(choice.inputs.end(), if_true.begin(), if_true.end());
  choice.inputs.insert(choice.inputs.end(), if_false.begin(), if_false.end());
  NodeImport import(state_, choice, op_name);
  import.read_narrow_as_float();
  COHORT_TRY(const Shape condition_shape, import.shape(0));
  if (element_count(condition_shape) != 1)
    return fail(ErrorCode::kInvalidInput, "its condition must be one truth value, not {}", to_string(condition_shape));
  COHORT_TRY(TensorId condition, import.tensor(0));
  if (!condition_shape.empty()) {
    COHORT_TRY(condition, import.emit_reshape("condition", condition, {}));
  }
  for (std::size_t i = 0; i < node.outputs.size(); ++i) {
    if (!import.is_read(i) || missing_.count(node.outputs[i]) > 0) continue;
    const std::size_t a = 1 + i;
    const std::size_t b = a + if_true.size();
    if (sequences_.count(if_true[i]) + sequences_.count(if_false[i]) > 0)
      return fail(
          ErrorCode::kInvalidInput,
          "its condition is computed at run time, and its branches give sequences of tensors, which is not supported");
    COHORT_TRY(const Shape shape, import.shape(a));
    COHORT_TRY(const Shape other, import.shape(b));
    COHORT_TRY(const ElementType element, import.element(a));
    COHORT_TRY(const ElementType other_element, import.element(b));
    if (shape != other || element != other_element)
      return fail(
          ErrorCode::kInvalidInput,
          "its condition is computed at run time, and its branches give {} {} and {} {}, which is not supported",
          to_string(element), to_string(shape), to_string(other_element), to_string(other));
    COHORT_TRY(const TensorId true_value, import.tensor(a));
    COHORT_TRY(const TensorId false_value, import.tensor(b));
    COHORT_TRY(const TensorId y, import.emit(i == 0 ? "" : fmt::format("output{}", i), Select{element},
                                             {condition, true_value, false_value}));
    import.set_result(y, i);
    const std::int64_t whole = import.whole_type(a) != 0 ? import.whole_type(a) : import.whole_type(b);
    if (whole != 0) state_.whole_in_float.emplace(node.outputs[i], whole);
  }
  return {};
}

void NodesImport::add_contents(const Graph& inner) {
  for (const auto& [name, constant] : inner.constants) {
    state_.learned.add(name, constant);
    state_.values.emplace(name, constant);
  }
  for (const Node& node : inner.nodes) {
    for (const std::string& name : reads_of(node)) state_.read_names.insert(name);
  }
}

void NodesImport::add_branch(const Node& node, const Graph& branch) {
  add_contents(branch);
  for (std::size_t i = 0; i < branch.outputs.size(); ++i) {
    if (state_.read_names.count(node.outputs[i]) > 0) state_.read_names.insert(branch.outputs[i]);
  }
  state_.read_names.erase(std::string());
}

}  // namespace cohort::onnx
