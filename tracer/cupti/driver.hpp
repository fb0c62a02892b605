#pragma once

#include <vector>

namespace cohort::cupti {

/// Waits for the work of this thread's context and of every device's primary context, by the driver that the program
/// has loaded; does nothing where it has loaded none. Starts no context. Returns the driver's error codes of contexts
/// that failed.
std::vector<int> synchronize_contexts();

}  // namespace cohort::cupti
