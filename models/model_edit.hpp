#pragma once

#include <set>
#include <string>
#include <vector>

#include "models/model.hpp"

namespace cohort {

/// A model whose ops are merged: who reads and writes each tensor is kept up to date. Ops are named by position; merged
/// ones stay in place, dead, until finish().
class ModelEdit {
 public:
  static constexpr std::size_t kNone = SIZE_MAX;

  explicit ModelEdit(LoadedModel loaded);
  /// The model without dead ops and what nobody reads: in topological order, as far as possible the one it had.
  LoadedModel finish();

  Model& model() { return loaded_.model; }
  [[nodiscard]] const Model& model() const { return loaded_.model; }
  [[nodiscard]] const LoadedModel& loaded() const { return loaded_; }
  Op& op(std::size_t i) { return model().ops[i]; }
  [[nodiscard]] const Op& op(std::size_t i) const { return model().ops[i]; }
  [[nodiscard]] std::size_t op_count() const { return model().ops.size(); }
  [[nodiscard]] bool is_dead(std::size_t i) const { return dead_[i]; }
  [[nodiscard]] const Shape& shape(TensorId id) const { return model().tensor(id).shape; }

  /// The op that writes the tensor; kNone for inputs and weights.
  [[nodiscard]] std::size_t writer(TensorId id) const { return writer_[to_index(id)]; }
  /// The op that alone reads, once, what op `i` writes; kNone where that is an output, too.
  [[nodiscard]] std::size_t only_reader(std::size_t i) const;
  [[nodiscard]] bool is_output(TensorId id) const;
  /// Whether the tensor is a weight whose values are known.
  [[nodiscard]] bool is_constant(TensorId id) const;

  /// Op `i` takes the place of `next`, which read what `i` wrote.
  void take_place_of(std::size_t next, std::size_t i);
  void read_instead(std::size_t i, std::size_t position, TensorId source);
  /// Op `i` reads one tensor more.
  void read_also(std::size_t i, TensorId source);
  /// Op `i` reads its last input no longer.
  void read_less(std::size_t i);
  /// Op `i` writes `id` from now on.
  void write(std::size_t i, TensorId id);
  void drop(std::size_t i);
  /// Drops the op that writes `id` where nobody reads it.
  void drop_if_unread(TensorId id);
  /// Drops all ops that no output needs.
  void drop_unread();

  /// A tensor named so, or with underscores behind where that name is taken.
  TensorId new_tensor(std::string name, Shape shape, TensorRole role);
  /// A weight with the values of another in another shape.
  TensorId new_view_of_weight(std::string name, TensorId weight, Shape shape);
  /// `x` in another shape, by a new op.
  TensorId new_reshape(TensorId x, std::string name, const Shape& shape);
  /// Gives input `position` of op `i` other values; those of ops that share the weight stay.
  void replace_weight(std::size_t i, std::size_t position, std::vector<float> values);

 private:
  void stop_reading(std::size_t reader, TensorId id);
  void sort();
  void compact();

  LoadedModel loaded_;
  std::vector<std::vector<std::size_t>> readers_;  ///< by tensor; an op that reads it twice stands twice
  std::vector<std::size_t> writer_;                ///< by tensor
  std::vector<bool> dead_;                         ///< by op
  std::set<std::string> names_;                    ///< of tensors
  std::set<std::string> op_names_;
};

}  // namespace cohort
