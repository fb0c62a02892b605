#include "models/training/forward.hpp"

#include <algorithm>

namespace cohort::training {

namespace {

Shape from_axis(const Shape& shape, std::int64_t axis) { return {shape.begin() + axis, shape.end()}; }

}  // namespace

ForwardPass::ForwardPass(const LoadedModel& inference, const StateLayout& layout, const TrainingSpec& spec,
                         ForwardMode mode, Graph& graph)
    : inference_(inference), layout_(layout), spec_(spec), mode_(mode), graph_(graph) {}

Result<void> ForwardPass::run() {
  reserve_names();
  add_inputs();
  add_states();
  for (std::size_t i = 0; i < inference_.model.ops.size(); ++i) {
    if (!is_used(i)) continue;
    const Op& op = inference_.model.ops[i];
    if (auto added = add(i); !added)
      return in_context(fmt::format("op {} ({})", op.name, op_type(op.attributes)), added.error());
  }
  return {};
}

/// Ops of the inference model keep their names, tensors, too, unless a state or an input of training has it.
void ForwardPass::reserve_names() {
  our_names_ = {"parameters", "statistics"};
  if (mode_ == ForwardMode::kTraining) {
    our_names_.insert({"settings", "random", "loss"});
    if (spec_.loss == LossKind::kCrossEntropy) our_names_.insert("labels");
    if (spec_.loss == LossKind::kMeanSquaredError) our_names_.insert("targets");
  }
  for (const std::string& name : our_names_) graph_.reserve_tensor(name);
  for (const Tensor& tensor : inference_.model.tensors) graph_.reserve_tensor(tensor.name);
  for (const Op& op : inference_.model.ops) graph_.reserve_op(op.name);
}

std::string ForwardPass::name_of(TensorId id) {
  const std::string& name = inference_.model.tensor(id).name;
  return our_names_.count(name) > 0 ? graph_.free_tensor_name(name) : name;
}

void ForwardPass::add_inputs() {
  std::set<TensorId> read;
  for (std::size_t i = 0; i < inference_.model.ops.size(); ++i) {
    if (!is_used(i)) continue;
    for (const TensorId id : inference_.model.ops[i].inputs) read.insert(id);
  }
  for (const TensorId id : inference_.model.inputs) {
    const Tensor& input = inference_.model.tensor(id);
    if (input.role == TensorRole::kSetting) continue;  // is made where it is needed
    if (mode_ == ForwardMode::kTraining && read.count(id) == 0) continue;
    values_.emplace(id, graph_.add_input(name_of(id), input.shape, TensorRole::kInput, input.element));
  }
}

void ForwardPass::add_states() {
  const std::int64_t rows = state_rows(spec_.update);
  parameters_ = graph_.add_tensor({"parameters", {rows, layout_.parameter_size}, TensorRole::kState},
                                  initial_parameters(inference_, layout_, rows));
  if (layout_.statistics_size > 0)
    statistics_ = graph_.add_tensor({"statistics", {layout_.statistics_size}, TensorRole::kState},
                                    initial_statistics(inference_, layout_));
  for (const PackedTensor& parameter : layout_.parameters) {
    const TensorId view = add_view(parameter, parameters_);
    parameter_tensors_.push_back(view);
    values_.emplace(parameter.original, view);
  }
  if (mode_ == ForwardMode::kTraining) return;
  for (const PackedTensor& statistic : layout_.statistics)
    values_.emplace(statistic.original, add_view(statistic, *statistics_));
}

TensorId ForwardPass::add_view(const PackedTensor& part, TensorId state) {
  const std::string name = name_of(part.original);
  return graph_.add_as(graph_.free_op_name(name), name, Unpack{part.offset, part.shape}, {state});
}

TensorId ForwardPass::value(TensorId id) {
  const auto known = values_.find(id);
  if (known != values_.end()) return known->second;
  // A weight that is not trained.
  Tensor weight = inference_.model.tensor(id);
  weight.name = name_of(id);
  const TensorId copy = graph_.add_tensor(std::move(weight), inference_.weights.of(id));
  values_.emplace(id, copy);
  return copy;
}

TensorId ForwardPass::settings() {
  if (!settings_)
    settings_ = graph_.add_input("settings", {kSettingCount}, TensorRole::kSetting, ElementType::kFloat32);
  return *settings_;
}

TensorId ForwardPass::random() {
  if (!random_) random_ = graph_.add_input("random", {4}, TensorRole::kSetting, ElementType::kInt32);
  return *random_;
}

std::vector<TensorId> ForwardPass::values(const Op& op) {
  std::vector<TensorId> inputs;
  for (const TensorId id : op.inputs) inputs.push_back(value(id));
  return inputs;
}

void ForwardPass::add_copy(const Op& op, OpAttributes attributes) {
  values_[op.outputs[0]] = graph_.add_as(op.name, name_of(op.outputs[0]), std::move(attributes), values(op));
}

Result<void> ForwardPass::add(std::size_t index) {
  const Op& op = inference_.model.ops[index];
  if (std::holds_alternative<BatchNormalization>(op.attributes) && mode_ == ForwardMode::kTraining)
    return add_normalization(index, op);
  if (std::holds_alternative<Dropout>(op.attributes)) return add_dropout(op);
  if (std::holds_alternative<LayerNormalization>(op.attributes) && add_layer_normalization(op)) return {};
  if (std::holds_alternative<Reshape>(op.attributes)) {
    const TensorId x = value(op.inputs[0]);
    values_[op.outputs[0]] =
        graph_.reshape_as(op.name, name_of(op.outputs[0]), x, inference_.model.tensor(op.outputs[0]).shape);
    return {};
  }
  add_copy(op, op.attributes);
  return {};
}

Result<void> ForwardPass::add_normalization(std::size_t index, const Op& op) {
  const auto& attributes = std::get<BatchNormalization>(op.attributes);
  const TensorId x = value(op.inputs[0]);
  const Shape shape = graph_.shape(x);
  const auto samples = element_count(shape) / shape[1];
  if (samples < 2)
    return fail(ErrorCode::kInvalidInput, "one value a channel has no variance to train by; x is {}", to_string(shape));
  const TensorId statistics = graph_.add(op.name + ".statistics", BatchStatistics{}, {x});
  values_[op.outputs[0]] = graph_.add_as(op.name, name_of(op.outputs[0]), NormalizeByStatistics{attributes.epsilon},
                                         {x, value(op.inputs[1]), value(op.inputs[2]), statistics});
  const auto count = static_cast<float>(samples);
  const TensorId correction = graph_.constant(op.name + ".correction", {2, 1}, {1.0F, count / (count - 1)});
  const TensorId unbiased = graph_.add(op.name + ".unbiased", Binary{BinaryKind::kMul}, {statistics, correction});
  new_statistics_.push_back({unbiased, layout_.statistics_of.at(index).offset, attributes.momentum});
  return {};
}

/// In training with a number of its own among the dropouts of the model; in evaluation it does nothing.
Result<void> ForwardPass::add_dropout(const Op& op) {
  const TensorId x = value(op.inputs[0]);
  if (mode_ == ForwardMode::kEvaluation) {
    values_[op.outputs[0]] = graph_.reshape_as(op.name, name_of(op.outputs[0]), x, graph_.shape(x));
    return {};
  }
  TensorId rate{};
  if (spec_.dropout_from_settings) {
    const auto at = static_cast<std::int64_t>(Setting::kDropoutRate);
    rate = graph_.add(op.name + ".rate", Unpack{at, {1}}, {settings()});
  } else {
    rate = value(op.inputs[1]);
  }
  values_[op.outputs[0]] = graph_.add_as(op.name, name_of(op.outputs[0]), Dropout{dropouts_++}, {x, rate, random()});
  return {};
}

/// Where scale or shift repeat over what is normalised, multiplication and addition are ops of their own: gradients of
/// the normalisation know no repetition.
bool ForwardPass::add_layer_normalization(const Op& op) {
  if (mode_ == ForwardMode::kEvaluation) return false;
  const auto& attributes = std::get<LayerNormalization>(op.attributes);
  const std::vector<TensorId> inputs = values(op);
  const Shape whole = from_axis(graph_.shape(inputs[0]), attributes.axis);
  const auto is_whole = [&](TensorId id) { return graph_.shape(id) == whole; };
  if (std::all_of(inputs.begin() + 1, inputs.end(), is_whole)) return false;
  const auto elements = static_cast<std::size_t>(element_count(whole));
  const TensorId ones = graph_.constant(op.name + ".ones", whole, std::vector<float>(elements, 1.0F));
  const TensorId normalized = graph_.add(op.name + ".normalized", attributes, {inputs[0], ones});
  const Binary scale{BinaryKind::kMul};
  if (inputs.size() == 2) {
    values_[op.outputs[0]] = graph_.add_as(op.name, name_of(op.outputs[0]), scale, {normalized, inputs[1]});
    return true;
  }
  const TensorId scaled = graph_.add(op.name + ".scaled", scale, {normalized, inputs[1]});
  values_[op.outputs[0]] =
      graph_.add_as(op.name, name_of(op.outputs[0]), Binary{BinaryKind::kAdd}, {scaled, inputs[2]});
  return true;
}

}  // namespace cohort::training
