#include "models/onnx/importer.hpp"

namespace cohort::onnx {

namespace {

constexpr std::string_view kKindNames[] = {
    "of a kind not supported", "a whole number",    "a number",        "text",
    "a list of whole numbers", "a list of numbers", "a list of texts", "a tensor"};

/// The attribute as T; nothing where the node has none.
template <class T>
Result<std::optional<T>> as(const AttributeValue* value, const std::string& name) {
  if (value == nullptr) return std::optional<T>();
  if (const T* typed = std::get_if<T>(value)) return std::optional<T>(*typed);
  return fail(ErrorCode::kInvalidInput, "attribute {} must be {}, not {}", name,
              kKindNames[AttributeValue(T()).index()], kKindNames[value->index()]);
}

}  // namespace

Result<std::size_t> normalize_axis(std::int64_t axis, std::size_t rank) {
  const auto signed_rank = static_cast<std::int64_t>(rank);
  if (axis < -signed_rank || axis >= signed_rank)
    return fail(ErrorCode::kInvalidInput, "axis must be from {} to {}, not {}", -signed_rank, signed_rank - 1, axis);
  return static_cast<std::size_t>(axis < 0 ? axis + signed_rank : axis);
}

const Value* NodeImport::value(std::size_t i) const {
  if (!has_input(i)) return nullptr;
  const auto found = state_.values.find(node_.inputs[i]);
  return found != state_.values.end() ? &found->second : nullptr;
}

const Constant* NodeImport::constant(std::size_t i) const {
  const Value* known = value(i);
  return known != nullptr ? std::get_if<Constant>(known) : nullptr;
}

bool NodeImport::all_constant() const {
  for (std::size_t i = 0; i < input_count(); ++i) {
    if (has_input(i) && constant(i) == nullptr) return false;
  }
  return true;
}

Result<Shape> NodeImport::shape(std::size_t i) const {
  const Value* known = value(i);
  if (known == nullptr) return fail(ErrorCode::kInvalidInput, "input {} is missing", i);
  if (const auto* constant_value = std::get_if<Constant>(known)) return constant_value->shape;
  const auto& tensor_value = std::get<TensorValue>(*known);
  return tensor_value.viewed_as ? *tensor_value.viewed_as : shape_of(tensor_value.id);
}

Result<const Constant*> NodeImport::floats(std::size_t i, std::string_view what) const {
  if (!has_input(i)) return fail(ErrorCode::kInvalidInput, "input {} ({}) is missing", i, what);
  const Constant* found = constant(i);
  if (found == nullptr)
    return fail(ErrorCode::kInvalidInput, "input {} ({}) is not constant, which is not supported", node_.inputs[i],
                what);
  if (found->floats() == nullptr)
    return fail(ErrorCode::kInvalidInput, "input {} ({}) must be float32", node_.inputs[i], what);
  return found;
}

Result<std::vector<std::int64_t>> NodeImport::integers(std::size_t i, std::string_view what) const {
  if (!has_input(i)) return fail(ErrorCode::kInvalidInput, "input {} ({}) is missing", i, what);
  const Constant* found = constant(i);
  if (found == nullptr)
    return fail(ErrorCode::kInvalidInput, "input {} ({}) is not constant, which is not supported", node_.inputs[i],
                what);
  if (found->integers() == nullptr)
    return fail(ErrorCode::kInvalidInput, "input {} ({}) must be whole numbers", node_.inputs[i], what);
  return *found->integers();
}

Result<TensorId> NodeImport::tensor(std::size_t i) {
  const Value* known = value(i);
  if (known == nullptr) return fail(ErrorCode::kInvalidInput, "input {} is missing", i);
  const std::string& name = node_.inputs[i];
  if (const auto* tensor_value = std::get_if<TensorValue>(known)) {
    if (!tensor_value->viewed_as) return tensor_value->id;
    // Other readers of the same name share the Reshape.
    COHORT_TRY(const TensorId reshaped,
               emit_reshape(fmt::format("input{}", i), tensor_value->id, *tensor_value->viewed_as));
    state_.values.insert_or_assign(name, TensorValue{reshaped, {}});
    return reshaped;
  }
  const auto made = state_.weight_of.find(name);
  if (made != state_.weight_of.end()) return made->second;
  COHORT_TRY(const Constant* const found, floats(i, "operand"));
  if (auto checked = check_shape(found->shape); !checked)
    return in_context(fmt::format("constant {}", name), checked.error());
  const TensorId id = new_tensor(weight_name(name), found->shape, TensorRole::kWeight);
  state_.weights.by_tensor[to_index(id)] = std::get<WeightValues>(found->values);
  state_.weight_of.emplace(name, id);
  return id;
}

const AttributeValue* NodeImport::attribute(const std::string& name) {
  seen_.insert(name);
  const auto found = node_.attributes.find(name);
  return found != node_.attributes.end() ? &found->second : nullptr;
}

Result<std::int64_t> NodeImport::integer(const std::string& name, std::int64_t otherwise) {
  COHORT_TRY(const auto found, as<std::int64_t>(attribute(name), name));
  return found.value_or(otherwise);
}

Result<float> NodeImport::number(const std::string& name, float otherwise) {
  COHORT_TRY(const auto found, as<float>(attribute(name), name));
  return found.value_or(otherwise);
}

Result<std::string> NodeImport::text(const std::string& name, std::string otherwise) {
  COHORT_TRY(const auto found, as<std::string>(attribute(name), name));
  return found.value_or(std::move(otherwise));
}

Result<std::vector<std::int64_t>> NodeImport::integer_list(const std::string& name,
                                                           std::vector<std::int64_t> otherwise) {
  COHORT_TRY(const auto found, as<std::vector<std::int64_t>>(attribute(name), name));
  return found.value_or(std::move(otherwise));
}

Result<std::vector<std::string>> NodeImport::text_list(const std::string& name) {
  COHORT_TRY(const auto found, as<std::vector<std::string>>(attribute(name), name));
  return found.value_or(std::vector<std::string>());
}

Result<const Constant*> NodeImport::constant_attribute(const std::string& name) {
  const AttributeValue* found = attribute(name);
  if (found == nullptr) return nullptr;
  if (const auto* typed = std::get_if<Constant>(found)) return typed;
  return fail(ErrorCode::kInvalidInput, "attribute {} must be a tensor, not {}", name, kKindNames[found->index()]);
}

Result<void> NodeImport::all_attributes_seen() const {
  for (const auto& [name, unused] : node_.attributes) {
    if (seen_.count(name) == 0) return fail(ErrorCode::kInvalidInput, "attribute {} is not supported", name);
  }
  return {};
}

Result<void> NodeImport::claim(std::int64_t elements) {
  if (elements > state_.element_budget)
    return fail(ErrorCode::kInvalidInput, "would make a constant of {} elements, more than the {} left for this file",
                elements, state_.element_budget);
  state_.element_budget -= elements;
  return {};
}

std::string NodeImport::unique(std::string name, std::set<std::string, std::less<>>& taken) {
  while (!taken.insert(name).second) name += "_";
  return name;
}

std::string NodeImport::weight_name(const std::string& constant_name) {
  if (state_.weight_names.insert(constant_name).second) return constant_name;
  return unique(fmt::format("{}/{}", op_name_, constant_name), state_.names);
}

TensorId NodeImport::new_tensor(std::string name, Shape shape, TensorRole role) {
  state_.model.tensors.push_back({std::move(name), std::move(shape), role});
  state_.weights.by_tensor.emplace_back();
  return TensorId(static_cast<std::uint32_t>(state_.model.tensors.size() - 1));
}

TensorId NodeImport::append(std::string_view suffix, OpAttributes attributes, std::vector<TensorId> inputs,
                            Shape shape) {
  std::string name = suffix.empty() ? op_name_ : fmt::format("{}/{}", op_name_, suffix);
  if (!suffix.empty()) name = unique(std::move(name), state_.op_names);
  const TensorId y = new_tensor(unique(name, state_.names), std::move(shape), TensorRole::kActivation);
  state_.model.ops.push_back({std::move(name), std::move(attributes), {}, std::move(inputs), {y}});
  return y;
}

Result<TensorId> NodeImport::emit(std::string_view suffix, OpAttributes attributes, std::vector<TensorId> inputs) {
  std::vector<Shape> shapes;
  for (const TensorId id : inputs) shapes.push_back(shape_of(id));
  COHORT_TRY(Shape y, infer_shape(attributes, shapes));
  return append(suffix, std::move(attributes), std::move(inputs), std::move(y));
}

Result<TensorId> NodeImport::emit_reshape(std::string_view suffix, TensorId x, Shape shape) {
  COHORT_CHECK(check_shape(shape));
  if (element_count(shape) != element_count(shape_of(x)))
    return fail(ErrorCode::kInvalidInput, "cannot make {} of {}: the number of elements differs", to_string(shape),
                to_string(shape_of(x)));
  return append(suffix, Reshape{}, {x}, std::move(shape));
}

Result<TensorId> NodeImport::weight(std::size_t like, Shape shape, std::vector<float> values) {
  COHORT_CHECK(check_shape(shape));
  const TensorId id = new_tensor(weight_name(node_.inputs[like]), std::move(shape), TensorRole::kWeight);
  state_.weights.by_tensor[to_index(id)] = std::make_shared<const std::vector<float>>(std::move(values));
  return id;
}

bool NodeImport::is_read(std::size_t output) const {
  return output < node_.outputs.size() && state_.read_names.count(node_.outputs[output]) > 0;
}

void NodeImport::set_result(TensorId y) {
  if (node_.outputs.empty() || node_.outputs[0].empty()) return;
  state_.model.tensors[to_index(y)].name = node_.outputs[0];
  state_.values.insert_or_assign(node_.outputs[0], TensorValue{y, {}});
}

void NodeImport::set_alias(Value value) {
  if (node_.outputs.empty() || node_.outputs[0].empty()) return;
  state_.values.insert_or_assign(node_.outputs[0], std::move(value));
}

}  // namespace cohort::onnx
