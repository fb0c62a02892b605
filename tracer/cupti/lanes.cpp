#include "tracer/cupti/lanes.hpp"

namespace cohort::cupti {
namespace {

/// Ends of what is still open on a lane, the outermost first.
using Lane = std::vector<Nanoseconds>;

bool fits(Lane& lane, const Interval& interval, Nesting nesting) {
  while (!lane.empty() && lane.back() <= interval.start) lane.pop_back();
  return lane.empty() || (nesting == Nesting::kWithin && interval.end <= lane.back());
}

}  // namespace

std::vector<std::size_t> assign_lanes(const std::vector<Interval>& intervals, Nesting nesting) {
  std::vector<Lane> lanes;
  std::vector<std::size_t> assigned;
  assigned.reserve(intervals.size());
  for (const Interval& interval : intervals) {
    std::size_t lane = 0;
    while (lane < lanes.size() && !fits(lanes[lane], interval, nesting)) ++lane;
    if (lane == lanes.size()) lanes.emplace_back();
    lanes[lane].push_back(interval.end);
    assigned.push_back(lane);
  }
  return assigned;
}

}  // namespace cohort::cupti
