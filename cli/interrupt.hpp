#pragma once

#include "base/cancel.hpp"

namespace cohort {

/// From now on SIGINT and SIGTERM cancel the token returned, so that the work under way can leave
/// nothing half-written behind; a second signal removes what is half-written and ends the program at once.
const CancelToken& cancel_on_interrupt();

}  // namespace cohort
