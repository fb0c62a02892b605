#include "models/onnx/learned_constants.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <array>

namespace cohort::onnx {

namespace {

template <std::size_t N>
bool is_among(const std::array<std::string_view, N>& types, const Node& node) {
  return node.domain.empty() && std::find(types.begin(), types.end(), node.op_type) != types.end();
}

/// Ops whose results have the elements of their first input as they are. Training files of quantised networks trains
/// the numbers that their levels stand for.
constexpr std::array<std::string_view, 8> kKeepElements{"Identity",  "Transpose", "Reshape", "Flatten",
                                                        "Unsqueeze", "Squeeze",   "Cast",    "DequantizeLinear"};
/// Ops that read nothing but a shape.
constexpr std::array<std::string_view, 3> kReadShapes{"Shape", "Size", "EyeLike"};

}  // namespace

void LearnedConstants::add(const std::string& name, const Constant& constant) {
  const bool is_trained = constant.floats() != nullptr && !constant.shape.empty();
  weights_of_[name] = is_trained ? Names{name} : Names{};
}

void LearnedConstants::copy(const std::string& name, const std::string& as) {
  const auto found = weights_of_.find(name);
  if (found != weights_of_.end()) weights_of_.insert_or_assign(as, Names(found->second));
}

bool LearnedConstants::is_trained(std::string_view name) const {
  const auto found = weights_of_.find(name);
  return found != weights_of_.end() && !found->second.empty();
}

LearnedConstants::Names LearnedConstants::weights_of(const Node& node) const {
  Names weights;
  for (const std::string& input : node.inputs) {
    const auto found = weights_of_.find(input);
    if (found != weights_of_.end()) weights.insert(found->second.begin(), found->second.end());
  }
  return weights;
}

void LearnedConstants::note_form(const Names& weights, const std::string& form) {
  for (const std::string& weight : weights) forms_[weight].insert(form);
}

void LearnedConstants::compute(const Node& node, bool for_training) {
  const auto is_learned = [&](const std::string& input) { return has(input); };
  if (std::none_of(node.inputs.begin(), node.inputs.end(), is_learned)) return;
  if (!for_training) {
    for (const std::string& output : node.outputs) weights_of_[output];
    return;
  }
  const Names weights = weights_of(node);
  const bool is_dequantized = node.domain.empty() && node.op_type == "DequantizeLinear" && !is_trained(node.inputs[0]);
  if (is_dequantized) {
    weights_of_[node.outputs[0]] = {node.outputs[0]};
    return;
  }
  if (weights.empty() || is_among(kReadShapes, node)) return;
  if (is_among(kKeepElements, node)) {
    weights_of_[node.outputs[0]] = weights;
    return;
  }
  const auto is_part = [&](const std::string& input) { return is_trained(input); };
  const bool is_split = node.domain.empty() && node.op_type == "Split";
  const bool is_whole = node.domain.empty() && node.op_type == "Concat" && weights.size() == node.inputs.size() &&
                        std::all_of(node.inputs.begin(), node.inputs.end(), is_part);
  if (is_split) {
    for (const std::string& output : node.outputs) weights_of_[output] = {output};
    return note_form(weights, "parts of " + node.outputs[0]);
  }
  weights_of_[node.outputs[0]] = weights;
  if (!is_whole) changed_.insert(weights.begin(), weights.end());
}

void LearnedConstants::read(std::string_view name, TensorId id) {
  const auto found = weights_of_.find(name);
  if (found != weights_of_.end()) note_form(found->second, fmt::format("{}", to_index(id)));
}

std::set<std::string> LearnedConstants::not_as_constants() const {
  Names names = changed_;
  for (const auto& [weight, forms] : forms_) {
    if (forms.size() > 1) names.insert(weight);
  }
  return names;
}

}  // namespace cohort::onnx
