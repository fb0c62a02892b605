#pragma once

#include <cstdint>
#include <optional>
#include <span>
#include <string>
#include <vector>

#include "base/result.hpp"
#include "base/units.hpp"
#include "simulator/colocation/step_times.hpp"

namespace cohort {

/// From what the GPU time of a step was concluded, the surest first.
enum class WorkOrigin {
  kRecorded,        ///< the table says it
  kGpuBound,        ///< the step is longer than what the host needs: the GPU decides
  kOtherShare,      ///< the host decides; a smaller part of the GPU shows the GPU's time at this minibatch
  kOtherMinibatch,  ///< the host decides; larger minibatches show the GPU's time
  kAtMost,          ///< nothing tells the host's time from the GPU's: it is at most this
};
std::string_view to_string(WorkOrigin origin);

/// What one process asks of the GPU in a step of one case.
struct ProcessDemand {
  StepTime alone;          ///< the row of the table
  Nanoseconds gpu_work{};  ///< how long the step keeps its part of the GPU busy
  WorkOrigin origin = WorkOrigin::kAtMost;
};

/// Nothing tells the host's time from the GPU's.
inline bool is_unknown(const ProcessDemand& demand) { return demand.origin == WorkOrigin::kAtMost; }

/// Bytes a second, from pinned host memory to an A100.
inline constexpr double kUsualCopyRate = 25e9;

/// Of every row of one process alone, in the table's order.
struct ProcessDemands {
  std::optional<Nanoseconds> host_time;  ///< of a step, where small minibatches show it
  std::vector<ProcessDemand> rows;
  /// Steps shorten about as they should on a larger part of the GPU. Where not, host and GPU do not overlap as this
  /// model has it, and the GPU's time is not known.
  bool follows_shares = true;

  /// Null where there is none.
  [[nodiscard]] const ProcessDemand* find(std::int64_t minibatch, double share, std::string_view part = {}) const;
};

/// Errors: kInvalidInput naming the line of a step that is no longer than the copy of its input.
Result<void> check_copied(const StepTimes& times, Bytes copied, double copy_rate = kUsualCopyRate);

/// Splits step times t(b) = c b + max(H, G(b) + o) by minibatch b: the copy of the input c, the host's time H (equal
/// for small minibatches, on every part of the GPU), the GPU's time G, and o, for which the GPU idles between two
/// steps. Where H decides, G comes from a smaller part of the GPU, scaled by what both show, or from a line through
/// larger minibatches. `copied`: bytes of input that a sample copies to the GPU in every step, at `copy_rate` bytes a
/// second.
ProcessDemands process_demands(const StepTimes& times, Bytes copied, double copy_rate = kUsualCopyRate);

}  // namespace cohort
