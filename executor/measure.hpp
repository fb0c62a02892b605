#pragma once

#include <cstdint>
#include <functional>
#include <optional>
#include <span>
#include <string>
#include <vector>

#include "base/cancel.hpp"
#include "base/result.hpp"
#include "base/units.hpp"
#include "executor/clock.hpp"
#include "executor/work_watch.hpp"
#include "tracer/trace.hpp"

namespace cohort {

/// Something whose time is compared: a plan or its baseline.
struct Subject {
  std::string name;
  std::function<Result<Nanoseconds>(int steps)> run;  ///< runs that many steps and returns their time
};

/// CPU time used by others so far, as far as the system tells. Only differences matter.
using InterferenceProbe = std::function<std::optional<Nanoseconds>()>;

/// Busy and stolen time of /proc/stat, minus what this process used. The kernel counts in ticks of 10 ms, so blocks of
/// a few ticks see it coarsely. Absent where /proc/stat cannot be read.
std::optional<Nanoseconds> foreign_cpu_time();

struct MeasureOptions {
  Nanoseconds block = std::chrono::milliseconds(200);  ///< least length of a block
  int blocks = 9;                                      ///< undisturbed blocks wanted of each subject
  int most_rounds = 27;                                ///< rounds after which measuring stops
  Nanoseconds warm_up = std::chrono::seconds(3);       ///< longest warm-up of each subject
  Nanoseconds limit = std::chrono::minutes(2);         ///< no new round once this has passed
  double stable = 0.05;       ///< relative difference of two warm-up blocks that ends the warm-up
  double interference = 0.1;  ///< most foreign CPU time of an undisturbed block, relative to its length
  WorkProbe work_probe;       ///< called between blocks; empty: nothing is
  std::function<void(const std::string&)> progress;  ///< called between blocks with how far it is; may be empty
};

/// Times of one subject.
struct SubjectTimes {
  WallTimes wall;  ///< time per step of each block kept, in the order run; and how many were not
  int steps_per_block = 1;
  Nanoseconds median{};
  Nanoseconds lower{};  ///< quartiles
  Nanoseconds upper{};
  bool disturbed = false;    ///< too few undisturbed blocks: the least disturbed ones were taken
  Nanoseconds round_trip{};  ///< Probed::round_trip around the blocks kept, the median
};

/// Measures subjects side by side: each is warmed up alone until two blocks in a row agree, then all
/// take turns, A B A B ..., so that drift of the machine meets all alike. Each block holds at least
/// one step and lasts about `block`.
///
/// A block is disturbed when other processes and the hypervisor took more CPU time from it than
/// `interference` of its length, or the probe's work took longer than WorkWatch::kSlowed of its shortest time in
/// this measurement right before or after it, or cores were kCoresApart times further apart; of the others, one whose
/// time per step lies more than 3 scaled median absolute deviations, and more than 3% of the median, from its subject's
/// median. Disturbed blocks are discarded and counted. Rounds go on until each subject has `blocks` blocks without
/// interference, or a limit is met; with fewer than 3 of them, the 3 blocks that were disturbed least
/// (or all, if there are fewer) are taken instead, and `disturbed` says so.
///
/// Errors: a subject's own; kInterrupted between blocks once cancelled (within one that is for the subject to see).
Result<std::vector<SubjectTimes>> measure(std::span<const Subject> subjects, const MeasureOptions& options,
                                          const TimeSource& now, const InterferenceProbe& foreign_time,
                                          const CancelToken* cancel = nullptr);

/// How many times faster `b` is than `a`: ratio of their medians.
double speedup(const SubjectTimes& a, const SubjectTimes& b);

}  // namespace cohort
