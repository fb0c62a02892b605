// What a training step has beside: states, which live across steps, and parameters' gradients side by side.

#include <algorithm>
#include <numeric>
#include <set>

#include "simulator/plan/lowering.hpp"
#include "simulator/plan/tensor_layout.hpp"

namespace cohort {
namespace {

/// First and last element of a view, dense or not.
std::pair<std::int64_t, std::int64_t> span_of(const View& view) {
  std::int64_t last = view.offset;
  for (std::size_t i = 0; i < view.shape.size(); ++i) last += (view.shape[i] - 1) * view.strides[i];
  return {view.offset, last};
}

bool may_meet(const View& a, const View& b) {
  const auto [a_first, a_last] = span_of(a);
  const auto [b_first, b_last] = span_of(b);
  return a_first <= b_last && b_first <= a_last;
}

/// Whether a pack's parts fill it from end to end.
bool has_no_gaps(const Model& model, const Op& op) {
  const Pack& pack = std::get<Pack>(op.attributes);
  std::int64_t next = 0;
  for (std::size_t i = 0; i < op.inputs.size(); ++i) {
    if (pack.offsets[i] != next) return false;
    next += element_count(model.tensor(op.inputs[i]).shape);
  }
  return next == pack.size;
}

}  // namespace

/// One input for equal settings of all members, a row each.
void Lowering::add_settings() {
  using Key = std::tuple<std::string, Shape, ElementType>;
  std::map<Key, std::vector<MemberTensor>> readers;
  std::vector<Key> order;
  for (std::uint32_t m = 0; m < models_.size(); ++m) {
    for (const TensorId id : models_[m]->inputs) {
      const Tensor& tensor = models_[m]->tensor(id);
      if (tensor.role != TensorRole::kSetting) continue;
      const Key key(tensor.name, tensor.shape, tensor.element);
      if (readers[key].empty()) order.push_back(key);
      readers[key].push_back({static_cast<MemberId>(m), id});
    }
  }
  for (const Key& key : order) {
    const auto& [name, shape, element] = key;
    Shape all = shape;
    all.insert(all.begin(), static_cast<std::int64_t>(readers[key].size()));
    const View whole = values_.allocate(name, BufferKind::kInput, all, DataType::kFloat32);
    ProgramInput input{whole.buffer, all, {}, name, element, TensorRole::kSetting};
    for (const MemberTensor& reader : readers[key]) {
      const auto row = static_cast<std::int64_t>(input.members.size());
      const View view{whole.buffer, row * element_count(shape), shape, dense_strides(shape, Layout::kNchw),
                      DataType::kFloat32};
      values_.set(reader.member, reader.tensor, {view, {}});
      input.members.push_back(reader.member);
    }
    program_.inputs.push_back(std::move(input));
  }
}

/// Equal states of several members lie side by side in one buffer, so that a fused op sees them as one.
void Lowering::add_states() {
  struct Place {
    BufferId buffer{};
    std::int64_t next = 0;  ///< element
  };
  const auto states_of = [](const Model& model) {
    std::vector<TensorId> states;
    for (std::uint32_t i = 0; i < model.tensors.size(); ++i) {
      if (model.tensors[i].role == TensorRole::kState) states.push_back(static_cast<TensorId>(i));
    }
    return states;
  };
  std::map<std::pair<std::size_t, Shape>, std::int64_t> counts;
  for (const Model* model : models_) {
    const std::vector<TensorId> states = states_of(*model);
    for (std::size_t i = 0; i < states.size(); ++i) ++counts[{i, model->tensor(states[i]).shape}];
  }
  std::map<std::pair<std::size_t, Shape>, Place> places;
  for (std::uint32_t m = 0; m < models_.size(); ++m) {
    const std::vector<TensorId> states = states_of(*models_[m]);
    for (std::size_t i = 0; i < states.size(); ++i) {
      const Tensor& tensor = models_[m]->tensor(states[i]);
      const std::pair key(i, tensor.shape);
      if (!places.contains(key)) {
        Shape all = tensor.shape;
        all.insert(all.begin(), counts[key]);
        places[key] = {values_.allocate(tensor.name, BufferKind::kState, all, DataType::kFloat32).buffer, 0};
      }
      Place& place = places[key];
      const auto member = static_cast<MemberId>(m);
      const View view{place.buffer, place.next, tensor.shape, dense_strides(tensor.shape, Layout::kNchw),
                      DataType::kFloat32};
      place.next += element_count(tensor.shape);
      values_.set(member, states[i], {view, {}});
      program_.states.push_back({member, states[i], tensor.name, view});
    }
  }
}

/// Gives packs their memory before anything is lowered, so that their parts are written where they belong. Those of
/// members that a fused op computes a part of, or that are packed by one launch, lie side by side.
void Lowering::place_packs(std::span<const Launch> launches) {
  std::map<std::pair<MemberId, TensorId>, const Launch*> fused;  // by what it computes
  for (const Launch& launch : launches) {
    if (launch.members.size() < 2 || is_grouped(launch)) continue;
    for (std::size_t i = 0; i < launch.members.size(); ++i)
      fused[{launch.members[i], op_of(launch, i).outputs[0]}] = &launch;
  }
  for (const Launch& launch : launches) {
    if (!std::holds_alternative<Pack>(op_of(launch, 0).attributes)) continue;
    for (std::size_t i = 0; i < launch.members.size(); ++i) {
      const MemberId member = launch.members[i];
      const Op& pack = op_of(launch, i);
      if (packs_.contains({member, pack.outputs[0]})) continue;
      std::vector<MemberId> together{member};
      const auto look_at = [&](TensorId result) {
        const auto found = fused.find({member, result});
        if (found != fused.end() && found->second->members.size() > together.size()) together = found->second->members;
      };
      look_at(pack.outputs[0]);
      for (const TensorId part : pack.inputs) look_at(part);
      if (!place_pack(pack, together)) place_pack(pack, std::span(&member, 1));
    }
  }
}

/// One pack of each of the members side by side; false where one of them cannot be placed, or is of another size.
bool Lowering::place_pack(const Op& pack, std::span<const MemberId> members) {
  StackKey key{StackForm::kModels, {}};
  std::vector<const Op*> packs;
  for (const MemberId member : members) {
    const std::vector<Op>& ops = models_[to_index(member)]->ops;
    const auto own = std::find_if(ops.begin(), ops.end(), [&](const Op& op) { return op.name == pack.name; });
    const bool fits = own != ops.end() && std::holds_alternative<Pack>(own->attributes) && can_place(member, *own) &&
                      !packs_.contains({member, own->outputs[0]});
    if (!fits) return false;
    const Shape& shape = values_.tensor(member, own->outputs[0]).shape;
    if (!packs.empty() && shape != values_.tensor(members[0], packs[0]->outputs[0]).shape) return false;
    key.parts.push_back({member, own->outputs[0]});
    packs.push_back(&*own);
  }
  if (packs.size() == 1) {
    place_parts(members[0], *packs[0], allocate_output(members[0], key.parts[0].tensor));
    return true;
  }
  const View whole = values_.make_stack(key).view;
  for (std::size_t i = 0; i < packs.size(); ++i) {
    place_parts(members[i], *packs[i], values_.slice(key, whole, i));
    stacks_of_packs_[{members[i], packs[i]->outputs[0]}] = key;
  }
  return true;
}

/// Whether every part is one op's own result that nothing else reads and that is not part of anything yet.
bool Lowering::can_place(MemberId member, const Op& pack) const {
  const Model& model = *models_[to_index(member)];
  if (!has_no_gaps(model, pack)) return false;
  for (const TensorId part : pack.inputs) {
    const Tensor& tensor = model.tensor(part);
    if (tensor.role != TensorRole::kActivation || placed_.contains({member, part})) return false;
    if (std::count(pack.inputs.begin(), pack.inputs.end(), part) > 1 || values_.is_output(member, part)) return false;
    const bool row_major = tensor.shape.size() < 4 || values_.layout_of(member, part) == Layout::kNchw;
    const bool one_reader = std::none_of(model.ops.begin(), model.ops.end(), [&](const Op& op) {
      return &op != &pack && std::find(op.inputs.begin(), op.inputs.end(), part) != op.inputs.end();
    });
    if (!row_major || !one_reader) return false;
  }
  return true;
}

void Lowering::place_parts(MemberId member, const Op& pack, const View& whole) {
  packs_[{member, pack.outputs[0]}] = whole;
  const std::vector<std::int64_t>& offsets = std::get<Pack>(pack.attributes).offsets;
  for (std::size_t i = 0; i < pack.inputs.size(); ++i) {
    const Shape& shape = values_.tensor(member, pack.inputs[i]).shape;
    placed_[{member, pack.inputs[i]}] = {whole.buffer, whole.offset + offsets[i], shape,
                                         dense_strides(shape, Layout::kNchw), whole.type};
  }
}

/// Whether the op is a pack whose parts all lie in their place, which leaves nothing to do.
bool Lowering::set_pack(MemberId member, const Op& op) {
  const auto found = packs_.find({member, op.outputs[0]});
  if (found == packs_.end()) return false;
  const auto key = stacks_of_packs_.find({member, op.outputs[0]});
  Value value{found->second, {}};
  for (const TensorId part : op.inputs) {
    if (!placed_.contains({member, part})) {  // a fused op could not write it there after all
      if (key != stacks_of_packs_.end()) values_.forget_stack(key->second);
      return false;
    }
    const std::vector<StepId>& producers = values_.of(member, part).producers;
    value.producers.insert(value.producers.end(), producers.begin(), producers.end());
  }
  // Whoever reads the packs of several members as one waits for what is computed into any of them.
  Value* const stack = key == stacks_of_packs_.end() ? nullptr : values_.find_stack(key->second);
  if (stack != nullptr) stack->producers.insert(stack->producers.end(), value.producers.begin(), value.producers.end());
  values_.set(member, op.outputs[0], std::move(value));
  return true;
}

/// What is a view for each member is no launch, and a pack that has to be copied is one for each.
Result<void> Lowering::lower_apart(const Launch& launch) {
  for (std::size_t i = 0; i < launch.members.size(); ++i) {
    Launch own = launch;
    own.members = {launch.members[i]};
    own.ops = {launch.ops[i]};
    COHORT_CHECK(lower_single(own));
  }
  return {};
}

/// Parameters are views of their state, and gradients of the pack that holds them.
bool Lowering::alias_unpack(MemberId member, const Op& op) {
  const Value& x = values_.of(member, op.inputs[0]);
  const Unpack& unpack = std::get<Unpack>(op.attributes);
  if (!is_row_major(x.view)) return false;
  View view{x.view.buffer, x.view.offset + unpack.offset, unpack.shape, dense_strides(unpack.shape, Layout::kNchw),
            x.view.type};
  return alias_view(std::move(view), x, member, op.outputs[0]);
}

/// A state is updated in place: behind every step that reads what it overwrites.
void Lowering::order_updates(const Step& step, std::vector<StepId>& needs) {
  const std::vector<Buffer>& buffers = values_.buffers();
  for (const View& view : step.call.outputs) {
    if (buffers[to_index(view.buffer)].kind != BufferKind::kState) continue;
    for (const auto& [reader, read] : state_readers_[view.buffer]) {
      if (may_meet(read, view)) needs.push_back(reader);
    }
  }
  const auto id = static_cast<StepId>(program_.steps.size());
  for (const Operand& operand : step.call.inputs) {
    const View* view = std::get_if<View>(&operand);
    if (view != nullptr && buffers[to_index(view->buffer)].kind == BufferKind::kState)
      state_readers_[view->buffer].push_back({id, *view});
  }
}

void Lowering::count_states() {
  for (const ProgramState& state : program_.states) {
    const std::int64_t rows = state.view.shape.size() > 1 ? state.view.shape[0] : 1;
    const Bytes all{element_count(state.view.shape) * element_bytes(state.view.type)};
    program_.memory.parameters += Bytes{all.value / rows};
    program_.memory.optimizer += Bytes{all.value - all.value / rows};
  }
  // Members in turn have theirs in the same bytes of the arena.
  std::set<std::pair<std::int64_t, std::int64_t>> places;
  for (const auto& [what, view] : packs_) {
    const Buffer& buffer = values_.buffers()[to_index(view.buffer)];
    if (in_arena(buffer)) places.insert({buffer.offset.value, buffer.offset.value + buffer.size.value});
  }
  std::int64_t covered = 0;
  for (const auto& [begin, end] : places) {
    program_.memory.gradients += Bytes{std::max<std::int64_t>(0, end - std::max(begin, covered))};
    covered = std::max(covered, end);
  }
}

}  // namespace cohort
