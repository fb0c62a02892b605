#pragma once

#include <initializer_list>

#include "call_runner.hpp"
#include "views.hpp"

namespace cohort::testing {

/// The kernels under test, for ops of up to two threads; shared, because they cache.
const HostKernels& onednn();

/// Every alternative with each number of threads gives what the reference gives, within the
/// tolerance of the op's type. Fails the running test otherwise.
void expect_equals_reference(const CallRunner& runner, std::initializer_list<int> threads = {1, 2});

/// Whether the first choice is one of oneDNN's optimised implementations.
bool is_fast(const OpCall& call);

}  // namespace cohort::testing
