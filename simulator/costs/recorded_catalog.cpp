#include "simulator/costs/recorded_catalog.hpp"

#include <algorithm>

#include "simulator/plan/tensor_layout.hpp"

namespace cohort {
namespace {

/// Whether all behind the first dimension lies together, in logical order.
bool has_whole_rows(const View& view) {
  std::int64_t distance = 1;
  for (std::size_t i = view.shape.size(); i > 1; --i) {
    if (view.shape[i - 1] > 1 && view.strides[i - 1] != distance) return false;
    distance *= view.shape[i - 1];
  }
  return true;
}

/// One member's part of what a call of several reads; copies are recorded of such.
View part_of(const OpCall& call, const View& view) {
  View part = view;
  const bool is_stack = call.strategy == Strategy::kStridedBatch && !view.shape.empty() && view.shape[0] == call.width;
  if (!is_stack) return part;
  part.shape.erase(part.shape.begin());
  part.strides.erase(part.strides.begin());
  return part;
}

}  // namespace

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
  if (std::holds_alternative<MatMul>(call.attributes)) return true;
  const bool reads_rows = std::holds_alternative<Gemm>(call.attributes);
  return std::none_of(call.inputs.begin(), call.inputs.end(), [&](const Operand& operand) {
    const View* const view = std::get_if<View>(&operand);
    if (view == nullptr) return false;
    const View part = part_of(call, *view);
    return !(reads_rows && has_whole_rows(part)) && stack_parts(part) > 1 && costs_->splits(part.shape);
  });
}

}  // namespace cohort
