#include "executor/profile/program_timer.hpp"

#include <algorithm>
#include <utility>

#include "executor/input_values.hpp"

namespace cohort {

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
  for (const Step& step : program_.steps) {
    of_steps_.push_back(record_of(program_, step, state));
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
  for (int i = 1;; ++i) {
    Timed timed;
    COHORT_CHECK(time_rounds(rounds, cancel, timed.records));
    timed.probed = watch.next();
    if (watch.slowed(timed.probed) <= WorkWatch::kSlowed || i == kMostTries) return timed;
  }
}

Result<void> ProgramTimer::time_rounds(int rounds, const CancelToken& cancel, std::vector<ProfileRecord>& records) {
  COHORT_CHECK(runner_->step(0));
  runner_->session().set_sink(&sink_);
  for (int i = 0; i < rounds; ++i) {
    COHORT_CHECK(cancel.check());
    COHORT_CHECK(runner_->step(0));
    for (std::size_t s = 0; s < of_steps_.size(); ++s) {
      records.push_back(of_steps_[s]);
      records.back().time = std::max(Nanoseconds(1), sink_.duration(s) - overhead_);
    }
  }
  runner_->session().set_sink(nullptr);
  return {};
}

Result<Nanoseconds> ProgramTimer::wall_time() { return runner_->timed_steps(1, steady_now); }

std::vector<ProfileRecord> thinned(std::vector<ProfileRecord> records, std::size_t most) {
  std::stable_sort(records.begin(), records.end(), [](const auto& a, const auto& b) { return a.time < b.time; });
  if (records.size() <= most) return records;
  std::vector<ProfileRecord> kept;
  for (std::size_t i = 0; i < most; ++i) kept.push_back(records[most == 1 ? 0 : i * (records.size() - 1) / (most - 1)]);
  return kept;
}

}  // namespace cohort
