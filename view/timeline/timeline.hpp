#pragma once

#include <compare>
#include <cstdint>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "base/ids.hpp"
#include "base/units.hpp"
#include "tracer/steps/steps.hpp"
#include "tracer/trace.hpp"
#include "view/timeline/lane.hpp"

namespace cohort {

/// One of the traces that a timeline shows.
struct TimelinePart {
  std::shared_ptr<const Trace> trace;
  Nanoseconds offset{};  ///< added to the trace's times, within +-kMostTime
  std::string label;     ///< "predicted"; shown where there are several parts
};

enum class RowId : std::uint32_t {};
enum class LaneId : std::uint32_t {};

/// A slice of one of a timeline's parts.
struct SliceRef {
  std::uint32_t part = 0;
  SliceId slice{};
  friend auto operator<=>(const SliceRef&, const SliceRef&) = default;
};

/// What a row stands for; rows are in this order.
enum class RowKind : std::uint8_t {
  kRanges,       ///< ranges that a program marked, as drawn on a stream
  kStream,       ///< of a device
  kCopyEngine,   ///< copies apart from streams
  kWaits,        ///< on a stream as the device's tool saw them; no work
  kWorker,       ///< of the input pipeline
  kMember,       ///< all that a member of the model batch has run
  kMeasurement,  ///< ops measured alone
  kHostThread,
  kOther,
};
std::string_view to_string(RowKind kind);
/// Whether slices of such rows keep a device busy.
constexpr bool is_device_row(RowKind kind) {
  return kind == RowKind::kStream || kind == RowKind::kCopyEngine || kind == RowKind::kMember;
}

enum class RowGrouping {
  kTracks,   ///< a row for each stream, thread and worker
  kMembers,  ///< device work by the member of the model batch it belongs to
  kEngines,  ///< device work by what does it: kernels, copies in each direction
};
enum class PartLayout {
  kStacked,   ///< all rows of a part, then those of the next
  kOverlaid,  ///< rows of the same name one below the other, in the order of parts
};

struct TimelineOptions {
  RowGrouping grouping = RowGrouping::kTracks;
  PartLayout layout = PartLayout::kStacked;
};

/// One or several lines under one title.
struct TimelineRow {
  RowKind kind = RowKind::kOther;
  std::uint32_t part = 0;
  std::string group;  ///< what it belongs to: "cuda:0", "python (CPU)"
  std::string title;  ///< "stream 7"
  LaneId first_lane{};
  std::size_t lanes = 0;
  std::size_t slices = 0;
  std::size_t left_out = 0;  ///< slices that overlap so many others that no lane is left for them
  Nanoseconds busy{};        ///< of its first lane; of rows that nest, time in which anything runs

  [[nodiscard]] LaneId lane(std::size_t index) const { return static_cast<LaneId>(to_index(first_lane) + index); }
};

/// Where a slice is drawn.
struct SlicePlace {
  RowId row{};
  LaneId lane{};
  std::size_t position = 0;  ///< on the lane
};

/// The most lanes a row has.
inline constexpr std::size_t kMostLanes = 256;

/// What a timeline view shows: rows of lanes of slices, from one trace or several. Built once, then only read, also by
/// several threads. Rows without slices are left out. Slices that overlap lie on different lanes of their row: those
/// inside another one below it, others on the first free lane.
class Timeline {
 public:
  /// Time: O(n) where each track's slices are in order and do not overlap, else O(n log n). Memory: see bytes().
  explicit Timeline(std::vector<TimelinePart> parts, const TimelineOptions& options = {});

  [[nodiscard]] std::span<const TimelinePart> parts() const { return parts_; }
  [[nodiscard]] const TimelineOptions& options() const { return options_; }
  [[nodiscard]] std::span<const TimelineRow> rows() const { return rows_; }
  [[nodiscard]] const TimelineRow& row(RowId id) const { return rows_[to_index(id)]; }
  [[nodiscard]] std::span<const Lane> lanes() const { return lanes_; }
  [[nodiscard]] const Lane& lane(LaneId id) const { return lanes_[to_index(id)]; }
  [[nodiscard]] RowId row_of(LaneId lane) const { return row_of_lane_[to_index(lane)]; }
  /// From the first slice's start to the last one's end; at least 1 ns. [0, 1) where there are no slices.
  [[nodiscard]] TimeWindow window() const { return window_; }
  [[nodiscard]] std::size_t slices() const { return slices_; }
  /// Memory beyond the traces.
  [[nodiscard]] std::size_t bytes() const;

  [[nodiscard]] const Trace& trace(SliceRef ref) const { return *parts_[ref.part].trace; }
  [[nodiscard]] const Slice& slice(SliceRef ref) const { return trace(ref).slice(ref.slice); }
  [[nodiscard]] std::string_view name(SliceRef ref) const { return trace(ref).name(slice(ref)); }
  [[nodiscard]] bool contains(SliceRef ref) const;
  /// A slice's time on the timeline, its part's offset included.
  [[nodiscard]] TimeWindow window(SliceRef ref) const;
  [[nodiscard]] SliceRef slice_at(LaneId lane, std::size_t position) const;
  /// Absent for slices left out. Time: O(lanes of its rows * log n).
  [[nodiscard]] std::optional<SlicePlace> place(SliceRef ref) const;
  /// The next slice on the same lane, or the one before.
  [[nodiscard]] std::optional<SliceRef> next_in_lane(SliceRef ref) const;
  [[nodiscard]] std::optional<SliceRef> previous_in_lane(SliceRef ref) const;
  /// "stream 7" with its group, and its part's label where there are several.
  [[nodiscard]] std::string full_title(RowId id) const;

 private:
  std::vector<TimelinePart> parts_;
  TimelineOptions options_;
  std::vector<TimelineRow> rows_;
  std::vector<Lane> lanes_;
  std::vector<RowId> row_of_lane_;
  std::vector<std::vector<std::vector<RowId>>> rows_of_track_;  ///< by part, by track
  TimeWindow window_{Nanoseconds(0), Nanoseconds(1)};
  std::size_t slices_ = 0;
};

}  // namespace cohort
