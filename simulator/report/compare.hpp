#pragma once

#include <optional>
#include <string>
#include <vector>

#include "base/result.hpp"
#include "tracer/trace.hpp"

namespace cohort {

/// One task id, or one group of them, in a predicted and a measured trace. Times are medians over
/// the iterations.
struct ComparedTask {
  std::string name;
  std::string group;
  Nanoseconds predicted{};
  Nanoseconds measured{};

  /// (predicted - measured) / measured; absent where nothing was measured.
  [[nodiscard]] std::optional<double> relative_error() const;
  friend bool operator==(const ComparedTask&, const ComparedTask&) = default;
};

/// Wall time of a whole step, or a quotient of two.
struct ComparedTime {
  Nanoseconds predicted{};
  Nanoseconds measured{};

  [[nodiscard]] std::optional<double> relative_error() const;
};

/// Speedups of a plan over its baseline, from wall times without a trace.
struct ComparedSpeedup {
  std::optional<ComparedTime> plan, baseline;  ///< wall times; absent where a trace has none
  std::optional<double> predicted, measured;   ///< baseline over plan; absent where a trace lacks one of them
  /// (predicted - measured) / measured.
  [[nodiscard]] std::optional<double> relative_error() const;
};

struct Comparison {
  std::vector<ComparedTask> tasks;                         ///< largest difference in time first, ties by name
  std::vector<ComparedTask> groups;                        ///< sums over tasks; the same order
  ComparedTask all;                                        ///< sum over all tasks in both
  std::vector<std::string> only_predicted, only_measured;  ///< task ids, ascending
  std::optional<ComparedTime> plan, baseline;              ///< wall times; absent where a trace has none
  std::optional<double> predicted_speedup, measured_speedup;
  /// Of the speedup.
  std::optional<double> relative_error;
  bool different_plans = false;           ///< by what the traces say, as different_plans() has it
  std::string predicted_on, measured_on;  ///< names of the devices where the traces say that they differ
  int disturbed = 0;                      ///< measured wall times of the plan that were left out, as other programs ran
  int wall_times = 0;                     ///< measured, those included
};

/// Whether two traces, as far as they say, are of plans that run other members, or the same in another way. Algorithms,
/// limits, and where files lie do not count.
bool different_plans(const Trace& a, const Trace& b);

/// Whether less than a third of the samples were kept, so that these, too, are hardly undisturbed.
constexpr bool mostly_disturbed(int discarded, std::size_t kept) { return discarded > 2 * static_cast<int>(kept); }
/// The wall times of a plan that are so; else null.
const WallTimes* mostly_disturbed(const Trace& trace);

/// The plan's group that a task belongs to, by name or by position; empty where none is noted.
std::string group_of(const Trace& trace, const Slice& task);

/// Of two traces of any kind, so that predictions of two plans can be told apart, too.
ComparedSpeedup compare_speedup(const Trace& predicted, const Trace& measured);

/// Matches the tasks of a predicted and a measured trace by task id (kTaskArg).
/// Errors: kInvalidInput where a trace is of the wrong kind or has no task, or the two are of
/// different plans.
Result<Comparison> compare(const Trace& predicted, const Trace& measured);

struct CompareText {
  std::size_t most_tasks = 20;  ///< rows of the table of tasks
};
/// Tables for people.
std::string print(const Comparison& comparison, const CompareText& options = {});

}  // namespace cohort
