#pragma once

#include <optional>
#include <string>
#include <vector>

#include "simulator/report/run_report.hpp"
#include "tracer/steps/steps.hpp"
#include "tracer/trace.hpp"

namespace cohort {

/// What a what-if asks of a recording.
struct RecordingUse {
  bool side_by_side = false;  ///< its kernels run beside others, or are fused
  bool collectives = true;    ///< nothing else says what is odd about these
  bool overlap = true;        ///< kernels that were recorded beside others keep their times
};

/// What the recording of a step lacks or distorts, as in `cohort trace info`. What prevents predictions is grave, and
/// so is everything that lowers confidence if together it makes it low there. The what-if itself judges the device and
/// work without calls. `window`: the step's, by the host's moments; absent: the whole trace.
/// Time: O(n log n) in the slices.
std::vector<Doubt> recording_doubts(const Trace& trace, const std::optional<TimeWindow>& window,
                                    const RecordingUse& use);

/// Doubts about what one recording tells little of: calls that allocate or free memory, and collectives, if either
/// takes more than a quarter of the critical path, and gaps if they take more than half.
struct PathDoubts {
  std::optional<Doubt> memory, collectives, gaps;
};
PathDoubts path_doubts(const RunFacts& facts);

}  // namespace cohort
