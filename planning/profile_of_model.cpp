#include "planning/profile_of_model.hpp"

#include <algorithm>
#include <utility>

#include "executor/core_probe.hpp"
#include "executor/profile/time_budget.hpp"
#include "planning/calls_in_place.hpp"
#include "planning/provenance.hpp"
#include "planning/recorded_settings.hpp"

namespace cohort {
namespace {

/// Of the budget, for all but calls in their places.
constexpr double kToOps = 0.7;

}  // namespace

Result<Trace> profile_to_plan_with(Backend& backend, const LoadedModel& loaded, const ModelSource& source,
                                   ProfileOptions options, const CancelToken& cancel) {
  const bool in_place = options.budget && !options.fused_widths.empty();
  const TimeBudget budget(options.budget.value_or(Nanoseconds(0)));
  if (in_place) options.budget = budget.part(kToOps).left();
  WorkWatch watch(core_probe(backend.info()));
  options.watch = &watch;
  COHORT_TRY(Trace profile, profile_model(backend, loaded, options, cancel));
  profile.info.settings.merge(provenance());
  write_source(source, profile.info.settings);
  profile.info.settings["precision"] = to_string(options.precision);
  profile.info.settings["layout"] = to_string(options.layout);
  if (!in_place || cancel.cancelled()) return profile;
  const std::size_t probed = watch.round_trips().size();
  std::vector<int> members = options.fused_widths;
  std::sort(members.begin(), members.end());
  const InPlaceOptions in_place_options{std::move(members), budget.left(), options.progress};
  COHORT_TRY(const bool all, time_calls_in_place(backend, loaded, in_place_options, watch, cancel, profile));
  add_round_trips(profile, watch, probed);
  if (!all) {
    std::string& lacking = profile.info.settings[std::string(kLacking)];
    lacking += (lacking.empty() ? "" : ", ") + std::string("calls in their places");
  }
  return profile;
}

}  // namespace cohort
