#pragma once

#include <cstddef>
#include <functional>
#include <nlohmann/json_fwd.hpp>
#include <optional>
#include <string>
#include <vector>

#include "base/cancel.hpp"
#include "base/file.hpp"
#include "executor/backend.hpp"
#include "executor/measure.hpp"
#include "planning/profile_set.hpp"
#include "simulator/planner/planner.hpp"

namespace cohort {

struct CheckOptions {
  Nanoseconds budget = std::chrono::seconds(2);  ///< for all plans together, without loading
  std::size_t most_plans = 4;                    ///< the first plans of the ranking, in addition to one after another
  std::function<void(const std::string&)> progress = {};
};

/// One candidate that was run.
struct CheckedCandidate {
  std::size_t rank = 0;  ///< in PlanningResult::ranked, from 0
  SubjectTimes times;
  double speedup = 1;  ///< measured
};

/// Result of running the first candidates.
struct PlanCheck {
  SubjectTimes baseline;                  ///< members one after another
  std::vector<CheckedCandidate> checked;  ///< fastest first
  /// The fastest, as position in PlanningResult::ranked; it may be "one after another", except if images are decoded,
  /// where that is no candidate.
  std::size_t best = 0;
  /// Whether the machine was too busy; then ratios of what ran in turn are more reliable than times.
  [[nodiscard]] bool disturbed() const;
};

/// Runs the best plan of the ranking, and the next ones with other names and the same members, in turn with their
/// members one after another, for `options.budget` in total. Plans that do not fit beside the first are skipped.
/// Errors: those of loading members and PlanRun; kInterrupted.
Result<PlanCheck> check_plans(Backend& backend, const PlanningResult& result, const CheckOptions& options,
                              const CancelToken& cancel);

/// Adds the profiles, extended by what the check measured, for later plans to learn from; does nothing if it was
/// disturbed.
/// Errors: those of PendingFiles::add().
Result<void> add_check(const PlanCheck& check, const PlanningResult& result, const ProfileSet& profiles,
                       PendingFiles& pending);

/// For people, a line for each plan that was run.
std::string check_text(const PlanCheck& check, const PlanningResult& result);
/// Ranks from 1, times in whole nanoseconds.
nlohmann::ordered_json to_json(const PlanCheck& check, const PlanningResult& result);

}  // namespace cohort
