#pragma once

#include <string>
#include <string_view>
#include <vector>

#include "base/units.hpp"
#include "tracer/trace.hpp"

namespace cohort {

/// A plan that was run on the profiled device for a moment (cohort plan --check), kept in the profile it was made from.
struct CheckedPlanRecord {
  std::string name;        ///< of the candidate: "concurrent x2"
  std::string plan;        ///< JSON, without `resolved`
  Nanoseconds step{};      ///< median wall time of a step of all members
  Nanoseconds baseline{};  ///< the same of its members one after another, measured in turn with it

  friend bool operator==(const CheckedPlanRecord&, const CheckedPlanRecord&) = default;
};

inline constexpr std::string_view kCheckedPlanCategory = "checked plan";

/// Appends the record as a slice on its own track; a record of the same plan gets the new times.
void add_checked_plan(Trace& profile, const CheckedPlanRecord& record);
/// In the order in which they were added; incomplete slices are skipped.
std::vector<CheckedPlanRecord> checked_plans_of(const Trace& profile);

}  // namespace cohort
