#pragma once

#include <span>
#include <string_view>

#include "base/result.hpp"
#include "models/model.hpp"
#include "simulator/plan/plan.hpp"
#include "simulator/plan/values.hpp"

namespace cohort {

/// One op computed for several members by one call: the call's attributes and constants, and how its tensors are
/// stacked. Rules as in HFTA (Wang et al., MLSys 2021).
struct FusedOp {
  StackForm form{};
  OpAttributes attributes;
  bool shares_input = false;  ///< input 0 is one tensor that all members read
};

/// Errors: kInvalidInput saying why `strategy` cannot run `op` for `width` members. `shared_input` tells whether all
/// members read input 0 from the same memory.
Result<FusedOp> fuse(const Model& model, const Op& op, Strategy strategy, int width, bool shared_input);

/// Whether fuse() can, and its constants can be joined (fused_weight_shape()).
bool can_fuse(const Model& model, const Op& op, Strategy strategy, int width, bool shared_input);

/// Whether the op's own inputs behind the first are constants.
bool has_constant_parameters(const Model& model, const Op& op);

/// How input `position`, unless constant, and the result of an op that is fused in `form` are stacked: by model for
/// parameters of convolutions and their gradients, whatever the form.
StackForm operand_form(const Op& op, StackForm form, std::size_t position);
StackForm result_form(const Op& op, StackForm form);

bool is_recurrent(const Op& op);
/// Whether the strategy launches the members' ops together, each on its own tensors, instead of running one op on
/// stacked tensors. This includes recurrent layers of a strided batch: their products depend on each other step by
/// step, so only the launch is shared.
bool runs_as_group(const Op& op, Strategy strategy);

/// Shape of a constant operand (input `position` of `op`) joined over `width` members along its
/// first axis.
Result<Shape> fused_weight_shape(const Model& model, const Op& op, std::size_t position, StackForm form, int width);

}  // namespace cohort
