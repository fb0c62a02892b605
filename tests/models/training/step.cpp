#include "tests/models/training/step.hpp"

#include <algorithm>
#include <bit>
#include <cmath>

#include "base/random.hpp"
#include "models/compute/evaluate.hpp"

namespace cohort {
namespace {

TensorId named(const Model& model, const std::string& name) {
  for (std::size_t i = 0; i < model.tensors.size(); ++i) {
    if (model.tensors[i].name == name) return TensorId(static_cast<std::uint32_t>(i));
  }
  return {};
}

std::int64_t classes_of(const Model& model) {
  for (const Op& op : model.ops) {
    if (std::holds_alternative<SoftmaxCrossEntropy>(op.attributes)) return model.tensor(op.inputs[0]).shape[1];
  }
  return 1;
}

/// The model without what the given outputs do not need.
LoadedModel cut_to(const LoadedModel& loaded, std::vector<TensorId> outputs) {
  LoadedModel cut = loaded;
  std::vector<bool> is_needed(cut.model.tensors.size(), false);
  for (const TensorId id : outputs) is_needed[to_index(id)] = true;
  std::vector<Op> kept;
  for (std::size_t i = cut.model.ops.size(); i-- > 0;) {
    Op& op = cut.model.ops[i];
    if (!is_needed[to_index(op.outputs[0])]) continue;
    for (const TensorId id : op.inputs) is_needed[to_index(id)] = true;
    kept.push_back(std::move(op));
  }
  std::reverse(kept.begin(), kept.end());
  cut.model.ops = std::move(kept);
  cut.model.outputs = std::move(outputs);
  return cut;
}

}  // namespace

ReferenceTraining::ReferenceTraining(TrainingModel training, std::uint64_t seed) : training_(std::move(training)) {
  const Model& model = training_.loaded.model;
  const TensorId loss = named(model, "loss");
  std::vector<TensorId> updates{loss};
  TensorId gradient{};
  for (const Op& op : model.ops) {
    if (updates_state(op)) updates.push_back(op.outputs[0]);
    if (std::holds_alternative<Update>(op.attributes)) gradient = op.inputs[1];
  }
  for_loss_ = cut_to(training_.loaded, {loss});
  for_gradient_ = cut_to(training_.loaded, {loss, gradient});
  for_states_ = cut_to(training_.loaded, updates);
  Random random(seed);
  for (const TensorId id : model.inputs) {
    const Tensor& input = model.tensor(id);
    std::vector<float> values(static_cast<std::size_t>(element_count(input.shape)), 0.0F);
    if (input.name == "labels") {
      for (float& value : values)
        value = std::bit_cast<float>(
            static_cast<std::int32_t>(random.next() % static_cast<std::uint64_t>(classes_of(model))));
    } else if (input.element == ElementType::kFloat32 && input.role == TensorRole::kInput) {
      for (float& value : values) value = random.uniform(-1, 1);
    }
    inputs_.push_back(std::move(values));
  }
  set(Setting::kLearningRate, 0.01F);
  set(Setting::kMomentum, 0.9F);
  set(Setting::kBeta1, 0.9F);
  set(Setting::kBeta2, 0.999F);
  set(Setting::kEpsilon, 1e-8F);
  set(Setting::kClipNorm, 1);
}

void ReferenceTraining::set(Setting setting, float value) {
  const auto& ids = training_.loaded.model.inputs;
  for (std::size_t i = 0; i < ids.size(); ++i) {
    if (training_.loaded.model.tensor(ids[i]).name == "settings") inputs_[i][static_cast<std::size_t>(setting)] = value;
  }
}

LoadedModel ReferenceTraining::with_parameters(const std::vector<float>& values) const {
  LoadedModel loaded = for_gradient_;
  const std::size_t at = to_index(named(loaded.model, "parameters"));
  std::vector<float> state = *loaded.weights.by_tensor[at];
  std::copy(values.begin(), values.end(), state.begin());
  loaded.weights.by_tensor[at] = std::make_shared<const std::vector<float>>(std::move(state));
  return loaded;
}

ReferenceTraining::Point ReferenceTraining::evaluate(const std::vector<float>& parameters) const {
  auto outputs = reference::evaluate(with_parameters(parameters), inputs_).value();
  return {static_cast<double>(outputs[0][0]), std::move(outputs[1])};
}

double ReferenceTraining::loss(const std::vector<float>& parameters) const {
  LoadedModel loaded = for_loss_;
  loaded.weights = with_parameters(parameters).weights;
  return static_cast<double>(reference::evaluate(loaded, inputs_).value()[0][0]);
}

double ReferenceTraining::step() {
  ++step_;
  set(Setting::kCorrection1, 1 - std::pow(0.9F, static_cast<float>(step_)));
  set(Setting::kCorrection2, 1 - std::pow(0.999F, static_cast<float>(step_)));
  auto outputs = reference::evaluate(for_states_, inputs_).value();
  std::size_t next = 1;
  for (const Op& op : for_states_.model.ops) {
    if (!updates_state(op)) continue;
    const auto place = std::find(for_states_.model.outputs.begin(), for_states_.model.outputs.end(), op.outputs[0]);
    next = static_cast<std::size_t>(place - for_states_.model.outputs.begin());
    const auto values = std::make_shared<const std::vector<float>>(std::move(outputs[next]));
    for (LoadedModel* const loaded : {&for_loss_, &for_gradient_, &for_states_})
      loaded->weights.by_tensor[to_index(op.inputs[0])] = values;
  }
  return static_cast<double>(outputs[0][0]);
}

const std::vector<float>& ReferenceTraining::state(const std::string& name) const {
  return *for_states_.weights.of(named(for_states_.model, name));
}

std::vector<float> ReferenceTraining::parameters() const {
  const Shape& shape = training_.loaded.model.tensor(named(training_.loaded.model, "parameters")).shape;
  const std::vector<float>& all = state("parameters");
  return {all.begin(), all.begin() + shape[1]};
}

namespace {

double dot(const std::vector<float>& a, const std::vector<float>& b) {
  double sum = 0;
  for (std::size_t i = 0; i < a.size(); ++i) sum += static_cast<double>(a[i]) * static_cast<double>(b[i]);
  return sum;
}

/// Of length one. Of each parameter half is random, which finds what is missing in the gradient, and half the gradient,
/// so that the loss changes by more than float32 rounds off.
std::vector<float> direction_of(const TrainingModel& training, const std::vector<float>& gradient, Random& random) {
  std::vector<float> direction(gradient.size(), 0.0F);
  const auto length_of = [](const std::vector<float>& values) {
    return std::sqrt(std::max(dot(values, values), 1e-30));
  };
  for (const PackedTensor& parameter : training.parameters) {
    const auto first = static_cast<std::size_t>(parameter.offset);
    const auto count = static_cast<std::size_t>(element_count(parameter.shape));
    std::vector<float> own(count);
    for (float& value : own) value = random.uniform(-1, 1);
    const std::vector<float> slope(gradient.begin() + static_cast<std::ptrdiff_t>(first),
                                   gradient.begin() + static_cast<std::ptrdiff_t>(first + count));
    const auto own_scale = static_cast<float>(1 / length_of(own));
    const auto slope_scale = static_cast<float>(1 / length_of(slope));
    for (std::size_t i = 0; i < count; ++i) direction[first + i] = own[i] * own_scale + slope[i] * slope_scale;
  }
  const auto scale = static_cast<float>(1 / length_of(direction));
  for (float& value : direction) value *= scale;
  return direction;
}

}  // namespace

/// Losses are float32, correct to about 1e-7 of themselves. A step that changes them by a hundredth therefore tells the
/// slope to about 1e-4 of it; what the loss curves over such a step is what the two step sizes tell apart.
GradientCheck check_gradient(const ReferenceTraining& training, int directions, std::uint64_t seed) {
  Random random(seed);
  const std::vector<float> start = training.parameters();
  const ReferenceTraining::Point here = training.evaluate(start);
  const auto slope_at = [&](const std::vector<float>& direction, float h) {
    std::vector<float> ahead = start, behind = start;
    for (std::size_t i = 0; i < start.size(); ++i) {
      ahead[i] += h * direction[i];
      behind[i] -= h * direction[i];
    }
    return (training.loss(ahead) - training.loss(behind)) / (2 * static_cast<double>(h));
  };
  GradientCheck check;
  for (int i = 0; i < directions; ++i) {
    const std::vector<float> direction = direction_of(training.training(), here.gradient, random);
    const double expected = dot(here.gradient, direction);
    const double scale = std::max(std::abs(expected), 1e-3 * std::max(1.0, std::abs(here.loss)));
    ++check.tried;
    bool is_smooth = false;
    double error = 0;
    // The larger step is more exact where the loss is smooth, the smaller one is less often across a kink.
    const double largest = std::min(2e-2, 1e-2 * std::max(0.1, std::abs(here.loss)) / scale);
    for (const double part : {1.0, 0.25, 0.0625}) {
      const auto h = static_cast<float>(part * largest);
      const double wide = slope_at(direction, h);
      const double narrow = slope_at(direction, h / 2);
      if (std::abs(wide - narrow) > 5e-3 * scale) continue;
      is_smooth = true;
      error = std::abs(narrow - expected) / scale;
      break;
    }
    if (!is_smooth) continue;
    ++check.counted;
    check.worst = std::max(check.worst, error);
  }
  return check;
}

}  // namespace cohort
