#pragma once

#include <span>
#include <string_view>

#include "base/result.hpp"
#include "models/model.hpp"
#include "simulator/plan/plan.hpp"
#include "simulator/plan/values.hpp"

namespace cohort {

/// One op computed for several members by one call: what the call's attributes and constants are,
/// and how its tensors are stacked. Rules as in HFTA (Wang et al., MLSys 2021).
struct FusedOp {
  StackForm form{};
  OpAttributes attributes;
  bool shares_input = false;  ///< input 0 is one tensor that all members read
};

/// Errors: kInvalidInput saying why `op` cannot be run with `strategy` for `width` members.
/// `shared_input` tells whether all members read input 0 from the same memory.
Result<FusedOp> fuse(const Model& model, const Op& op, Strategy strategy, int width, bool shared_input);

bool is_recurrent(const Op& op);
/// Whether the strategy runs members' ops as one launch of separate ones, on their own tensors, rather than as one op
/// on stacked ones: recurrent layers of a strided batch, too, since their products depend on each other step by step,
/// so that what is shared is the launch.
bool runs_as_group(const Op& op, Strategy strategy);

/// Shape of a constant operand (input `position` of `op`) joined over `width` members along its
/// first axis.
Result<Shape> fused_weight_shape(const Model& model, const Op& op, std::size_t position, StackForm form, int width);

}  // namespace cohort
