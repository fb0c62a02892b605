#pragma once

#include "simulator/predict/predict.hpp"

namespace cohort {

/// Bounds of one program step, with the input of one minibatch.
struct StepBounds {
  Nanoseconds lower{};
  Nanoseconds upper{};
};

/// Cores of the host: those of the device, or for a GPU one per working thread.
int host_cores(const PredictionCase& prediction_case);

/// Of the first steady step. `busiest`: how long a step keeps the most used throughput of a GPU busy.
///
/// lower   the longest of: the longest chain of tasks, all cores busy, the memory's bandwidth, decode workers busy, the
///         GPU's throughput.
/// upper   everything one after another, with the delays between. Cores that are shared lose nothing by it but where
///         tasks on several cores are held up by others (DeviceProfile::oversubscription_penalty) or helpers of one
///         stream spin beside the tasks of another: both are counted for all of the step. Kernels that share a GPU can
///         take longer than in turn (a partly filled wave pushes another one out), which is *not* in it.
///
/// Why the sum holds on a CPU: while anything runs, running tasks make at least `cores / (cores + spinning)` of
/// progress between them (those that share the memory's bandwidth at least what one of them alone would make, as none
/// asks for more than all of it), and while nothing runs one task waits for a delay. Each task waits for at most the
/// longest one into it; launches go ahead of what they launch, so that one delay of launching does for all.
StepBounds step_bounds(const PredictionCase& prediction_case, const ProgramGraph& program_graph, Nanoseconds busiest);

}  // namespace cohort
