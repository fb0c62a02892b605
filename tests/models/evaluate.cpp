#include "tests/models/evaluate.hpp"

#include <bit>

#include <algorithm>
#include <cmath>
#include <limits>

#include "base/random.hpp"
#include "executor/reference/reference_kernels.hpp"

namespace cohort {

namespace {

View dense_view(const Model& model, TensorId id) {
  const Shape& shape = model.tensor(id).shape;
  Shape strides(shape.size(), 1);
  for (std::size_t i = shape.size(); i > 1; --i) strides[i - 2] = strides[i - 1] * shape[i - 1];
  return {BufferId(static_cast<std::uint32_t>(to_index(id))), 0, shape, strides};
}

Result<void> run_op(const HostKernels& kernels, const LoadedModel& loaded, const Op& op,
                    std::vector<std::vector<float>>& values) {
  const Model& model = loaded.model;
  OpCall call;
  call.attributes = op.attributes;
  call.post_ops = op.post_ops;
  call.outputs = {dense_view(model, op.outputs[0])};
  std::vector<std::vector<float>> weights;
  HostArguments arguments;
  for (const TensorId id : op.inputs) {
    if (model.tensor(id).role == TensorRole::kWeight) {
      call.inputs.emplace_back(WeightView{{{MemberId(0), id}}, model.tensor(id).shape});
      weights.push_back(*loaded.weights.of(id));
      arguments.inputs.push_back(nullptr);
    } else {
      call.inputs.emplace_back(dense_view(model, id));
      arguments.inputs.push_back(values[to_index(id)].data());
    }
  }
  auto& y = values[to_index(op.outputs[0])];
  y.resize(static_cast<std::size_t>(element_count(model.tensor(op.outputs[0]).shape)));
  arguments.outputs.push_back(y.data());
  COHORT_TRY(const auto alternatives, kernels.alternatives(call, 1));
  COHORT_TRY(const auto kernel, kernels.prepare(call, alternatives[0].algorithm, 1, weights));
  kernel->run(arguments);
  return {};
}

}  // namespace

Result<std::vector<std::vector<float>>> evaluate(const LoadedModel& loaded,
                                                 const std::vector<std::vector<float>>& inputs) {
  const auto kernels = make_reference_kernels();
  const Model& model = loaded.model;
  std::vector<std::vector<float>> values(model.tensors.size());
  for (std::size_t i = 0; i < model.inputs.size(); ++i) values[to_index(model.inputs[i])] = inputs[i];
  for (std::size_t i = 0; i < model.tensors.size(); ++i) {
    if (model.tensors[i].role == TensorRole::kState) values[i] = *loaded.weights.by_tensor[i];
  }
  for (const Op& op : model.ops) COHORT_CHECK(run_op(*kernels, loaded, op, values));
  std::vector<std::vector<float>> outputs;
  for (const TensorId id : model.outputs) outputs.push_back(values[to_index(id)]);
  return outputs;
}

std::vector<float> decoded_numbers(ElementType element, std::vector<float> elements) {
  if (element == ElementType::kFloat32) return elements;
  for (float& each : elements) each = static_cast<float>(std::bit_cast<std::int32_t>(each));
  return elements;
}

std::vector<std::vector<float>> random_inputs(const Model& model, std::uint64_t seed) {
  Random random(seed);
  std::vector<std::vector<float>> inputs;
  for (const TensorId id : model.inputs) {
    std::vector<float> values(static_cast<std::size_t>(element_count(model.tensor(id).shape)));
    for (float& value : values) value = random.uniform(-1, 1);
    inputs.push_back(std::move(values));
  }
  return inputs;
}

Model with_smaller_image(Model model, std::int64_t extent) {
  std::vector<Shape> old_shapes;
  for (const Tensor& tensor : model.tensors) old_shapes.push_back(tensor.shape);
  const auto shape = [&](TensorId id) -> Shape& { return model.tensors[to_index(id)].shape; };
  for (const TensorId id : model.inputs) shape(id)[2] = shape(id)[3] = extent;
  for (Op& op : model.ops) {
    const Shape& x = shape(op.inputs[0]);
    if (auto* pool = std::get_if<Pool>(&op.attributes)) {
      const Shape& old = old_shapes[to_index(op.inputs[0])];
      if (pool->window.kernel == Shape{old[2], old[3]}) pool->window.kernel = {x[2], x[3]};
    }
    const std::int64_t features = element_count(x) / x[0];
    if (std::holds_alternative<Reshape>(op.attributes)) {
      shape(op.outputs[0]) = {x[0], features};
      continue;
    }
    if (std::holds_alternative<Gemm>(op.attributes)) shape(op.inputs[1])[1] = features;
    std::vector<Shape> shapes;
    for (const TensorId id : op.inputs) shapes.push_back(shape(id));
    shape(op.outputs[0]) = infer_shape(op.attributes, shapes).value();
  }
  return model;
}

double excess(const std::vector<float>& a, const std::vector<float>& b, double rtol) {
  constexpr double kInfinity = std::numeric_limits<double>::infinity();
  if (a.size() != b.size()) return kInfinity;
  double worst = -kInfinity;
  for (std::size_t i = 0; i < a.size(); ++i) {
    const double x = a[i];
    const double y = b[i];
    if (!std::isfinite(x) || !std::isfinite(y)) return kInfinity;
    worst = std::max(worst, std::abs(x - y) - rtol * std::abs(y));
  }
  return worst;
}

}  // namespace cohort
