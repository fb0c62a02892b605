#pragma once

#include "base/device.hpp"
#include "executor/work_watch.hpp"

namespace cohort {

/// Times fixed arithmetic on every usable core, and messages between the first core and each other one. On a virtual
/// machine a core can be slow for a while because its hyperthread twin runs another machine's work, and two cores can
/// be far apart because they were moved; no counter shows either. Empty for devices other than a CPU, and if the user
/// binds threads (OMP_PROC_BIND). Not thread-safe.
WorkProbe core_probe(const DeviceInfo& device);

}  // namespace cohort
