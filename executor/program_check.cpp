#include "executor/program_check.hpp"

#include <algorithm>

namespace cohort {
namespace {

constexpr std::int64_t kElement = sizeof(float);  // of inputs and outputs

Result<void> check_buffer(const Program& program, const Buffer& buffer) {
  if (buffer.size.value < 0) return fail(ErrorCode::kInvalidInput, "buffer \"{}\" has a negative size", buffer.name);
  if (!in_arena(buffer)) return {};
  if (buffer.offset.value < 0 || buffer.offset.value % kBufferAlignment.value != 0) {
    return fail(ErrorCode::kInvalidInput, "buffer \"{}\" begins at byte {} of the arena, not at a multiple of {}",
                buffer.name, buffer.offset.value, kBufferAlignment.value);
  }
  if (buffer.offset + buffer.size > program.arena) {
    return fail(ErrorCode::kInvalidInput, "buffer \"{}\" ends at byte {} of an arena of {} bytes", buffer.name,
                (buffer.offset + buffer.size).value, program.arena.value);
  }
  return {};
}

Result<void> check_view(const Program& program, std::string_view owner, const View& view) {
  if (to_index(view.buffer) >= program.buffers.size()) {
    return fail(ErrorCode::kInvalidInput, "{} uses buffer {}, but the program has {}", owner, to_index(view.buffer),
                program.buffers.size());
  }
  const Buffer& buffer = program.buffer(view.buffer);
  const bool negative = std::any_of(view.strides.begin(), view.strides.end(), [](auto stride) { return stride < 0; }) ||
                        std::any_of(view.shape.begin(), view.shape.end(), [](auto extent) { return extent < 0; });
  if (negative || view.offset < 0 || view.shape.size() != view.strides.size()) {
    return fail(ErrorCode::kInvalidInput, "{} sees buffer \"{}\" by an impossible view of shape {} and strides {}",
                owner, buffer.name, to_string(view.shape), to_string(view.strides));
  }
  const std::int64_t end = element_span(view).end * element_bytes(view.type);
  if (end > buffer.size.value) {
    return fail(ErrorCode::kInvalidInput, "{} reaches byte {} of buffer \"{}\", which has {} bytes", owner, end,
                buffer.name, buffer.size.value);
  }
  return {};
}

Result<void> check_step(const Program& program, std::size_t position) {
  const Step& step = program.steps[position];
  if (to_index(step.stream) >= static_cast<std::size_t>(program.streams)) {
    return fail(ErrorCode::kInvalidInput, "{} is on stream {}, but the program has {}", step.task,
                to_index(step.stream), program.streams);
  }
  for (const StepId dependency : step.dependencies) {
    if (to_index(dependency) >= position) {
      return fail(ErrorCode::kInvalidInput, "{} depends on step {}, which does not stand before it", step.task,
                  to_index(dependency));
    }
  }
  for (const Operand& operand : step.call.inputs) {
    if (const View* view = std::get_if<View>(&operand)) COHORT_CHECK(check_view(program, step.task, *view));
  }
  for (const View& view : step.call.outputs) COHORT_CHECK(check_view(program, step.task, view));
  if (step.workspace && to_index(*step.workspace) >= program.buffers.size()) {
    return fail(ErrorCode::kInvalidInput, "{} has workspace buffer {}, but the program has {}", step.task,
                to_index(*step.workspace), program.buffers.size());
  }
  if (step.same_kernel_as) {
    const std::size_t other = to_index(*step.same_kernel_as);
    if (other >= position || program.steps[other].same_kernel_as || program.steps[other].stream != step.stream)
      return fail(ErrorCode::kInvalidInput,
                  "{} runs the kernel of step {}, which is no earlier one of its stream with its own", step.task,
                  other);
  }
  return {};
}

}  // namespace

Result<void> check_program(const Program& program) {
  if (program.streams < 1 || program.input_buffers < 1) {
    return fail(ErrorCode::kInvalidInput, "a program needs at least one stream and one input buffer, not {} and {}",
                program.streams, program.input_buffers);
  }
  for (const Buffer& buffer : program.buffers) COHORT_CHECK(check_buffer(program, buffer));
  for (std::size_t i = 0; i < program.steps.size(); ++i) COHORT_CHECK(check_step(program, i));
  for (const ProgramInput& input : program.inputs) {
    if (to_index(input.buffer) >= program.buffers.size() || program.buffer(input.buffer).kind != BufferKind::kInput ||
        program.buffer(input.buffer).size.value < element_count(input.shape) * kElement) {
      return fail(ErrorCode::kInvalidInput, "input \"{}\" of shape {} has no input buffer of that size", input.name,
                  to_string(input.shape));
    }
  }
  for (const ProgramState& state : program.states) {
    COHORT_CHECK(check_view(program, state.name, state.view));
    if (program.buffer(state.view.buffer).kind != BufferKind::kState)
      return fail(ErrorCode::kInvalidInput, "state \"{}\" is not in a state's buffer", state.name);
  }
  for (const ProgramOutput& output : program.outputs) {
    COHORT_CHECK(check_view(program, output.name, output.view));
    if (output.view.type != DataType::kFloat32)
      return fail(ErrorCode::kInvalidInput, "output \"{}\" is {}, not float32", output.name,
                  to_string(output.view.type));
    const BufferKind kind = program.buffer(output.view.buffer).kind;
    if (kind != BufferKind::kOutput && kind != BufferKind::kState) {
      return fail(ErrorCode::kInvalidInput, "output \"{}\" is in memory that later steps overwrite", output.name);
    }
  }
  return {};
}

Result<std::vector<std::vector<float>>> gather_weights(const Step& step, std::span<const Weights* const> weights) {
  std::vector<std::vector<float>> gathered;
  for (const Operand& operand : step.call.inputs) {
    const WeightView* view = std::get_if<WeightView>(&operand);
    if (view == nullptr) continue;
    const auto expected = static_cast<std::size_t>(element_count(view->shape));
    std::vector<float> values;
    values.reserve(expected);
    for (const MemberTensor& part : view->parts) {
      const std::size_t member = to_index(part.member);
      if (member >= weights.size() || to_index(part.tensor) >= weights[member]->by_tensor.size() ||
          weights[member]->of(part.tensor) == nullptr) {
        return fail(ErrorCode::kInvalidInput, "{}: member {} has no values for weight tensor {}", step.task, member,
                    to_index(part.tensor));
      }
      const std::vector<float>& source = *weights[member]->of(part.tensor);
      values.insert(values.end(), source.begin(), source.end());
    }
    if (values.size() != expected) {
      return fail(ErrorCode::kInvalidInput, "{}: a weight of shape {} needs {} values and got {}", step.task,
                  to_string(view->shape), expected, values.size());
    }
    gathered.push_back(std::move(values));
  }
  return gathered;
}

Result<void> write_first_states(Session& session, const Program& program, std::span<const Weights* const> weights) {
  for (std::size_t i = 0; i < program.states.size(); ++i) {
    const ProgramState& state = program.states[i];
    const std::size_t member = to_index(state.member);
    static const std::vector<WeightValues> none;
    const bool is_given = member < weights.size() && weights[member] != nullptr;
    const std::vector<WeightValues>& values = is_given ? weights[member]->by_tensor : none;
    const std::size_t tensor = to_index(state.tensor);
    if (tensor >= values.size() || values[tensor] == nullptr)
      return fail(ErrorCode::kInvalidInput, "member {} has no first values for state {}", member, state.name);
    COHORT_CHECK(session.write_state(i, *values[tensor]));
  }
  return {};
}

Result<void> check_state_values(const ProgramState& state, std::size_t count) {
  const std::int64_t expected = element_count(state.view.shape);
  if (std::cmp_equal(count, expected)) return {};
  return fail(ErrorCode::kInvalidInput, "state {} of member {} has {} values, not {}", state.name,
              to_index(state.member), expected, count);
}

ElementSpan element_span(const View& view) {
  std::int64_t last = view.offset;
  for (std::size_t i = 0; i < view.shape.size(); ++i) {
    if (view.shape[i] == 0) return {};
    last += (view.shape[i] - 1) * view.strides[i];
  }
  return {view.offset, last + 1};
}

int instances_outside_arena(const Program& program, const Buffer& buffer) {
  if (buffer.kind == BufferKind::kInput) return program.input_buffers;
  return in_arena(buffer) ? 0 : 1;
}

Bytes memory_needed(const Program& program) {
  Bytes total = program.arena + program.memory.weights;
  for (const Buffer& buffer : program.buffers) total += buffer.size * instances_outside_arena(program, buffer);
  return total;
}

std::size_t members_that_fit(const Program& program, Bytes memory) {
  std::vector<Bytes> own(program.member_count);
  for (const Step& step : program.steps) {
    const auto count = static_cast<std::int64_t>(std::max<std::size_t>(step.members.size(), 1));
    for (const MemberId member : step.members) own[to_index(member)] += Bytes{step.own_weights().value / count};
  }
  for (const ProgramInput& input : program.inputs) {
    if (input.members.size() == 1)
      own[to_index(input.members[0])] += program.buffer(input.buffer).size * program.input_buffers;
  }
  for (const ProgramState& state : program.states)
    own[to_index(state.member)] += Bytes{element_count(state.view.shape) * element_bytes(state.view.type)};
  for (const ProgramOutput& output : program.outputs) {
    const Buffer& buffer = program.buffer(output.view.buffer);
    const bool dense = element_count(output.view.shape) * element_bytes(output.view.type) == buffer.size.value;
    if (dense && buffer.kind == BufferKind::kOutput) own[to_index(output.member)] += buffer.size;
  }
  Bytes needed = memory_needed(program);
  std::size_t count = program.member_count;
  while (count > 0 && needed > memory) needed = needed - own[--count];
  return count;
}

Result<void> check_fits(const Program& program, Bytes memory) {
  const Bytes total = memory_needed(program);
  if (memory.value == 0 || total <= memory) return {};
  return fail(ErrorCode::kDoesNotFit, "the model batch needs {} ({}), the device has {}", format_bytes(total),
              memory_parts(program.memory), format_bytes(memory));
}

}  // namespace cohort
