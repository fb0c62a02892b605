#include "executor/profile/program_timer.hpp"

#include <algorithm>
#include <utility>

#include "executor/clock.hpp"
#include "executor/input_values.hpp"
#include "simulator/plan/weight_distances.hpp"

namespace cohort {
namespace {

/// So much time is enough for a timing: no further round or try begins.
constexpr std::chrono::milliseconds kLong{40};

/// Up to `most` rounds after one that warms up, whose samples are dropped. Of a program that takes long, that one is
/// all: it is as warm as any, since loading has run the program once.
template <class Samples, class Round>
Result<void> after_warm_up(int most, Samples& samples, Round round) {
  const Nanoseconds begin = steady_now();
  COHORT_CHECK(round());
  for (int i = 0; i < most && steady_now() - begin < kLong; ++i) {
    if (i == 0) samples.clear();
    COHORT_CHECK(round());
  }
  return {};
}

}  // namespace

ProfileRecord record_of(const Program& program, const Step& step, ProfileState state) {
  ProfileRecord record;
  record.state = state;
  record.signature = step.cost.signature;
  record.strategy = std::string(to_string(step.cost.strategy));
  record.neighbours = program.streams - 1;
  record.width = step.cost.width;
  record.threads = step.cost.threads;
  record.algorithm = step.cost.algorithm;
  record.footprint = program.memory.total();
  record.workspace = step.workspace ? program.buffer(*step.workspace).size : Bytes{};
  record.packed_weights = step.packed_weights;
  return record;
}

ProgramTimer::ProgramTimer(Program program, ProfileState state)
    : program_(std::move(program)), sink_(program_.steps.size(), program_.streams), overhead_(clock_cost()) {
  const int around = most_threads(program_);
  const std::vector<Bytes> distances = weight_distances(program_);
  for (const Step& step : program_.steps) {
    of_steps_.push_back(record_of(program_, step, state));
    of_steps_.back().footprint = distances[of_steps_.size() - 1];
    if (around > step.cost.threads) of_steps_.back().around = around;
  }
}

Result<std::unique_ptr<ProgramTimer>> ProgramTimer::load(Backend& backend, Program program, ProfileState state,
                                                         std::span<const Weights* const> weights) {
  std::unique_ptr<ProgramTimer> made(new ProgramTimer(std::move(program), state));
  COHORT_TRY(made->runner_, Runner::create(backend, made->program_, weights));
  COHORT_CHECK(fill_inputs_to_time(*made->runner_));
  return made;
}

Result<ProgramTimer::Timed> ProgramTimer::time(int rounds, WorkWatch& watch, const CancelToken& cancel) {
  constexpr int kMostTries = 3;
  const Nanoseconds begin = steady_now();
  for (int i = 1;; ++i) {
    Timed timed;
    COHORT_CHECK(time_rounds(rounds, cancel, timed.records));
    timed.probed = watch.next();
    const bool is_last = i == kMostTries || (i > 1 && steady_now() - begin > kLong);
    if (watch.slowed(timed.probed) <= WorkWatch::kSlowed || is_last) return timed;
  }
}

Result<void> ProgramTimer::time_rounds(int rounds, const CancelToken& cancel, std::vector<ProfileRecord>& records) {
  runner_->session().set_sink(&sink_);
  const auto round = [&]() -> Result<void> {
    COHORT_CHECK(cancel.check());
    COHORT_CHECK(runner_->step(0));
    for (std::size_t s = 0; s < of_steps_.size(); ++s) {
      records.push_back(of_steps_[s]);
      records.back().time = std::max(Nanoseconds(1), sink_.duration(s) - overhead_);
    }
    return {};
  };
  COHORT_CHECK(after_warm_up(rounds, records, round));
  runner_->session().set_sink(nullptr);
  return {};
}

Result<std::vector<Nanoseconds>> ProgramTimer::wall_times(int most) {
  std::vector<Nanoseconds> times;
  const auto round = [&]() -> Result<void> {
    COHORT_TRY(const Nanoseconds time, runner_->timed_steps(1, steady_now));
    times.push_back(time);
    return {};
  };
  COHORT_CHECK(after_warm_up(most, times, round));
  return times;
}

std::vector<ProfileRecord> thinned(std::vector<ProfileRecord> records, std::size_t most) {
  std::stable_sort(records.begin(), records.end(), [](const auto& a, const auto& b) { return a.time < b.time; });
  if (records.size() <= most) return records;
  std::vector<ProfileRecord> kept;
  for (std::size_t i = 0; i < most; ++i) kept.push_back(records[most == 1 ? 0 : i * (records.size() - 1) / (most - 1)]);
  return kept;
}

}  // namespace cohort
