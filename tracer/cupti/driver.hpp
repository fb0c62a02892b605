#pragma once

#include <chrono>
#include <cstdint>
#include <vector>

namespace cohort::cupti {

struct ContextsAtEnd {
  std::vector<int> failed;             ///< the driver's error codes of contexts that were not waited for
  std::size_t unfinished = 0;          ///< contexts whose work had not ended when the time was over
  std::vector<std::uint32_t> threads;  ///< the system's numbers of those that asked the driver, this one not among them
};

/// Waits for the work of this thread's context and of every device's primary context, by the driver that the program
/// has loaded; does nothing where it has loaded none. Starts no context. Comes back a moment after `limit` at the
/// latest, also where the driver does not: each context is asked for on a thread of its own, which is left behind
/// then, and none of these waits inside the driver before its context has no more work.
/// Throws std::system_error where no thread can be started.
ContextsAtEnd synchronize_contexts(std::chrono::milliseconds limit);

}  // namespace cohort::cupti
