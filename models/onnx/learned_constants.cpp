#include "models/onnx/learned_constants.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <vector>

namespace cohort::onnx {

namespace {

bool is_a(std::string_view type, const Node& node) { return node.domain.empty() && node.op_type == type; }

template <std::size_t N>
bool is_among(const std::array<std::string_view, N>& types, const Node& node) {
  return std::any_of(types.begin(), types.end(), [&](std::string_view type) { return is_a(type, node); });
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
  origin_of_[name] = {is_trained ? Names{name} : Names{}};
}

void LearnedConstants::copy(const std::string& name, const std::string& as) {
  const auto found = origin_of_.find(name);
  if (found != origin_of_.end()) origin_of_.insert_or_assign(as, Origin(found->second));
}

bool LearnedConstants::is_trained(std::string_view name) const {
  const auto found = origin_of_.find(name);
  return found != origin_of_.end() && !found->second.weights.empty();
}

LearnedConstants::Origin LearnedConstants::origin_of(const Node& node) const {
  Origin origin;
  for (const std::string& input : node.inputs) {
    const auto found = origin_of_.find(input);
    if (found == origin_of_.end()) continue;
    origin.weights.insert(found->second.weights.begin(), found->second.weights.end());
    origin.is_changed = origin.is_changed || found->second.is_changed;
  }
  return origin;
}

/// Whether the node puts several weights side by side, and nothing else.
bool LearnedConstants::joins_weights(const Node& node, const Origin& origin) const {
  return is_a("Concat", node) && origin.weights.size() == node.inputs.size() &&
         std::all_of(node.inputs.begin(), node.inputs.end(), [&](const std::string& name) { return is_trained(name); });
}

void LearnedConstants::compute(const Node& node, bool for_training) {
  if (std::none_of(node.inputs.begin(), node.inputs.end(), [&](const std::string& name) { return has(name); })) return;
  if (!for_training) {
    for (const std::string& output : node.outputs) origin_of_[output];
    return;
  }
  Origin origin = origin_of(node);
  if (is_a("DequantizeLinear", node) && !is_trained(node.inputs[0])) {
    origin_of_[node.outputs[0]] = {{node.outputs[0]}};
    return;
  }
  if (origin.weights.empty() || is_among(kReadShapes, node)) return;
  if (is_a("Split", node) && !origin.is_changed) {
    // Each part is a weight of its own, as long as nothing else reads the whole.
    for (const std::string& weight : origin.weights) forms_[weight].insert("parts of " + node.outputs[0]);
    for (const std::string& output : node.outputs) {
      origin_of_[output] = {{output}};
      wholes_[output] = origin.weights;
    }
    return;
  }
  if (!is_among(kKeepElements, node) && !joins_weights(node, origin)) origin.is_changed = true;
  for (const std::string& output : node.outputs) origin_of_[output] = origin;
}

void LearnedConstants::read(std::string_view name, TensorId id) {
  const auto found = origin_of_.find(name);
  if (found == origin_of_.end()) return;
  const Origin& origin = found->second;
  for (const std::string& weight : origin.weights) forms_[weight].insert(fmt::format("{}", to_index(id)));
  if (origin.is_changed) changed_.insert(origin.weights.begin(), origin.weights.end());
}

std::set<std::string> LearnedConstants::not_as_constants() const {
  Names names;
  std::vector<std::string> left(changed_.begin(), changed_.end());
  for (const auto& [weight, forms] : forms_) {
    if (forms.size() > 1) left.push_back(weight);
  }
  while (!left.empty()) {
    const std::string name = std::move(left.back());
    left.pop_back();
    const auto wholes = wholes_.find(name);
    if (wholes == wholes_.end()) {
      names.insert(name);
    } else {
      left.insert(left.end(), wholes->second.begin(), wholes->second.end());
    }
  }
  return names;
}

}  // namespace cohort::onnx
