// Ops of several members in one launch, each in its own shape and on its own tensors.

#include "simulator/plan/lowering.hpp"

namespace cohort {
namespace {

/// Convolutions fuse by stacked channels; one launch of different ones has no fast kernel anywhere.
Result<void> check_groupable(const Op& op, Strategy strategy) {
  if (!std::holds_alternative<Convolution>(op.attributes) && !std::holds_alternative<ConvTranspose>(op.attributes))
    return {};
  return fail(ErrorCode::kInvalidInput,
              "op {} ({}) cannot be fused by {}: convolutions of several members run as "
              "dense_convolution, grouped_convolution or concurrent; put it in another group",
              op.name, op_type(op.attributes), to_string(strategy));
}

}  // namespace

bool Lowering::is_grouped(const Launch& launch) const {
  return launch.members.size() > 1 && runs_as_group(op_of(launch, 0), plan_.groups[launch.group].strategy);
}

Result<void> Lowering::lower_grouped(const Launch& launch) {
  Context context = context_of(launch);
  context.members.clear();
  std::vector<StepId> needs;
  std::vector<OpCall> calls;
  std::vector<const Op*> ops;
  for (std::size_t i = 0; i < launch.members.size(); ++i) {
    const MemberId member = launch.members[i];
    const Op& op = op_of(launch, i);
    COHORT_CHECK(check_groupable(op, plan_.groups[launch.group].strategy));
    if (alias_result(member, op)) continue;
    COHORT_TRY(OpCall call, member_call(member, op, {context.group, {member}, context.stream, context.phase}, needs));
    calls.push_back(std::move(call));
    context.members.push_back(member);
    ops.push_back(&op);
  }
  if (calls.empty()) return {};
  std::vector<std::vector<View>> outputs;
  for (const OpCall& call : calls) outputs.push_back(call.outputs);
  OpCall whole = calls.size() == 1 ? std::move(calls[0]) : grouped_call(std::move(calls));
  COHORT_TRY(const StepId step, add_step(std::move(whole), ops[0]->name, context, std::move(needs)));
  for (std::size_t i = 0; i < ops.size(); ++i) set_results(context.members[i], *ops[i], outputs[i], step);
  return {};
}

}  // namespace cohort
