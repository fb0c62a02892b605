#pragma once

#include <vector>

#include "base/units.hpp"
#include "simulator/plan/program.hpp"
#include "simulator/plan/step_order.hpp"

namespace cohort {

struct ArenaSize {
  Bytes activations;  ///< what activations alone need
  Bytes total;        ///< with workspaces
};

/// Gives every activation and workspace its offset in the arena. Two buffers share bytes only where `order` has all
/// users of one before all users of the other. Greedy by size (Pisarchyk & Lee, arXiv:2001.03288), activations first,
/// which tells how much workspaces add. Offsets are multiples of 64 bytes.
ArenaSize lay_out(std::vector<Buffer>& buffers, const StepOrder& order);

}  // namespace cohort
