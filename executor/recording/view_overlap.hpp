#pragma once

#include "simulator/plan/program.hpp"

namespace cohort {

/// Whether two views of the same buffer may share an element. Exact for views cut from one dense
/// tensor along its dimensions (channel slices, members of a stack); errs towards true elsewhere.
bool may_overlap(const View& a, const View& b);

}  // namespace cohort
