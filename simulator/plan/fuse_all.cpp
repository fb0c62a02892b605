#include "simulator/plan/fuse_all.hpp"

#include <map>
#include <optional>

#include "simulator/plan/fuse.hpp"
#include "simulator/plan/member_classes.hpp"

namespace cohort {
namespace {

/// Chooses for each op of members that are equal, in topological order.
class Fusion {
 public:
  Fusion(const Model& model, int width, InputSharing sharing)
      : model_(model), width_(width), sharing_(sharing), forms_(model.tensors.size()) {}

  /// By op; absent: it is not fused.
  std::vector<std::optional<Strategy>> choose() {
    std::vector<std::optional<Strategy>> chosen;
    for (const Op& op : model_.ops) {
      chosen.push_back(strategy_of(op));
      if (chosen.back()) {
        const bool stacks_models = *chosen.back() == Strategy::kStridedBatch;
        forms_[to_index(op.outputs[0])] = stacks_models ? StackForm::kModels : StackForm::kChannels;
      }
    }
    return chosen;
  }

 private:
  [[nodiscard]] bool reads_shared_input(const Op& op) const {
    return sharing_ == InputSharing::kShared && model_.tensor(op.inputs[0]).role == TensorRole::kInput;
  }

  /// Recurrent layers side by side and losses of several models are no single op.
  [[nodiscard]] bool is_one_op(const Op& op, Strategy strategy) const {
    return !runs_as_group(op, strategy) && !std::holds_alternative<SoftmaxCrossEntropy>(op.attributes) &&
           can_fuse(model_, op, strategy, width_, reads_shared_input(op));
  }

  /// The form of the op's first operand that is stacked.
  [[nodiscard]] std::optional<StackForm> form_of_operands(const Op& op) const {
    for (const TensorId id : op.inputs) {
      if (forms_[to_index(id)]) return forms_[to_index(id)];
    }
    return std::nullopt;
  }

  [[nodiscard]] std::optional<Strategy> strategy_of(const Op& op) const {
    const bool convolves = std::holds_alternative<Convolution>(op.attributes);
    const bool multiplies =
        std::holds_alternative<Gemm>(op.attributes) || std::holds_alternative<MatMul>(op.attributes);
    const std::optional<StackForm> form = form_of_operands(op);
    if (!convolves && !multiplies && !form) return std::nullopt;
    std::vector<Strategy> preferred = {Strategy::kStridedBatch, Strategy::kGroupedConvolution};
    if (convolves) preferred = {Strategy::kDenseConvolution, Strategy::kGroupedConvolution};
    if (!convolves && form == StackForm::kChannels) std::swap(preferred[0], preferred[1]);
    for (const Strategy strategy : preferred) {
      if (is_one_op(op, strategy)) return strategy;
    }
    return std::nullopt;
  }

  const Model& model_;
  int width_;
  InputSharing sharing_;
  std::vector<std::optional<StackForm>> forms_;  ///< by tensor; absent: each member has its own
};

}  // namespace

Plan fuse_all(Plan plan, std::span<const Model* const> models) {
  Group rest{"rest", {}, {}, Strategy::kConcurrent, 0, {}, {}};
  for (std::uint32_t m = 0; m < models.size(); ++m) rest.members.push_back(m);
  plan.groups.clear();
  plan.baselines.clear();
  plan.resolved.reset();
  for (const MemberClass& equal : member_classes(models)) {
    if (equal.members.size() < 2) continue;
    const auto chosen = Fusion(*equal.model, static_cast<int>(equal.members.size()), plan.input.sharing).choose();
    std::map<Strategy, Group> groups;
    for (std::size_t i = 0; i < chosen.size(); ++i) {
      if (chosen[i]) groups[*chosen[i]].ops.push_back(equal.model->ops[i].name);
    }
    for (auto& [strategy, group] : groups) {
      group.name = fmt::format("{}-{}", to_string(strategy), equal.members.front());
      group.members = equal.members;
      group.strategy = strategy;
      plan.groups.push_back(std::move(group));
    }
  }
  plan.groups.push_back(std::move(rest));
  return plan;
}

}  // namespace cohort
