#include "models/training/graph.hpp"

namespace cohort::training {

std::string Graph::unique(std::string name, std::set<std::string>& taken) {
  while (!taken.insert(name).second) name += "_";
  return name;
}

TensorId Graph::made(TensorId id, WeightValues values) {
  weights_.by_tensor.push_back(std::move(values));
  return id;
}

TensorId Graph::add_tensor(Tensor tensor, WeightValues values) {
  tensor_names_.insert(tensor.name);
  return made(builder_.add_tensor(std::move(tensor)), std::move(values));
}

TensorId Graph::add_input(std::string name, Shape shape, TensorRole role, ElementType element) {
  tensor_names_.insert(name);
  return made(builder_.add_input({std::move(name), std::move(shape), role, element}));
}

TensorId Graph::add(std::string name, OpAttributes attributes, std::vector<TensorId> inputs) {
  const std::string op_name = unique(name, op_names_);
  return add_as(op_name, unique(std::move(name), tensor_names_), std::move(attributes), std::move(inputs));
}

TensorId Graph::add_as(const std::string& op_name, const std::string& tensor_name, OpAttributes attributes,
                       std::vector<TensorId> inputs) {
  return made(builder_.add_as(op_name, tensor_name, std::move(attributes), std::move(inputs)));
}

TensorId Graph::reshape(std::string name, TensorId x, Shape to) {
  if (shape(x) == to) return x;
  const std::string op_name = unique(name, op_names_);
  return reshape_as(op_name, unique(std::move(name), tensor_names_), x, std::move(to));
}

TensorId Graph::reshape_as(const std::string& op_name, const std::string& tensor_name, TensorId x, Shape to) {
  return made(builder_.reshape_as(op_name, tensor_name, x, std::move(to)));
}

TensorId Graph::scalar(float value) {
  const std::string name = fmt::format("constant {}", value);
  const auto known = scalars_.find(name);
  if (known != scalars_.end()) return known->second;
  const TensorId id = constant(name, {}, {value});
  scalars_.emplace(name, id);
  return id;
}

TensorId Graph::constant(std::string name, Shape shape, std::vector<float> values, ElementType element) {
  Tensor tensor{unique(std::move(name), tensor_names_), std::move(shape), TensorRole::kWeight, element};
  tensor.fixed = true;
  return add_tensor(std::move(tensor), std::make_shared<const std::vector<float>>(std::move(values)));
}

Result<LoadedModel> Graph::finish() {
  COHORT_TRY(Model model, builder_.finish());
  return LoadedModel{std::move(model), std::move(weights_)};
}

}  // namespace cohort::training
