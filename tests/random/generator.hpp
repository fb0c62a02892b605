#pragma once

#include <cstdint>

#include "models/model.hpp"

namespace cohort {

/// A small model of ops, shapes and attributes drawn from `seed`, with weights. Its functions are
/// continuous, so that devices may differ by rounding and their results still agree.
LoadedModel random_model(std::uint64_t seed);

}  // namespace cohort
