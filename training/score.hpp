#pragma once

#include <cstddef>
#include <optional>
#include <span>

#include "training/data_set.hpp"
#include "training/minibatches.hpp"
#include "training/network.hpp"

namespace cohort {

/// What a network's outputs say about samples whose classes or targets are known, summed in double.
class Score {
 public:
  /// Of cross-entropy also where the network ends in a softmax itself.
  Score(LossKind loss, bool gives_probabilities) : loss_(loss), gives_probabilities_(gives_probabilities) {}

  /// Outputs of a minibatch, [samples, size], of sequences that are told at each step [steps, samples, size]; those
  /// beyond Minibatch::count are passed over.
  void add(std::span<const float> outputs, const Minibatch& minibatch);

  /// Mean over samples, of squared errors also over targets. Zero where nothing was added.
  [[nodiscard]] double loss() const;
  /// Part of the samples whose class has the highest score, the first of equal ones. Of classes only.
  [[nodiscard]] std::optional<double> accuracy() const;

 private:
  void add_class(std::span<const float> scores, std::size_t label);
  void add_targets(std::span<const float> outputs, std::span<const float> targets);

  LossKind loss_;
  bool gives_probabilities_;
  double sum_ = 0;
  std::size_t count_ = 0;
  std::size_t right_ = 0;
};

}  // namespace cohort
