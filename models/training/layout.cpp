#include "models/training/layout.hpp"

#include <algorithm>

namespace cohort::training {
namespace {

/// Finds what is trained by walking the ops that the objective depends on.
class LayoutSearch {
 public:
  explicit LayoutSearch(const Model& model) : model_(model) {}

  Result<StateLayout> run() {
    if (model_.outputs.empty()) return fail(ErrorCode::kInvalidInput, "the model has no outputs");
    layout_.objective = model_.outputs[0];
    find_used_ops();
    for (const std::size_t i : layout_.used_ops) {
      const Op& op = model_.ops[i];
      if (auto added = add(i, op); !added)
        return in_context(fmt::format("op {} ({})", op.name, op_type(op.attributes)), added.error());
    }
    if (layout_.parameters.empty())
      return fail(ErrorCode::kInvalidInput, "output {} depends on no weights that could be trained",
                  model_.tensor(layout_.objective).name);
    layout_.parameter_size = pack_place(layout_.parameter_size);
    return std::move(layout_);
  }

 private:
  void find_used_ops() {
    std::vector<bool> is_needed(model_.tensors.size(), false);
    is_needed[to_index(layout_.objective)] = true;
    for (std::size_t i = model_.ops.size(); i-- > 0;) {
      const Op& op = model_.ops[i];
      if (!is_needed[to_index(op.outputs[0])]) continue;
      layout_.used_ops.insert(i);
      for (const TensorId id : op.inputs) is_needed[to_index(id)] = true;
    }
  }

  Result<void> add(std::size_t index, const Op& op) {
    if (!op.post_ops.empty() || updates_state(op))
      return fail(ErrorCode::kInvalidInput, "is not part of an inference model as it was read");
    const bool normalizes = std::holds_alternative<BatchNormalization>(op.attributes);
    for (std::size_t i = 0; i < op.inputs.size(); ++i) {
      if (normalizes && i >= 3) continue;
      if (is_trained(model_.tensor(op.inputs[i]))) add_parameter(op.inputs[i]);
    }
    return normalizes ? add_statistics(index, op) : Result<void>();
  }

  static bool is_trained(const Tensor& tensor) {
    return tensor.role == TensorRole::kWeight && tensor.element == ElementType::kFloat32 && !tensor.fixed &&
           !tensor.shape.empty() && element_count(tensor.shape) > 0;
  }

  void add_parameter(TensorId id) {
    if (!placed_.insert(id).second) return;
    const Tensor& tensor = model_.tensor(id);
    const std::int64_t offset = pack_place(layout_.parameter_size);
    layout_.parameters.push_back({tensor.name, tensor.shape, offset, id});
    layout_.parameter_size = offset + element_count(tensor.shape);
  }

  Result<void> add_statistics(std::size_t index, const Op& op) {
    const std::int64_t offset = pack_place(layout_.statistics_size);
    for (std::size_t i = 3; i < 5; ++i) {
      const Tensor& tensor = model_.tensor(op.inputs[i]);
      if (tensor.role != TensorRole::kWeight)
        return fail(ErrorCode::kInvalidInput, "its running statistics {} are not constant", tensor.name);
      if (!placed_.insert(op.inputs[i]).second)
        return fail(ErrorCode::kInvalidInput, "shares {} with another op, so that nobody could say whose mean it is",
                    tensor.name);
      const std::int64_t channels = tensor.shape[0];
      layout_.statistics.push_back(
          {tensor.name, tensor.shape, offset + static_cast<std::int64_t>(i - 3) * channels, op.inputs[i]});
      layout_.statistics_size = offset + 2 * channels;
    }
    layout_.statistics_of[index] = {offset, model_.tensor(op.inputs[3]).shape[0]};
    return {};
  }

  const Model& model_;
  StateLayout layout_;
  std::set<TensorId> placed_;
};

WeightValues packed_values(const LoadedModel& inference, const std::vector<PackedTensor>& parts, std::int64_t size) {
  std::vector<float> values(static_cast<std::size_t>(size), 0.0F);
  for (const PackedTensor& part : parts) {
    const WeightValues& from = inference.weights.of(part.original);
    if (from != nullptr) std::copy(from->begin(), from->end(), values.begin() + part.offset);
  }
  return std::make_shared<const std::vector<float>>(std::move(values));
}

}  // namespace

Result<StateLayout> state_layout(const LoadedModel& inference) { return LayoutSearch(inference.model).run(); }

WeightValues initial_parameters(const LoadedModel& inference, const StateLayout& layout, std::int64_t rows) {
  return packed_values(inference, layout.parameters, rows * layout.parameter_size);
}

WeightValues initial_statistics(const LoadedModel& inference, const StateLayout& layout) {
  return packed_values(inference, layout.statistics, layout.statistics_size);
}

}  // namespace cohort::training

namespace cohort {

Weights trained_weights(const LoadedModel& inference, const TrainingModel& training, std::span<const float> parameters,
                        std::span<const float> statistics) {
  Weights weights = inference.weights;
  const auto put = [&](const PackedTensor& part, std::span<const float> state) {
    const auto from =
        state.subspan(static_cast<std::size_t>(part.offset), static_cast<std::size_t>(element_count(part.shape)));
    weights.by_tensor[to_index(part.original)] = std::make_shared<const std::vector<float>>(from.begin(), from.end());
  };
  for (const PackedTensor& part : training.parameters) put(part, parameters);
  for (const PackedTensor& part : training.statistics) put(part, statistics);
  return weights;
}

}  // namespace cohort
