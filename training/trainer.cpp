#include "training/trainer.hpp"

#include <algorithm>
#include <cmath>
#include <nlohmann/json.hpp>
#include <numeric>

#include "base/file.hpp"
#include "base/rate.hpp"
#include "training/fingerprint.hpp"
#include "training/stopwatch.hpp"

namespace cohort {
namespace {

/// Members whose networks could be made, and how halving leaves fewer of them.
Pace pace_of(const PreparedSweep& prepared) {
  const auto& networks = prepared.network_of;
  const auto members =
      networks.size() - static_cast<std::size_t>(std::count(networks.begin(), networks.end(), nullptr));
  const auto samples = static_cast<std::int64_t>(prepared.data.evaluation.samples);
  const std::int64_t minibatch = prepared.sweep.minibatch;
  return Pace(prepared.counts, rungs_of(prepared.counts, prepared.sweep.halving, members),
              (samples + minibatch - 1) / minibatch);
}

/// Long enough that a turn's first steps, which find nothing of theirs in caches, do not count.
constexpr Nanoseconds kLongestStretch = std::chrono::milliseconds(100);

}  // namespace

Trainer::Trainer(PreparedSweep& prepared, Backend& backend, SweepPlanner& planner, TrainerOptions options)
    : prepared_(prepared),
      backend_(backend),
      planner_(planner),
      options_(std::move(options)),
      checkpoints_(options_.folder),
      origin_{Fingerprint().add(options_.sweep_text).text(), backend.info().name, fingerprint_of(prepared.data)},
      minibatches_(prepared.data, prepared.ends, minibatch_options(prepared.sweep)),
      pace_(pace_of(prepared)) {}

Result<void> Trainer::run() {
  MadeFolders made;
  COHORT_CHECK(made.make(models_folder()));
  COHORT_CHECK(options_.resume ? resume() : begin());
  // A search that ends early plans another way than one that does not, and a sweep that goes on must not tell.
  planner_.set_cancel(nullptr);
  return train_epochs();
}

Result<void> Trainer::begin() {
  COHORT_CHECK(write_file(options_.folder / "sweep.toml", options_.sweep_text, Overwrite::kAllow));
  return plan_batches();
}

Result<void> Trainer::resume() {
  COHORT_TRY(const Checkpoint checkpoint, checkpoints_.read(origin_, prepared_.network_of, prepared_.members));
  step_ = checkpoint.step;
  replay_search(awaits_evaluation() ? epochs_begun() - 1 : step_ / prepared_.counts.per_epoch);
  const Stopwatch watch(times_.loading);
  if (!checkpoint.batches.empty()) planner_.set_limits(checkpoint.batches.front().plan.limits);
  for (const BatchPlan& batch : checkpoint.batches) {
    COHORT_TRY(Batch opened_batch, opened(batch.members, batch.plan));
    batches_.push_back(std::move(opened_batch));
  }
  return {};
}

/// What was told and stopped in the epochs before follows from the members' results.
void Trainer::replay_search(std::int64_t epochs) {
  for (std::int64_t epoch = 1; epoch <= epochs; ++epoch) {
    for (std::size_t i = 0; i < prepared_.members.size(); ++i) {
      if (prepared_.network_of[i] == nullptr) continue;  // as it was told when it could not be made
      const SweepMember& member = prepared_.members[i];
      const auto known = static_cast<std::int64_t>(member.epochs.size());
      const bool ended = member.outcome == MemberOutcome::kDiverged || member.outcome == MemberOutcome::kFailed;
      if (known >= epoch) {
        const EpochResult& result = member.epochs[static_cast<std::size_t>(epoch - 1)];
        prepared_.search->tell({member.trial, epoch, compared_by() == Metric::kLoss ? result.loss : result.accuracy});
      } else if (ended && known == epoch - 1) {
        prepared_.search->tell({member.trial, epoch, std::nullopt});
      }
    }
    (void)prepared_.search->stopped();
  }
}

Metric Trainer::compared_by() const {
  const Sweep& sweep = prepared_.sweep;
  return sweep.halving ? sweep.halving->metric : sweep.metric;
}

// ---- model batches

Result<Trainer::Batch> Trainer::opened(const std::vector<std::size_t>& members, const Plan& plan) {
  std::vector<SweepMember*> pointers;
  for (const std::size_t i : members) pointers.push_back(&prepared_.members[i]);
  const TrainedNetwork& network = *prepared_.network_of[members.front()];
  Batch batch{members, nullptr, nullptr};
  COHORT_TRY(batch.train, MemberBatch::train(backend_, network, plan, pointers));
  COHORT_TRY(batch.evaluation, MemberBatch::evaluation(backend_, network, plan, pointers));
  return batch;
}

/// Those that do not fit together become two model batches.
Result<void> Trainer::open_members(const std::vector<std::size_t>& members) {
  COHORT_TRY(const std::vector<PlannedBatch> planned,
             planner_.plan(*prepared_.network_of[members.front()], members.size()));
  auto next = members.begin();
  for (const PlannedBatch& part : planned) {
    const auto end = next + static_cast<std::ptrdiff_t>(part.plan.members.size());
    const std::vector<std::size_t> together(next, end);
    next = end;
    auto batch = opened(together, part.plan);
    if (batch) {
      batches_.push_back(*std::move(batch));
    } else if (batch.error().code == ErrorCode::kDoesNotFit && together.size() > 1) {
      const auto middle = together.begin() + static_cast<std::ptrdiff_t>(together.size() / 2);
      COHORT_CHECK(open_members({together.begin(), middle}));
      COHORT_CHECK(open_members({middle, together.end()}));
    } else {
      return tl::unexpected<Error>(batch.error());
    }
  }
  return {};
}

Result<void> Trainer::plan_batches() {
  const Stopwatch watch(times_.loading);
  batches_.clear();
  for (const std::vector<std::size_t>& group : prepared_.training_groups()) COHORT_CHECK(open_members(group));
  return {};
}

// ---- steps

Result<void> Trainer::train_epochs() {
  if (step_ < prepared_.counts.all) prepare_stretch(step_);
  if (awaits_evaluation()) COHORT_CHECK(finish_epoch());
  while (step_ < prepared_.counts.all && !batches_.empty()) {
    if (options_.cancel->cancelled()) return stop_with({ErrorCode::kInterrupted, "interrupted"});
    if (auto stepped = train_stretch(); !stepped) return stop_with(stepped.error());
    if (step_ % prepared_.counts.per_epoch == 0 || step_ == prepared_.counts.all) COHORT_CHECK(finish_epoch());
    show_progress();
  }
  return write_results();
}

/// What was trained since the last checkpoint is not lost.
Result<void> Trainer::stop_with(const Error& error) {
  for (Batch& batch : batches_) {
    if (batch.train) COHORT_CHECK(batch.train->read_states());
  }
  COHORT_CHECK(checkpoint());
  COHORT_CHECK(write_results());
  return tl::unexpected<Error>(error);
}

/// Of members that vary their samples by themselves, in the order of the model batches.
std::vector<std::uint64_t> Trainer::streams() const {
  std::vector<std::uint64_t> streams;
  if (prepared_.sweep.data.augmentation.sharing != Augmentation::Sharing::kPerMember) return streams;
  for (const Batch& batch : batches_) {
    for (const std::size_t i : batch.members) streams.push_back(to_index(prepared_.members[i].trial));
  }
  return streams;
}

/// How many steps each model batch takes before it is the next one's turn: as many as a moment holds, in parts of about
/// equal length within an epoch. What members learn does not depend on it.
std::int64_t Trainer::stretch_from(std::int64_t step) const {
  if (batches_.size() < 2 || step_time_ <= Nanoseconds{}) return 1;
  const std::int64_t per_epoch = prepared_.counts.per_epoch;
  const std::int64_t left = std::min(prepared_.counts.all, (step / per_epoch + 1) * per_epoch) - step;
  const auto bytes = static_cast<std::size_t>(element_count(prepared_.ends.input) * prepared_.sweep.minibatch) *
                     sizeof(float) * std::max<std::size_t>(1, streams().size());
  const auto fit = static_cast<std::int64_t>(kMostMinibatchBytes / bytes);
  const std::int64_t most = std::max<std::int64_t>(1, std::min(fit, kLongestStretch / step_time_));
  const std::int64_t parts = (left + most - 1) / most;
  return (left + parts - 1) / parts;
}

void Trainer::prepare_stretch(std::int64_t step) {
  if (step < prepared_.counts.all) minibatches_.prepare(step, stretch_from(step), streams());
}

Result<void> Trainer::train_stretch() {
  std::vector<Stretch> stretches(batches_.size());
  std::int64_t count = 0;
  {
    const Stopwatch watch(times_.steps);
    std::span<const Minibatch> minibatches;
    {
      const Stopwatch input(times_.input);
      COHORT_TRY(minibatches, minibatches_.take());
    }
    count = static_cast<std::int64_t>(minibatches.size());
    const Nanoseconds begin = steady_now();
    bool prepares = true;
    std::size_t stream = 0;
    for (std::size_t b = 0; b < batches_.size(); ++b) {
      if (batches_[b].train) {
        stretches[b] = train_batch(batches_[b], minibatches, stream, prepares);
        prepares = false;
      }
      stream += batches_[b].members.size();
    }
    const Nanoseconds took = steady_now() - begin;
    step_time_ = took / count;
    pace_.add_steps(count, training_members(), took);
  }
  times_.input_work = minibatches_.work();
  for (std::size_t i = 0; i < static_cast<std::size_t>(count); ++i) {
    for (std::size_t b = 0; b < batches_.size(); ++b) {
      if (i < stretches[b].losses.size()) {
        take_losses(batches_[b], stretches[b].losses[i]);
      } else if (batches_[b].train && stretches[b].error) {
        fail_batch(batches_[b], *stretches[b].error);
      }
    }
    ++step_;
    if (options_.stepped) options_.stepped(step_);
  }
  return {};
}

/// `prepares`: the next stretch's minibatches, while the device is at work.
Trainer::Stretch Trainer::train_batch(Batch& batch, std::span<const Minibatch> minibatches, std::size_t first_stream,
                                      bool prepares) {
  Stretch stretch;
  std::vector<std::size_t> positions;
  if (minibatches.front().samples.size() > 1) {
    positions.resize(batch.members.size());
    std::iota(positions.begin(), positions.end(), first_stream);
  }
  for (std::size_t i = 0; i < minibatches.size(); ++i) {
    const auto step = step_ + static_cast<std::int64_t>(i);
    auto launched = batch.train->launch(minibatches[i], positions, step, prepared_.counts);
    if (prepares && i == 0) prepare_stretch(step_ + static_cast<std::int64_t>(minibatches.size()));
    auto losses = launched ? batch.train->losses() : tl::unexpected<Error>(launched.error());
    if (!losses) {
      stretch.error = losses.error();
      break;
    }
    stretch.losses.push_back(*std::move(losses));
  }
  return stretch;
}

void Trainer::take_losses(const Batch& batch, const std::vector<float>& losses) {
  for (std::size_t i = 0; i < losses.size(); ++i) {
    SweepMember& member = prepared_.members[batch.members[i]];
    if (member.outcome != MemberOutcome::kTraining) continue;
    ++member.steps;
    times_.samples += prepared_.sweep.minibatch;
    if (std::isfinite(losses[i])) {
      member.loss_sum += static_cast<double>(losses[i]);
      continue;
    }
    member.outcome = MemberOutcome::kDiverged;
    member.reason =
        fmt::format("loss {} at step {}, in epoch {}", std::isnan(losses[i]) ? std::abs(losses[i]) : losses[i],
                    step_ + 1, step_ / prepared_.counts.per_epoch + 1);  // no "-nan"
    note(member);
  }
}

/// What went wrong on the device is of all of them; other model batches go on.
void Trainer::fail_batch(Batch& batch, const Error& error) {
  for (const std::size_t i : batch.members) {
    SweepMember& member = prepared_.members[i];
    if (member.outcome != MemberOutcome::kTraining) continue;
    member.outcome = MemberOutcome::kFailed;
    member.reason = fmt::format("step {}: {}", step_ + 1, error.message);
    note(member);
  }
  batch.train.reset();
  batch.evaluation.reset();
}

void Trainer::note(const SweepMember& member) const {
  if (options_.note) options_.note(fmt::format("{} {}: {}", member.name, to_string(member.outcome), member.reason));
}

std::size_t Trainer::training_members() const {
  return static_cast<std::size_t>(
      std::count_if(prepared_.members.begin(), prepared_.members.end(),
                    [](const SweepMember& member) { return member.outcome == MemberOutcome::kTraining; }));
}

void Trainer::show_progress() {
  const Nanoseconds now = steady_now();
  if (!options_.progress || now - shown_ < std::chrono::milliseconds(100)) return;
  shown_ = now;
  double least = INFINITY;
  double most = -INFINITY;
  const std::int64_t in_epoch = step_ % prepared_.counts.per_epoch;
  for (const SweepMember& member : prepared_.members) {
    if (member.outcome != MemberOutcome::kTraining) continue;
    if (in_epoch == 0) continue;
    least = std::min(least, member.loss_sum / static_cast<double>(in_epoch));
    most = std::max(most, member.loss_sum / static_cast<double>(in_epoch));
  }
  std::string text =
      fmt::format("training epoch {}, step {} of {}: {} of {} members", step_ / prepared_.counts.per_epoch + 1, step_,
                  prepared_.counts.all, training_members(), prepared_.members.size());
  if (least <= most) text += fmt::format(", losses {:.3g} to {:.3g}", least, most);
  const SweepMember& best = prepared_.members[ranking(prepared_.members, prepared_.sweep.metric).front()];
  if (const auto reached = best.reached(prepared_.sweep.metric))
    text += fmt::format(", best {} {} of {}", to_string(prepared_.sweep.metric),
                        metric_text(prepared_.sweep.metric, *reached), best.name);
  text += fmt::format(", {}, {} left", format_rate(times_.samples_per_second()), format_time(pace_.left(step_)));
  options_.progress(text);
}

}  // namespace cohort
