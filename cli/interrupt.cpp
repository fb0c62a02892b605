#include "cli/interrupt.hpp"

#include <unistd.h>

#include <cerrno>
#include <csignal>

#include "base/file.hpp"

namespace cohort {
namespace {

CancelToken& token() {
  static CancelToken instance;  // a signal handler can be given nothing
  return instance;
}

/// Of an atomic and system calls alone. Runs on the main thread, which writes the files: on another it could remove
/// them while one is being made.
extern "C" void cohort_on_interrupt(int signal) {
  if (::gettid() != ::getpid()) {
    const int error = errno;
    ::tgkill(::getpid(), ::getpid(), signal);
    errno = error;
    return;
  }
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
  for (const int signal : {SIGINT, SIGTERM, SIGHUP}) {
    struct sigaction before {};
    sigaction(signal, nullptr, &before);
    // By nohup, or for a job behind a script.
    const bool is_ignored = signal != SIGTERM && before.sa_handler == SIG_IGN;
    if (!is_ignored) sigaction(signal, &action, nullptr);
  }
  return instance;
}

}  // namespace cohort
