#pragma once

#include <cstdint>
#include <span>
#include <string>
#include <vector>

#include "base/result.hpp"
#include "models/model.hpp"
#include "simulator/plan/plan.hpp"
#include "simulator/plan/program.hpp"

namespace cohort {

/// One launch of a plan, before memory is assigned: an op of one member, or the same op of several members as one call.
struct Launch {
  std::uint32_t group = 0;
  std::vector<MemberId> members;
  std::vector<OpId> ops;     ///< one per member
  std::size_t position = 0;  ///< if the group has `op_streams`: position in its `ops`
};

/// Assigns every op to its group and orders the launches: data and `after` first, then the order of groups; inside a
/// group serial members follow one another and concurrent ones alternate; ops keep the order of the model, or with
/// `op_streams` that of the group.
/// Errors: kInvalidInput naming the op that is in no group or in two, unknown, not the same in all
/// members of a fused group, or part of a cycle.
Result<std::vector<Launch>> order_launches(const Plan& plan, std::span<const Model* const> models);

}  // namespace cohort
