#pragma once

#include <cstdint>
#include <filesystem>
#include <map>
#include <string>
#include <utility>

#include "base/cancel.hpp"
#include "base/result.hpp"
#include "executor/backend.hpp"
#include "training/member_batch.hpp"
#include "training/minibatches.hpp"
#include "training/prepared_sweep.hpp"

namespace cohort {

/// What a model batch takes beside the training steps themselves.
struct BatchOverheads {
  Nanoseconds opening{};       ///< training steps and evaluation lowered and loaded
  Nanoseconds handing_over{};  ///< of each step: input written to the device's memory, losses read
  Nanoseconds evaluation{};    ///< of all members on all evaluation samples
};

/// What the files of a sweep take.
struct FileOverheads {
  Nanoseconds checkpoint{};  ///< of each member that is in it
  Nanoseconds model{};       ///< of each finished member
  Nanoseconds results{};     ///< of all members after an epoch
};

/// Times what profiles of steps do not tell, by doing it for a moment: model batches are opened and evaluate, samples
/// are made, and the files of a few members are written and removed again.
class OverheadProbe {
 public:
  /// `folder` is where files are tried: a new folder inside it, which is removed. All must outlive this.
  OverheadProbe(PreparedSweep& prepared, Backend& backend, std::filesystem::path folder, const CancelToken& cancel);

  /// Of members that train by a plan. The same plan is timed once. Errors: those of MemberBatch; kInterrupted.
  Result<BatchOverheads> of(const TrainedNetwork& network, const Plan& plan);
  /// Samples of one step made, for so many members: on the host's own thread, or by the workers that decode.
  /// Errors: those of decoding.
  Result<Nanoseconds> minibatch(std::size_t members);
  /// Errors: those of the files.
  Result<FileOverheads> files();

 private:
  Result<BatchOverheads> measure(const TrainedNetwork& network, const Plan& plan);
  Result<Nanoseconds> evaluation_of(MemberBatch& train, MemberBatch& evaluation, const TrainedNetwork& network);

  PreparedSweep& prepared_;
  Backend& backend_;
  std::filesystem::path folder_;
  const CancelToken& cancel_;
  Minibatches minibatches_;
  std::map<std::pair<const TrainedNetwork*, std::string>, BatchOverheads> known_;
};

}  // namespace cohort
