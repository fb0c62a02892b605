#include <bit>

#include "models/compute/evaluate.hpp"
#include "models/onnx/importer.hpp"

namespace cohort::onnx {

namespace {

/// A state that knows the node's inputs and nothing else.
ImportState alone(const ImportState& state, const Node& node) {
  ImportState own;
  own.model.name = "constant";
  own.opset = state.opset;
  own.element_budget = state.element_budget;
  for (const std::string& input : node.inputs) {
    const auto found = state.values.find(input);
    if (found == state.values.end()) continue;
    own.values.emplace(input, found->second);
    own.names.insert(input);
  }
  for (const std::string& output : node.outputs) {
    own.names.insert(output);
    if (state.read_names.count(output) > 0) own.read_names.insert(output);
  }
  return own;
}

Constant constant_of(const Tensor& tensor, Shape shape, std::vector<float> elements) {
  if (tensor.element == ElementType::kFloat32) return make_constant(std::move(shape), std::move(elements));
  std::vector<std::int64_t> values;
  values.reserve(elements.size());
  for (const float element : elements) values.push_back(std::bit_cast<std::int32_t>(element));
  return make_constant(std::move(shape), std::move(values));
}

}  // namespace

Result<bool> fold_node(ImportState& state, const Node& node, const OpSupport& support) {
  ImportState own = alone(state, node);
  NodeImport import(own, node, "constant");
  COHORT_CHECK(support.convert(import));
  COHORT_CHECK(import.all_attributes_seen());
  if (!own.inputs.empty()) return false;  // draws random numbers
  std::int64_t elements = 0;
  for (const Op& op : own.model.ops) elements += element_count(own.model.tensor(op.outputs[0]).shape);
  const std::int64_t flops = work_of(own.model).flops.value;
  if (flops > state.flop_budget) return false;
  if (elements > own.element_budget)
    return fail(ErrorCode::kInvalidInput, "would make constants of {} elements, more than the {} left for this file",
                elements, own.element_budget);
  std::vector<std::pair<std::string, TensorValue>> computed;
  for (const std::string& output : node.outputs) {
    const auto found = own.values.find(output);
    if (output.empty() || found == own.values.end()) continue;
    if (const auto* tensor = std::get_if<TensorValue>(&found->second)) {
      computed.emplace_back(output, *tensor);
      own.model.outputs.push_back(tensor->id);
    } else {
      state.values.insert_or_assign(output, found->second);
    }
  }
  state.element_budget = own.element_budget - elements;
  state.flop_budget -= flops;
  const LoadedModel loaded{std::move(own.model), std::move(own.weights)};
  COHORT_TRY(auto results, reference::evaluate(loaded, {}));
  for (std::size_t i = 0; i < computed.size(); ++i) {
    const auto& [output, value] = computed[i];
    const Tensor& tensor = loaded.model.tensor(value.id);
    Shape shape = value.viewed_as.value_or(tensor.shape);
    std::vector<float> values =
        tensor.role == TensorRole::kWeight ? *loaded.weights.of(value.id) : std::move(results[i]);
    state.values.insert_or_assign(output, constant_of(tensor, std::move(shape), std::move(values)));
  }
  return true;
}

}  // namespace cohort::onnx
