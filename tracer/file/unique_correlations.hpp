#pragma once

#include "tracer/trace.hpp"

namespace cohort {

/// Gives every launch of a trace a correlation id of its own where ids repeat, as they do after traces of several
/// processes were merged and where a tool counts anew; what a launch put on a device, and the records of
/// synchronisation, follow their call. Which call that is: one of the process that works on the device, as ids that do
/// not repeat show (else processes and devices are paired in order), of as many calls as pieces of work each in its
/// turn, else the latest before. Traces whose ids do not repeat stay as they are. Time: O(n log n).
void make_correlations_unique(Trace& trace);

}  // namespace cohort
