#pragma once

#include <optional>
#include <vector>

#include "tracer/trace.hpp"

namespace cohort {

/// One kernel, copy, memset or graph on a device, and what on the host it comes from.
struct LaunchedWork {
  SliceId work{};
  /// The call that launched it, by correlation id; of a driver call inside a runtime call, the latter.
  /// Absent for orphans: work launched before the recording began, or calls that were not recorded.
  std::optional<SliceId> call;
  /// The innermost operator of the framework around that call on its thread; of work without a call,
  /// the operator with the same "External id".
  std::optional<SliceId> op;
  std::optional<SliceId> outer_op;    ///< the outermost such operator
  std::optional<SliceId> annotation;  ///< the innermost range that the program marked around the call
};

/// All device work of a trace, by track, then start, then position. Correlation ids need not be
/// unique: all nodes of a graph launch share one. Time: O(n log n).
std::vector<LaunchedWork> link_launches(const Trace& trace);

}  // namespace cohort
