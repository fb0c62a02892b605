// The part of CudaSession that hands its memory to the host: inputs to fill, outputs and states.

#include "executor/cuda/session.hpp"
#include "executor/device_error.hpp"
#include "executor/program_check.hpp"
#include "executor/reference/tensor_ref.hpp"

namespace cohort::cuda {

std::span<float> CudaSession::input(std::size_t input_index, int slot) {
  const ProgramInput& input = program_->inputs[input_index];
  return {reinterpret_cast<float*>(parts_.memory->pinned(input.buffer, slot)),
          static_cast<std::size_t>(element_count(input.shape))};
}

Result<std::vector<float>> CudaSession::read_output(std::size_t output_index) {
  const View& view = program_->outputs[output_index].view;
  const ElementSpan span = element_span(view);
  std::vector<float> memory(static_cast<std::size_t>(span.end - span.begin));
  try {
    const auto* const from = reinterpret_cast<const float*>(parts_.memory->at(view.buffer, 0)) + span.begin;
    api_->copy_to_host(std::as_writable_bytes(std::span(memory)), reinterpret_cast<const std::byte*>(from));
  } catch (const DeviceError& error) {
    return fail(ErrorCode::kDeviceMissing, "output {}: {}", program_->outputs[output_index].name, error.what());
  }
  std::vector<float> values;
  values.reserve(static_cast<std::size_t>(element_count(view.shape)));
  reference::for_each_index<1>(view.shape, {view.strides},
                               [&](const auto& at) { values.push_back(memory[static_cast<std::size_t>(at[0])]); });
  return values;
}

Result<std::vector<float>> CudaSession::read_state(std::size_t state_index) {
  const ProgramState& state = program_->states[state_index];
  std::vector<float> values(static_cast<std::size_t>(element_count(state.view.shape)));
  try {
    api_->copy_to_host(std::as_writable_bytes(std::span(values)), state_memory(state));
  } catch (const DeviceError& error) {
    return fail(ErrorCode::kDeviceMissing, "state {}: {}", state.name, error.what());
  }
  return values;
}

Result<void> CudaSession::write_state(std::size_t state_index, std::span<const float> values) {
  const ProgramState& state = program_->states[state_index];
  COHORT_CHECK(check_state_values(state, values.size()));
  try {
    api_->copy_to_device(state_memory(state), std::as_bytes(values));
  } catch (const DeviceError& error) {
    return fail(ErrorCode::kDeviceMissing, "state {}: {}", state.name, error.what());
  }
  return {};
}

std::byte* CudaSession::state_memory(const ProgramState& state) const {
  return parts_.memory->at(state.view.buffer, 0) + state.view.offset * element_bytes(state.view.type);
}

}  // namespace cohort::cuda
