#pragma once

#include <cstddef>

#include "simulator/plan/program.hpp"

namespace cohort {

/// Whether two calls are one but for the buffers that their operands lie in: every device runs both in the same ways.
/// Neither may be of several parts.
bool same_form(const OpCall& a, const OpCall& b);

/// The same for calls of the same form.
std::size_t hash_of_form(const OpCall& call);

}  // namespace cohort
