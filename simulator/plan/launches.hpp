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

/// One launch of a plan before memory is thought of: an op of one member, or the same op of several
/// members as one call.
struct Launch {
  std::uint32_t group = 0;
  std::vector<MemberId> members;
  std::vector<OpId> ops;     ///< one per member
  std::size_t position = 0;  ///< where the group has `op_streams`: in its `ops`
};

/// Assigns every op to its group and orders the launches: data and `after` first, then the order of
/// groups; inside a group serial members follow one another, concurrent ones alternate, and ops stand as in the
/// model, or where the group has `op_streams` as it lists them.
/// Errors: kInvalidInput naming the op that is in no group or in two, unknown, not the same in all
/// members of a fused group, or part of a cycle.
Result<std::vector<Launch>> order_launches(const Plan& plan, std::span<const Model* const> models);

}  // namespace cohort
