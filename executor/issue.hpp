#pragma once

#include <vector>

#include "simulator/plan/program.hpp"

namespace cohort {

/// One thing the host tells a stream.
struct IssueCommand {
  enum class Kind {
    kLaunch,  ///< `step` on `stream`
    kRecord,  ///< the event of `step`, on `stream`, right behind it
    kWait,    ///< `stream` for the event of `step`
  };
  Kind kind = Kind::kLaunch;
  StepId step{};
  StreamId stream{};

  friend bool operator==(const IssueCommand&, const IssueCommand&) = default;
};

/// The steps in launch order, with the fewest waits that keep every dependency: none inside a
/// stream, and none that an earlier wait of the same stream, or another of the same step, already
/// implies. A step has at most one event.
///
///     stream 0   a* ── b ── d            a -> c and d -> e cross streams; b -> e is implied by d -> e,
///     stream 1        (a) c ── (d) e     for b stands before d on its stream
///
/// O(steps * streams + dependencies * streams).
std::vector<IssueCommand> issue_order(const Program& program);

}  // namespace cohort
