#include "models/onnx/importer.hpp"

#include <algorithm>
#include <bit>

#include "base/spelling.hpp"
#include "models/onnx/number_types.hpp"
#include "models/onnx/truth_values.hpp"
#include "models/onnx/whole_in_float.hpp"

namespace cohort::onnx {

namespace {

constexpr std::string_view kKindNames[] = {
    "of a kind not supported",         "a whole number",    "a number",        "text",
    "a list of whole numbers",         "a list of numbers", "a list of texts", "a tensor",
    "a tensor of a type not supported"};

/// Whole numbers as elements of 32 bits.
Result<std::vector<float>> elements_of(std::string_view name, const std::vector<std::int64_t>& values) {
  std::vector<float> elements;
  elements.reserve(values.size());
  for (const std::int64_t value : values) {
    if (value < INT32_MIN || value > INT32_MAX)
      return fail(ErrorCode::kInvalidInput, "constant {} holds {}, which does not fit 32 bits", name, value);
    elements.push_back(std::bit_cast<float>(static_cast<std::int32_t>(value)));
  }
  return elements;
}

/// The attribute as T; nothing where the node has none.
template <class T>
Result<std::optional<T>> as(const AttributeValue* value, const std::string& name) {
  if (value == nullptr) return std::optional<T>();
  if (const T* typed = std::get_if<T>(value)) return std::optional<T>(*typed);
  return fail(ErrorCode::kInvalidInput, "attribute {} must be {}, not {}", name,
              kKindNames[AttributeValue(T()).index()], kKindNames[value->index()]);
}

}  // namespace

TensorId input_tensor(ImportState& state, std::size_t index) {
  PendingInput& input = state.inputs[index];
  if (input.id) return *input.id;
  input.id = TensorId(static_cast<std::uint32_t>(state.model.tensors.size()));
  state.model.tensors.push_back({input.name, input.shape, TensorRole::kInput, input.element});
  state.weights.by_tensor.emplace_back();
  return *input.id;
}

Result<std::size_t> normalize_axis(std::int64_t axis, std::size_t rank) {
  const auto signed_rank = static_cast<std::int64_t>(rank);
  if (axis < -signed_rank || axis >= signed_rank)
    return fail(ErrorCode::kInvalidInput, "axis must be from {} to {}, not {}", -signed_rank, signed_rank - 1, axis);
  return static_cast<std::size_t>(axis < 0 ? axis + signed_rank : axis);
}

Result<std::vector<std::int64_t>> normalize_axes(const std::vector<std::int64_t>& axes, std::size_t rank) {
  std::vector<std::int64_t> normalized;
  for (const std::int64_t axis : axes) {
    COHORT_TRY(const std::size_t from_front, normalize_axis(axis, rank));
    normalized.push_back(static_cast<std::int64_t>(from_front));
  }
  std::sort(normalized.begin(), normalized.end());
  return normalized;
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

const Constant* NodeImport::needed_constant(std::size_t i) const {
  const Value* known = value(i);
  if (known == nullptr) return nullptr;
  if (const auto* input = std::get_if<InputValue>(known)) {
    PendingInput& pending = state_.inputs[input->index];
    pending.was_needed = pending.given.has_value();
    return pending.given ? &*pending.given : nullptr;
  }
  return std::get_if<Constant>(known);
}

bool NodeImport::all_constant() const {
  for (std::size_t i = 0; i < input_count(); ++i) {
    if (has_input(i) && constant(i) == nullptr) return false;
  }
  return true;
}

bool NodeImport::is_learned(const std::string& name) const {
  return state_.for_training ? state_.learned.is_trained(name) : state_.learned.has(name);
}

Result<Shape> NodeImport::shape(std::size_t i) const {
  const Value* known = value(i);
  if (known == nullptr) return fail(ErrorCode::kInvalidInput, "input {} is missing", i);
  if (const auto* constant_value = std::get_if<Constant>(known)) return constant_value->shape;
  if (const auto* input = std::get_if<InputValue>(known)) return state_.inputs[input->index].shape;
  const auto& tensor_value = std::get<TensorValue>(*known);
  return tensor_value.viewed_as ? *tensor_value.viewed_as : shape_of(tensor_value.id);
}

Result<ElementType> NodeImport::element(std::size_t i) const {
  const Value* known = value(i);
  if (known == nullptr) return fail(ErrorCode::kInvalidInput, "input {} is missing", i);
  if (const auto* input = std::get_if<InputValue>(known)) return state_.inputs[input->index].element;
  if (const auto* tensor_value = std::get_if<TensorValue>(known)) return element_of(tensor_value->id);
  return element_of(std::get<Constant>(*known));
}

ElementType NodeImport::element_of(const Constant& constant) const {
  const bool is_float = constant.floats() != nullptr || (narrow_as_float_ && is_narrow(constant.type));
  return is_float ? ElementType::kFloat32 : ElementType::kInt32;
}

const Op* NodeImport::writer_of(TensorId id) const {
  const auto& ops = state_.model.ops;
  const auto found = std::find_if(ops.rbegin(), ops.rend(), [&](const Op& op) {
    return std::find(op.outputs.begin(), op.outputs.end(), id) != op.outputs.end();
  });
  return found != ops.rend() ? &*found : nullptr;
}

tl::unexpected<Error> NodeImport::not_constant(std::size_t i, std::string_view what) const {
  if (!has_input(i)) return fail(ErrorCode::kInvalidInput, "input {} ({}) is missing", i, what);
  const std::string& name = node_.inputs[i];
  return fail(ErrorCode::kInvalidInput, "input {} ({}) is not constant, which is not supported{}", name, what,
              state_.file_names.count(name) > 0 ? fmt::format("; --set-input {}=VALUE makes it so", as_shell_word(name))
                                                : std::string());
}

Result<const Constant*> NodeImport::floats(std::size_t i, std::string_view what) const {
  const Constant* found = needed_constant(i);
  if (found == nullptr) return not_constant(i, what);
  if (found->floats() == nullptr)
    return fail(ErrorCode::kInvalidInput, "input {} ({}) must be float32", node_.inputs[i], what);
  return found;
}

Result<std::vector<std::int64_t>> NodeImport::integers(std::size_t i, std::string_view what) const {
  const Constant* found = needed_constant(i);
  if (found == nullptr) return not_constant(i, what);
  if (found->integers() == nullptr)
    return fail(ErrorCode::kInvalidInput, "input {} ({}) must be whole numbers", node_.inputs[i], what);
  return *found->integers();
}

Result<TensorId> NodeImport::tensor(std::size_t i) {
  const Value* known = value(i);
  if (known == nullptr) return fail(ErrorCode::kInvalidInput, "input {} is missing", i);
  const std::string& name = node_.inputs[i];
  if (const auto* input = std::get_if<InputValue>(known)) {
    const PendingInput& pending = state_.inputs[input->index];
    if (auto checked = check_shape(pending.shape); !checked)
      return in_context(fmt::format("input {}", pending.name), checked.error());
    return input_tensor(state_, input->index);
  }
  if (const auto* tensor_value = std::get_if<TensorValue>(known)) {
    if (!tensor_value->viewed_as) return tensor_value->id;
    // Other readers of the same name share the Reshape.
    COHORT_TRY(const TensorId reshaped,
               emit_reshape(fmt::format("input{}", i), tensor_value->id, *tensor_value->viewed_as));
    state_.values.insert_or_assign(name, TensorValue{reshaped, {}});
    return reshaped;
  }
  const Constant& found = std::get<Constant>(*known);
  if (auto checked = check_shape(found.shape, 0); !checked)
    return in_context(fmt::format("constant {}", name), checked.error());
  const ElementType element = element_of(found);
  const bool is_converted = found.integers() != nullptr && element == ElementType::kFloat32;
  auto& weights = is_converted ? state_.float_weight_of : state_.weight_of;
  const auto made = weights.find(name);
  if (made != weights.end()) return made->second;
  WeightValues values;
  if (is_converted) {
    COHORT_CHECK(claim(element_count(found.shape)));
    values = std::make_shared<const std::vector<float>>(floats_of(found));
  } else if (found.integers() != nullptr) {
    auto elements = elements_of(name, *found.integers());
    if (!elements) return tl::unexpected<Error>(std::move(elements).error());
    values = std::make_shared<const std::vector<float>>(*std::move(elements));
  } else {
    values = std::get<WeightValues>(found.values);
  }
  const TensorId id = new_fixed(weight_name(name), found.shape, element);
  state_.model.tensors[to_index(id)].fixed = is_converted || !is_learned(name);
  state_.learned.read(name, id);
  state_.weights.by_tensor[to_index(id)] = std::move(values);
  weights.emplace(name, id);
  return id;
}

std::int64_t NodeImport::declared_type(std::size_t i) const {
  const Value* known = value(i);
  if (known == nullptr) return 0;
  if (const auto* input = std::get_if<InputValue>(known)) return state_.inputs[input->index].type;
  const auto* const constant_value = std::get_if<Constant>(known);
  return constant_value != nullptr ? constant_value->type : 0;
}

std::int64_t NodeImport::whole_type(std::size_t i) const { return onnx::whole_type(state_, node_, i); }

bool NodeImport::is_truth(std::size_t i) const { return onnx::is_truth(state_, node_, i); }

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

Result<std::vector<float>> NodeImport::number_list(const std::string& name) {
  COHORT_TRY(const auto found, as<std::vector<float>>(attribute(name), name));
  return found.value_or(std::vector<float>());
}

Result<std::vector<std::string>> NodeImport::text_list(const std::string& name) {
  COHORT_TRY(const auto found, as<std::vector<std::string>>(attribute(name), name));
  return found.value_or(std::vector<std::string>());
}

Result<const Constant*> NodeImport::constant_attribute(const std::string& name) {
  const AttributeValue* found = attribute(name);
  if (found == nullptr) return nullptr;
  if (const auto* typed = std::get_if<Constant>(found)) return typed;
  if (const auto* unreadable = std::get_if<Unreadable>(found))
    return fail(ErrorCode::kInvalidInput, "attribute {} holds {}, which is not supported", name, unreadable->what);
  return fail(ErrorCode::kInvalidInput, "attribute {} must be a tensor, not {}", name, kKindNames[found->index()]);
}

Result<void> NodeImport::all_attributes_seen() const {
  if (!node_.references.empty())
    return fail(ErrorCode::kInvalidInput, "attribute {} is that of a function, and the node is in none",
                node_.references.begin()->first);
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

TensorId NodeImport::new_fixed(std::string name, Shape shape, ElementType element) {
  const TensorId id = new_tensor(std::move(name), std::move(shape), TensorRole::kWeight);
  state_.model.tensors[to_index(id)].element = element;
  state_.model.tensors[to_index(id)].fixed = true;
  return id;
}

TensorId NodeImport::random() {
  if (!state_.random) {
    state_.random = new_tensor(unique("random", state_.names), {4}, TensorRole::kSetting);
    state_.model.tensors[to_index(*state_.random)].element = ElementType::kInt32;
    state_.model.inputs.push_back(*state_.random);
  }
  return *state_.random;
}

TensorId NodeImport::append(std::string_view suffix, OpAttributes attributes, std::vector<TensorId> inputs,
                            Shape shape) {
  std::string name = suffix.empty() ? op_name_ : fmt::format("{}/{}", op_name_, suffix);
  if (!suffix.empty()) name = unique(std::move(name), state_.op_names);
  std::vector<ElementType> elements;
  for (const TensorId id : inputs) elements.push_back(state_.model.tensor(id).element);
  const TensorId y = new_tensor(unique(name, state_.names), std::move(shape), TensorRole::kActivation);
  // emit() has checked the types; those of a Reshape do not matter.
  state_.model.tensors[to_index(y)].element = infer_element(attributes, elements).value_or(ElementType::kFloat32);
  state_.model.ops.push_back({std::move(name), std::move(attributes), {}, std::move(inputs), {y}});
  return y;
}

Result<TensorId> NodeImport::emit(std::string_view suffix, OpAttributes attributes, std::vector<TensorId> inputs) {
  std::vector<Shape> shapes;
  std::vector<ElementType> elements;
  bool reads_nothing = false;
  for (const TensorId id : inputs) {
    shapes.push_back(shape_of(id));
    elements.push_back(element_of(id));
    reads_nothing = reads_nothing || element_count(shape_of(id)) == 0;
  }
  COHORT_TRY(Shape y, infer_shape_with_zeros(attributes, shapes));
  COHORT_TRY(const ElementType element, infer_element(attributes, elements));
  if (element_count(y) == 0) return nothing(std::move(y), element);
  if (reads_nothing) return fail(ErrorCode::kInvalidInput, "reads a tensor without elements, which is not supported");
  return append(suffix, std::move(attributes), std::move(inputs), std::move(y));
}

TensorId NodeImport::nothing(Shape shape, ElementType element) {
  const TensorId id = new_fixed(unique(op_name_ + "/nothing", state_.names), std::move(shape), element);
  state_.weights.by_tensor[to_index(id)] = std::make_shared<const std::vector<float>>();
  return id;
}

Result<TensorId> NodeImport::emit_reshape(std::string_view suffix, TensorId x, Shape shape) {
  COHORT_CHECK(check_shape(shape, 0));
  if (element_count(shape) != element_count(shape_of(x)))
    return fail(ErrorCode::kInvalidInput, "cannot make {} of {}: the number of elements differs", to_string(shape),
                to_string(shape_of(x)));
  return append(suffix, Reshape{}, {x}, std::move(shape));
}

Result<TensorId> NodeImport::weight(std::size_t like, Shape shape, std::vector<float> values) {
  COHORT_CHECK(check_shape(shape, 0));
  // Where the input itself is a tensor of the model, the name is its.
  const std::string& input = node_.inputs[like];
  std::vector<TensorId>& others = state_.weights_from[input];
  const auto same = std::find_if(others.begin(), others.end(), [&](TensorId other) {
    return shape_of(other) == shape && *state_.weights.by_tensor[to_index(other)] == values;
  });
  if (same != others.end()) return *same;
  std::string name =
      constant(like) != nullptr ? weight_name(input) : unique(fmt::format("{}/{}", op_name_, input), state_.names);
  const TensorId id = new_fixed(std::move(name), std::move(shape), ElementType::kFloat32);
  state_.model.tensors[to_index(id)].fixed = !is_learned(input);
  state_.learned.read(input, id);
  state_.weights.by_tensor[to_index(id)] = std::make_shared<const std::vector<float>>(std::move(values));
  others.push_back(id);
  return id;
}

Result<TensorId> NodeImport::made_weight(std::string_view suffix, Shape shape, std::vector<float> values,
                                         ElementType element) {
  COHORT_CHECK(claim(static_cast<std::int64_t>(values.size())));
  if (element != ElementType::kFloat32) {
    for (float& value : values) value = std::bit_cast<float>(static_cast<std::int32_t>(value));
  }
  const std::string name = unique(fmt::format("{}/{}", op_name_, suffix), state_.names);
  const TensorId id = new_fixed(name, std::move(shape), element);
  state_.weights.by_tensor[to_index(id)] = std::make_shared<const std::vector<float>>(std::move(values));
  return id;
}

TensorId NodeImport::scalar(std::string_view suffix, float value, ElementType element) {
  const std::string name = unique(fmt::format("{}/{}", op_name_, suffix), state_.names);
  const TensorId id = new_fixed(name, {}, element);
  const bool is_float = element == ElementType::kFloat32;
  const float stored = is_float ? value : std::bit_cast<float>(static_cast<std::int32_t>(value));
  state_.weights.by_tensor[to_index(id)] = std::make_shared<const std::vector<float>>(1, stored);
  return id;
}

bool NodeImport::is_read(std::size_t output) const {
  return output < node_.outputs.size() && state_.read_names.count(node_.outputs[output]) > 0;
}

void NodeImport::set_result(TensorId y, std::size_t output) {
  if (output >= node_.outputs.size() || node_.outputs[output].empty()) return;
  if (element_count(shape_of(y)) == 0) {  // is known
    const bool is_float = element_of(y) == ElementType::kFloat32;
    set_alias(is_float ? make_constant(shape_of(y), std::vector<float>())
                       : make_constant(shape_of(y), std::vector<std::int64_t>()),
              output);
    return;
  }
  state_.model.tensors[to_index(y)].name = node_.outputs[output];
  state_.values.insert_or_assign(node_.outputs[output], TensorValue{y, {}});
}

void NodeImport::set_random_input(Shape shape, std::int64_t type) {
  if (node_.outputs[0].empty()) return;
  PendingInput input;
  input.name = node_.outputs[0];
  input.shape = std::move(shape);
  input.type = type;
  input.is_random = true;
  state_.learned.erase(input.name);
  state_.values.insert_or_assign(input.name, InputValue{state_.inputs.size()});
  state_.inputs.push_back(std::move(input));
}

void NodeImport::set_alias(Value value, std::size_t output) {
  if (output >= node_.outputs.size() || node_.outputs[output].empty()) return;
  state_.values.insert_or_assign(node_.outputs[output], std::move(value));
}

}  // namespace cohort::onnx
