#pragma once

#include <atomic>
#include <cstdint>
#include <mutex>
#include <utility>
#include <vector>

#include "executor/host/event_counter.hpp"

namespace cohort {

/// Hands commands to the one thread that takes them, in order. Both sides keep their memory.
template <class Command>
class PostQueue {
 public:
  /// By one thread at a time. Wakes the taking thread.
  void post(Command command) {
    put(std::move(command));
    posts_.advance();
  }
  /// As post(), for a taker that does not wait().
  void put(Command command) {
    const std::lock_guard lock(mutex_);
    posted_.push_back(std::move(command));
  }
  /// Ends wait(). By the thread that posts.
  void stop() {
    stop_.store(true, std::memory_order_relaxed);
    posts_.advance();
  }

  /// Until something was posted since the last wait(); false: stopped, nothing more comes. One take() may take
  /// several posts; those behind the waits for the others then find nothing. `turns` and `owner` as
  /// EventCounter::wait() has them.
  [[nodiscard]] bool wait(const CoreTurns* turns = nullptr, const void* owner = nullptr) {
    posts_.wait(++posts_seen_, turns, owner);
    return !stop_.load(std::memory_order_relaxed);
  }
  /// What was posted so far and not taken. Valid until the next take().
  std::vector<Command>& take() {
    taken_.clear();
    const std::lock_guard lock(mutex_);
    taken_.swap(posted_);
    return taken_;
  }

 private:
  std::mutex mutex_;
  std::vector<Command> posted_;  ///< guarded by mutex_
  std::vector<Command> taken_;   ///< of the taking thread
  EventCounter posts_;           ///< one more with every post and with the request to stop
  std::uint32_t posts_seen_ = 0;
  std::atomic<bool> stop_{false};
};

}  // namespace cohort
