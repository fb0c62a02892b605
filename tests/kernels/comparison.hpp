#pragma once

#include <cstdint>
#include <initializer_list>
#include <vector>

#include "call_runner.hpp"
#include "views.hpp"

namespace cohort::testing {

/// The kernels under test, for ops of up to two threads; shared, because they cache.
const HostKernels& onednn();

/// Every alternative with each number of threads gives what the reference gives, within the
/// tolerance of the op's type. Fails the running test otherwise.
void expect_equals_reference(const CallRunner& runner, std::initializer_list<int> threads = {1, 2});

std::vector<std::int32_t> bits_of(const std::vector<float>& values);

/// Every alternative, of which none is the reference, gives the same bits as that.
void expect_loops_give_same_bits(const CallRunner& runner);

/// Whether the first choice is one of oneDNN's optimised implementations.
bool is_fast(const OpCall& call);

}  // namespace cohort::testing
