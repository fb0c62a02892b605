#include "cli/interrupt.hpp"

#include <unistd.h>

#include <atomic>
#include <cerrno>
#include <csignal>
#include <cstdint>
#include <ctime>

#include "base/file.hpp"

namespace cohort {
namespace {

CancelToken& token() {
  static CancelToken instance;  // a signal handler can be given nothing
  return instance;
}

/// 0: none.
std::atomic<::pid_t> child{0};
static_assert(std::atomic<::pid_t>::is_always_lock_free);

/// Whether the signal is one that was just met: timeout(1) and others send theirs to a program and once more to all of
/// its group.
bool is_repetition(int signal) {
  constexpr std::int64_t kAtOnce = 100'000'000;
  static std::atomic<std::int64_t> met{0};
  static std::atomic<int> last{0};
  struct timespec time {};
  ::clock_gettime(CLOCK_MONOTONIC, &time);
  const std::int64_t now = std::int64_t{time.tv_sec} * 1'000'000'000 + time.tv_nsec;
  if (last.exchange(signal) == signal && now - met < kAtOnce) return true;
  met = now;
  return false;
}

/// Of atomics and system calls alone. Runs on the main thread, which writes the files: on another it could remove
/// them while one is being made.
extern "C" void cohort_on_interrupt(int signal) {
  if (::gettid() != ::getpid()) {
    const int error = errno;
    ::tgkill(::getpid(), ::getpid(), signal);
    errno = error;
    return;
  }
  // A terminal tells all programs in front of it. Of other signals the child may know nothing, or be told twice.
  if (const ::pid_t told = child; told > 0 && signal != SIGINT) {
    const int error = errno;
    ::kill(told, signal);
    errno = error;
  }
  if (is_repetition(signal)) return;
  if (!token().cancelled()) return token().cancel();
  remove_temporaries();
  ::_exit(static_cast<int>(ErrorCode::kInterrupted));
}

}  // namespace

const CancelToken& cancel_on_interrupt() {
  CancelToken& instance = token();  // made before a signal can arrive
  struct sigaction action {};
  action.sa_handler = cohort_on_interrupt;
  action.sa_flags = SA_RESTART;
  sigemptyset(&action.sa_mask);
  sigaction(SIGINT, &action, nullptr);
  sigaction(SIGTERM, &action, nullptr);
  struct sigaction before {};
  sigaction(SIGHUP, nullptr, &before);
  if (before.sa_handler != SIG_IGN) sigaction(SIGHUP, &action, nullptr);  // nohup ignores it
  return instance;
}

ToldOfSignals::ToldOfSignals(int pid) {
  child = pid;
  if (token().cancelled()) ::kill(pid, SIGTERM);  // while it was being started
}
ToldOfSignals::~ToldOfSignals() { child = 0; }

}  // namespace cohort
