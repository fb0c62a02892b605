#include "simulator/plan/batch_model.hpp"

#include <algorithm>
#include <map>
#include <optional>
#include <set>
#include <tuple>
#include <utility>

#include "simulator/plan/fuse.hpp"
#include "simulator/plan/launches.hpp"
#include "simulator/plan/shared_input.hpp"
#include "simulator/plan/values.hpp"

namespace cohort {
namespace {

/// Where a member's tensor is in the model batch: a tensor of its own, or a part of a stack.
struct Place {
  std::optional<TensorId> own;
  std::optional<std::size_t> stack;
};

/// The same tensor of several members in one.
struct Stack {
  TensorId whole{};
  StackKey key;
};

class BatchModel {
 public:
  BatchModel(const Plan& plan, std::span<const Model* const> models, std::span<const Weights* const> weights)
      : plan_(plan), models_(models), weights_(weights) {
    for (const Model* model : models) places_.emplace_back(model->tensors.size());
  }

  Result<LoadedModel> make() {
    COHORT_CHECK(check_members());
    COHORT_TRY(const auto launches, order_launches(plan_, models_));
    batch_.model.name = fmt::format("{} models", models_.size());
    reserve_outputs();
    add_inputs();
    for (const Launch& launch : launches) {
      if (stands_apart(launch)) {
        for (std::size_t i = 0; i < launch.members.size(); ++i) add_single(launch.members[i], op_of(launch, i));
      } else {
        COHORT_CHECK(add_fused(launch));
      }
    }
    COHORT_CHECK(add_outputs());
    COHORT_CHECK(validate(batch_.model));
    return std::move(batch_);
  }

 private:
  /// Whether the launch is an op for each member. ONNX has no node for the losses of several models.
  [[nodiscard]] bool stands_apart(const Launch& launch) const {
    const Op& op = op_of(launch, 0);
    return launch.members.size() == 1 || runs_as_group(op, plan_.groups[launch.group].strategy) ||
           std::holds_alternative<SoftmaxCrossEntropy>(op.attributes);
  }

  [[nodiscard]] const Model& model_of(MemberId member) const { return *models_[to_index(member)]; }
  [[nodiscard]] const Op& op_of(const Launch& launch, std::size_t i) const {
    return model_of(launch.members[i]).op(launch.ops[i]);
  }
  [[nodiscard]] const Tensor& tensor_of(const MemberTensor& what) const {
    return model_of(what.member).tensor(what.tensor);
  }
  Place& place_of(const MemberTensor& what) { return places_[to_index(what.member)][to_index(what.tensor)]; }
  [[nodiscard]] std::string name_of(const MemberTensor& what) const {
    return fmt::format("{}/{}", plan_.members[to_index(what.member)].name, tensor_of(what).name);
  }
  [[nodiscard]] const Shape& shape(TensorId id) const { return batch_.model.tensor(id).shape; }

  [[nodiscard]] Result<void> check_members() const {
    for (std::size_t m = 0; m < models_.size(); ++m) {
      for (const Tensor& tensor : models_[m]->tensors) {
        if (tensor.role != TensorRole::kState && tensor.role != TensorRole::kSetting) continue;
        return fail(ErrorCode::kInvalidInput, "member {} trains: only models for inference can be one model",
                    plan_.members[m].name);
      }
    }
    return {};
  }

  // ---- Tensors and ops

  static std::string unused(const std::string& wanted, std::set<std::string>& taken) {
    std::string name = wanted;
    for (int number = 2; !taken.insert(name).second; ++number) name = fmt::format("{}#{}", wanted, number);
    return name;
  }
  std::string unique(const std::string& wanted) { return unused(wanted, names_); }

  TensorId add_tensor(std::string name, Shape shape, TensorRole role, ElementType element,
                      WeightValues values = nullptr) {
    batch_.model.tensors.push_back({std::move(name), std::move(shape), role, element});
    batch_.weights.by_tensor.push_back(std::move(values));
    return static_cast<TensorId>(batch_.model.tensors.size() - 1);
  }

  /// Adds an op that makes a tensor of that name, which is taken.
  TensorId add_op(const std::string& op_name, OpAttributes attributes, std::vector<PostOp> post_ops,
                  std::vector<TensorId> inputs, std::string result, Shape shape, ElementType element) {
    const TensorId y = add_tensor(std::move(result), std::move(shape), TensorRole::kActivation, element);
    batch_.model.ops.push_back(
        {unused(op_name, op_names_), std::move(attributes), std::move(post_ops), std::move(inputs), {y}});
    return y;
  }

  /// The same elements in another order or shape, under a name of its own.
  TensorId move(const std::string& name, OpAttributes attributes, std::vector<TensorId> inputs, Shape to) {
    const ElementType element = batch_.model.tensor(inputs[0]).element;
    return add_op(name, std::move(attributes), {}, std::move(inputs), unique(name), std::move(to), element);
  }
  TensorId reshape(const std::string& name, TensorId x, Shape to) {
    return shape(x) == to ? x : move(name + ":reshape", Reshape{}, {x}, std::move(to));
  }
  /// Swaps the first two axes; a Reshape where one of them has a single entry.
  TensorId swap_leading(const std::string& name, TensorId x) {
    Shape to = shape(x);
    std::swap(to[0], to[1]);
    if (to[0] == 1 || to[1] == 1) return reshape(name, x, to);
    Transpose transpose;
    for (std::size_t d = 0; d < to.size(); ++d) transpose.permutation.push_back(static_cast<std::int64_t>(d));
    std::swap(transpose.permutation[0], transpose.permutation[1]);
    return move(name + ":transpose", transpose, {x}, to);
  }

  // ---- Inputs and outputs

  /// Their names go to no other tensor.
  void reserve_outputs() {
    for (std::uint32_t m = 0; m < models_.size(); ++m) {
      for (const TensorId id : models_[m]->outputs) names_.insert(name_of({static_cast<MemberId>(m), id}));
    }
  }

  void add_inputs() {
    std::map<SharedInput, TensorId> shared;
    for (std::uint32_t m = 0; m < models_.size(); ++m) {
      for (std::size_t i = 0; i < models_[m]->inputs.size(); ++i) {
        const MemberTensor what{static_cast<MemberId>(m), models_[m]->inputs[i]};
        const Tensor& tensor = tensor_of(what);
        const bool share = plan_.input.sharing == InputSharing::kShared;
        const SharedInput key = shared_input(plan_, i, tensor);
        const auto known = shared.find(key);
        if (share && known != shared.end()) {
          place_of(what).own = known->second;
          continue;
        }
        const TensorId id =
            add_tensor(unique(share ? tensor.name : name_of(what)), tensor.shape, TensorRole::kInput, tensor.element);
        batch_.model.inputs.push_back(id);
        shared[key] = id;
        place_of(what).own = id;
      }
    }
  }

  Result<void> add_outputs() {
    for (std::uint32_t m = 0; m < models_.size(); ++m) {
      for (const TensorId id : models_[m]->outputs) {
        const MemberTensor what{static_cast<MemberId>(m), id};
        if (tensor_of(what).role != TensorRole::kActivation)
          return fail(ErrorCode::kInvalidInput, "model {}: output {} is not computed by any op", models_[m]->name,
                      tensor_of(what).name);
        batch_.model.outputs.push_back(own(what));
      }
    }
    return {};
  }

  /// The name of a member's tensor: reserved for it where it is an output.
  std::string result_name(const MemberTensor& what) {
    const std::vector<TensorId>& outputs = model_of(what.member).outputs;
    const bool is_output = std::find(outputs.begin(), outputs.end(), what.tensor) != outputs.end();
    return is_output ? name_of(what) : unique(name_of(what));
  }

  // ---- Constants

  TensorId weight(const MemberTensor& what) {
    const Tensor& tensor = tensor_of(what);
    const WeightValues& values = weights_[to_index(what.member)]->of(what.tensor);
    const auto known = own_weights_.find({values.get(), tensor.shape});
    if (known != own_weights_.end()) return known->second;
    const TensorId id = add_tensor(unique(name_of(what)), tensor.shape, TensorRole::kWeight, tensor.element, values);
    if (values) own_weights_[{values.get(), tensor.shape}] = id;
    return id;
  }

  /// Members' constants one after another.
  Result<TensorId> joined_weight(const Launch& launch, std::size_t position, StackForm form) {
    const Op& op = op_of(launch, 0);
    const Model& model = model_of(launch.members[0]);
    const Tensor& first = model.tensor(op.inputs[position]);
    const int width = static_cast<int>(launch.members.size());
    COHORT_TRY(Shape joined, fused_weight_shape(model, op, position, form, width));
    auto values = std::make_shared<std::vector<float>>();
    values->reserve(static_cast<std::size_t>(element_count(joined)));
    for (std::size_t i = 0; i < launch.members.size(); ++i) {
      const WeightValues& part = weights_[to_index(launch.members[i])]->of(op_of(launch, i).inputs[position]);
      if (part == nullptr)
        return fail(ErrorCode::kInvalidInput, "member {}: weight {} has no values",
                    plan_.members[to_index(launch.members[i])].name, first.name);
      values->insert(values->end(), part->begin(), part->end());
    }
    return add_tensor(unique(fmt::format("{}/{}", member_ranges(launch.members), first.name)), std::move(joined),
                      TensorRole::kWeight, first.element, std::move(values));
  }

  // ---- Stacks

  /// A member's tensor by itself, cut out of its stack where it lies in one.
  TensorId own(const MemberTensor& what) {
    Place& place = place_of(what);
    if (!place.own) cut(*place.stack);
    return *place.own;
  }

  /// All parts of a stack, so that a writer finds them side by side. Nobody needs to read all of them.
  void cut(std::size_t index) {
    const Stack stack = stacks_[index];
    const std::string name = batch_.model.tensor(stack.whole).name;
    TensorId whole = stack.whole;
    const bool by_channels = stack.key.form == StackForm::kChannels;
    const std::size_t axis = by_channels ? 1 : 0;
    const Shape part_shape = tensor_of(stack.key.parts[0]).shape;
    if (!by_channels) {
      Shape flat = part_shape.empty() ? Shape{1} : part_shape;
      flat[0] *= static_cast<std::int64_t>(stack.key.parts.size());
      whole = reshape(name, whole, flat);
    }
    const Shape& from = shape(whole);
    TensorSlice slice{Shape(from.size(), 0), Shape(from.size(), 1), from};
    slice.count[axis] /= static_cast<std::int64_t>(stack.key.parts.size());
    const Shape cut_shape = slice.count;
    for (std::size_t i = 0; i < stack.key.parts.size(); ++i) {
      const MemberTensor& part = stack.key.parts[i];
      Place& place = place_of(part);
      slice.start[axis] = static_cast<std::int64_t>(i) * slice.count[axis];
      if (place.own) continue;
      const std::string op = fmt::format("{}:cut", name_of(part));
      const ElementType element = tensor_of(part).element;
      if (cut_shape == part_shape) {
        place.own = add_op(op, slice, {}, {whole}, result_name(part), part_shape, element);
      } else {  // of a tensor without axes
        const TensorId entry = add_op(op, slice, {}, {whole}, unique(op), cut_shape, element);
        place.own = add_op(op + ":reshape", Reshape{}, {}, {entry}, result_name(part), part_shape, element);
      }
    }
  }

  void add_stack(const StackKey& key, TensorId whole) {
    known_stacks_[key] = stacks_.size();
    stacks_.push_back({whole, key});
  }

  /// Members' tensors as one: the stack that they lie in, seen in another form where needed, or joined from their own.
  TensorId stacked(const StackKey& key) {
    if (const auto known = known_stacks_.find(key); known != known_stacks_.end()) return stacks_[known->second].whole;
    const StackKey other{key.form == StackForm::kChannels ? StackForm::kModels : StackForm::kChannels, key.parts};
    const auto there = known_stacks_.find(other);
    const TensorId whole = there != known_stacks_.end() ? in_form(key, stacks_[there->second].whole) : joined(key);
    add_stack(key, whole);
    return whole;
  }

  /// [N, B*C, H, W] from [B, N, C, H, W] or the reverse, `x`.
  TensorId in_form(const StackKey& key, TensorId x) {
    const std::string name = batch_.model.tensor(x).name;
    const Shape& part = tensor_of(key.parts[0]).shape;
    Shape split = part;
    split.insert(split.begin() + 1, static_cast<std::int64_t>(key.parts.size()));
    if (key.form == StackForm::kModels) return swap_leading(name, reshape(name, x, split));
    Shape channels = part;
    channels[1] *= static_cast<std::int64_t>(key.parts.size());
    return reshape(name, swap_leading(name, x), channels);
  }

  TensorId joined(const StackKey& key) {
    std::vector<MemberId> members;
    std::vector<TensorId> parts;
    for (const MemberTensor& part : key.parts) {
      members.push_back(part.member);
      parts.push_back(own(part));
    }
    const std::string name = fmt::format("{}/{}:stack", member_ranges(members), tensor_of(key.parts[0]).name);
    const auto count = static_cast<std::int64_t>(parts.size());
    Shape whole = shape(parts[0]);
    if (key.form == StackForm::kChannels) {
      whole[1] *= count;
      return move(name, Concat{1}, std::move(parts), whole);
    }
    Shape by_models = whole;
    by_models.insert(by_models.begin(), count);
    if (whole.empty()) {
      for (TensorId& part : parts) part = reshape(name, part, {1});
      whole = {1};
    }
    whole[0] *= count;
    return reshape(name, move(name, Concat{0}, std::move(parts), whole), by_models);
  }

  // ---- Launches

  void add_single(MemberId member, const Op& op) {
    std::vector<TensorId> inputs;
    for (const TensorId in : op.inputs) {
      const MemberTensor what{member, in};
      inputs.push_back(tensor_of(what).role == TensorRole::kWeight ? weight(what) : own(what));
    }
    const MemberTensor result{member, op.outputs[0]};
    const Tensor& tensor = tensor_of(result);
    const std::string name = fmt::format("{}/{}", plan_.members[to_index(member)].name, op.name);
    place_of(result).own =
        add_op(name, op.attributes, op.post_ops, std::move(inputs), result_name(result), tensor.shape, tensor.element);
  }

  [[nodiscard]] StackKey input_key(const Launch& launch, StackForm form, std::size_t position) const {
    StackKey key{form, {}};
    for (std::size_t i = 0; i < launch.members.size(); ++i)
      key.parts.push_back({launch.members[i], op_of(launch, i).inputs[position]});
    return key;
  }

  /// Whether all members read one and the same tensor as input 0.
  bool shares_input(const Launch& launch) {
    if (tensor_of({launch.members[0], op_of(launch, 0).inputs[0]}).role == TensorRole::kWeight) return false;
    const std::optional<TensorId> first = place_of({launch.members[0], op_of(launch, 0).inputs[0]}).own;
    for (std::size_t i = 0; i < launch.members.size(); ++i) {
      if (!first || place_of({launch.members[i], op_of(launch, i).inputs[0]}).own != first) return false;
    }
    return true;
  }

  Result<void> add_fused(const Launch& launch) {
    const Model& model = model_of(launch.members[0]);
    const Op& op = op_of(launch, 0);
    const int width = static_cast<int>(launch.members.size());
    COHORT_TRY(FusedOp fused, fuse(model, op, plan_.groups[launch.group].strategy, width, shares_input(launch)));
    const bool wide = std::holds_alternative<Gemm>(fused.attributes) && fused.shares_input && !adds_operands(op) &&
                      has_constant_parameters(model, op);
    std::vector<TensorId> inputs;
    for (std::size_t position = 0; position < op.inputs.size(); ++position) {
      const StackForm form = operand_form(op, fused.form, position);
      if (model.tensor(op.inputs[position]).role == TensorRole::kWeight) {
        COHORT_TRY(const TensorId joined, joined_weight(launch, position, fused.form));
        inputs.push_back(joined);
      } else if (position == 0 && fused.shares_input && (wide || fused.form == StackForm::kChannels)) {
        inputs.push_back(own({launch.members[0], op.inputs[0]}));
      } else {
        const TensorId whole = stacked(input_key(launch, form, position));
        inputs.push_back(form == fused.form ? whole : under_one_another(whole));
      }
    }
    StackKey key{result_form(op, fused.form), {}};
    for (std::size_t i = 0; i < launch.members.size(); ++i)
      key.parts.push_back({launch.members[i], op_of(launch, i).outputs[0]});
    add_stack(key, wide ? add_wide(launch, std::move(inputs)) : add_stacked(launch, fused, std::move(inputs), key));
    for (const MemberTensor& part : key.parts) place_of(part).stack = stacks_.size() - 1;
    return {};
  }

  /// [B*K, ...] of [B, K, ...]: computed kernels and biases of convolutions.
  TensorId under_one_another(TensorId x) {
    Shape to = shape(x);
    to[1] *= to[0];
    to.erase(to.begin());
    return reshape(batch_.model.tensor(x).name, x, to);
  }

  static bool adds_operands(const Op& op) {
    return std::any_of(op.post_ops.begin(), op.post_ops.end(),
                       [](const PostOp& post_op) { return std::holds_alternative<AddOperand>(post_op); });
  }

  TensorId add_stacked(const Launch& launch, const FusedOp& fused, std::vector<TensorId> inputs, const StackKey& key) {
    const Op& op = op_of(launch, 0);
    const Tensor& result = tensor_of(key.parts[0]);
    Shape whole = result.shape;
    if (key.form == StackForm::kModels) {
      whole.insert(whole.begin(), static_cast<std::int64_t>(key.parts.size()));
    } else {
      whole[1] *= static_cast<std::int64_t>(key.parts.size());
    }
    const std::string members = member_ranges(launch.members);
    return add_op(fmt::format("{}/{}", members, op.name), fused.attributes, op.post_ops, std::move(inputs),
                  unique(fmt::format("{}/{}", members, result.name)), std::move(whole), result.element);
  }

  /// Products of one x with every member's weights as one, and its columns dealt to the members: [B, N, O].
  TensorId add_wide(const Launch& launch, std::vector<TensorId> inputs) {
    const Op& op = op_of(launch, 0);
    const Tensor& result = tensor_of({launch.members[0], op.outputs[0]});
    const auto count = static_cast<std::int64_t>(launch.members.size());
    for (std::size_t i = 1; i < own_input_count(op); ++i) {  // rows of all members under one another
      Shape& joined = batch_.model.tensors[to_index(inputs[i])].shape;
      joined.erase(joined.begin());
      joined[0] *= count;
    }
    const std::string name = fmt::format("{}/{}", member_ranges(launch.members), op.name);
    const Shape& part = result.shape;
    const TensorId y = add_op(name, Gemm{}, op.post_ops, std::move(inputs), unique(name + ":wide"),
                              {part[0], count * part[1]}, result.element);
    return swap_leading(name, reshape(name, y, {part[0], count, part[1]}));
  }

  const Plan& plan_;
  std::span<const Model* const> models_;
  std::span<const Weights* const> weights_;
  LoadedModel batch_;
  std::set<std::string> names_, op_names_;
  std::vector<std::vector<Place>> places_;  ///< by member and tensor
  std::vector<Stack> stacks_;
  std::map<StackKey, std::size_t> known_stacks_;
  std::map<std::pair<const std::vector<float>*, Shape>, TensorId> own_weights_;
};

}  // namespace

Result<LoadedModel> batch_model(const Plan& plan, std::span<const Model* const> models,
                                std::span<const Weights* const> weights) {
  COHORT_CHECK(validate(plan));
  return BatchModel(plan, models, weights).make();
}

}  // namespace cohort
