#pragma once

#include <atomic>
#include <cstdint>

namespace cohort {

/// Whose turn it is among users of the same cores, such as the sessions of one backend. Threads of the others should
/// not spin: their work comes later, and spinning takes cores from the one whose turn it is.
class CoreTurns {
 public:
  void take(const void* owner) noexcept {
    if (!is_of(owner)) owner_.store(owner, std::memory_order_relaxed);
  }
  [[nodiscard]] bool is_of(const void* owner) const noexcept { return owner_.load(std::memory_order_relaxed) == owner; }

 private:
  std::atomic<const void*> owner_{nullptr};
};

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
  /// Spins briefly, which suffices when neighbours finish together; then yields its core, above all to decoding, and
  /// looks again; finally sleeps, or as soon as it is no longer the turn of `owner`.
  void wait(std::uint32_t ticket, const CoreTurns* turns = nullptr, const void* owner = nullptr) const noexcept;

 private:
  std::atomic<std::uint32_t> count_{0};
};

}  // namespace cohort
