#pragma once

#include "base/device.hpp"
#include "executor/work_watch.hpp"

namespace cohort {

/// A fixed piece of arithmetic on every core that this process may use, and of talk between the first and each other
/// one: the longest arithmetic, and all of the talk. On a virtual machine a core may be slower for a while because its
/// twin runs another machine's work, and two cores may be farther apart because they were moved; no counter here tells
/// either. Empty for devices other than a CPU, and where the user binds threads (OMP_PROC_BIND). Not to be called by
/// several threads at once.
WorkProbe core_probe(const DeviceInfo& device);

}  // namespace cohort
