#include "simulator/plan/shared_kernels.hpp"

#include <algorithm>
#include <unordered_map>
#include <variant>
#include <vector>

namespace cohort {

namespace {

/// Whether a kernel made for one view runs on the other: where they lie, it is told when it runs.
bool lie_alike(const View& a, const View& b) {
  return a.shape == b.shape && a.strides == b.strides && a.type == b.type;
}

bool are_alike(const Operand& a, const Operand& b) {
  const View *view = std::get_if<View>(&a), *other = std::get_if<View>(&b);
  return view != nullptr && other != nullptr ? lie_alike(*view, *other) : a == b;
}

/// Which inputs lie in the buffers of which outputs.
bool are_in_place_alike(const OpCall& a, const OpCall& b) {
  for (std::size_t i = 0; i < a.inputs.size(); ++i) {
    const View *view = std::get_if<View>(&a.inputs[i]), *other = std::get_if<View>(&b.inputs[i]);
    for (std::size_t k = 0; view != nullptr && k < a.outputs.size(); ++k) {
      if ((view->buffer == a.outputs[k].buffer) != (other->buffer == b.outputs[k].buffer)) return false;
    }
  }
  return true;
}

bool run_the_same(const Step& a, const Step& b) {
  return a.stream == b.stream && a.cost == b.cost &&
         std::equal(a.call.inputs.begin(), a.call.inputs.end(), b.call.inputs.begin(), b.call.inputs.end(),
                    are_alike) &&
         std::equal(a.call.outputs.begin(), a.call.outputs.end(), b.call.outputs.begin(), b.call.outputs.end(),
                    lie_alike) &&
         are_in_place_alike(a.call, b.call);
}

/// The first weight that a call reads, as one number; nothing where it reads none.
std::optional<std::uint64_t> first_weight(const OpCall& call) {
  for (const Operand& operand : call.inputs) {
    const auto* const weights = std::get_if<WeightView>(&operand);
    if (weights == nullptr || weights->parts.empty()) continue;
    const MemberTensor& part = weights->parts.front();
    return std::uint64_t{to_index(part.member)} << 32 | std::uint64_t{to_index(part.tensor)};
  }
  return std::nullopt;
}

}  // namespace

void share_kernels(Program& program) {
  std::unordered_map<std::uint64_t, std::vector<StepId>> by_weight;  // steps with kernels of their own
  for (std::size_t i = 0; i < program.steps.size(); ++i) {
    Step& step = program.steps[i];
    const std::optional<std::uint64_t> weight = first_weight(step.call);
    if (!weight) continue;
    std::vector<StepId>& earlier = by_weight[*weight];
    const auto same =
        std::find_if(earlier.begin(), earlier.end(), [&](StepId id) { return run_the_same(program.step(id), step); });
    if (same != earlier.end()) {
      step.same_kernel_as = *same;
    } else {
      earlier.push_back(static_cast<StepId>(i));
    }
  }
}

}  // namespace cohort
