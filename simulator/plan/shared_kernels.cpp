#include "simulator/plan/shared_kernels.hpp"

#include <algorithm>
#include <set>
#include <unordered_map>
#include <variant>
#include <vector>

#include "simulator/plan/call_form.hpp"

namespace cohort {

namespace {

bool uses_weights_again(const Model& model) {
  std::vector<bool> is_used(model.tensors.size());
  for (const Op& op : model.ops) {
    for (const TensorId input : op.inputs) {
      if (model.tensor(input).role != TensorRole::kWeight) continue;
      if (is_used[to_index(input)]) return true;
      is_used[to_index(input)] = true;
    }
  }
  return false;
}

const WeightView* first_weights(const OpCall& call) {
  for (const Operand& operand : call.inputs) {
    if (const auto* const weights = std::get_if<WeightView>(&operand)) return weights;
  }
  return nullptr;
}

bool have_same_weights(const OpCall& a, const OpCall& b) {
  return std::equal(a.inputs.begin(), a.inputs.end(), b.inputs.begin(), b.inputs.end(),
                    [](const Operand& x, const Operand& y) { return std::holds_alternative<View>(x) || x == y; });
}

bool run_the_same(const Step& a, const Step& b) {
  return a.stream == b.stream && a.cost == b.cost && same_form(a.call, b.call) && have_same_weights(a.call, b.call);
}

}  // namespace

void share_kernels(Program& program, std::span<const Model* const> models) {
  const std::set<const Model*> distinct(models.begin(), models.end());
  if (std::none_of(distinct.begin(), distinct.end(), [](const Model* model) { return uses_weights_again(*model); }))
    return;
  // Steps with kernels of their own, by a hash of their form and member.
  std::unordered_map<std::size_t, std::vector<StepId>> known;
  for (std::size_t i = 0; i < program.steps.size(); ++i) {
    Step& step = program.steps[i];
    const WeightView* const weights = first_weights(step.call);
    if (weights == nullptr || !step.call.parts.empty()) continue;
    const MemberTensor& part = weights->parts.front();
    const std::size_t key =
        hash_of_form(step.call) ^ (std::size_t{to_index(part.member)} << 32U | to_index(part.tensor));
    std::vector<StepId>& alike = known[key];
    const auto same =
        std::find_if(alike.begin(), alike.end(), [&](StepId id) { return run_the_same(program.step(id), step); });
    if (same != alike.end()) {
      step.same_kernel_as = *same;
    } else {
      alike.push_back(static_cast<StepId>(i));
    }
  }
}

}  // namespace cohort
