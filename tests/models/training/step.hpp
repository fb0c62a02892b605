#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "models/training/differentiate.hpp"

namespace cohort {

/// Runs a training step by plain loops, again and again on the same inputs.
class ReferenceTraining {
 public:
  /// Inputs are drawn from `seed`: labels among the classes of the loss, other whole numbers zero.
  ReferenceTraining(TrainingModel training, std::uint64_t seed);

  /// Loss and the packed gradient [P] at row 0 of "parameters".
  struct Point {
    double loss = 0;
    std::vector<float> gradient;
  };
  [[nodiscard]] Point evaluate(const std::vector<float>& parameters) const;
  [[nodiscard]] double loss(const std::vector<float>& parameters) const;
  /// Runs the step and keeps the states' next values; returns the loss before it.
  double step();

  void set(Setting setting, float value);
  [[nodiscard]] const TrainingModel& training() const { return training_; }
  /// The current value of a state.
  [[nodiscard]] const std::vector<float>& state(const std::string& name) const;
  /// Row 0 of "parameters".
  [[nodiscard]] std::vector<float> parameters() const;

 private:
  [[nodiscard]] LoadedModel with_parameters(const std::vector<float>& values) const;

  TrainingModel training_;
  LoadedModel for_loss_, for_gradient_, for_states_;
  std::vector<std::vector<float>> inputs_;
  std::int32_t step_ = 0;
};

/// The largest disagreement of the gradient with central differences of the loss, over random directions that change
/// every parameter, relative to the length of gradient along them. Differences at two step sizes that differ show a
/// kink between (of a rectifier, of a maximum); such directions do not count.
struct GradientCheck {
  double worst = 0;
  int counted = 0;
  int tried = 0;
};
GradientCheck check_gradient(const ReferenceTraining& training, int directions, std::uint64_t seed);

}  // namespace cohort
