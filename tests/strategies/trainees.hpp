#pragma once

#include <functional>
#include <string>
#include <vector>

#include "executor/backend.hpp"
#include "models/training/differentiate.hpp"
#include "simulator/plan/lower.hpp"

namespace cohort::testing {

/// Members of one network that train by one rule, each from weights of its own.
struct Trainees {
  std::vector<TrainingModel> steps;
  std::vector<Member> members;

  [[nodiscard]] std::vector<const Model*> models() const {
    std::vector<const Model*> all;
    for (const TrainingModel& step : steps) all.push_back(&step.loaded.model);
    return all;
  }
};
/// Of a network as networks.hpp has it, small, or "normalized" or "small_lenet"; "momentum" with a limited gradient.
Trainees trainees(const std::string& network, std::int64_t minibatch, const std::string& optimizer, int count);

/// Hyperparameters that differ from member to member.
std::vector<float> settings_of(std::uint32_t member);

struct TrainingChoices {
  std::uint32_t first = 0;  ///< of the trainees, that the plan's first member is
  std::function<std::vector<float>(std::uint32_t member)> settings = settings_of;
  ChooseAlternative alternative = first_alternative;
};

using States = std::vector<std::vector<float>>;  ///< by member and state

/// All states after some steps of a plan. Fails the running test where it cannot be run.
States train(Backend& backend, const Plan& plan, const Trainees& all, const TrainingChoices& choices = {});
/// What each member comes to alone, by plain loops.
States train_alone(const Trainees& all);

/// A plan by name: "serial", "concurrent", "strided", "grouped", "dense", "mixed", applied to the ops that it can be
/// applied to; "branches": strided, every other op on a second stream.
Plan plan_for(const std::string& name, const Trainees& all);

/// Fails the running test where a state is not the expected one but for rounding.
void expect_same_states(const States& actual, const States& expected);

}  // namespace cohort::testing
