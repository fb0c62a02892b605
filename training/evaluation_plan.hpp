#pragma once

#include "models/model.hpp"
#include "simulator/plan/plan.hpp"

namespace cohort {

/// How members that train by a plan are evaluated: forward ops run as in their training steps, where the planner has
/// weighed how that is fastest. Ops keep their names in the evaluation (evaluation_model()); groups of which no op is
/// left fall away, and so does what was resolved for the training step.
Plan evaluation_plan(const Plan& training, const Model& evaluation);

/// Members side by side on the plan's streams: what needs no strategy that an evaluation's ops could lack.
Plan plain_evaluation_plan(const Plan& training);

}  // namespace cohort
