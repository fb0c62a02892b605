#pragma once

#include <filesystem>
#include <functional>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "base/cancel.hpp"
#include "base/result.hpp"
#include "executor/backend.hpp"
#include "executor/clock.hpp"
#include "training/checkpoint.hpp"
#include "training/member_batch.hpp"
#include "training/pace.hpp"
#include "training/prepared_sweep.hpp"
#include "training/results.hpp"
#include "training/score.hpp"
#include "training/sweep_planner.hpp"

namespace cohort {

struct TrainerOptions {
  std::filesystem::path folder;  ///< for results, checkpoints and models; it exists
  std::string sweep_text;        ///< of the sweep file: a checkpoint of another one is refused
  bool resume = false;
  const CancelToken* cancel = nullptr;
  std::function<void(const std::string&)> progress;  ///< may be empty, as the next two
  std::function<void(std::int64_t)> stepped;         ///< after each step: how many were done
  std::function<void(const std::string&)> note;      ///< what happened to a member
};

/// Trains the members of a sweep together, all of them on the same minibatches:
///
///     epoch: | steps of each model batch | ... | states read | evaluation | halving, repacking | results, checkpoint |
///
/// Where there are several model batches, each trains a stretch of steps before it is the next one's turn: what it has
/// in caches and which threads are awake serve more than one step so.
///
/// A member whose loss is no number any more is left out of results and of the next model batches; the others go on.
class Trainer {
 public:
  /// All must outlive this.
  Trainer(PreparedSweep& prepared, Backend& backend, SweepPlanner& planner, TrainerOptions options);

  /// Trains to the end. Results, models and checkpoints lie in the folder.
  /// Errors: kInterrupted once cancelled, with a checkpoint written; those of the input, with one, too; of files, where
  /// the checkpoint before is whole.
  Result<void> run();

  [[nodiscard]] const SweepTimes& times() const { return times_; }

 private:
  struct Batch {
    std::vector<std::size_t> members;  ///< positions
    std::unique_ptr<MemberBatch>
        train;  ///< null once the device has failed in it; its members leave at the epoch's end
    std::unique_ptr<MemberBatch> evaluation;
  };

  [[nodiscard]] Metric compared_by() const;
  [[nodiscard]] std::filesystem::path models_folder() const { return options_.folder / "models"; }
  Result<void> begin();
  Result<void> resume();
  void replay_search(std::int64_t epochs);
  Result<void> plan_batches();
  Result<void> open_members(const std::vector<std::size_t>& members);
  Result<Batch> opened(const std::vector<std::size_t>& members, const Plan& plan);

  Result<void> train_epochs();
  /// What a model batch made of the steps of a stretch.
  struct Stretch {
    std::vector<std::vector<float>> losses;  ///< by step, then member
    std::optional<Error> error;              ///< of the step behind them
  };
  Result<void> train_stretch();
  [[nodiscard]] std::int64_t stretch_from(std::int64_t step) const;
  void prepare_stretch(std::int64_t step);
  Stretch train_batch(Batch& batch, std::span<const Minibatch> minibatches, std::size_t first_stream, bool prepares);
  void take_losses(const Batch& batch, const std::vector<float>& losses);
  void fail_batch(Batch& batch, const Error& error);
  [[nodiscard]] std::vector<std::uint64_t> streams() const;

  [[nodiscard]] std::int64_t epochs_begun() const;
  [[nodiscard]] bool awaits_evaluation() const;
  Result<void> end_epoch();
  Result<void> evaluate();
  Result<void> evaluate(std::size_t batch, std::span<const Minibatch> minibatches, std::vector<Score>& scores);
  void note_results(std::size_t member, const Score& score);
  void tell_search(const std::vector<std::size_t>& told);
  Result<void> leave(SweepMember& member, MemberOutcome outcome, std::string reason);
  Result<void> repack();
  [[nodiscard]] bool checkpoint_due(std::int64_t epoch) const;
  Result<void> checkpoint();
  Result<void> write_results();
  Result<void> stop_with(const Error& error);
  Result<void> finish_epoch();
  [[nodiscard]] std::size_t training_members() const;
  void show_progress();
  void note(const SweepMember& member) const;

  PreparedSweep& prepared_;
  Backend& backend_;
  SweepPlanner& planner_;
  TrainerOptions options_;
  CheckpointFolder checkpoints_;
  SweepOrigin origin_;
  Minibatches minibatches_;
  std::vector<Batch> batches_;
  std::int64_t step_ = 0;    ///< done so far
  Nanoseconds step_time_{};  ///< of all model batches, as the last stretch had it
  SweepTimes times_;
  Nanoseconds shown_{};
  Nanoseconds checkpointed_ = steady_now();
  Nanoseconds results_written_{};
  Pace pace_;
};

}  // namespace cohort
