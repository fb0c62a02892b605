#include "models/model.hpp"

#include <algorithm>
#include <set>

namespace cohort {

namespace {

/// Walks a model in op order and keeps which tensors have values so far.
class Validator {
 public:
  explicit Validator(const Model& model) : model_(model), written_(model.tensors.size(), false) {}

  Result<void> check() {
    COHORT_CHECK(check_tensors());
    COHORT_CHECK(check_inputs());
    std::set<std::string_view> names;
    for (const Op& op : model_.ops) {
      if (op.name.empty()) return fail(ErrorCode::kInvalidInput, "an op has no name");
      if (!names.insert(op.name).second) return fail(ErrorCode::kInvalidInput, "two ops have the name {}", op.name);
      if (auto checked = check_op(op); !checked)
        return in_context(fmt::format("op {} ({})", op.name, op_type(op.attributes)), checked.error());
    }
    return check_outputs();
  }

 private:
  Result<void> check_tensors() {
    std::set<std::string_view> names;
    for (std::size_t i = 0; i < model_.tensors.size(); ++i) {
      const Tensor& tensor = model_.tensors[i];
      if (!names.insert(tensor.name).second)
        return fail(ErrorCode::kInvalidInput, "two tensors have the name {}", tensor.name);
      // Without elements are only weights, and what a Reshape makes of them.
      if (auto checked = check_shape(tensor.shape, is_given(tensor) ? 1 : 0); !checked)
        return in_context(fmt::format("tensor {}", tensor.name), checked.error());
      written_[i] = tensor.role == TensorRole::kWeight || tensor.role == TensorRole::kState;
    }
    return {};
  }

  Result<void> check_inputs() {
    for (const TensorId id : model_.inputs) {
      COHORT_CHECK(check_id(id));
      const Tensor& tensor = model_.tensor(id);
      if (!is_given(tensor))
        return fail(ErrorCode::kInvalidInput, "tensor {} is listed as an input but is not one", tensor.name);
      if (written_[to_index(id)]) return fail(ErrorCode::kInvalidInput, "input {} is listed twice", tensor.name);
      written_[to_index(id)] = true;
    }
    for (std::size_t i = 0; i < model_.tensors.size(); ++i) {
      if (is_given(model_.tensors[i]) && !written_[i])
        return fail(ErrorCode::kInvalidInput, "tensor {} is not among the model's inputs", model_.tensors[i].name);
    }
    return {};
  }

  static bool is_given(const Tensor& tensor) {
    return tensor.role == TensorRole::kInput || tensor.role == TensorRole::kSetting;
  }

  Result<void> check_op(const Op& op) {
    for (const TensorId id : op.inputs) {
      COHORT_CHECK(check_id(id));
      if (next_values_.contains(id))
        return fail(ErrorCode::kInvalidInput, "reads tensor {}, which is a state's next value", model_.tensor(id).name);
      if (updated_.contains(id))
        return fail(ErrorCode::kInvalidInput, "reads state {} behind the op that updates it", model_.tensor(id).name);
      if (!written_[to_index(id)])
        return fail(ErrorCode::kInvalidInput, "reads tensor {} before it is written", model_.tensor(id).name);
    }
    if (op.outputs.size() != 1)
      return fail(ErrorCode::kInvalidInput, "must have one output, not {}", op.outputs.size());
    COHORT_CHECK(check_id(op.outputs[0]));
    const Tensor& y = model_.tensor(op.outputs[0]);
    if (y.role != TensorRole::kActivation) return fail(ErrorCode::kInvalidInput, "writes the constant {}", y.name);
    if (written_[to_index(op.outputs[0])])
      return fail(ErrorCode::kInvalidInput, "writes tensor {}, which is written already", y.name);
    written_[to_index(op.outputs[0])] = true;
    COHORT_CHECK(check_update(op));
    COHORT_CHECK(check_output_shape(op, y));
    return check_post_ops(op, y);
  }

  Result<void> check_update(const Op& op) {
    if (!updates_state(op)) return {};
    const Tensor& state = model_.tensor(op.inputs[0]);
    if (state.role != TensorRole::kState)
      return fail(ErrorCode::kInvalidInput, "updates tensor {}, which is no state", state.name);
    updated_.insert(op.inputs[0]);
    next_values_.insert(op.outputs[0]);
    return {};
  }

  [[nodiscard]] Result<void> check_output_shape(const Op& op, const Tensor& y) const {
    if (own_input_count(op) > op.inputs.size())
      return fail(ErrorCode::kInvalidInput, "has more post-op operands than inputs");
    std::vector<Shape> shapes;
    std::vector<ElementType> elements;
    for (std::size_t i = 0; i < own_input_count(op); ++i) {
      shapes.push_back(model_.tensor(op.inputs[i]).shape);
      elements.push_back(model_.tensor(op.inputs[i]).element);
    }
    if (std::holds_alternative<Reshape>(op.attributes)) {
      if (shapes.size() != 1) return fail(ErrorCode::kInvalidInput, "takes 1 input, not {}", shapes.size());
      if (element_count(shapes[0]) != element_count(y.shape))
        return fail(ErrorCode::kInvalidInput, "cannot make {} of {}: the number of elements differs",
                    to_string(y.shape), to_string(shapes[0]));
    } else {
      COHORT_TRY(const Shape expected, infer_shape(op.attributes, shapes));
      if (expected != y.shape)
        return fail(ErrorCode::kInvalidInput, "output {} has shape {}, but the op gives {}", y.name, to_string(y.shape),
                    to_string(expected));
    }
    COHORT_TRY(const ElementType element, infer_element(op.attributes, elements));
    if (element != y.element)
      return fail(ErrorCode::kInvalidInput, "output {} is {}, but the op gives {}", y.name, to_string(y.element),
                  to_string(element));
    return {};
  }

  [[nodiscard]] Result<void> check_post_ops(const Op& op, const Tensor& y) const {
    std::size_t next_operand = own_input_count(op);
    for (const PostOp& post_op : op.post_ops) {
      const auto* add = std::get_if<AddOperand>(&post_op);
      if (add == nullptr) continue;
      if (add->operand != next_operand++)
        return fail(ErrorCode::kInvalidInput, "post-op adds input {}, where {} is next", add->operand,
                    next_operand - 1);
      const Tensor& operand = model_.tensor(op.inputs[add->operand]);
      if (operand.element != ElementType::kFloat32 || y.element != ElementType::kFloat32)
        return fail(ErrorCode::kInvalidInput, "post-op adds {}, which is no float32 to float32", operand.name);
      if (operand.shape != y.shape)
        return fail(ErrorCode::kInvalidInput, "post-op adds {} of shape {} to {}", operand.name,
                    to_string(operand.shape), to_string(y.shape));
    }
    return {};
  }

  [[nodiscard]] Result<void> check_outputs() const {
    if (model_.outputs.empty()) return fail(ErrorCode::kInvalidInput, "the model has no outputs");
    std::set<TensorId> seen;
    for (const TensorId id : model_.outputs) {
      COHORT_CHECK(check_id(id));
      const Tensor& tensor = model_.tensor(id);
      if (tensor.role != TensorRole::kActivation)
        return fail(ErrorCode::kInvalidInput, "output {} is not written by an op", tensor.name);
      if (!seen.insert(id).second) return fail(ErrorCode::kInvalidInput, "output {} is listed twice", tensor.name);
    }
    for (std::size_t i = 0; i < written_.size(); ++i) {
      if (!written_[i]) return fail(ErrorCode::kInvalidInput, "no op writes tensor {}", model_.tensors[i].name);
    }
    return {};
  }

  [[nodiscard]] Result<void> check_id(TensorId id) const {
    if (to_index(id) < model_.tensors.size()) return {};
    return fail(ErrorCode::kInvalidInput, "tensor number {} does not exist", to_index(id));
  }

  const Model& model_;
  std::vector<bool> written_;
  std::set<TensorId> updated_;      ///< states
  std::set<TensorId> next_values_;  ///< of states
};

}  // namespace

std::size_t own_input_count(const Op& op) {
  const auto adds = std::count_if(op.post_ops.begin(), op.post_ops.end(),
                                  [](const PostOp& post_op) { return std::holds_alternative<AddOperand>(post_op); });
  return op.inputs.size() - static_cast<std::size_t>(adds);
}

std::string_view to_string(Phase phase) {
  constexpr std::string_view kNames[] = {"forward", "backward", "update"};
  return kNames[static_cast<std::size_t>(phase)];
}

bool updates_state(const Op& op) {
  return std::holds_alternative<Update>(op.attributes) || std::holds_alternative<RunningAverage>(op.attributes);
}

Result<void> validate(const Model& model) {
  if (auto checked = Validator(model).check(); !checked)
    return in_context(fmt::format("model {}", model.name), checked.error());
  return {};
}

}  // namespace cohort
