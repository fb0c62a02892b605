#include "executor/host/event_counter.hpp"

#include <chrono>
#include <thread>

namespace cohort {
namespace {

constexpr std::chrono::microseconds kSpin{20};
/// Longer than most ops of a model: waking a sleeping thread costs as much as many small ops.
constexpr std::chrono::milliseconds kYield{2};
constexpr int kLooksPerClockRead = 16;

void relax() noexcept {
#if defined(__x86_64__) || defined(__i386__)
  __builtin_ia32_pause();
#elif defined(__aarch64__)
  asm volatile("yield");
#endif
}

}  // namespace

void EventCounter::wait(std::uint32_t ticket, const CoreTurns* turns, const void* owner) const noexcept {
  if (reached(ticket)) return;
  const auto turn_is_over = [&] { return turns != nullptr && !turns->is_of(owner); };
  const auto begin = std::chrono::steady_clock::now();
  do {
    for (int i = 0; i < kLooksPerClockRead; ++i) {
      if (reached(ticket)) return;
      relax();
    }
  } while (!turn_is_over() && std::chrono::steady_clock::now() < begin + kSpin);
  do {
    if (reached(ticket)) return;
    std::this_thread::yield();
  } while (!turn_is_over() && std::chrono::steady_clock::now() < begin + kYield);
  for (std::uint32_t seen = count_.load(std::memory_order_acquire); !reached(ticket);
       seen = count_.load(std::memory_order_acquire)) {
    count_.wait(seen, std::memory_order_acquire);
  }
}

}  // namespace cohort
