#pragma once

#include <array>
#include <cstddef>
#include <map>
#include <span>
#include <string>
#include <vector>

#include "base/result.hpp"
#include "models/model.hpp"
#include "simulator/planner/planner.hpp"

namespace cohort {

/// A plan that was run on the profiled device: what a step of it took, and of its members one after another.
struct CheckedPlan {
  Plan plan;
  Nanoseconds step{};
  Nanoseconds baseline{};
};

/// By how much ops take longer in a plan than recorded costs say, learned from plans that were run. A plan that was run
/// takes what was found of it; others take after those, the more the more alike they are: in their members, their
/// streams, how they are launched, and which part of the ops runs by which strategy. What is like nothing that was run
/// keeps a ratio of 1.
///
/// Of plans that decode images nothing is learned: their steps wait for input, which says nothing of ops.
class LearnedRatios {
 public:
  /// Holds each against what costs alone predict for it, in the devices and catalog of `planning_case`, whose models
  /// stand for those of the same source; plans with members of other sources are left out.
  /// Errors: those of predict_plan().
  static Result<LearnedRatios> from(const PlanningCase& planning_case, std::span<const CheckedPlan> checked);

  /// Measured over predicted; above 0.
  [[nodiscard]] double of(const Plan& plan) const;
  /// Whether this very plan was run.
  [[nodiscard]] bool was_run(const Plan& plan) const;
  /// The least that of() may say; at most 1.
  [[nodiscard]] double least() const { return least_; }
  [[nodiscard]] bool empty() const { return known_.empty(); }

 private:
  /// What makes plans alike.
  struct Features {
    std::map<ModelSource, int> members;
    double log_members = 0;  ///< to the base 2, as are streams
    double log_streams = 0;
    int launch_threads = 1;
    bool graph = false;
    bool shared_input = false;
    std::array<double, 6> by_strategy{};  ///< parts of all ops
  };
  struct Known {
    Features features;
    std::string text;  ///< what of the plan decides how long it takes
    double log_ratio = 0;
  };

  [[nodiscard]] Features features_of(const Plan& plan) const;
  [[nodiscard]] static double distance(const Features& a, const Features& b);
  void add(const Plan& plan, double ratio);

  std::map<ModelSource, std::size_t> ops_;  ///< of a model
  std::vector<Known> known_;
  double least_ = 1;
};

}  // namespace cohort
