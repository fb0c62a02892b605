#include "models/onnx/truth_values.hpp"

#include <algorithm>
#include <array>
#include <string_view>

#include "models/onnx/number_types.hpp"
#include "models/onnx/whole_in_float.hpp"

namespace cohort::onnx {

namespace {

constexpr std::array<std::string_view, 11> kPredicates = {
    "And", "Or", "Xor", "Not", "Equal", "Less", "Greater", "LessOrEqual", "GreaterOrEqual", "IsNaN", "IsInf"};

bool casts_to_truth(const Node& node) {
  const auto to = node.attributes.find("to");
  if (to == node.attributes.end()) return false;
  const auto* type = std::get_if<std::int64_t>(&to->second);
  return type != nullptr && *type == Type::kBool;
}

/// The input whose type the results have; of others there are choices, positions or counts.
std::size_t deciding_input(const Node& node) {
  if (node.op_type == "OneHot") return 2;
  return node.op_type == "Where" || node.op_type == "CastLike" ? 1 : 0;
}

/// Whether all outputs of a node are of truth values.
bool gives_truth(const ImportState& state, const Node& node) {
  if (!node.domain.empty()) return false;
  if (std::find(kPredicates.begin(), kPredicates.end(), node.op_type) != kPredicates.end()) return true;
  if (node.op_type == "Cast") return casts_to_truth(node);
  return (keeps_type(node) || node.op_type == "CastLike") && is_truth(state, node, deciding_input(node));
}

}  // namespace

bool is_truth(const ImportState& state, const Node& node, std::size_t i) {
  if (i >= node.inputs.size()) return false;
  const auto found = state.values.find(node.inputs[i]);
  if (found == state.values.end()) return false;
  if (const auto* input = std::get_if<InputValue>(&found->second))
    return state.inputs[input->index].type == Type::kBool;
  if (const auto* constant = std::get_if<Constant>(&found->second)) return constant->type == Type::kBool;
  return state.truth_values.count(node.inputs[i]) > 0;
}

void note_truth_outputs(ImportState& state, const Node& node) {
  if (!gives_truth(state, node)) return;
  for (const std::string& output : node.outputs) {
    const auto value = state.values.find(output);
    if (value == state.values.end()) continue;
    if (auto* const constant = std::get_if<Constant>(&value->second)) {
      constant->type = Type::kBool;
    } else {
      state.truth_values.insert(output);
    }
  }
}

}  // namespace cohort::onnx
