#include <algorithm>
#include <cmath>
#include <nlohmann/json.hpp>

#include "base/file.hpp"
#include "training/stopwatch.hpp"
#include "training/trainer.hpp"

namespace cohort {
namespace {

bool are_finite(const std::vector<float>& values) {
  return std::all_of(values.begin(), values.end(), [](float value) { return std::isfinite(value); });
}

}  // namespace

std::int64_t Trainer::epochs_begun() const {
  return (step_ + prepared_.counts.per_epoch - 1) / prepared_.counts.per_epoch;
}

/// Whether all steps of an epoch are done and its evaluation is not, as a sweep leaves it that stops there.
bool Trainer::awaits_evaluation() const {
  if (step_ % prepared_.counts.per_epoch != 0 && step_ != prepared_.counts.all) return false;
  return std::ranges::any_of(prepared_.members, [&](const SweepMember& member) {
    return !member.state.parameters.empty() && std::ssize(member.epochs) < epochs_begun();
  });
}

Result<void> Trainer::finish_epoch() {
  const std::size_t members = training_members();
  const Nanoseconds begin = steady_now();
  const Nanoseconds evaluated_before = times_.evaluation;
  COHORT_CHECK(end_epoch());
  const Nanoseconds evaluated = times_.evaluation - evaluated_before;
  pace_.add_evaluation(members, evaluated);
  pace_.add_epoch_end(steady_now() - begin - evaluated);
  return {};
}

Result<void> Trainer::end_epoch() {
  std::vector<std::size_t> told;  // all that trained in this epoch
  const std::int64_t epoch = epochs_begun();
  for (std::size_t i = 0; i < prepared_.members.size(); ++i) {
    const SweepMember& member = prepared_.members[i];
    const bool just_ended = prepared_.network_of[i] != nullptr && !member.state.parameters.empty();
    if (just_ended && static_cast<std::int64_t>(member.epochs.size()) == epoch - 1) told.push_back(i);
  }
  {
    const Stopwatch watch(times_.evaluation);
    if (auto evaluated = evaluate(); !evaluated) return stop_with(evaluated.error());
  }
  tell_search(told);
  for (const TrialId trial : prepared_.search->stopped()) {
    SweepMember& member = prepared_.members[to_index(trial)];
    if (member.outcome != MemberOutcome::kTraining || step_ == prepared_.counts.all) continue;
    const double reached = member.reached(compared_by()).value_or(NAN);
    COHORT_CHECK(leave(member, MemberOutcome::kDropped,
                       fmt::format("{} {} after epoch {}: others were better", to_string(compared_by()),
                                   metric_text(compared_by(), reached), epoch)));
  }
  if (step_ == prepared_.counts.all) {
    for (SweepMember& member : prepared_.members) {
      if (member.outcome == MemberOutcome::kTraining) COHORT_CHECK(leave(member, MemberOutcome::kFinished, ""));
    }
  }
  COHORT_CHECK(repack());
  if (checkpoint_due(epoch)) COHORT_CHECK(checkpoint());
  return steady_now() - results_written_ >= kBetweenResults ? write_results() : Result<void>{};
}

bool Trainer::checkpoint_due(std::int64_t epoch) const {
  if (step_ == prepared_.counts.all) return true;
  const auto& every = prepared_.sweep.checkpoint_every;
  return every ? epoch % *every == 0 : steady_now() - checkpointed_ >= kBetweenCheckpoints;
}

void Trainer::tell_search(const std::vector<std::size_t>& told) {
  for (const std::size_t i : told) {
    const SweepMember& member = prepared_.members[i];
    prepared_.search->tell({member.trial, epochs_begun(), member.reached(compared_by())});
  }
}

Result<void> Trainer::evaluate() {
  const std::size_t samples = prepared_.data.evaluation.samples;
  std::vector<std::vector<Score>> scores;  // by model batch and member
  for (Batch& batch : batches_) {
    const TrainedNetwork& network = *prepared_.network_of[batch.members.front()];
    scores.emplace_back(batch.members.size(), Score(prepared_.sweep.spec.loss, network.gives_probabilities));
    if (!batch.train) continue;
    COHORT_CHECK(batch.train->read_states());
    COHORT_CHECK(batch.evaluation->write_states());
  }
  const auto size = static_cast<std::size_t>(prepared_.sweep.minibatch);
  const std::size_t bytes = static_cast<std::size_t>(element_count(prepared_.ends.input)) * size * sizeof(float);
  std::vector<Minibatch> minibatches;
  for (std::size_t begin = 0; begin < samples; begin += size) {
    COHORT_TRY(minibatches.emplace_back(), minibatches_.evaluation(begin));
    if (begin + size < samples && (minibatches.size() + 1) * bytes <= kMostMinibatchBytes) continue;
    for (std::size_t b = 0; b < batches_.size(); ++b) COHORT_CHECK(evaluate(b, minibatches, scores[b]));
    minibatches.clear();
  }
  for (std::size_t b = 0; b < batches_.size(); ++b) {
    for (std::size_t i = 0; i < batches_[b].members.size(); ++i) note_results(batches_[b].members[i], scores[b][i]);
  }
  return {};
}

Result<void> Trainer::evaluate(std::size_t batch, std::span<const Minibatch> minibatches, std::vector<Score>& scores) {
  if (!batches_[batch].train) return {};
  for (const Minibatch& minibatch : minibatches) {
    COHORT_TRY(const auto outputs, batches_[batch].evaluation->outputs(minibatch));
    for (std::size_t i = 0; i < outputs.size(); ++i) scores[i].add(outputs[i], minibatch);
  }
  return {};
}

void Trainer::note_results(std::size_t position, const Score& score) {
  SweepMember& member = prepared_.members[position];
  if (member.outcome != MemberOutcome::kTraining) return;
  const std::int64_t per_epoch = prepared_.counts.per_epoch;
  const std::int64_t steps = step_ % per_epoch == 0 ? per_epoch : step_ % per_epoch;
  const auto epoch = static_cast<std::int64_t>(member.epochs.size()) + 1;
  // A ReLU takes what is no number for zero, so that the loss may look well.
  const bool has_weights = are_finite(member.state.parameters) && are_finite(member.state.statistics);
  if (!std::isfinite(score.loss()) || !has_weights) {
    member.outcome = MemberOutcome::kDiverged;
    member.reason = has_weights ? fmt::format("loss {} in the evaluation after epoch {}", score.loss(), epoch)
                                : fmt::format("weights that are no finite numbers after epoch {}", epoch);
    note(member);
    return;
  }
  member.epochs.push_back({epoch, member.loss_sum / static_cast<double>(steps), score.loss(), score.accuracy()});
  member.loss_sum = 0;
}

/// A member that trains no more leaves what it has learned.
Result<void> Trainer::leave(SweepMember& member, MemberOutcome outcome, std::string reason) {
  member.outcome = outcome;
  member.reason = std::move(reason);
  const Stopwatch watch(times_.results);
  COHORT_TRY(const std::string onnx, learned_onnx(*prepared_.network_of[to_index(member.trial)], member.state));
  return write_file(models_folder() / (member.name + ".onnx"), onnx, Overwrite::kAllow);
}

/// Model batches without those that train no more; those of which nobody left stay as they are.
Result<void> Trainer::repack() {
  bool changed = false;
  for (const Batch& batch : batches_) {
    for (const std::size_t i : batch.members) changed |= prepared_.members[i].outcome != MemberOutcome::kTraining;
  }
  for (SweepMember& member : prepared_.members) {
    if (member.outcome != MemberOutcome::kTraining) member.state = {};
  }
  if (!changed) return {};
  COHORT_CHECK(plan_batches());
  // What was begun for the members before holds samples of each of them.
  if (step_ < prepared_.counts.all && !batches_.empty() && !streams().empty()) {
    static_cast<void>(minibatches_.take());  // what is wrong with them is told of those that are prepared now
    prepare_stretch(step_);
  }
  return {};
}

Result<void> Trainer::checkpoint() {
  const Stopwatch watch(times_.checkpoints);
  Checkpoint checkpoint;
  checkpoint.origin = origin_;
  checkpoint.step = step_;
  checkpoint.awaits_evaluation = awaits_evaluation();
  for (const Batch& batch : batches_) {
    if (batch.train) checkpoint.batches.push_back({batch.members, batch.train->plan()});
  }
  auto written = checkpoints_.write(checkpoint, prepared_.members, prepared_.network_of, prepared_.data.normalization);
  checkpointed_ = steady_now();
  if (written) return {};
  return fail(written.error().code, "{}; {}", written.error().message,
              checkpoints_.has_checkpoint() ? "the checkpoint before is whole: make room, then --resume goes on from it"
                                            : "there is no checkpoint yet");
}

Result<void> Trainer::write_results() {
  const Stopwatch watch(times_.results);
  results_written_ = steady_now();
  const Metric metric = prepared_.sweep.metric;
  nlohmann::ordered_json document;
  document["metric"] = to_string(metric);
  document["steps"] = step_;
  document["steps_of"] = prepared_.counts.all;
  document["device"] = backend_.info().name;
  document["run"] = to_json(times_);
  document["members"] = results_json(prepared_.members, metric);
  PendingFiles pending(Overwrite::kAllow);
  COHORT_CHECK(pending.add(options_.folder / "results.csv", results_csv(prepared_.members, metric)));
  COHORT_CHECK(pending.add(options_.folder / "results.json", document.dump(1) + "\n"));
  return pending.commit();
}

}  // namespace cohort
