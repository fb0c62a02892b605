#pragma once

#include "call_runner.hpp"

namespace cohort::testing {

/// The kernels under test, for ops of up to two threads; shared, because they cache.
const HostKernels& onednn();

/// Every alternative with one and with two threads gives what the reference gives, within the
/// tolerance of the op's type. Fails the running test otherwise.
void expect_equals_reference(const CallRunner& runner);

/// Whether the first choice is one of oneDNN's optimised implementations.
bool is_fast(const OpCall& call);

/// The call with its one output dense in NHWC, in buffer `output`, its shape inferred.
OpCall with_output(OpAttributes attributes, std::vector<Operand> inputs, std::uint32_t output,
                   std::vector<PostOp> post_ops = {});

Window square_window(std::int64_t kernel, std::int64_t stride, std::int64_t pad, std::int64_t dilation = 1);

}  // namespace cohort::testing
