#include "models/training/recompute.hpp"

#include <algorithm>
#include <optional>

namespace cohort {
namespace {

constexpr std::string_view kAgain = ".again";

bool is_view(const Op& op) {
  return std::holds_alternative<Reshape>(op.attributes) || std::holds_alternative<Unpack>(op.attributes);
}

bool is_cheap(const Op& op) {
  return std::holds_alternative<Activation>(op.attributes) || std::holds_alternative<Binary>(op.attributes) ||
         std::holds_alternative<Select>(op.attributes) || std::holds_alternative<Dropout>(op.attributes) ||
         std::holds_alternative<NormalizeByStatistics>(op.attributes);
}

bool recomputes(const Model& model) {
  return std::any_of(model.ops.begin(), model.ops.end(),
                     [](const Op& op) { return op.phase == Phase::kBackward && op.name.ends_with(kAgain); });
}

/// Which tensors are computed again, and the model that does so.
class Recomputation {
 public:
  explicit Recomputation(const Model& model)
      : model_(model),
        producer_(model.tensors.size()),
        kept_(model.tensors.size()),
        chosen_(model.tensors.size()),
        leads_back_(model.tensors.size()) {
    for (std::size_t i = 0; i < model.ops.size(); ++i) {
      const Op& op = model.ops[i];
      for (const TensorId out : op.outputs) producer_[to_index(out)] = i;
      if (op.phase == Phase::kForward) continue;
      for (const TensorId in : op.inputs) kept_[to_index(in)] = true;
    }
    for (const TensorId out : model.outputs) kept_[to_index(out)] = true;
    for (const Op& op : model.ops) {
      if (op.phase != Phase::kForward) continue;
      choose(op);
      if (op.outputs.size() == 1) leads_back_[to_index(op.outputs.front())] = find_leads_back(op);
    }
  }

  [[nodiscard]] bool any() const { return std::find(chosen_.begin(), chosen_.end(), true) != chosen_.end(); }

  Model rewritten() {
    Model result = model_;
    result.ops.clear();
    again_.assign(model_.tensors.size(), std::nullopt);
    for (const Op& op : model_.ops) {
      Op copy = op;
      if (op.phase != Phase::kForward) {
        for (TensorId& in : copy.inputs) {
          if (chosen_[to_index(in)]) in = again(in, result);
        }
      }
      result.ops.push_back(std::move(copy));
    }
    return result;
  }

 private:
  /// In order of the forward pass: what an op reads has been decided on.
  void choose(const Op& op) {
    const TensorId out = op.outputs.front();
    if (op.outputs.size() != 1 || !kept_[to_index(out)] || is_output(out)) return;
    if (is_view(op)) {
      // It is its input's memory: kept or computed again together.
      chosen_[to_index(out)] = !lies_in_wait(op.inputs.front()) && is_computed_again(op.inputs.front());
    } else if (is_cheap(op)) {
      chosen_[to_index(out)] =
          std::all_of(op.inputs.begin(), op.inputs.end(), [&](TensorId in) { return is_reached(in); });
    }
  }

  [[nodiscard]] bool is_output(TensorId id) const {
    return std::find(model_.outputs.begin(), model_.outputs.end(), id) != model_.outputs.end();
  }

  /// In memory in the backward pass whether or not it is read: given from outside, or kept.
  [[nodiscard]] bool lies_in_wait(TensorId id) const {
    if (model_.tensor(id).role != TensorRole::kActivation) return true;
    if (kept_[to_index(id)] && !chosen_[to_index(id)]) return true;
    const Op& op = model_.ops[*producer_[to_index(id)]];
    return is_view(op) && lies_in_wait(op.inputs.front());
  }

  [[nodiscard]] bool is_reached(TensorId id) const { return lies_in_wait(id) || leads_back_[to_index(id)]; }

  /// Nothing in the backward pass reads its result, and cheap ops make it of what lies in wait. That is known already
  /// of its inputs; asking again for each reader would double the time with every op.
  [[nodiscard]] bool find_leads_back(const Op& op) const {
    if (kept_[to_index(op.outputs.front())] || !(is_cheap(op) || is_view(op))) return false;
    return std::all_of(op.inputs.begin(), op.inputs.end(), [&](TensorId in) { return is_reached(in); });
  }

  [[nodiscard]] bool is_computed_again(TensorId id) const { return chosen_[to_index(id)] || leads_back_[to_index(id)]; }

  /// The tensor in the backward pass that has the values of `id`; ops that make it are added where it is new.
  TensorId again(TensorId id, Model& result) {
    std::optional<TensorId>& known = again_[to_index(id)];
    if (known) return *known;
    Op op = model_.ops[*producer_[to_index(id)]];
    op.name += kAgain;
    op.phase = Phase::kBackward;
    for (TensorId& in : op.inputs) {
      if (!lies_in_wait(in)) in = again(in, result);
    }
    known = static_cast<TensorId>(static_cast<std::uint32_t>(result.tensors.size()));
    Tensor tensor = model_.tensor(id);
    tensor.name += kAgain;
    result.tensors.push_back(std::move(tensor));
    op.outputs = {*known};
    result.ops.push_back(std::move(op));
    return *known;
  }

  const Model& model_;
  std::vector<std::optional<std::size_t>> producer_;  ///< by tensor: position of its op
  std::vector<bool> kept_;                            ///< by tensor: read in the backward pass, or given out
  std::vector<bool> chosen_;                          ///< by tensor: computed again
  std::vector<bool> leads_back_;                      ///< by tensor: find_leads_back() of its op
  std::vector<std::optional<TensorId>> again_;        ///< by tensor
};

}  // namespace

Model recompute_activations(const Model& model) {
  if (recomputes(model)) return model;
  Recomputation recomputation(model);
  return recomputation.any() ? recomputation.rewritten() : model;
}

bool can_recompute(const Model& model) { return !recomputes(model) && Recomputation(model).any(); }

}  // namespace cohort
