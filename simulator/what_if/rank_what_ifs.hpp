#pragma once

#include <cstddef>
#include <functional>
#include <optional>
#include <string>
#include <vector>

#include "base/cancel.hpp"
#include "base/result.hpp"
#include "base/units.hpp"
#include "simulator/what_if/what_if.hpp"

namespace cohort {

/// What the search varies; everything else stays as in the base.
struct RankOptions {
  bool streams = true;
  bool launch_threads = true;
  bool processes = true;  ///< also a process for each member, under MPS
  /// Limit of all members' weights and a step's other memory, if the trace recorded allocations.
  std::optional<Bytes> memory_limit = std::nullopt;
  const CancelToken* cancel = nullptr;  ///< where ways were ranked with few members, one prediction with all follows
  std::function<void(std::size_t done)> progress = {};
};

/// A way of running the members that a trace was asked about.
struct RankedWhatIf {
  std::string name;  ///< as options of `cohort simulate`: "--streams 4 --graphs"
  WhatIf what_if;
  WhatIfPrediction prediction;  ///< `trace` is that of the best only
};

struct RefusedWhatIf {
  std::string name;
  std::string reason;
};

struct WhatIfRanking {
  std::vector<RankedWhatIf> ranked;  ///< shortest step first; never empty
  std::vector<RefusedWhatIf> refused;
  bool interrupted = false;  ///< cancelled after something was found; the search was not complete
};

/// Searches for the best way to run `base.models` members of each trace together: the number of sets of streams, single
/// launches or graphs, the number of host threads, fusion of kernels where it is predicted to gain, and a process for
/// each member where nothing is shared. All numbers of
/// streams, up to the members of the trace that has most, are tried with both ways to launch; fusion and launch threads
/// on the best of these. Of large traces with more than 16 members, and without a limit, the best three ways of 16
/// in one process are predicted with all, the first also with the numbers of streams beyond. Errors: those of
/// predict_what_if() where no way can be predicted; kNegativeAnswer where a replay without a change is off by more than
/// kMostReplayError; kDoesNotFit where none keeps the limit; kNegativeAnswer for a limit where the traces record no
/// allocations; kInterrupted where nothing had been found.
Result<WhatIfRanking> rank_what_ifs(const WhatIfCase& what_if_case, const WhatIf& base,
                                    const RankOptions& options = {});

}  // namespace cohort
