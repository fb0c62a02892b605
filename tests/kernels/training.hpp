#pragma once

#include "comparison.hpp"

namespace cohort::testing {

/// Whether our own loops or one of oneDNN's optimised implementations is the first choice, with one and two threads.
void expect_fast(const OpCall& call);

}  // namespace cohort::testing
