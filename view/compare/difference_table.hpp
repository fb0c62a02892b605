#pragma once

#include <cstdint>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "view/compare/trace_comparison.hpp"

namespace cohort {

/// What a row of the table of differences stands for.
enum class DifferencesBy {
  kSlice,   ///< one pair of slices
  kTask,    ///< a task of the plan, or one name
  kOp,      ///< all that is done for one op of the model, over all members
  kOpType,  ///< a kind of work: convolution, matrix product, copy
  kGroup,   ///< a group of the plan
};
std::string_view to_string(DifferencesBy by);

struct DifferenceRow {
  std::string name;
  std::string op;
  std::string group;
  /// Slices' time in a step, summed; over all steps the sum of each task's median. Zero on a side that has none.
  ComparedTime time;
  /// How much later the predicted slices start, the mean over pairs; absent without pairs.
  std::optional<Nanoseconds> start_shift;
  /// To jump to, in order of their start: those of the chosen step, or of all.
  PerSide<std::vector<SliceId>> slices;

  [[nodiscard]] bool both() const { return !slices[0].empty() && !slices[1].empty(); }
  [[nodiscard]] Nanoseconds difference() const { return time.predicted - time.measured; }
  [[nodiscard]] std::optional<double> relative_error() const { return time.relative_error(); }
};

/// One row for each thing of this kind in scope, also for those that only one side has, largest difference in time
/// first, ties by name. Time: O(n log n) in the slices.
std::vector<DifferenceRow> differences(const TraceComparison& comparison, const Overlay& overlay, DifferencesBy by);

enum class DifferenceOrder {
  kTime,           ///< largest absolute difference first
  kRelativeError,  ///< largest absolute relative error first; rows without one last
};
/// Ties by name.
void sort_differences(std::vector<DifferenceRow>& rows, DifferenceOrder order);

/// Whether name, op or group contain the text, in any case of ASCII letters.
bool matches(const DifferenceRow& row, std::string_view text);

/// For spreadsheets: a header, then a line a row, times in nanoseconds (RFC 4180).
std::string differences_csv(std::span<const DifferenceRow> rows);

}  // namespace cohort
