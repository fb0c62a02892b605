#pragma once

#include <memory>
#include <vector>

#include "executor/host/kernel.hpp"
#include "tests/kernels/views.hpp"

namespace cohort::testing {

/// Cohort's own CUDA kernels, their bodies run on the host.
std::unique_ptr<HostKernels> make_own_kernels_on_host(DataType type = DataType::kFloat32);

/// Own kernels compute what the reference does, on made-up values in [low, high). Fails the running test otherwise.
void expect_equals_reference(const OpCall& call, float low = -1, float high = 1);

/// Of calls that are float32 alone, on the runner's values.
void expect_equals_reference_in_float32(const CallRunner& runner);

/// The same to the bit, on inputs that every type holds exactly; for results that are whole numbers, or that are moved.
void expect_same_bits(const CallRunner& runner);

/// Elements that are whole numbers by their bits.
std::vector<std::int32_t> as_whole_numbers(const std::vector<float>& elements);

/// The call with its output dense in `layout`, in buffer 9, its shape inferred. The first `own` inputs are the
/// op's own; 0: all.
OpCall call_of(OpAttributes attributes, std::vector<Operand> inputs, std::vector<PostOp> post_ops = {},
               Layout layout = Layout::kNhwc, std::size_t own = 0);

}  // namespace cohort::testing
