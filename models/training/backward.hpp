#pragma once

#include <optional>
#include <string>
#include <variant>
#include <vector>

#include "models/training/graph.hpp"

namespace cohort::training {

/// A tensor's gradient, or one of several that add up.
struct WholeGradient {
  TensorId tensor{};
};
/// From element `offset` of a pack on.
struct PartGradient {
  TensorId pack{};
  std::int64_t offset = 0;
};
/// Every element is `value`, as at a loss and through sums and means.
struct UniformGradient {
  float value = 0;
};
using Gradient = std::variant<WholeGradient, PartGradient, UniformGradient>;

class Backward;

/// One op of the forward pass, while the gradients of its inputs are computed from that of its result.
class OpGradient {
 public:
  OpGradient(Backward& backward, const Op& op) : backward_(backward), op_(op) {}

  [[nodiscard]] TensorId x(std::size_t i) const { return op_.inputs[i]; }
  [[nodiscard]] TensorId y() const { return op_.outputs[0]; }
  [[nodiscard]] Shape x_shape(std::size_t i) const { return shape(x(i)); }
  [[nodiscard]] Shape y_shape() const { return shape(y()); }
  [[nodiscard]] Shape shape(TensorId id) const;
  [[nodiscard]] std::size_t input_count() const { return op_.inputs.size(); }
  [[nodiscard]] std::string_view type() const { return op_type(op_.attributes); }

  /// Gradient by the result.
  TensorId dy();
  /// Set if all its elements are equal; then dy() is not needed.
  [[nodiscard]] std::optional<float> uniform_dy() const;

  /// Whether anything depends on the gradient by input i.
  [[nodiscard]] bool wants(std::size_t i) const;
  /// Adds `dx`, of input i's shape, to the gradient by input i.
  void give(std::size_t i, TensorId dx);
  /// The same with elements of a pack from `offset` on.
  void give_part(std::size_t i, TensorId pack, std::int64_t offset);
  void give_uniform(std::size_t i, float value);
  /// Sums over what numpy's broadcasting repeated.
  void give_sum(std::size_t i, TensorId of_y_shape);

  // Ops are named as the forward op, "." and the suffix.
  TensorId add(std::string_view suffix, OpAttributes attributes, std::vector<TensorId> inputs);
  TensorId binary(std::string_view suffix, BinaryKind kind, TensorId a, TensorId b);
  TensorId unary(std::string_view suffix, ActivationKind kind, TensorId x);
  TensorId reshape(std::string_view suffix, TensorId x, Shape shape);
  TensorId scalar(float value);
  TensorId whole_constant(std::string_view suffix, const std::vector<std::int64_t>& values);
  /// Values of a constant, null of other tensors.
  [[nodiscard]] const std::vector<float>* constant_values(TensorId id) const;

  /// Errors: always; the op has no gradient.
  [[nodiscard]] Result<void> refuse() const;

 private:
  [[nodiscard]] std::string name(std::string_view suffix) const { return fmt::format("{}.{}", op_.name, suffix); }

  Backward& backward_;
  const Op& op_;
};

/// Reverse mode over the ops that a graph has so far.
class Backward {
 public:
  /// `parameters` are the tensors whose gradients are asked for.
  Backward(Graph& graph, const std::vector<TensorId>& parameters);

  /// Gradients of `loss`, a tensor of one element.
  Result<void> run(TensorId loss);

  /// One tensor with the gradients by all `parameters`, each at its offset. Gradients that an op writes side by side in
  /// the parameters' order are one part.
  TensorId pack(const std::vector<std::int64_t>& offsets, std::int64_t size);

 private:
  friend class OpGradient;

  void find_dependent(std::size_t forward_ops);
  /// All gradients by tensor `id` as one tensor; more than one are added, by ops named after `name`.
  TensorId sum(TensorId id, const std::string& name);
  TensorId tensor_of(const Gradient& gradient, const Shape& shape, const std::string& name);
  /// Zeros from a part's end to the next one's start, so that the whole pack has no gaps and is written in place.
  TensorId padded(TensorId part, const std::string& name);
  [[nodiscard]] const PartGradient* only_part(std::size_t parameter) const;
  /// How many parameters from `first` on one pack holds as they lie in the state.
  [[nodiscard]] std::size_t run_length(std::size_t first, const std::vector<std::int64_t>& offsets) const;
  std::vector<Gradient>& gradients(TensorId id);

  Graph& graph_;
  std::vector<TensorId> parameters_;
  std::vector<bool> depends_;  ///< by tensor: differentiably on a parameter
  std::vector<std::optional<std::size_t>>
      via_;  ///< by tensor: the op without gradient through which it depends on a parameter
  std::vector<std::vector<Gradient>> gradients_;  ///< by tensor
};

}  // namespace cohort::training
