#pragma once

#include <map>
#include <set>
#include <vector>

#include "models/training/differentiate.hpp"

namespace cohort::training {

/// Where the running statistics of a BatchNormalization lie: mean, and behind it variance.
struct StatisticsPlace {
  std::int64_t offset = 0;
  std::int64_t channels = 0;
};

/// What of a model is trained, and where it lies.
struct StateLayout {
  TensorId objective{};            ///< the first output
  std::set<std::size_t> used_ops;  ///< that it depends on
  std::vector<PackedTensor> parameters, statistics;
  std::map<std::size_t, StatisticsPlace> statistics_of;  ///< by op
  std::int64_t parameter_size = 0;                       ///< P
  std::int64_t statistics_size = 0;                      ///< S
};

/// Errors: kInvalidInput where nothing is to be trained, an op was simplified or belongs to a training step already, or
/// statistics are computed or shared.
Result<StateLayout> state_layout(const LoadedModel& inference);

/// First values of the states. `rows` as state_rows() gives them.
WeightValues initial_parameters(const LoadedModel& inference, const StateLayout& layout, std::int64_t rows);
WeightValues initial_statistics(const LoadedModel& inference, const StateLayout& layout);

}  // namespace cohort::training
