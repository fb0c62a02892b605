#pragma once

#include <span>

#include "base/result.hpp"
#include "executor/backend.hpp"
#include "models/model.hpp"
#include "simulator/plan/program.hpp"

namespace cohort {

/// Checks everything that running a Program relies on, so that a wrong one cannot access memory it does not own: ids in
/// range, steps after their dependencies, every view inside its buffer, every arena buffer inside the arena and aligned
/// to kBufferAlignment.
/// Errors: kInvalidInput naming the step or buffer.
Result<void> check_program(const Program& program);

/// Where arena buffers may begin.
inline constexpr Bytes kBufferAlignment{64};

/// Dense values of the WeightViews among the inputs of `step`, in their order. `weights` has one
/// entry per member.
/// Errors: kInvalidInput naming the step where a tensor has no values or not as many as its shape.
Result<std::vector<std::vector<float>>> gather_weights(const Step& step, std::span<const Weights* const> weights);

/// Gives each state its member's Weights.
/// Errors: kInvalidInput naming the state that has none, or as many as its shape does not say.
Result<void> write_first_states(Session& session, const Program& program, std::span<const Weights* const> weights);
/// Errors: kInvalidInput unless a state has so many elements.
Result<void> check_state_values(const ProgramState& state, std::size_t count);

/// Elements from the view's first to one past its last, in its buffer; both zero where it is empty.
struct ElementSpan {
  std::int64_t begin = 0;
  std::int64_t end = 0;
};
ElementSpan element_span(const View& view);

/// How many times a buffer exists outside the arena: inputs once per minibatch in flight, outputs and states once.
int instances_outside_arena(const Program& program, const Buffer& buffer);

/// Memory a device needs to hold the Program: weights, arena, inputs and outputs.
Bytes memory_needed(const Program& program);

/// A number of the Program's first members that certainly fits `memory`: leaving out a member frees its own weights,
/// outputs and unshared inputs; the arena keeps its size for all.
std::size_t members_that_fit(const Program& program, Bytes memory);

/// Errors: kDoesNotFit where `memory` is less than what is needed; zero memory means not known.
Result<void> check_fits(const Program& program, Bytes memory);

/// The stream that carries input to the device beside the Program's own.
inline StreamId upload_stream(const Program& program) {
  return static_cast<StreamId>(static_cast<std::uint32_t>(program.streams));
}

}  // namespace cohort
