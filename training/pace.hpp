#pragma once

#include <cstdint>
#include <vector>

#include "base/units.hpp"
#include "training/rungs.hpp"

namespace cohort {

/// What one member of a sweep takes, by what has been measured so far, and what the rest of the sweep takes at that
/// pace: its steps, its evaluations and its files apart, with the fewer members that halving leaves.
class Pace {
 public:
  /// `evaluation_minibatches`: of one evaluation. Until one has been timed, each counts as a third of a training
  /// step: a step goes through the network forward and, for two gradients, back.
  Pace(StepCounts counts, std::vector<Rung> rungs, std::int64_t evaluation_minibatches)
      : counts_(counts), rungs_(std::move(rungs)), evaluation_minibatches_(evaluation_minibatches) {}

  /// Training steps of so many members.
  void add_steps(std::int64_t steps, std::size_t members, Nanoseconds took);
  /// An evaluation of so many members.
  void add_evaluation(std::size_t members, Nanoseconds took);
  /// All else that an epoch's end takes: results, checkpoints, new plans.
  void add_epoch_end(Nanoseconds took);

  /// Of what comes behind step `done`. Zero before the first step has been timed.
  [[nodiscard]] Nanoseconds left(std::int64_t done) const;

 private:
  struct Mean {
    double sum = 0;    ///< nanoseconds
    double count = 0;  ///< of members
    [[nodiscard]] double value() const { return count > 0 ? sum / count : 0; }
  };
  StepCounts counts_;
  std::vector<Rung> rungs_;
  std::int64_t evaluation_minibatches_;
  Mean step_, evaluation_, epoch_end_;
};

}  // namespace cohort
