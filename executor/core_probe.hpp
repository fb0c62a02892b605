#pragma once

#include "executor/work_watch.hpp"

namespace cohort {

/// A fixed piece of arithmetic on every core that this process may use, and of talk between the first and each other one:
/// the longest arithmetic, and all of the talk. It takes a millisecond or two in all. On a virtual machine a core may be
/// slower while its twin runs another machine's work, and two cores be far apart while the hypervisor has moved them: a
/// value took 87 ns there and back on an AMD EPYC, or 440 ns, for seconds at a time. No counter here tells either. Empty
/// where the user binds threads (OMP_PROC_BIND). Not to be called by several threads at once.
WorkProbe core_probe();

}  // namespace cohort
