#pragma once

#include <cstddef>
#include <map>
#include <memory>
#include <optional>
#include <string>
#include <tuple>
#include <utility>
#include <vector>

#include "base/cancel.hpp"
#include "executor/backend.hpp"
#include "executor/profile/profile.hpp"
#include "executor/profile/program_timer.hpp"
#include "executor/profile/time_budget.hpp"
#include "executor/work_watch.hpp"
#include "models/model.hpp"
#include "simulator/plan/lower.hpp"
#include "simulator/plan/plan.hpp"
#include "tracer/profile_record.hpp"

namespace cohort {

/// A way to run an op.
struct OpWay {
  std::string algorithm;
  int threads = 1;

  friend auto operator<=>(const OpWay&, const OpWay&) = default;
};

/// By an op's signature.
using ChosenWays = std::map<std::string, OpWay>;

/// Picks those; the first that is listed for what has none.
ChooseAlternative choose_ways(ChosenWays ways);

/// Times the ops of a model in their places: the whole model runs, and each op is timed while the ops before it have
/// just written what it reads and helper threads are as awake as they are in a real step. One run times every op, so
/// that all ways of all ops take as many runs as the op with most ways has.
class InModelTimer {
 public:
  /// All must outlive this.
  InModelTimer(Backend& backend, const LoadedModel& loaded, const ProfileOptions& options, WorkWatch& watch);
  ~InModelTimer();
  InModelTimer(const InModelTimer&) = delete;
  InModelTimer& operator=(const InModelTimer&) = delete;

  /// The library's first way of each op, on all cores and on one: what every profile has, however little time there is.
  /// Errors: those of lower() and of the device; kInterrupted.
  Result<void> time_first(const CancelToken& cancel);
  /// The other ways, one after another until the budget ends. Returns whether all were timed.
  Result<bool> race(const TimeBudget& budget, const CancelToken& cancel);
  /// The best ways once more: each op on one core, on as many as are faster, and on one while the other cores run
  /// members of their own; one member alone, and several in turn with weights of their own, as many as leave nothing of
  /// the first in caches. To be called several times over a profile: a machine's speed varies over seconds, and what is
  /// compared with each other must have met all of that. Returns whether all was timed.
  Result<bool> settle(const TimeBudget& budget, const CancelToken& cancel);

  /// Of each op the fastest so far: on so many cores; on any.
  [[nodiscard]] ChosenWays best_on(int threads) const;
  [[nodiscard]] ChosenWays best() const;
  /// The median while its model runs alone; absent where it was not timed.
  [[nodiscard]] std::optional<Nanoseconds> time_of(const std::string& signature, const OpWay& way) const;
  /// Wall times of a step of one of the members in turn, without a sink; what its ops take in such a step; and the
  /// number of members.
  [[nodiscard]] std::vector<Nanoseconds> in_turn() const;
  [[nodiscard]] std::vector<Nanoseconds> ops_in_turn() const;
  [[nodiscard]] int turns() const { return turns_; }
  /// Of one member.
  [[nodiscard]] int steps() const { return steps_; }

  /// Everything timed, as records of state kInModel, at most `most` of each op, way and footprint; what was timed while
  /// cores were slow or far apart only where there is nothing else.
  [[nodiscard]] std::vector<std::pair<std::string, ProfileRecord>> records(std::size_t most) const;

 private:
  /// A program of the best ways.
  struct Settled {
    int copies = 1;
    int streams = 1;
    ChosenWays ways;
    bool is_best = false;  ///< of each op on as many cores as are fastest
    Nanoseconds length{};  ///< of a run, as its ops add up
    Nanoseconds took{};    ///< the last time, once loaded
    std::unique_ptr<ProgramTimer> run;
    bool fits = true;  ///< into memory
  };
  using Key = std::pair<std::string, OpWay>;  ///< signature
  /// Samples, each with what was probed around it.
  template <class Sample>
  struct Watched {
    std::vector<Sample> samples;
    std::vector<Probed> probed;

    void add(Sample sample, const Probed& around) {
      samples.push_back(std::move(sample));
      probed.push_back(around);
    }
  };

  Result<std::unique_ptr<ProgramTimer>> load(int copies, int streams, const ChooseAlternative& choose);
  void choose_to_settle();
  Result<Watched<Nanoseconds>> time(ProgramTimer& run, int rounds, const CancelToken& cancel);
  [[nodiscard]] Nanoseconds expected_time(const Settled& settled) const;
  [[nodiscard]] bool is_needed(const Settled& settled) const;
  Result<void> time_in_turn(const Settled& settled, const Watched<Nanoseconds>& ops);
  Result<void> time_rank(std::size_t rank, int threads, const CancelToken& cancel);
  [[nodiscard]] std::vector<int> copies_to_settle() const;

  Backend& backend_;
  const LoadedModel& loaded_;
  const ProfileOptions& options_;
  std::vector<int> thread_counts_;                            ///< all cores first
  std::map<std::pair<std::string, int>, std::size_t> ranks_;  ///< ways listed, by signature and threads
  /// By neighbours, threads around and footprint.
  std::map<Key, std::map<std::tuple<int, int, Bytes>, Watched<ProfileRecord>>> samples_;
  std::map<std::string, std::string> names_;  ///< of an op, by signature
  std::vector<Settled> settled_;
  WorkWatch& watch_;
  Bytes alone_;                 ///< footprint of the model alone
  Nanoseconds first_length_{};  ///< of a run of the model alone on one core, in the ways that were timed first
  int turns_ = 0;
  int steps_ = 0;
  Watched<Nanoseconds> in_turn_;
  Watched<Nanoseconds> ops_in_turn_;
};

}  // namespace cohort
