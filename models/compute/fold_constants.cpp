#include "models/compute/fold_constants.hpp"

#include <algorithm>
#include <memory>
#include <utility>
#include <variant>

#include "models/compute/evaluate.hpp"

namespace cohort {
namespace {

/// Plain loops take about a second for as many; an element that is read or made takes them as long as kElementFlops.
constexpr std::int64_t kMostFlops = std::int64_t{1} << 32;
constexpr std::int64_t kElementFlops = 32;
/// Results up to this many elements may be larger than what they are made of.
constexpr std::int64_t kFewElements = 1 << 16;
/// Of all results that something still reads, beyond as many as the model has weights.
constexpr std::int64_t kMoreElements = 1 << 20;

class ConstantFolding {
 public:
  explicit ConstantFolding(LoadedModel loaded) : loaded_(std::move(loaded)) {
    loaded_.weights.by_tensor.resize(model().tensors.size());
    for (const WeightValues& values : loaded_.weights.by_tensor) {
      if (values != nullptr) elements_left_ += static_cast<std::int64_t>(values->size());
    }
    readers_.resize(model().tensors.size(), 0);
    for (const Op& op : model().ops) {
      for (const TensorId id : op.inputs) ++readers_[to_index(id)];
    }
    made_.resize(model().tensors.size(), false);
  }

  LoadedModel run() {
    std::vector<Op> kept;
    for (Op& op : model().ops) {
      if (!fold(op)) kept.push_back(std::move(op));
    }
    model().ops = std::move(kept);
    return std::move(loaded_);
  }

 private:
  Model& model() { return loaded_.model; }

  [[nodiscard]] bool is_constant(TensorId id) const {
    return loaded_.model.tensor(id).role == TensorRole::kWeight && loaded_.weights.of(id) != nullptr;
  }

  [[nodiscard]] std::int64_t made_by(const Op& op) const {
    return element_count(loaded_.model.tensor(op.outputs[0]).shape);
  }
  [[nodiscard]] std::int64_t read_by(const Op& op) const {
    std::int64_t read = 0;
    for (const TensorId id : op.inputs) read += element_count(loaded_.model.tensor(id).shape);
    return read;
  }
  [[nodiscard]] std::int64_t cost_of(const Op& op) const {
    return work_of(loaded_.model, op).flops.value + kElementFlops * (read_by(op) + made_by(op));
  }

  [[nodiscard]] bool is_foldable(const Op& op) const {
    const Model& model = loaded_.model;
    if (op.inputs.empty() || op.outputs.size() != 1 || updates_state(op) ||
        std::holds_alternative<Dropout>(op.attributes))
      return false;
    const auto& outputs = model.outputs;
    if (std::find(outputs.begin(), outputs.end(), op.outputs[0]) != outputs.end()) return false;
    if (!std::all_of(op.inputs.begin(), op.inputs.end(), [&](TensorId id) { return is_constant(id); })) return false;
    const std::int64_t made = made_by(op);
    return (made <= kFewElements || made <= read_by(op)) && made <= elements_left_ && cost_of(op) <= flops_left_;
  }

  /// Returns whether the op is done with.
  bool fold(const Op& op) {
    if (!is_foldable(op)) return false;
    LoadedModel single;
    Op copy = op;
    for (TensorId& id : copy.inputs) {
      single.model.tensors.push_back(loaded_.model.tensor(id));
      single.weights.by_tensor.push_back(loaded_.weights.of(id));
      id = TensorId(single.model.tensors.size() - 1);
    }
    single.model.tensors.push_back(loaded_.model.tensor(op.outputs[0]));
    single.weights.by_tensor.emplace_back();
    copy.outputs = single.model.outputs = {TensorId(single.model.tensors.size() - 1)};
    single.model.ops.push_back(std::move(copy));
    auto result = reference::evaluate(single, {});
    if (!result) return false;  // an index out of range is an error where it is met
    flops_left_ -= cost_of(op);
    elements_left_ -= made_by(op);
    model().tensors[to_index(op.outputs[0])].role = TensorRole::kWeight;
    loaded_.weights.by_tensor[to_index(op.outputs[0])] =
        std::make_shared<const std::vector<float>>(std::move(result->front()));
    made_[to_index(op.outputs[0])] = true;
    for (const TensorId id : op.inputs) release(id);
    return true;
  }

  /// A reader of the tensor is done with: of what was made here, the last one's memory is free again.
  void release(TensorId id) {
    if (--readers_[to_index(id)] > 0 || !made_[to_index(id)]) return;
    elements_left_ += element_count(model().tensor(id).shape);
    loaded_.weights.by_tensor[to_index(id)] = nullptr;
  }

  LoadedModel loaded_;
  std::vector<int> readers_;  ///< by tensor: ops that are still to be run
  std::vector<bool> made_;    ///< by tensor: whether an op that was folded made it
  std::int64_t flops_left_ = kMostFlops;
  std::int64_t elements_left_ = kMoreElements;
};

}  // namespace

LoadedModel fold_constants(LoadedModel loaded) { return ConstantFolding(std::move(loaded)).run(); }

LoadedModel optimize_for_inference(LoadedModel loaded, bool strict_nan) {
  return simplify(fold_constants(std::move(loaded)), strict_nan);
}

}  // namespace cohort
