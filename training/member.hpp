#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "models/source.hpp"
#include "training/hyperparameters.hpp"
#include "training/search.hpp"

namespace cohort {

enum class MemberOutcome {
  kTraining,
  kFinished,
  kDropped,   ///< by successive halving
  kDiverged,  ///< its loss is no number any more
  kFailed,    ///< its network cannot be made or run
};
std::string_view to_string(MemberOutcome outcome);
/// Errors: kInvalidInput.
Result<MemberOutcome> outcome_from(std::string_view text);

/// What a member had reached at the end of an epoch.
struct EpochResult {
  std::int64_t epoch = 0;          ///< from 1
  double train_loss = 0;           ///< mean over the epoch's steps
  double loss = 0;                 ///< of the evaluation samples
  std::optional<double> accuracy;  ///< likewise, of classes

  friend bool operator==(const EpochResult&, const EpochResult&) = default;
};

/// What a member keeps from step to step, as its training model's states hold it.
struct MemberState {
  std::vector<float> parameters;  ///< [R, P]: the parameters, then what the optimizer keeps of them
  std::vector<float> statistics;  ///< running ones of batch normalisation; may be empty

  friend bool operator==(const MemberState&, const MemberState&) = default;
};

/// One model of a sweep.
struct SweepMember {
  TrialId trial{};
  std::string name;  ///< "m07"
  Point point;
  Hyperparameters hyperparameters;
  ModelSource source;
  MemberOutcome outcome = MemberOutcome::kTraining;
  std::string reason;  ///< why it does not train any more; empty while it does, and where it is finished
  std::int64_t steps = 0;
  double loss_sum = 0;  ///< over the steps of the epoch under way
  std::vector<EpochResult> epochs;
  MemberState state;  ///< as it was last read from the device

  /// By which members are compared, after the last epoch; absent before the first one, and where it diverged or failed.
  [[nodiscard]] std::optional<double> reached(Metric metric) const;
};

/// Finished members and those that train first, best first; then dropped ones, the last dropped first; then the rest.
std::vector<std::size_t> ranking(const std::vector<SweepMember>& members, Metric metric);

}  // namespace cohort
