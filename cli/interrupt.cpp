#include "cli/interrupt.hpp"

#include <csignal>

namespace cohort {
namespace {

CancelToken& token() {
  static CancelToken instance;  // a signal handler can be given nothing
  return instance;
}

extern "C" void cohort_on_interrupt(int /*signal*/) { token().cancel(); }

}  // namespace

const CancelToken& cancel_on_interrupt() {
  CancelToken& instance = token();  // made before a signal can arrive
  struct sigaction action {};
  action.sa_handler = cohort_on_interrupt;
  action.sa_flags = static_cast<int>(SA_RESTART | SA_RESETHAND);
  sigemptyset(&action.sa_mask);
  sigaction(SIGINT, &action, nullptr);
  sigaction(SIGTERM, &action, nullptr);
  return instance;
}

}  // namespace cohort
