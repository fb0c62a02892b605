#pragma once

#include <cstddef>
#include <functional>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "base/cancel.hpp"
#include "base/result.hpp"
#include "planning/named_trace.hpp"
#include "simulator/plan/plan.hpp"
#include "view/explore/explore_answer.hpp"

namespace cohort {

/// What profiles say of a plan, or the trace of a run of what several of it would do together; and of other ways.
struct Forecast {
  ExploreAnswer answer;               ///< of the plan, or of what is recommended
  Recommendation search;              ///< what else there would be
  std::optional<std::size_t> chosen;  ///< the candidate that `answer` is of; absent: the search did not find it
  Scaling scaling;
};

struct ForecastOptions {
  const CancelToken* cancel = nullptr;
  std::function<void(std::string_view doing)> progress = {};
};

/// Of a plan that there is already. `files`: profiles of its members' models, and traces of runs of plans of them.
/// Errors: those of Exploration; kInterrupted.
Result<Forecast> forecast(std::vector<NamedTrace> files, const Plan& plan, const ForecastOptions& options);

/// Of what is recommended for so many of each model. `files`: profiles, or the trace of a run.
/// Errors: as above.
Result<Forecast> recommend(std::vector<NamedTrace> files, int models, const ForecastOptions& options);

}  // namespace cohort
