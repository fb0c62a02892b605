#pragma once

#include <atomic>

#include "base/result.hpp"

namespace cohort {

/// Asks long work to stop. Set from a signal handler or another thread, polled by the work.
class CancelToken {
 public:
  void cancel() noexcept { cancelled_.store(true, std::memory_order_relaxed); }
  [[nodiscard]] bool cancelled() const noexcept { return cancelled_.load(std::memory_order_relaxed); }
  /// kInterrupted once cancelled.
  [[nodiscard]] Result<void> check() const {
    if (cancelled()) return fail(ErrorCode::kInterrupted, "interrupted");
    return {};
  }

 private:
  std::atomic<bool> cancelled_{false};
  static_assert(std::atomic<bool>::is_always_lock_free, "set from a signal handler");
};

}  // namespace cohort
