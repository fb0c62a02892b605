#pragma once

#include <map>
#include <set>
#include <string>
#include <vector>

#include "models/builder.hpp"

namespace cohort::training {

/// A model and its weights that grow op by op, as ModelBuilder has it. Names that are taken get a "_" more.
class Graph {
 public:
  explicit Graph(std::string name) : builder_(std::move(name)) {}

  /// Ops made from now on belong to this phase.
  void begin(Phase phase) { builder_.begin(phase); }
  /// Names that ops made later may not take.
  void reserve_op(const std::string& name) { op_names_.insert(name); }
  void reserve_tensor(const std::string& name) { tensor_names_.insert(name); }
  /// `name` or, where it is taken, another, which is then reserved.
  std::string free_tensor_name(std::string name) { return unique(std::move(name), tensor_names_); }
  std::string free_op_name(std::string name) { return unique(std::move(name), op_names_); }

  /// Keeps the name it has.
  TensorId add_tensor(Tensor tensor, WeightValues values = nullptr);
  TensorId add_input(std::string name, Shape shape, TensorRole role, ElementType element);
  TensorId add(std::string name, OpAttributes attributes, std::vector<TensorId> inputs);
  /// The op and the tensor it writes keep the names that were reserved for them.
  TensorId add_as(const std::string& op_name, const std::string& tensor_name, OpAttributes attributes,
                  std::vector<TensorId> inputs);
  /// x itself where it has that shape.
  TensorId reshape(std::string name, TensorId x, Shape shape);
  TensorId reshape_as(const std::string& op_name, const std::string& tensor_name, TensorId x, Shape shape);
  /// A constant of one element that repeats; there is one for each value.
  TensorId scalar(float value);
  TensorId constant(std::string name, Shape shape, std::vector<float> values,
                    ElementType element = ElementType::kFloat32);

  [[nodiscard]] const Model& model() const { return builder_.model(); }
  [[nodiscard]] const Weights& weights() const { return weights_; }
  /// A copy, as tensors move when the graph grows.
  [[nodiscard]] Shape shape(TensorId id) const { return model().tensor(id).shape; }
  [[nodiscard]] ElementType element(TensorId id) const { return model().tensor(id).element; }

  void set_output(TensorId id) { builder_.output(id); }
  /// The model, or the first error met.
  Result<LoadedModel> finish();

 private:
  /// A tensor just made, and what it holds.
  TensorId made(TensorId id, WeightValues values = nullptr);
  static std::string unique(std::string name, std::set<std::string>& taken);

  ModelBuilder builder_;
  Weights weights_;
  std::set<std::string> op_names_, tensor_names_;
  std::map<std::string, TensorId> scalars_;
};

}  // namespace cohort::training
