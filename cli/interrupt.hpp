#pragma once

#include "base/cancel.hpp"

namespace cohort {

/// From now on SIGINT and SIGTERM cancel the token returned, so that the work under way can leave
/// nothing half-written behind; a second signal removes what is half-written and ends the program at once.
const CancelToken& cancel_on_interrupt();

/// A child that is sent SIGTERM and SIGHUP as well, as long as this lives; it must not have been reaped before.
class ToldOfSignals {
 public:
  explicit ToldOfSignals(int pid);
  ToldOfSignals(const ToldOfSignals&) = delete;
  ToldOfSignals& operator=(const ToldOfSignals&) = delete;
  ~ToldOfSignals();
};

}  // namespace cohort
