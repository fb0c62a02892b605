#include "models/padding.hpp"

#include <algorithm>

namespace cohort {
namespace {

/// Index in an axis of `extent` elements that stands at `at`, which may lie outside; negative: none.
std::int64_t index_at(PadMode mode, std::int64_t at, std::int64_t extent) {
  if (at >= 0 && at < extent) return at;
  switch (mode) {
    case PadMode::kConstant:
      return -1;
    case PadMode::kEdge:
      return std::clamp<std::int64_t>(at, 0, extent - 1);
    case PadMode::kWrap:
      return (at % extent + extent) % extent;
    case PadMode::kReflect: {
      if (extent == 1) return 0;
      const std::int64_t period = 2 * (extent - 1);
      const std::int64_t folded = (at % period + period) % period;
      return folded < extent ? folded : period - folded;
    }
  }
  return -1;
}

}  // namespace

std::vector<std::int64_t> padded_from(const Pad& pad, std::size_t axis, std::int64_t extent) {
  const std::int64_t begin = pad.begin[axis], end = pad.end[axis];
  const std::int64_t first = std::max<std::int64_t>(-begin, 0);
  const std::int64_t kept = extent - first - std::max<std::int64_t>(-end, 0);
  std::vector<std::int64_t> from;
  for (std::int64_t i = 0; i < extent + begin + end; ++i) {
    const std::int64_t at = index_at(pad.mode, i - begin - first, kept);
    from.push_back(at < 0 ? at : at + first);
  }
  return from;
}

}  // namespace cohort
