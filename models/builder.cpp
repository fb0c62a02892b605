#include "models/builder.hpp"

namespace cohort {

ModelBuilder::ModelBuilder(std::string name) { model_.name = std::move(name); }

TensorId ModelBuilder::add_tensor(Tensor tensor) {
  model_.tensors.push_back(std::move(tensor));
  return TensorId(static_cast<std::uint32_t>(model_.tensors.size() - 1));
}

TensorId ModelBuilder::add_input(Tensor tensor) {
  const TensorId id = add_tensor(std::move(tensor));
  model_.inputs.push_back(id);
  return id;
}

TensorId ModelBuilder::input(std::string name, Shape shape, ElementType element) {
  return add_input({std::move(name), std::move(shape), TensorRole::kInput, element});
}

TensorId ModelBuilder::weight(std::string name, Shape shape) {
  return add_tensor({std::move(name), std::move(shape), TensorRole::kWeight});
}

TensorId ModelBuilder::append(std::string op_name, std::string tensor_name, OpAttributes attributes,
                              std::vector<TensorId> inputs, Shape shape) {
  std::vector<ElementType> elements;
  for (const TensorId id : inputs) elements.push_back(model_.tensor(id).element);
  // What is wrong with the types, validate() says.
  const ElementType element = infer_element(attributes, elements).value_or(ElementType::kFloat32);
  const TensorId y = add_tensor({std::move(tensor_name), std::move(shape), TensorRole::kActivation, element});
  model_.ops.push_back({std::move(op_name), std::move(attributes), {}, std::move(inputs), {y}, phase_});
  return y;
}

TensorId ModelBuilder::add(const std::string& op_name, OpAttributes attributes, std::vector<TensorId> inputs) {
  return add_as(op_name, op_name, std::move(attributes), std::move(inputs));
}

TensorId ModelBuilder::add_as(const std::string& op_name, std::string tensor_name, OpAttributes attributes,
                              std::vector<TensorId> inputs) {
  std::vector<Shape> shapes;
  for (const TensorId id : inputs) shapes.push_back(shape(id));
  Result<Shape> inferred = infer_shape(attributes, shapes);
  if (!inferred) {
    const std::string place = fmt::format("op {} ({})", op_name, op_type(attributes));
    errors_.push_back(in_context(place, inferred.error()).value());
    inferred = Shape{};
  }
  return append(op_name, std::move(tensor_name), std::move(attributes), std::move(inputs), *std::move(inferred));
}

TensorId ModelBuilder::reshape(const std::string& op_name, TensorId x, Shape shape) {
  return reshape_as(op_name, op_name, x, std::move(shape));
}

TensorId ModelBuilder::reshape_as(std::string op_name, std::string tensor_name, TensorId x, Shape shape) {
  return append(std::move(op_name), std::move(tensor_name), Reshape{}, {x}, std::move(shape));
}

TensorId ModelBuilder::convolution(const std::string& op_name, TensorId x, const ConvolutionOptions& options) {
  const std::int64_t channels_in = shape(x).size() > 1 ? shape(x)[1] : 0;
  const std::int64_t group_channels = options.groups > 0 ? channels_in / options.groups : 0;
  Convolution attributes;
  attributes.groups = options.groups;
  attributes.window.kernel = {options.kernel, options.kernel};
  attributes.window.stride = {options.stride, options.stride};
  attributes.window.pad_begin = {options.pad, options.pad};
  attributes.window.pad_end = {options.pad, options.pad};
  attributes.window.dilation = {1, 1};
  std::vector<TensorId> inputs{
      x, weight(op_name + ".weight", {options.channels, group_channels, options.kernel, options.kernel})};
  if (options.bias) inputs.push_back(weight(op_name + ".bias", {options.channels}));
  return add(op_name, attributes, std::move(inputs));
}

TensorId ModelBuilder::relu(const std::string& op_name, TensorId x) {
  return add(op_name, Activation{ActivationKind::kRelu, 0, 0}, {x});
}

TensorId ModelBuilder::max_pool(const std::string& op_name, TensorId x, std::int64_t kernel, std::int64_t stride,
                                std::int64_t pad) {
  const Window window{{kernel, kernel}, {stride, stride}, {pad, pad}, {pad, pad}, {1, 1}};
  return add(op_name, Pool{PoolKind::kMax, window, false, false}, {x});
}

TensorId ModelBuilder::global_average_pool(const std::string& op_name, TensorId x) {
  const Shape& in = shape(x);
  const std::int64_t h = in.size() == 4 ? in[2] : 0;
  const std::int64_t w = in.size() == 4 ? in[3] : 0;
  const Window window{{h, w}, {1, 1}, {0, 0}, {0, 0}, {1, 1}};
  return add(op_name, Pool{PoolKind::kAverage, window, false, false}, {x});
}

TensorId ModelBuilder::flatten(const std::string& op_name, TensorId x) {
  const Shape in = shape(x);
  if (in.empty()) return reshape(op_name, x, {});
  return reshape(op_name, x, {in[0], element_count(Shape(in.begin() + 1, in.end()))});
}

TensorId ModelBuilder::linear(const std::string& op_name, TensorId x, std::int64_t out) {
  const Shape in = shape(x);
  const std::int64_t features = in.empty() ? 0 : element_count(Shape(in.begin() + 1, in.end()));
  const TensorId w = weight(op_name + ".weight", {out, features});
  const TensorId b = weight(op_name + ".bias", {out});
  return add(op_name, Gemm{}, {x, w, b});
}

Result<Model> ModelBuilder::finish() {
  if (!errors_.empty()) return in_context(fmt::format("model {}", model_.name), errors_.front());
  COHORT_CHECK(validate(model_));
  return std::move(model_);
}

}  // namespace cohort
