#pragma once

#include <atomic>
#include <chrono>

#include "base/result.hpp"

namespace cohort {

/// Asks long work to stop. Set from a signal handler or another thread, polled by the work.
class CancelToken {
 public:
  CancelToken() = default;
  /// Cancelled once `other`, which must outlive this, is cancelled or `length` has passed.
  CancelToken(const CancelToken& other, std::chrono::nanoseconds length)
      : other_(&other), deadline_(std::chrono::steady_clock::now() + length) {}

  void cancel() noexcept { cancelled_.store(true, std::memory_order_relaxed); }
  [[nodiscard]] bool cancelled() const noexcept {
    if (cancelled_.load(std::memory_order_relaxed)) return true;
    return other_ != nullptr && (other_->cancelled() || std::chrono::steady_clock::now() >= deadline_);
  }
  /// kInterrupted once cancelled.
  [[nodiscard]] Result<void> check() const {
    if (cancelled()) return fail(ErrorCode::kInterrupted, "interrupted");
    return {};
  }

 private:
  std::atomic<bool> cancelled_{false};
  const CancelToken* other_ = nullptr;
  std::chrono::steady_clock::time_point deadline_;
  static_assert(std::atomic<bool>::is_always_lock_free, "set from a signal handler");
};

}  // namespace cohort
