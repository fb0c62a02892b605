#include "models/compute/evaluate.hpp"

#include <stdexcept>

#include "models/compute/ops.hpp"

namespace cohort::reference {

namespace {

class Evaluation {
 public:
  explicit Evaluation(const LoadedModel& loaded) : loaded_(loaded), values_(loaded.model.tensors.size()) {}

  Result<std::vector<std::vector<float>>> run(std::vector<std::vector<float>> inputs) {
    const Model& model = loaded_.model;
    for (std::size_t i = 0; i < model.inputs.size(); ++i) values_[to_index(model.inputs[i])] = std::move(inputs[i]);
    std::vector<std::size_t> last_use(values_.size(), 0);
    for (std::size_t i = 0; i < model.ops.size(); ++i) {
      for (const TensorId id : model.ops[i].inputs) last_use[to_index(id)] = i;
    }
    for (const TensorId id : model.outputs) last_use[to_index(id)] = model.ops.size();
    for (std::size_t i = 0; i < model.ops.size(); ++i) {
      const Op& op = model.ops[i];
      try {
        run_op(op);
      } catch (const std::range_error& error) {
        return fail(ErrorCode::kInvalidInput, "op {} ({}): {}", op.name, op_type(op.attributes), error.what());
      }
      for (const TensorId id : op.inputs) {
        if (last_use[to_index(id)] == i) values_[to_index(id)] = {};
      }
    }
    std::vector<std::vector<float>> outputs;
    for (const TensorId id : model.outputs) outputs.push_back(std::move(values_[to_index(id)]));
    return outputs;
  }

 private:
  [[nodiscard]] ConstTensor tensor(TensorId id) const {
    const Shape& shape = loaded_.model.tensor(id).shape;
    const TensorRole role = loaded_.model.tensor(id).role;
    const bool is_kept = role == TensorRole::kWeight || role == TensorRole::kState;
    const std::vector<float>& values = is_kept ? *loaded_.weights.of(id) : values_[to_index(id)];
    return {values.data(), shape, row_major_strides(shape)};
  }

  void run_op(const Op& op) {
    std::vector<ConstTensor> inputs;
    for (const TensorId id : op.inputs) inputs.push_back(tensor(id));
    const Shape& shape = loaded_.model.tensor(op.outputs[0]).shape;
    std::vector<float>& values = values_[to_index(op.outputs[0])];
    values.resize(static_cast<std::size_t>(element_count(shape)));
    const Tensor y{values.data(), shape, row_major_strides(shape)};
    const Inputs own = std::span(inputs).first(own_input_count(op));
    std::visit([&](const auto& attributes) { compute(attributes, own, y); }, op.attributes);
    const ConstTensor result{y.data, y.shape, y.strides};
    for (const PostOp& post_op : op.post_ops) {
      if (const auto* operand = std::get_if<AddOperand>(&post_op)) {
        add(inputs[operand->operand], y);
      } else {
        compute(std::get<Activation>(post_op), {&result, 1}, y);
      }
    }
  }

  const LoadedModel& loaded_;
  std::vector<std::vector<float>> values_;
};

}  // namespace

Result<std::vector<std::vector<float>>> evaluate(const LoadedModel& loaded, std::vector<std::vector<float>> inputs) {
  return Evaluation(loaded).run(std::move(inputs));
}

}  // namespace cohort::reference
