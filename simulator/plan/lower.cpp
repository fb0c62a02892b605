#include "simulator/plan/lower.hpp"

#include <algorithm>
#include <set>

#include "simulator/plan/lowering.hpp"
#include "simulator/plan/shared_kernels.hpp"
#include "simulator/plan/tensor_layout.hpp"

namespace cohort {
namespace {

/// The form a fused call's cost is recorded under: what decides it is whether the input is shared, and
/// pooling over stacked channels costs the same whichever convolution stacked them.
Strategy cost_form(const Op& op, const FusedOp& fused, Strategy strategy) {
  if (fused.shares_input) return Strategy::kDenseConvolution;
  const bool convolution = std::holds_alternative<Convolution>(op.attributes);
  return fused.form == StackForm::kChannels && !convolution ? Strategy::kGroupedConvolution : strategy;
}

/// "Copy [2, 3]", "Copy [2, 3] out of a stack of 16", "Copy [2, 3] in bfloat16", "Copy [2, 3] to bfloat16". The bytes
/// that a copy moves say little of one in or out of a stack: rows that are short and far apart each take a cache line.
std::string copy_signature(const View& from, const View& to) {
  std::string text = fmt::format("{}{}", kCopyPrefix, to_string(from.shape));
  if (const std::int64_t parts = stack_parts(from); parts > 1) text += fmt::format(" out of{}{}", kStackOf, parts);
  if (const std::int64_t parts = stack_parts(to); parts > 1) text += fmt::format(" into{}{}", kStackOf, parts);
  if (from.type == to.type)
    return to.type == DataType::kFloat32 ? text : fmt::format("{} in {}", text, to_string(to.type));
  return to.type == DataType::kFloat32 ? fmt::format("{} from {}", text, to_string(from.type))
                                       : fmt::format("{} to {}", text, to_string(to.type));
}

/// What is trained lies in float32, beside which the ops of a step can round no other operands.
Result<void> check_training_precision(Precision precision, std::span<const Model* const> models) {
  if (storage_of(precision) == DataType::kFloat32) return {};
  for (const Model* model : models) {
    for (const Tensor& tensor : model->tensors) {
      if (tensor.role != TensorRole::kState) continue;
      return fail(ErrorCode::kInvalidInput,
                  "precision: {} has parameters that are trained, which is done in float32 or tf32, not in {}",
                  model->name, to_string(precision));
    }
  }
  return {};
}

}  // namespace

Result<Program> Lowering::run() {
  COHORT_CHECK(check_precision(plan_.precision, catalog_.precisions()));
  COHORT_CHECK(check_training_precision(plan_.precision, models_));
  COHORT_CHECK(check_streams());
  COHORT_CHECK(check_multiprocessors());
  COHORT_TRY(const auto launches, order_launches(plan_, models_));
  program_.streams = plan_.streams;
  program_.launch_threads = plan_.launch_threads;
  program_.input_buffers = plan_.input.buffers;
  program_.layout = plan_.layout;
  program_.precision = plan_.precision;
  program_.launch = plan_.launch;
  program_.member_count = models_.size();
  steps_of_group_.resize(plan_.groups.size());
  const std::size_t expected = launches.size() + launches.size() / 4;  // steps: launches, and a few copies
  program_.steps.reserve(expected);
  needs_.reserve(expected);
  tasks_.reserve(expected);
  add_inputs();
  add_states();
  COHORT_CHECK(check_images());
  COHORT_CHECK(convert_inputs(launches));
  place_packs(launches);
  reserve_stacks(launches);
  for (const Launch& launch : launches)
    COHORT_CHECK(launch.members.size() == 1 ? lower_single(launch)
                 : is_grouped(launch)       ? lower_grouped(launch)
                                            : lower_fused(launch));
  COHORT_CHECK(add_outputs());
  if (catalog_.shares_kernels()) share_kernels(program_, models_);
  lay_out_memory();
  COHORT_CHECK(check_limits());
  return std::move(program_);
}

// ---- Launches

/// A tensor that a strided batch will read is written into its place in the batch from the start.
void Lowering::reserve_stacks(std::span<const Launch> launches) {
  std::set<std::pair<MemberId, TensorId>> single_outputs;
  for (const Launch& launch : launches) {
    const bool apart = launch.members.size() == 1 || is_grouped(launch);
    const bool packs = std::holds_alternative<Pack>(op_of(launch, 0).attributes);
    if (!apart && !packs && plan_.groups[launch.group].strategy == Strategy::kStridedBatch) {
      for (std::size_t i = 0; i < op_of(launch, 0).inputs.size(); ++i) {
        const StackKey key = key_of(launch, StackForm::kModels, i, false);
        const bool all_single = std::all_of(key.parts.begin(), key.parts.end(), [&](const MemberTensor& part) {
          const std::pair what(part.member, part.tensor);
          return single_outputs.contains(what) && !reserved_.contains(what) && !placed_.contains(what) &&
                 !packs_.contains(what);
        });
        if (!all_single) continue;
        for (const MemberTensor& part : key.parts) reserved_[{part.member, part.tensor}] = key;
      }
    }
    // What is unpacked is a view, which needs no other place.
    const bool unpacks = std::holds_alternative<Unpack>(op_of(launch, 0).attributes);
    for (std::size_t i = 0; apart && !unpacks && i < launch.members.size(); ++i) {
      for (const TensorId out : op_of(launch, i).outputs) single_outputs.insert({launch.members[i], out});
    }
  }
}

Result<void> Lowering::lower_single(const Launch& launch) {
  const MemberId member = launch.members[0];
  const Op& op = op_of(launch, 0);
  if (alias_result(member, op)) return {};
  const Context context = context_of(launch);
  std::vector<StepId> needs;
  COHORT_TRY(OpCall call, member_call(member, op, context, needs));
  COHORT_TRY(const StepId step, add_step(std::move(call), op.name, context, std::move(needs)));
  set_results(member, op, program_.step(step).call.outputs, step);
  return {};
}

/// An op of one member on that member's own tensors; `needs` gets the steps that make them.
Result<OpCall> Lowering::member_call(MemberId member, const Op& op, const Context& context,
                                     std::vector<StepId>& needs) {
  const Model& model = *models_[to_index(member)];
  OpCall call;
  call.attributes = op.attributes;
  call.post_ops = op.post_ops;
  call.signature = signature(model, op);
  call.precision = plan_.precision;
  for (const TensorId in : op.inputs) {
    if (model.tensor(in).role == TensorRole::kWeight) {
      call.inputs.emplace_back(WeightView{{{member, in}}, model.tensor(in).shape, values_.type_of(model.tensor(in))});
      continue;
    }
    const Value& value = values_.of(member, in);
    call.inputs.emplace_back(value.view);
    needs.insert(needs.end(), value.producers.begin(), value.producers.end());
  }
  for (const TensorId out : op.outputs)
    call.outputs.push_back(updates_state(op) ? std::get<View>(call.inputs[0]) : allocate_output(member, out));
  COHORT_CHECK(make_dense(member, op, context, call, needs));
  write_transposed(member, op, call);
  return call;
}

void Lowering::set_results(MemberId member, const Op& op, const std::vector<View>& outputs, StepId step) {
  for (std::size_t i = 0; i < outputs.size(); ++i) {
    values_.set(member, op.outputs[i], {outputs[i], {step}});
    if (const auto found = reserved_.find({member, op.outputs[i]}); found != reserved_.end())
      values_.find_stack(found->second)->producers.push_back(step);
  }
}

Result<void> Lowering::lower_fused(const Launch& launch) {
  const Model& model = *models_[to_index(launch.members[0])];
  const Op& op = op_of(launch, 0);
  if (std::holds_alternative<Pack>(op.attributes) || std::holds_alternative<Unpack>(op.attributes))
    return lower_apart(launch);
  const Strategy strategy = plan_.groups[launch.group].strategy;
  const int width = static_cast<int>(launch.members.size());
  COHORT_TRY(const FusedOp fused, fuse(model, op, strategy, width, shares_input(launch)));
  const Context context = context_of(launch);

  OpCall call;
  call.attributes = fused.attributes;
  call.post_ops = op.post_ops;
  call.signature = signature(model, op);
  call.strategy = cost_form(op, fused, strategy);
  call.width = width;
  call.precision = plan_.precision;
  std::vector<StepId> needs;
  std::vector<std::size_t> strided;
  for (std::size_t i = 0; i < op.inputs.size(); ++i) {
    COHORT_TRY(const bool is_strided, add_fused_input(launch, fused, i, call, needs));
    if (is_strided) strided.push_back(i);
  }
  const StackKey out_key = key_of(launch, result_form(op, fused.form), 0, true);
  if (std::holds_alternative<Reshape>(op.attributes) &&
      alias_fused_reshape(launch, key_of(launch, fused.form, 0, false), out_key))
    return {};
  call.outputs.push_back(fused_output(launch, out_key, call));
  COHORT_CHECK(stack_strided(launch, fused, strided, call, needs));
  COHORT_TRY(const StepId step, add_step(std::move(call), op.name, context, std::move(needs)));
  Value& whole = *values_.find_stack(out_key);
  whole.producers = {step};
  set_slices(out_key, whole);
  return {};
}

// ---- Operands

/// Input `position` of a fused op: constants joined, what all members share seen once, other tensors stacked. Returns
/// whether they are read at equal steps from where none lies dense.
Result<bool> Lowering::add_fused_input(const Launch& launch, const FusedOp& fused, std::size_t position, OpCall& call,
                                       std::vector<StepId>& needs) {
  const Model& model = *models_[to_index(launch.members[0])];
  const Op& op = op_of(launch, 0);
  const int width = static_cast<int>(launch.members.size());
  const StackKey key = key_of(launch, operand_form(op, fused.form, position), position, false);
  if (model.tensor(op.inputs[position]).role == TensorRole::kWeight) {
    COHORT_TRY(auto shape, fused_weight_shape(model, op, position, fused.form, width));
    call.inputs.emplace_back(
        WeightView{key.parts, std::move(shape), values_.type_of(model.tensor(op.inputs[position]))});
    return false;
  }
  bool is_strided = false;
  Value whole;
  if (position == 0 && fused.shares_input) {
    whole = values_.of(launch.members[0], op.inputs[0]);
    if (fused.form == StackForm::kModels) {
      whole.view.shape.insert(whole.view.shape.begin(), width);
      whole.view.strides.insert(whole.view.strides.begin(), 0);
    }
  } else if (std::optional<Value> there = in_steps(key)) {
    whole = *std::move(there);
    const MemberTensor& part = key.parts[0];
    is_strided = !is_dense(values_.of(part.member, part.tensor).view, values_.layout_of(part.member, part.tensor));
  } else {
    COHORT_TRY(whole, stacked(key, context_of(launch)));
  }
  call.inputs.emplace_back(whole.view);
  needs.insert(needs.end(), whole.producers.begin(), whole.producers.end());
  return is_strided;
}

/// Copies such inputs together where the device cannot read them as they are: products read no rows of what
/// convolutions have left side by side as channels.
Result<void> Lowering::stack_strided(const Launch& launch, const FusedOp& fused,
                                     const std::vector<std::size_t>& strided, OpCall& call,
                                     std::vector<StepId>& needs) {
  if (strided.empty() || catalog_.accepts_strides(call)) return {};
  const Op& op = op_of(launch, 0);
  for (const std::size_t position : strided) {
    const StackKey key = key_of(launch, operand_form(op, fused.form, position), position, false);
    COHORT_TRY(const Value whole, stacked(key, context_of(launch)));
    call.inputs[position] = whole.view;
    needs.insert(needs.end(), whole.producers.begin(), whole.producers.end());
  }
  return {};
}

/// Where a fused op's result goes: the state that it updates, its members' places in packs, or a new stack.
View Lowering::fused_output(const Launch& launch, const StackKey& key, const OpCall& call) {
  if (updates_state(op_of(launch, 0))) {
    View whole = std::get<View>(call.inputs[0]);
    values_.add_stack(key, {whole, {}});
    return whole;
  }
  const bool all_placed = std::all_of(key.parts.begin(), key.parts.end(), [&](const MemberTensor& part) {
    return placed_.contains({part.member, part.tensor});
  });
  if (all_placed) {
    for (const MemberTensor& part : key.parts)
      values_.set(part.member, part.tensor, {placed_.at({part.member, part.tensor}), {}});
    if (std::optional<Value> there = in_steps(key)) {
      values_.add_stack(key, {there->view, {}});
      return there->view;
    }
  }
  for (const MemberTensor& part : key.parts) placed_.erase({part.member, part.tensor});
  return values_.make_stack(key).view;
}

/// The members' tensors as one, where they lie at equal steps in one buffer already: parameters of states, gradients in
/// packs. Whatever is one and the same for all members has a step of zero.
std::optional<Value> Lowering::in_steps(const StackKey& key) const {
  if (key.form != StackForm::kModels || key.parts.size() < 2 || values_.has_stack(key)) return std::nullopt;
  Value whole = values_.of(key.parts[0].member, key.parts[0].tensor);
  const View first = whole.view;
  const std::int64_t step = values_.of(key.parts[1].member, key.parts[1].tensor).view.offset - first.offset;
  for (std::size_t i = 1; i < key.parts.size(); ++i) {
    const Value& part = values_.of(key.parts[i].member, key.parts[i].tensor);
    View expected = first;
    expected.offset += static_cast<std::int64_t>(i) * step;
    if (part.view != expected || step < 0) return std::nullopt;
    if (step > 0) whole.producers.insert(whole.producers.end(), part.producers.begin(), part.producers.end());
  }
  whole.view.shape.insert(whole.view.shape.begin(), static_cast<std::int64_t>(key.parts.size()));
  whole.view.strides.insert(whole.view.strides.begin(), step);
  return whole;
}

/// Copies strided inputs to dense ones where the device cannot read them as they are.
Result<void> Lowering::make_dense(MemberId member, const Op& op, const Context& context, OpCall& call,
                                  std::vector<StepId>& needs) {
  std::vector<std::size_t> strided;
  for (std::size_t i = 0; i < call.inputs.size(); ++i) {
    const View* view = std::get_if<View>(&call.inputs[i]);
    if (view != nullptr && !is_dense(*view, values_.layout_of(member, op.inputs[i]))) strided.push_back(i);
  }
  if (strided.empty() || catalog_.accepts_strides(call)) return {};
  for (const std::size_t i : strided) {
    const MemberTensor what{member, op.inputs[i]};
    auto found = dense_copies_.find({member, op.inputs[i]});
    if (found == dense_copies_.end()) {
      const std::string& name = values_.tensor(member, op.inputs[i]).name;
      const View dense =
          values_.allocate(fmt::format("{}/{}:split", to_index(member), name), BufferKind::kActivation, what);
      const Context own{context.group, {member}, context.stream, context.phase};
      COHORT_TRY(const StepId step, copy(values_.of(member, op.inputs[i]), dense, what, "split", own));
      found = dense_copies_.emplace(std::pair(member, op.inputs[i]), Value{dense, {step}}).first;
    }
    call.inputs[i] = found->second.view;
    needs.insert(needs.end(), found->second.producers.begin(), found->second.producers.end());
  }
  return {};
}

View Lowering::allocate_output(MemberId member, TensorId tensor) {
  if (const auto placed = placed_.find({member, tensor}); placed != placed_.end()) return placed->second;
  if (const auto found = reserved_.find({member, tensor}); found != reserved_.end()) {
    const StackKey& key = found->second;
    const Value* stack = values_.find_stack(key);
    if (stack == nullptr) stack = &values_.make_stack(key);
    const auto part = std::find(key.parts.begin(), key.parts.end(), MemberTensor{member, tensor});
    return values_.slice(key, stack->view, static_cast<std::size_t>(part - key.parts.begin()));
  }
  const Tensor& what = values_.tensor(member, tensor);
  const BufferKind kind = values_.is_output(member, tensor) ? BufferKind::kOutput : BufferKind::kActivation;
  return values_.allocate(fmt::format("{}/{}", to_index(member), what.name), kind, MemberTensor{member, tensor});
}

/// The stack of `key`, copied together where nothing has made it yet.
Result<Value> Lowering::stacked(const StackKey& key, const Context& context) {
  if (const Value* found = values_.find_stack(key)) return *found;
  values_.make_stack(key);
  for (std::size_t i = 0; i < key.parts.size(); ++i) {
    const MemberTensor& part = key.parts[i];
    const View to = values_.slice(key, values_.find_stack(key)->view, i);
    const Context own{context.group, {part.member}, context.stream, context.phase};
    COHORT_TRY(const StepId step, copy(values_.of(part.member, part.tensor), to, part, "stack", own));
    values_.find_stack(key)->producers.push_back(step);
  }
  // The copies hold what the members' tensors hold, but those stay where they are.
  return *values_.find_stack(key);
}

Result<StepId> Lowering::copy(const Value& from, const View& to, const MemberTensor& what, std::string_view why,
                              const Context& context) {
  const Tensor& tensor = values_.tensor(what.member, what.tensor);
  OpCall call;
  call.attributes = Reshape{};
  call.inputs = {from.view};
  call.outputs = {to};
  call.signature = copy_signature(from.view, to);
  call.precision = plan_.precision;
  return add_step(call, fmt::format("{}:{}", tensor.name, why), context, from.producers);
}

bool Lowering::shares_input(const Launch& launch) const {
  const Op& first = op_of(launch, 0);
  if (models_[to_index(launch.members[0])]->tensor(first.inputs[0]).role == TensorRole::kWeight) return false;
  const View& view = values_.of(launch.members[0], first.inputs[0]).view;
  for (std::size_t i = 1; i < launch.members.size(); ++i) {
    if (values_.of(launch.members[i], op_of(launch, i).inputs[0]).view != view) return false;
  }
  return true;
}

void Lowering::set_slices(const StackKey& key, const Value& whole) {
  for (std::size_t i = 0; i < key.parts.size(); ++i)
    values_.set(key.parts[i].member, key.parts[i].tensor, {values_.slice(key, whole.view, i), whole.producers});
}

// ---- Steps

Context Lowering::context_of(const Launch& launch) const {
  const Group& group = plan_.groups[launch.group];
  std::uint32_t stream = 0;
  if (group.strategy == Strategy::kConcurrent) {
    const auto at =
        std::find(group.members.begin(), group.members.end(), static_cast<std::uint32_t>(to_index(launch.members[0])));
    const auto position = static_cast<std::size_t>(at - group.members.begin());
    if (!group.streams.empty()) {
      stream = group.streams[position];
    } else if (group.op_streams.empty()) {
      stream = stream_in_blocks(position, group.members.size(), plan_.streams);
    }
    if (!group.op_streams.empty()) stream += group.op_streams[launch.position];
  } else if (!group.streams.empty()) {
    stream = group.streams.front();
  }
  return {launch.group, launch.members, static_cast<StreamId>(stream), op_of(launch, 0).phase};
}

/// Order beyond data: `after`, and steps that use several cores having the device to themselves
/// (threads of one op that meet at a barrier all wait for the one that was held up).
void Lowering::add_ordering_needs(const Step& step, std::vector<StepId>& needs) {
  order_updates(step, needs);
  for (const std::string& name : plan_.groups[step.group].after) {
    for (std::size_t g = 0; g < plan_.groups.size(); ++g) {
      if (plan_.groups[g].name == name) needs.insert(needs.end(), steps_of_group_[g].begin(), steps_of_group_[g].end());
    }
  }
  if (step.cost.threads > 1) {
    for (const auto& [stream, last] : last_on_stream_) needs.push_back(last);
  } else if (last_wide_) {
    needs.push_back(*last_wide_);
  }
}

Result<StepId> Lowering::add_step(OpCall call, std::string op, const Context& context, std::vector<StepId> needs) {
  Step step;
  const std::string task = member_ranges(context.members) + '/' + op;
  step.task = task;
  for (int copy_number = 2; !tasks_.insert(step.task).second; ++copy_number)
    step.task = fmt::format("{}#{}", task, copy_number);
  call.multiprocessors = plan_.groups[context.group].multiprocessors;
  COHORT_TRY(const Alternative* const chosen, picker_.pick(call, step.task, context.group));
  step.op = std::move(op);
  step.phase = context.phase;
  step.members = context.members;
  step.group = context.group;
  step.stream = context.stream;
  step.cost = {signature_for(chosen->multiprocessors, call.signature),
               call.strategy,
               call.width,
               chosen->threads,
               chosen->algorithm,
               chosen->alone};
  step.call = std::move(call);
  step.packed_weights = chosen->packed_weights;
  const auto id = static_cast<StepId>(program_.steps.size());
  if (chosen->workspace.value > 0)
    step.workspace = values_.allocate_workspace(step.task + ":workspace", chosen->workspace);
  add_ordering_needs(step, needs);

  steps_of_group_[step.group].push_back(id);
  last_on_stream_[step.stream] = id;
  if (step.cost.threads > 1) last_wide_ = id;
  program_.steps.push_back(std::move(step));
  needs_.push_back(std::move(needs));
  return id;
}

const std::string& Lowering::signature(const Model& model, const Op& op) {
  std::string& text = signatures_[&op];
  if (text.empty()) text = signature_in(plan_.precision, signature_of(model, op));
  return text;
}

std::size_t first_alternative(const CostKey& /*key*/, std::span<const Alternative> /*alternatives*/) { return 0; }

Result<Program> lower(const Plan& plan, std::span<const Model* const> models, const OpCatalog& catalog,
                      const ChooseAlternative& choose) {
  COHORT_CHECK(validate(plan));
  if (models.size() != plan.members.size())
    return fail(ErrorCode::kInvalidInput, "members: {} models given for {} members", models.size(),
                plan.members.size());
  return Lowering(plan, models, catalog, choose).run();
}

Resolved resolve(const Plan& plan, const Program& program, const std::string& device_name) {
  Resolved resolved{device_name,
                    fingerprint(plan),
                    program.memory.weights + program.memory.parameters + program.memory.optimizer,
                    program.memory.activations,
                    program.memory.workspace,
                    program.memory.input,
                    {}};
  for (const Step& step : program.steps) {
    const Bytes workspace = step.workspace ? program.buffer(*step.workspace).size : Bytes{};
    resolved.steps.push_back({step.task, step.cost.algorithm, step.cost.threads, workspace});
  }
  return resolved;
}

}  // namespace cohort
