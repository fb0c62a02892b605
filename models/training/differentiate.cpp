#include "models/training/differentiate.hpp"

#include <algorithm>
#include <optional>

#include "models/training/backward.hpp"
#include "models/training/forward.hpp"
#include "models/training/recompute.hpp"

namespace cohort {
namespace training {
namespace {

/// The axis of a reshaped tensor's input that axis `axis` of its output is, if it is one.
std::optional<std::int64_t> axis_before(const Shape& before, const Shape& after, std::int64_t axis) {
  const auto extents_ahead = [](const Shape& shape, std::size_t count) {
    return element_count(Shape(shape.begin(), shape.begin() + static_cast<std::ptrdiff_t>(count)));
  };
  const auto wanted = static_cast<std::size_t>(axis);
  for (std::size_t i = 0; i < before.size(); ++i) {
    if (before[i] == after[wanted] && extents_ahead(before, i) == extents_ahead(after, wanted))
      return static_cast<std::int64_t>(i);
  }
  return std::nullopt;
}

/// A softmax of classes, and the ops behind it, the first one first, that move its result alone.
struct FinalSoftmax {
  const Op* softmax = nullptr;
  std::vector<const Op*> moves;
};

/// The softmax that the objective [N, K, ...] is of its K classes, if it is: cross-entropy contains it.
std::optional<FinalSoftmax> final_softmax(const Model& model, TensorId objective) {
  FinalSoftmax found;
  std::optional<std::int64_t> axis = 1;
  TensorId at = objective;
  while (axis && *axis < static_cast<std::int64_t>(model.tensor(at).shape.size())) {
    const auto op = std::find_if(model.ops.begin(), model.ops.end(), [&](const Op& each) {
      return std::find(each.outputs.begin(), each.outputs.end(), at) != each.outputs.end();
    });
    if (op == model.ops.end()) return std::nullopt;
    if (const auto* softmax = std::get_if<Softmax>(&op->attributes)) {
      if (softmax->axis != *axis || softmax->logarithm) return std::nullopt;
      found.softmax = &*op;
      std::reverse(found.moves.begin(), found.moves.end());
      return found;
    }
    if (const auto* transpose = std::get_if<Transpose>(&op->attributes)) {
      axis = transpose->permutation[static_cast<std::size_t>(*axis)];
    } else if (std::holds_alternative<Reshape>(op->attributes)) {
      axis = axis_before(model.tensor(op->inputs[0]).shape, model.tensor(at).shape, *axis);
    } else {
      return std::nullopt;
    }
    found.moves.push_back(&*op);
    at = op->inputs[0];
  }
  return std::nullopt;
}

/// The whole step of one model.
class TrainingStep {
 public:
  TrainingStep(const LoadedModel& inference, const TrainingSpec& spec, StateLayout layout)
      : inference_(inference),
        spec_(spec),
        layout_(std::move(layout)),
        graph_(inference.model.name),
        forward_(inference, layout_, spec, ForwardMode::kTraining, graph_) {}

  Result<TrainingModel> run(bool strict_nan) {
    COHORT_CHECK(forward_.run());
    COHORT_TRY(const TensorId loss, add_loss());
    graph_.set_output(loss);
    graph_.begin(Phase::kBackward);
    Backward backward(graph_, forward_.parameter_tensors());
    COHORT_CHECK(backward.run(loss));
    std::vector<std::int64_t> offsets;
    for (const PackedTensor& parameter : layout_.parameters) offsets.push_back(parameter.offset);
    const TensorId gradient = backward.pack(offsets, layout_.parameter_size);
    graph_.begin(Phase::kUpdate);
    COHORT_CHECK(add_running_average());
    add_update(gradient);
    COHORT_TRY(LoadedModel loaded, graph_.finish());
    TrainingModel made{simplify_training(std::move(loaded), strict_nan), layout_.parameters, layout_.statistics};
    if (spec_.recompute) {
      made.loaded.model = recompute_activations(made.loaded.model);
      made.loaded.weights.by_tensor.resize(made.loaded.model.tensors.size());
    }
    return made;
  }

 private:
  Result<TensorId> add_loss() {
    switch (spec_.loss) {
      case LossKind::kCrossEntropy:
        return add_cross_entropy();
      case LossKind::kMeanSquaredError:
        return add_mean_squared_error();
      case LossKind::kModelOutput:
        break;
    }
    const TensorId output = objective();
    if (graph_.element(output) != ElementType::kFloat32 || element_count(graph_.shape(output)) != 1)
      return fail(ErrorCode::kInvalidInput, "output {} is no loss: it is {} {}, not one number", name_of_objective(),
                  to_string(graph_.element(output)), to_string(graph_.shape(output)));
    return graph_.reshape_as(graph_.free_op_name("loss"), "loss", output, {1});
  }

  TensorId objective() { return forward_.value(layout_.objective); }
  [[nodiscard]] const std::string& name_of_objective() const { return inference_.model.tensor(layout_.objective).name; }
  /// What a final softmax is of, brought into the objective's shape, or else the objective.
  TensorId scores() {
    const std::optional<FinalSoftmax> final = final_softmax(inference_.model, layout_.objective);
    if (!final) return objective();
    TensorId x = forward_.value(final->softmax->inputs[0]);
    for (const Op* op : final->moves) {
      const std::string name = op->name + ".scores";
      const Shape& shape = inference_.model.tensor(op->outputs[0]).shape;
      x = std::holds_alternative<Reshape>(op->attributes) ? graph_.reshape(name, x, shape)
                                                          : graph_.add(name, op->attributes, {x});
    }
    return x;
  }

  Result<TensorId> add_cross_entropy() {
    const TensorId output = scores();
    Shape labels = graph_.shape(output);
    if (graph_.element(output) != ElementType::kFloat32 || labels.size() < 2)
      return fail(ErrorCode::kInvalidInput, "cross_entropy needs an output [N, K, ...] of numbers, but {} is {} {}",
                  name_of_objective(), to_string(graph_.element(output)), to_string(labels));
    labels.erase(labels.begin() + 1);
    const TensorId input = graph_.add_input("labels", labels, TensorRole::kInput, ElementType::kInt32);
    return graph_.add_as(graph_.free_op_name("loss"), "loss", SoftmaxCrossEntropy{}, {output, input});
  }

  /// The sum of squares divided by their number: of it the gradient is one product.
  Result<TensorId> add_mean_squared_error() {
    const TensorId output = objective();
    const Shape shape = graph_.shape(output);
    if (graph_.element(output) != ElementType::kFloat32)
      return fail(ErrorCode::kInvalidInput, "mean_squared_error needs numbers, but output {} is {}",
                  name_of_objective(), to_string(graph_.element(output)));
    const std::int64_t count = element_count(shape);
    const TensorId targets = graph_.add_input("targets", shape, TensorRole::kInput, ElementType::kFloat32);
    const TensorId error = graph_.add("loss.error", Binary{BinaryKind::kSub}, {output, targets});
    const TensorId flat = graph_.reshape("loss.flat", error, {count});
    const TensorId sum = graph_.add("loss.sum", Reduce{ReduceKind::kSumOfSquares, {0}, true}, {flat});
    return graph_.add_as(graph_.free_op_name("loss"), "loss", Binary{BinaryKind::kMul},
                         {sum, graph_.scalar(1.0F / static_cast<float>(count))});
  }

  Result<void> add_running_average() {
    const auto& all = forward_.new_statistics();
    if (all.empty()) return {};
    Pack pack{{}, layout_.statistics_size};
    std::vector<TensorId> parts;
    for (const NewStatistics& each : all) {
      if (each.momentum != all[0].momentum)
        return fail(ErrorCode::kInvalidInput,
                    "batch normalisations follow their minibatches with momentum {} and {}; only one is supported",
                    all[0].momentum, each.momentum);
      pack.offsets.push_back(each.offset);
      parts.push_back(each.values);
    }
    const TensorId values = graph_.add("statistics.new", std::move(pack), std::move(parts));
    graph_.add("statistics.update", RunningAverage{all[0].momentum}, {*forward_.statistics_state(), values});
    return {};
  }

  void add_update(TensorId gradient) {
    std::vector<TensorId> inputs{forward_.parameters_state(), gradient, forward_.settings()};
    if (spec_.update.clip)
      inputs.push_back(graph_.add("gradient.norm", Reduce{ReduceKind::kL2, {0}, true}, {gradient}));
    graph_.add("update", spec_.update, std::move(inputs));
  }

  const LoadedModel& inference_;
  const TrainingSpec& spec_;
  StateLayout layout_;
  Graph graph_;
  ForwardPass forward_;
};

}  // namespace
}  // namespace training

bool ends_in_softmax(const Model& model) { return training::final_softmax(model, model.outputs.front()).has_value(); }

Result<TrainingModel> differentiate(const LoadedModel& inference, const TrainingSpec& spec, bool strict_nan) {
  const auto made = [&]() -> Result<TrainingModel> {
    COHORT_TRY(training::StateLayout layout, training::state_layout(inference));
    return training::TrainingStep(inference, spec, std::move(layout)).run(strict_nan);
  }();
  if (!made) return in_context(fmt::format("training {}", inference.model.name), made.error());
  return made;
}

Result<LoadedModel> evaluation_model(const LoadedModel& inference, const TrainingSpec& spec, bool strict_nan) {
  const auto made = [&]() -> Result<LoadedModel> {
    COHORT_TRY(const training::StateLayout layout, training::state_layout(inference));
    training::Graph graph(inference.model.name);
    training::ForwardPass forward(inference, layout, spec, training::ForwardMode::kEvaluation, graph);
    COHORT_CHECK(forward.run());
    for (const TensorId id : inference.model.outputs) graph.set_output(forward.value(id));
    return graph.finish();
  }();
  if (!made) return in_context(fmt::format("evaluating {}", inference.model.name), made.error());
  return simplify(*made, strict_nan);
}

}  // namespace cohort
