#pragma once

#include <cstddef>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "base/result.hpp"
#include "simulator/report/compare.hpp"
#include "view/compare/compared_slices.hpp"
#include "view/timeline/timeline.hpp"

namespace cohort {

/// How the chosen steps of the two traces are aligned.
enum class AlignAt {
  kStart,   ///< their first slices start together
  kAnchor,  ///< the slices of one task or name start together
  kEnd,     ///< their last slices end together
};

/// The scope of totals and tables.
enum class CompareScope {
  kStep,      ///< the chosen step of each side
  kAllSteps,  ///< medians over all steps
};

struct CompareSettings {
  /// Positions among the steps of each side; absent: the typical one (typical_step()).
  PerSide<std::optional<std::size_t>> step = {};
  AlignAt align = AlignAt::kStart;
  std::string anchor = {};  ///< of kAnchor: name of an identity in both chosen steps; empty: the first
  CompareScope scope = CompareScope::kStep;

  friend bool operator==(const CompareSettings&, const CompareSettings&) = default;
};

/// Two slices that are the same piece of work.
struct SlicePair {
  IdentityId identity{};
  PerSide<std::uint32_t> step{};
  PerSide<SliceId> slice{};
};

struct ComparedTotals {
  ComparedTime matched;             ///< sum over pairs of the chosen steps, or of medians over all steps
  ComparedTime step;                ///< of the chosen steps: from the first slice's start to the last one's end
  std::int64_t pairs = 0;           ///< in scope
  PerSide<std::int64_t> unmatched;  ///< slices in scope without a partner
  ComparedSpeedup speedup;          ///< from wall times without a trace
};

/// Two aligned traces: everything that depends on the settings.
struct Overlay {
  CompareSettings settings;      ///< nothing absent
  PerSide<Nanoseconds> offset;   ///< to add to a trace's times, so that the measured chosen step starts at 0
  std::vector<SlicePair> pairs;  ///< of all steps that have a counterpart; in order of the measured start, then id
  PerSide<std::vector<std::optional<std::uint32_t>>> pair_of;  ///< by slice of the trace: position among `pairs`
  /// Names at which the chosen steps can be aligned, in order of their measured start.
  std::vector<std::string> anchors;
  ComparedTotals totals;

  [[nodiscard]] bool in_scope(const SlicePair& pair) const;
};

/// Two traces and what they have in common. Traces of any kind can be compared, also two predictions; the sides keep
/// their names. Immutable, so threads may share it.
class TraceComparison {
 public:
  /// Time: O(n log n) in the slices.
  TraceComparison(std::shared_ptr<const Trace> predicted, std::shared_ptr<const Trace> measured);

  [[nodiscard]] const Trace& trace(CompareSide side) const { return *traces_[to_index(side)]; }
  [[nodiscard]] const std::shared_ptr<const Trace>& shared_trace(CompareSide side) const {
    return traces_[to_index(side)];
  }
  [[nodiscard]] const KeyedTraces& keyed() const { return keyed_; }
  [[nodiscard]] const std::vector<TraceStep>& steps(CompareSide side) const {
    return keyed_.sides[to_index(side)].steps;
  }
  [[nodiscard]] const SliceIdentity& identity(IdentityId id) const { return keyed_.identities[to_index(id)]; }

  /// Whether both traces say by which plan they were made, and these differ.
  [[nodiscard]] bool different_plans() const { return different_plans_; }
  /// Warnings in whole sentences: nothing matches, plans differ, slices were left out, measuring was disturbed.
  [[nodiscard]] std::vector<std::string> notes() const;

  /// Errors: kUsage where a trace has no such step or one of the chosen steps no such anchor. Time: O(n log n).
  [[nodiscard]] Result<Overlay> overlay(const CompareSettings& settings) const;

 private:
  PerSide<std::shared_ptr<const Trace>> traces_;
  KeyedTraces keyed_;
  bool different_plans_ = false;
  PerSide<std::int64_t> identities_alone_{};  ///< identities that only this side has
};

/// (predicted - measured) / measured of a pair's times; absent where nothing was measured.
std::optional<double> relative_error(const TraceComparison& comparison, const SlicePair& pair);
ComparedTime times_of(const TraceComparison& comparison, const SlicePair& pair);
/// How much later than the measured one the predicted slice starts, as the traces are laid over each other.
Nanoseconds start_shift(const TraceComparison& comparison, const Overlay& overlay, const SlicePair& pair);

/// The two traces as parts of one timeline, shifted as they are aligned: predicted is part 0, measured part 1.
Timeline comparison_timeline(const TraceComparison& comparison, const Overlay& overlay, const TimelineOptions& options);
/// The chosen steps on that timeline, from the earlier start to the later end.
TimeWindow chosen_window(const TraceComparison& comparison, const Overlay& overlay);

/// What the sides are called: "predicted" and "measured" where they are, else by what they are: two predictions are
/// "first" and "second".
PerSide<std::string> side_labels(const TraceComparison& comparison);

}  // namespace cohort
