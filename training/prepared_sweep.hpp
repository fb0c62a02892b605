#pragma once

#include <map>
#include <memory>
#include <vector>

#include "base/cancel.hpp"
#include "base/result.hpp"
#include "training/data_set.hpp"
#include "training/member.hpp"
#include "training/network.hpp"
#include "training/search.hpp"
#include "training/sweep.hpp"

namespace cohort {

/// A sweep with all that its file names read, its members made and its networks differentiated; nothing has run yet.
struct PreparedSweep {
  Sweep sweep;
  TrainingData data;
  std::unique_ptr<Search> search;    ///< was asked for all members
  std::vector<SweepMember> members;  ///< in the order of their trials, with first states
  std::map<ModelSource, std::unique_ptr<const TrainedNetwork>> networks;
  std::vector<const TrainedNetwork*> network_of;  ///< by member; null where the network cannot be made: it has failed
  NetworkEnds ends;                               ///< of all networks
  StepCounts counts;

  /// Positions of members that train, by network, in the order of each network's first member.
  [[nodiscard]] std::vector<std::vector<std::size_t>> training_groups() const;
};

/// Networks take as many classes as the data has, and as many inputs, where the sweep does not say and they have such
/// an argument. A member whose network cannot be made has failed, unless all have. Errors: those of the data; of the
/// network where no member's can be made.
Result<PreparedSweep> prepare_sweep(Sweep sweep, const CancelToken& cancel);

}  // namespace cohort
