#pragma once

#include <map>
#include <optional>
#include <set>
#include <vector>

#include "models/training/graph.hpp"
#include "models/training/layout.hpp"

namespace cohort::training {

enum class ForwardMode { kTraining, kEvaluation };

/// A minibatch's statistics at one batch normalisation, and the place of the running ones.
struct NewStatistics {
  TensorId values{};        ///< [2, C]: mean, unbiased variance
  std::int64_t offset = 0;  ///< in the state "statistics"
  float momentum = 0.1F;    ///< weight of these against the running ones
};

/// Copies an inference model's ops to a graph, with parameters and running statistics from states.
class ForwardPass {
 public:
  ForwardPass(const LoadedModel& inference, const StateLayout& layout, const TrainingSpec& spec, ForwardMode mode,
              Graph& graph);

  /// Adds the inputs that are read, the states and the ops; in training only those that the objective depends on.
  Result<void> run();

  /// What a tensor of the inference model is in the graph.
  TensorId value(TensorId inference);
  [[nodiscard]] TensorId parameters_state() const { return parameters_; }
  [[nodiscard]] std::optional<TensorId> statistics_state() const { return statistics_; }
  [[nodiscard]] const std::vector<NewStatistics>& new_statistics() const { return new_statistics_; }
  /// By position in StateLayout::parameters.
  [[nodiscard]] const std::vector<TensorId>& parameter_tensors() const { return parameter_tensors_; }
  /// The model input of that name, made at first use.
  TensorId settings();
  TensorId random();

 private:
  void reserve_names();
  void add_inputs();
  void add_states();
  Result<void> add(std::size_t index);
  Result<void> add_normalization(std::size_t index, const Op& op);
  Result<void> add_dropout(const Op& op);
  bool add_layer_normalization(const Op& op);
  TensorId add_view(const PackedTensor& part, TensorId state);
  void add_copy(const Op& op, OpAttributes attributes);
  [[nodiscard]] bool is_used(std::size_t index) const {
    return mode_ == ForwardMode::kEvaluation || layout_.used_ops.count(index) > 0;
  }
  /// What a tensor of the inference model is called.
  std::string name_of(TensorId inference);
  std::vector<TensorId> values(const Op& op);

  const LoadedModel& inference_;
  const StateLayout& layout_;
  const TrainingSpec& spec_;
  ForwardMode mode_;
  Graph& graph_;
  std::map<TensorId, TensorId> values_;  ///< by tensor of the inference model
  std::set<std::string> our_names_;      ///< of states and inputs, which nothing else may have
  TensorId parameters_{};
  std::optional<TensorId> statistics_, settings_, random_;
  std::vector<TensorId> parameter_tensors_;
  std::vector<NewStatistics> new_statistics_;
  std::uint32_t dropouts_ = 0;
};

}  // namespace cohort::training
