// What begins and ends a Program: inputs, conversions at the border of members, outputs, and memory.

#include <algorithm>
#include <map>

#include "simulator/plan/lowering.hpp"
#include "simulator/plan/memory_layout.hpp"
#include "simulator/plan/shared_input.hpp"
#include "simulator/plan/step_order.hpp"

namespace cohort {

Result<void> Lowering::check_streams() const {
  const std::optional<int> most = catalog_.most_streams();
  if (!most || plan_.streams <= *most) return {};
  return fail(ErrorCode::kInvalidInput, "streams must be at most {}, the device's number of cores, not {}", *most,
              plan_.streams);
}

Result<void> Lowering::check_multiprocessors() const {
  const int there = catalog_.multiprocessors();
  for (std::size_t i = 0; i < plan_.groups.size(); ++i) {
    const int asked = plan_.groups[i].multiprocessors;
    if (asked > 0 && there == 0)
      return fail(ErrorCode::kInvalidInput,
                  "groups[{}].multiprocessors: ops on this device cannot be told how many to use", i);
    if (asked > there)
      return fail(ErrorCode::kInvalidInput, "groups[{}].multiprocessors: {} asked for, the device has {}", i, asked,
                  there);
  }
  return {};
}

void Lowering::add_inputs() {
  std::map<SharedInput, std::size_t> shared;
  for (std::uint32_t m = 0; m < models_.size(); ++m) {
    for (std::size_t i = 0; i < models_[m]->inputs.size(); ++i) {
      const TensorId id = models_[m]->inputs[i];
      const Tensor& tensor = models_[m]->tensor(id);
      if (tensor.role == TensorRole::kSetting) continue;
      const bool share = plan_.input.sharing == InputSharing::kShared;
      const SharedInput key = shared_input(plan_, i, tensor);
      const auto found = shared.find(key);
      if (share && found != shared.end()) {
        ProgramInput& input = program_.inputs[found->second];
        input.members.push_back(static_cast<MemberId>(m));
        const View view{input.buffer, 0, tensor.shape, dense_strides(tensor.shape, plan_.layout), DataType::kFloat32};
        values_.set(static_cast<MemberId>(m), id, {view, {}});
        continue;
      }
      const std::string name = share ? tensor.name : fmt::format("{}/{}", m, tensor.name);
      const View view = values_.allocate(name, BufferKind::kInput, tensor.shape, DataType::kFloat32);
      shared[key] = program_.inputs.size();
      program_.inputs.push_back(
          {view.buffer, tensor.shape, {static_cast<MemberId>(m)}, name, tensor.element, tensor.role});
      values_.set(static_cast<MemberId>(m), id, {view, {}});
    }
  }
  add_settings();
}

/// Images must be large enough, once resized, for every input to be cut out of them.
Result<void> Lowering::check_images() const {
  const std::optional<int> resize = plan_.input.images.resize;
  if (plan_.input.source != InputSource::kFolder || !resize) return {};
  for (const ProgramInput& input : program_.inputs) {
    if (input.shape.size() != 4) continue;
    const std::int64_t least = std::max(input.shape[2], input.shape[3]);
    if (*resize < least)
      return fail(ErrorCode::kInvalidInput,
                  "input.resize: images of {} pixels do not hold the {} x {} (height x width) of input {}; at least {}",
                  *resize, input.shape[2], input.shape[3], input.name, least);
  }
  return {};
}

/// Inputs arrive in float32; where the plan stores another type, its ops read a copy, made once on the stream of
/// the first of them.
Result<void> Lowering::convert_inputs(std::span<const Launch> launches) {
  for (const ProgramInput& input : program_.inputs) {
    if (storage_of(plan_.precision) == DataType::kFloat32 || input.element != ElementType::kFloat32) continue;
    std::vector<MemberTensor> readers;
    for (const MemberId member : input.members) {
      for (const TensorId id : models_[to_index(member)]->inputs) {
        if (values_.of(member, id).view.buffer == input.buffer) readers.push_back({member, id});
      }
    }
    const auto first = std::find_if(launches.begin(), launches.end(), [&](const Launch& launch) {
      return std::find(launch.members.begin(), launch.members.end(), readers[0].member) != launch.members.end();
    });
    if (first == launches.end()) continue;
    const Value given = values_.of(readers[0].member, readers[0].tensor);
    const View converted = values_.allocate(fmt::format("{}:{}", input.name, to_string(plan_.precision)),
                                            BufferKind::kActivation, input.shape, storage_of(plan_.precision));
    const Context first_reader = context_of(*first);
    const Context context{first_reader.group, input.members, first_reader.stream};
    COHORT_TRY(const StepId step, copy(given, converted, readers[0], to_string(plan_.precision), context));
    for (const MemberTensor& reader : readers) values_.set(reader.member, reader.tensor, {converted, {step}});
  }
  return {};
}

Result<void> Lowering::add_outputs() {
  for (std::uint32_t m = 0; m < models_.size(); ++m) {
    for (const TensorId id : models_[m]->outputs) {
      const Tensor& tensor = models_[m]->tensor(id);
      if (tensor.role != TensorRole::kActivation)
        return fail(ErrorCode::kInvalidInput, "model {}: output {} is not computed by any op", models_[m]->name,
                    tensor.name);
      const auto member = static_cast<MemberId>(m);
      View view = values_.of(member, id).view;
      if (view.type != DataType::kFloat32) {
        COHORT_TRY(view, to_float32({member, id}));
      }
      program_.outputs.push_back({member, tensor.name, std::move(view), tensor.element});
    }
  }
  return {};
}

/// A copy of a result in float32, made on the stream that made it.
Result<View> Lowering::to_float32(const MemberTensor& what) {
  const Tensor& tensor = values_.tensor(what.member, what.tensor);
  const Value value = values_.of(what.member, what.tensor);
  const View to = values_.allocate(fmt::format("{}/{}:float32", to_index(what.member), tensor.name),
                                   BufferKind::kOutput, tensor.shape, DataType::kFloat32);
  const Step& maker = program_.step(value.producers.back());
  COHORT_CHECK(copy(value, to, what, "float32", {maker.group, {what.member}, maker.stream}).map([](StepId) {}));
  return to;
}

void Lowering::lay_out_memory() {
  StepOrder order(program_.steps.size());
  std::vector<Buffer>& buffers = values_.buffers();
  for (std::size_t i = 0; i < program_.steps.size(); ++i) {
    Step& step = program_.steps[i];
    step.dependencies = order.add(step.stream, needs_[i]);
    program_.memory.weights += step.own_weights();
    const auto use = [&](BufferId id) {
      std::vector<StepId>& users = buffers[to_index(id)].users;
      if (users.empty() || users.back() != static_cast<StepId>(i)) users.push_back(static_cast<StepId>(i));
    };
    for (const Operand& operand : step.call.inputs) {
      if (const View* view = std::get_if<View>(&operand)) use(view->buffer);
    }
    for (const View& view : step.call.outputs) use(view.buffer);
    if (step.workspace) use(*step.workspace);
  }
  const ArenaSize arena = lay_out(buffers, order);
  program_.arena = arena.total;
  program_.memory.activations = arena.activations;
  program_.memory.workspace = arena.total - arena.activations;
  count_states();
  for (const Buffer& buffer : buffers) {
    if (buffer.kind == BufferKind::kOutput) program_.memory.activations += buffer.size;
    if (buffer.kind == BufferKind::kInput) program_.memory.input += buffer.size * plan_.input.buffers;
  }
  program_.buffers = std::move(buffers);
}

Result<void> Lowering::check_limits() const {
  const MemoryUse& use = program_.memory;
  if (plan_.limits.workspace && use.workspace > *plan_.limits.workspace)
    return fail(ErrorCode::kDoesNotFit, "the plan's workspaces need {} together, limits.workspace_bytes is {}",
                format_bytes(use.workspace), format_bytes(*plan_.limits.workspace));
  if (plan_.limits.memory && use.total() > *plan_.limits.memory)
    return fail(ErrorCode::kDoesNotFit, "the plan needs {}, limits.memory_bytes is {}", memory_text(use),
                format_bytes(*plan_.limits.memory));
  return {};
}

}  // namespace cohort
