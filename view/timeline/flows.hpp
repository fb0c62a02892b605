#pragma once

#include <optional>
#include <string>
#include <vector>

#include "view/timeline/timeline.hpp"

namespace cohort {

/// A link between two slices of a part: launch to kernel, producer to consumer.
struct FlowLink {
  SliceRef from;
  SliceRef to;
  std::string name;  ///< "ac2g"; "correlation" where the trace has the same correlation id but no flow
  friend bool operator==(const FlowLink&, const FlowLink&) = default;
};

/// Links of one slice, by the other slice's start.
struct SliceFlows {
  std::vector<FlowLink> incoming;
  std::vector<FlowLink> outgoing;
  std::vector<FlowLink> before;  ///< into those that incoming ones come from
  std::vector<FlowLink> after;   ///< out of those that outgoing ones lead to
};

/// Time: O(flows); O(slices of the part) where it has no flows but correlation ids.
SliceFlows flows_of(const Timeline& timeline, SliceRef ref);

/// Where following a slice's links leads: the other end of the first outgoing one.
std::optional<SliceRef> follow(const SliceFlows& flows);
/// Where it comes from: the other end of the last incoming one.
std::optional<SliceRef> follow_back(const SliceFlows& flows);

}  // namespace cohort
