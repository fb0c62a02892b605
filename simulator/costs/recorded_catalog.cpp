#include "simulator/costs/recorded_catalog.hpp"

#include <algorithm>

#include "simulator/plan/tensor_layout.hpp"

namespace cohort {

Result<std::vector<Alternative>> RecordedCatalog::alternatives(const OpCall& call, int threads) const {
  if (call.multiprocessors > 0) {
    const std::string made_for = signature_for(call.multiprocessors, call.signature);
    std::vector<Alternative> ways = costs_->alternatives({made_for, call.strategy, call.width, threads, ""});
    for (Alternative& way : ways) way.multiprocessors = call.multiprocessors;
    if (!ways.empty()) return ways;
  }
  std::vector<Alternative> found = costs_->alternatives({call.signature, call.strategy, call.width, threads, ""});
  if (found.empty()) {
    return fail(ErrorCode::kInvalidInput,
                "the profile has no record of \"{}\"; profile a model that has this op, or plan on the device itself",
                call.signature);
  }
  return found;
}

bool RecordedCatalog::accepts_strides(const OpCall& call) const {
  if (std::holds_alternative<Gemm>(call.attributes) || std::holds_alternative<MatMul>(call.attributes)) return true;
  return std::none_of(call.inputs.begin(), call.inputs.end(), [&](const Operand& operand) {
    const View* const view = std::get_if<View>(&operand);
    return view != nullptr && stack_parts(*view) > 1 && costs_->splits(view->shape);
  });
}

}  // namespace cohort
