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
  sigaction(SIGINT, &action, nullptr);
  sigaction(SIGTERM, &action, nullptr);
  struct sigaction before {};
  sigaction(SIGHUP, nullptr, &before);
  if (before.sa_handler != SIG_IGN) sigaction(SIGHUP, &action, nullptr);  // nohup ignores it
  return instance;
}

}  // namespace cohort
