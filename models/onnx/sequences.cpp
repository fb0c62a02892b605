#include <algorithm>
#include <array>
#include <numeric>

#include "models/onnx/node_order.hpp"
#include "models/onnx/nodes_import.hpp"

// Lists of tensors, as loops of PyTorch gather results in them. Which tensors they hold is known when the file is read:
// nothing is left of them in the model.

namespace cohort::onnx {

struct NodesImport::SequenceOp {
  std::string_view op_type;
  Result<void> (NodesImport::*import)(const Node& node);
};

const NodesImport::SequenceOp* NodesImport::find_sequence_op(const Node& node) {
  static constexpr std::array kOps{
      SequenceOp{"ConcatFromSequence", &NodesImport::import_concat_from_sequence},
      SequenceOp{"SequenceAt", &NodesImport::import_sequence_at},
      SequenceOp{"SequenceConstruct", &NodesImport::import_sequence_construct},
      SequenceOp{"SequenceEmpty", &NodesImport::import_sequence_construct},
      SequenceOp{"SequenceErase", &NodesImport::import_sequence_erase},
      SequenceOp{"SequenceInsert", &NodesImport::import_sequence_insert},
      SequenceOp{"SequenceLength", &NodesImport::import_sequence_length},
      SequenceOp{"SplitToSequence", &NodesImport::import_split_to_sequence},
  };
  if (!node.domain.empty()) return nullptr;
  const auto* const found =
      std::find_if(kOps.begin(), kOps.end(), [&](const SequenceOp& op) { return op.op_type == node.op_type; });
  return found != kOps.end() ? found : nullptr;
}

bool NodesImport::makes_sequence(const Node& node) {
  return find_sequence_op(node) != nullptr && node.op_type != "ConcatFromSequence" && node.op_type != "SequenceAt" &&
         node.op_type != "SequenceLength";
}

bool NodesImport::is_on_sequences(const Node& node, bool is_supported) const {
  if (find_sequence_op(node) != nullptr) return true;
  return is_supported && std::any_of(node.inputs.begin(), node.inputs.end(),
                                     [&](const std::string& input) { return sequences_.count(input) > 0; });
}

Result<void> NodesImport::import_on_sequences(const Node& node) {
  if (node.outputs.empty() || node.outputs[0].empty()) return fail(ErrorCode::kInvalidInput, "has no outputs");
  if (const SequenceOp* const op = find_sequence_op(node)) return (this->*op->import)(node);
  if (node.domain.empty() && node.op_type == "Identity") {
    pass_on(node.inputs[0], node, 0);
    return {};
  }
  return fail(ErrorCode::kInvalidInput, "reads a sequence of tensors, which is not supported");
}

void NodesImport::set_sequence(const Node& node, std::size_t output, std::vector<std::string> tensors) {
  constexpr std::size_t kMostListed = 1'000'000;  // a loop may make a longer list in each turn
  const std::string& name = node.outputs[output];
  listed_ += tensors.size();
  const bool leaves = std::find(graph_.outputs.begin(), graph_.outputs.end(), name) != graph_.outputs.end();
  if (!leaves && listed_ <= kMostListed) {
    sequences_.insert_or_assign(name, std::move(tensors));
    return;
  }
  const std::string why = leaves
                              ? fmt::format("output {} is a sequence of tensors, which is not supported", name)
                              : fmt::format("the file's sequences of tensors have more than {} entries", kMostListed);
  wrong_.push_back(fmt::format("{}: {}", describe(node), why));
  missing_.insert(name);
}

Result<const std::vector<std::string>*> NodesImport::sequence(const Node& node) const {
  const auto found = sequences_.find(node.inputs.empty() ? std::string() : node.inputs[0]);
  if (found != sequences_.end()) return &found->second;
  return fail(ErrorCode::kInvalidInput, "input 0 is not a sequence of tensors made in the file");
}

Result<void> NodesImport::check_element(const Node& node, std::size_t input) const {
  if (input >= node.inputs.size() || node.inputs[input].empty())
    return fail(ErrorCode::kInvalidInput, "input {} is missing", input);
  if (sequences_.count(node.inputs[input]) > 0)
    return fail(ErrorCode::kInvalidInput, "input {} is a sequence of tensors, not a tensor", input);
  return {};
}

Result<std::size_t> NodesImport::place_in_sequence(const Node& node, std::size_t input, std::size_t count) {
  NodeImport import(state_, node, "");
  COHORT_TRY(const auto given, import.integers(input, "position"));
  if (given.size() != 1) return fail(ErrorCode::kInvalidInput, "position must be one number, not {}", given.size());
  const std::int64_t all = std::ssize(sequences_.at(node.inputs[0]));
  const std::int64_t place = given[0] < 0 ? given[0] + all : given[0];
  if (place < 0 || place >= static_cast<std::int64_t>(count))
    return fail(ErrorCode::kInvalidInput, "position {} is outside of a sequence of {}", given[0], all);
  return static_cast<std::size_t>(place);
}

Result<void> NodesImport::import_sequence_construct(const Node& node) {
  for (std::size_t i = 0; i < node.inputs.size(); ++i) COHORT_CHECK(check_element(node, i));
  set_sequence(node, 0, node.inputs);
  return {};
}

Result<void> NodesImport::import_sequence_insert(const Node& node) {
  COHORT_TRY(const auto* const listed, sequence(node));
  COHORT_CHECK(check_element(node, 1));
  std::size_t place = listed->size();
  if (node.inputs.size() > 2 && !node.inputs[2].empty()) {
    COHORT_TRY(place, place_in_sequence(node, 2, listed->size() + 1));
  }
  std::vector<std::string> tensors = *listed;
  tensors.insert(tensors.begin() + static_cast<std::ptrdiff_t>(place), node.inputs[1]);
  set_sequence(node, 0, std::move(tensors));
  return {};
}

Result<void> NodesImport::import_sequence_erase(const Node& node) {
  COHORT_TRY(const auto* const listed, sequence(node));
  if (listed->empty()) return fail(ErrorCode::kInvalidInput, "the sequence is empty");
  std::size_t place = listed->size() - 1;
  if (node.inputs.size() > 1 && !node.inputs[1].empty()) {
    COHORT_TRY(place, place_in_sequence(node, 1, listed->size()));
  }
  std::vector<std::string> tensors = *listed;
  tensors.erase(tensors.begin() + static_cast<std::ptrdiff_t>(place));
  set_sequence(node, 0, std::move(tensors));
  return {};
}

Result<void> NodesImport::import_sequence_at(const Node& node) {
  COHORT_TRY(const auto* const listed, sequence(node));
  COHORT_TRY(const std::size_t place, place_in_sequence(node, 1, listed->size()));
  pass_on((*listed)[place], node, 0);
  return {};
}

Result<void> NodesImport::import_sequence_length(const Node& node) {
  COHORT_TRY(const auto* const listed, sequence(node));
  state_.values.insert_or_assign(node.outputs[0], make_constant({}, std::vector<std::int64_t>{std::ssize(*listed)}));
  return {};
}

Result<void> NodesImport::import_concat_from_sequence(const Node& node) {
  COHORT_TRY(const auto* const listed, sequence(node));
  if (listed->empty()) return fail(ErrorCode::kInvalidInput, "the sequence is empty");
  if (!claim_nodes(listed->size()))
    return fail(ErrorCode::kInvalidInput, "makes the file more than {} nodes", kMostUnrolled);
  NodeImport import(state_, node, "");
  if (!import.has_attribute("axis")) return fail(ErrorCode::kInvalidInput, "attribute axis is missing");
  COHORT_TRY(const std::int64_t axis, import.integer("axis", 0));
  COHORT_TRY(const std::int64_t is_new, import.integer("new_axis", 0));
  COHORT_CHECK(import.all_attributes_seen());
  if (is_new != 0) {
    stack(node, 0, *listed, axis);
  } else {
    const Node concat{node.name, "Concat", "", *listed, {node.outputs[0]}, {{"axis", axis}}, node.opset};
    add(concat, 0);
  }
  return {};
}

namespace {

/// Extents of the parts of an axis of `extent`. Input 1 lists them or gives one for all, of which the last part may
/// have less; without it each is 1.
Result<std::vector<std::int64_t>> part_extents(NodeImport& import, std::int64_t extent) {
  std::int64_t each = 1;
  if (import.has_input(1)) {
    COHORT_TRY(auto given, import.integers(1, "split"));
    COHORT_TRY(const Shape shape, import.shape(1));
    if (!shape.empty()) {
      const bool are_parts =
          std::all_of(given.begin(), given.end(), [&](std::int64_t part) { return part >= 0 && part <= extent; });
      if (are_parts && std::accumulate(given.begin(), given.end(), std::int64_t{0}) == extent) return given;
      return fail(ErrorCode::kInvalidInput, "split must be extents that add up to {}", extent);
    }
    each = given[0];
  }
  if (each < 1) return fail(ErrorCode::kInvalidInput, "split must be 1 or more, not {}", each);
  constexpr std::int64_t kMostParts = 10'000;
  const std::int64_t full = extent / each;
  if (full > kMostParts) return fail(ErrorCode::kInvalidInput, "makes {} tensors, more than {}", full, kMostParts);
  std::vector<std::int64_t> extents(static_cast<std::size_t>(full), each);
  if (extent % each != 0) extents.push_back(extent % each);
  return extents;
}

}  // namespace

Result<void> NodesImport::import_split_to_sequence(const Node& node) {
  constexpr std::int64_t kListsAsAttributes = 11;  // the opset whose Split and Squeeze have them so
  NodeImport import(state_, node, "");
  COHORT_TRY(const Shape shape, import.shape(0));
  COHORT_TRY(const std::int64_t axis_attribute, import.integer("axis", 0));
  COHORT_TRY(const std::size_t axis, normalize_axis(axis_attribute, shape.size()));
  COHORT_TRY(const std::int64_t keeps_axis, import.integer("keepdims", 1));
  COHORT_CHECK(import.all_attributes_seen());
  COHORT_TRY(const auto extents, part_extents(import, shape[axis]));
  if (!claim_nodes(extents.size()))
    return fail(ErrorCode::kInvalidInput, "makes the file more than {} nodes", kMostUnrolled);
  if (extents.empty()) {
    set_sequence(node, 0, {});
    return {};
  }
  const auto at = static_cast<std::int64_t>(axis);
  const auto part_name = [&](std::string_view what, std::size_t i) {
    std::string name = fresh(fmt::format("{}/{}{}", node.outputs[0], what, i));
    state_.read_names.insert(name);
    return name;
  };
  Node split{node.name, "Split", "", {node.inputs[0]}, {}, {{"axis", at}, {"split", extents}}, kListsAsAttributes};
  for (std::size_t i = 0; i < extents.size(); ++i) split.outputs.push_back(part_name("", i));
  add(split, 0);
  std::vector<std::string> tensors = split.outputs;
  const bool drops_axis = keeps_axis == 0 && !import.has_input(1);
  for (std::size_t i = 0; drops_axis && i < tensors.size(); ++i) {
    const Node squeeze{
        node.name,         "Squeeze", "", {split.outputs[i]}, {part_name("squeezed/", i)}, {{"axes", std::vector{at}}},
        kListsAsAttributes};
    add(squeeze, 0);
    tensors[i] = squeeze.outputs[0];
  }
  set_sequence(node, 0, std::move(tensors));
  return {};
}

}  // namespace cohort::onnx
