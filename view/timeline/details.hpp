#pragma once

#include <string>
#include <vector>

#include "view/timeline/flows.hpp"
#include "view/timeline/timeline.hpp"

namespace cohort {

/// A line about a slice, for people.
struct DetailLine {
  std::string name;
  std::string value;
  std::optional<SliceRef> leads_to;  ///< where it is about another slice
};

/// Everything known of a slice: name, what it is, row, start, end, duration, share of its step, slack, links, then all
/// arguments with their units. `flows`: of the slice, see flows_of(). Time: O(slices around it that are of its step).
std::vector<DetailLine> details_of(const Timeline& timeline, SliceRef ref, const SliceFlows& flows);

/// The value of an argument as text; with its unit where the name says it: "1.2 us" for "slack_ns", "4.0 KiB" for
/// "workspace bytes".
std::string arg_text(const Trace& trace, std::string_view name, const ArgValue& value);

/// One line for a label under the pointer: "conv1  40.6 us".
std::string hover_text(const Timeline& timeline, SliceRef ref);

}  // namespace cohort
