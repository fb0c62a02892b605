#pragma once

#include <cstddef>
#include <memory>
#include <span>
#include <vector>

#include "base/cancel.hpp"
#include "executor/backend.hpp"
#include "executor/profile/duration_sink.hpp"
#include "executor/runner.hpp"
#include "executor/work_watch.hpp"
#include "simulator/plan/program.hpp"
#include "tracer/profile_record.hpp"

namespace cohort {

/// What a timing of a step says of it, all but the time.
ProfileRecord record_of(const Program& program, const Step& step, ProfileState state);

/// A program, loaded, whose steps are timed in their places: while the steps before have just written what they read,
/// and helper threads are as awake as they are in a real run.
class ProgramTimer {
 public:
  /// Inputs are filled with values to time by. `state` is what records say. `weights` by member; they and the backend
  /// must outlive this.
  /// Errors: those of Backend::load().
  static Result<std::unique_ptr<ProgramTimer>> load(Backend& backend, Program program, ProfileState state,
                                                    std::span<const Weights* const> weights);

  struct Timed {
    std::vector<ProfileRecord> records;  ///< of each step, round after round
    Probed probed;                       ///< WorkWatch::next() of these rounds
  };
  /// Up to so many rounds, after one that warms up; fewer of a program that takes long, at least one. Again, for a
  /// while, where something else slowed the cores meanwhile. Errors: those of the steps; kInterrupted.
  Result<Timed> time(int rounds, WorkWatch& watch, const CancelToken& cancel);
  /// Of program steps, likewise up to `most`, without recording their steps. Errors: those of the steps.
  Result<std::vector<Nanoseconds>> wall_times(int most);

  [[nodiscard]] const Program& program() const { return program_; }

 private:
  ProgramTimer(Program program, ProfileState state);
  Result<void> time_rounds(int rounds, const CancelToken& cancel, std::vector<ProfileRecord>& records);

  Program program_;
  std::unique_ptr<Runner> runner_;
  DurationSink sink_;
  std::vector<ProfileRecord> of_steps_;  ///< all but the time
  Nanoseconds overhead_{};               ///< of the clock
};

/// At most `most` of records of one call: evenly spaced in order of time.
std::vector<ProfileRecord> thinned(std::vector<ProfileRecord> records, std::size_t most);

}  // namespace cohort
