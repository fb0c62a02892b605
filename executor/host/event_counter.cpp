#include "executor/host/event_counter.hpp"

#include <chrono>

namespace cohort {
namespace {

constexpr std::chrono::microseconds kSpin{20};
constexpr int kLooksPerClockRead = 16;

void relax() noexcept {
#if defined(__x86_64__) || defined(__i386__)
  __builtin_ia32_pause();
#elif defined(__aarch64__)
  asm volatile("yield");
#endif
}

}  // namespace

void EventCounter::wait(std::uint32_t ticket) const noexcept {
  if (reached(ticket)) return;
  const auto give_up = std::chrono::steady_clock::now() + kSpin;
  do {
    for (int i = 0; i < kLooksPerClockRead; ++i) {
      if (reached(ticket)) return;
      relax();
    }
  } while (std::chrono::steady_clock::now() < give_up);
  for (std::uint32_t seen = count_.load(std::memory_order_acquire); !reached(ticket);
       seen = count_.load(std::memory_order_acquire)) {
    count_.wait(seen, std::memory_order_acquire);
  }
}

}  // namespace cohort
