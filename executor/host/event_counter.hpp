#pragma once

#include <atomic>
#include <cstdint>

namespace cohort {

/// Counts events, such as those a stream has reached. A waiter holds a ticket: the number of the
/// event it waits for. Numbers wrap round; they are compared within half their range.
class alignas(64) EventCounter {
 public:
  [[nodiscard]] bool reached(std::uint32_t ticket) const noexcept {
    return static_cast<std::int32_t>(count_.load(std::memory_order_acquire) - ticket) >= 0;
  }
  /// By one thread at a time.
  void advance() noexcept {
    count_.store(count_.load(std::memory_order_relaxed) + 1, std::memory_order_release);
    count_.notify_all();
  }
  /// Spins for a moment, which covers neighbours that finish together; then gives its core to whoever
  /// wants it, decoding above all, and looks again; sleeps at last.
  void wait(std::uint32_t ticket) const noexcept;

 private:
  std::atomic<std::uint32_t> count_{0};
};

}  // namespace cohort
