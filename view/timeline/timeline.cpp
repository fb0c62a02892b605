#include "view/timeline/timeline.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <utility>

#include "view/timeline/pack.hpp"
#include "view/timeline/rows.hpp"

namespace cohort {
namespace {

/// Everything of a part, its rows packed but not in their order yet.
struct BuiltPart {
  std::vector<RowDrafts::Draft> rows;
  std::vector<PackedRow> packed;  ///< of each row
};

BuiltPart build_part(const TimelinePart& part, std::uint32_t number, RowGrouping grouping) {
  const Trace& trace = *part.trace;
  RowDrafts drafts = draft_rows(trace, number, grouping);
  std::vector<RowSlices> slices(drafts.rows.size());
  const std::vector<std::size_t>& counts = drafts.counts;
  for (std::size_t r = 0; r < slices.size(); ++r) slices[r].reserve(counts[r]);
  for (std::size_t i = 0; i < trace.slices.size(); ++i) {
    const Slice& slice = trace.slices[i];
    const Nanoseconds start = slice.start + part.offset;
    slices[drafts.row_of(trace, i)].add(start, start + std::max(Nanoseconds(0), slice.duration),
                                        static_cast<SliceId>(i));
  }
  BuiltPart built;
  for (std::size_t r = 0; r < slices.size(); ++r) {
    if (counts[r] == 0) continue;
    PackedRow packed = pack(std::move(slices[r]), kMostLanes);
    RowDrafts::Draft draft = std::move(drafts.rows[r]);
    draft.row.lanes = packed.lanes.size();
    draft.row.slices = counts[r];
    draft.row.left_out = packed.left_out;
    draft.row.busy = packed.busy;
    built.rows.push_back(std::move(draft));
    built.packed.push_back(std::move(packed));
  }
  return built;
}

}  // namespace

std::string_view to_string(RowKind kind) {
  constexpr std::array<std::string_view, 9> kNames = {"ranges", "stream",      "copy engine", "waits", "input worker",
                                                      "member", "measurement", "host thread", "other"};
  return kNames[static_cast<std::size_t>(kind)];
}

Timeline::Timeline(std::vector<TimelinePart> parts, const TimelineOptions& options)
    : parts_(std::move(parts)), options_(options), rows_of_track_(parts_.size()) {
  std::vector<RowDrafts::Draft> drafts;
  std::vector<PackedRow> packed;
  for (std::uint32_t p = 0; p < parts_.size(); ++p) {
    BuiltPart built = build_part(parts_[p], p, options.grouping);
    std::move(built.rows.begin(), built.rows.end(), std::back_inserter(drafts));
    std::move(built.packed.begin(), built.packed.end(), std::back_inserter(packed));
    rows_of_track_[p].resize(parts_[p].trace->tracks.size());
  }
  TimeWindow all{Nanoseconds::max(), Nanoseconds::min()};
  for (const std::size_t i : order_rows(drafts, options.layout)) {
    TimelineRow& row = drafts[i].row;
    const auto id = static_cast<RowId>(rows_.size());
    row.first_lane = static_cast<LaneId>(lanes_.size());
    for (Lane& lane : packed[i].lanes) {
      all.start = std::min(all.start, lane.start(0));
      all.end = std::max(all.end, lane.end(lane.size() - 1));
      lanes_.push_back(std::move(lane));
      row_of_lane_.push_back(id);
    }
    for (const TrackId track : drafts[i].tracks) rows_of_track_[row.part][to_index(track)].push_back(id);
    slices_ += row.slices;
    rows_.push_back(std::move(row));
  }
  if (!lanes_.empty()) window_ = {all.start, std::max(all.end, all.start + Nanoseconds(1))};
}

std::size_t Timeline::bytes() const {
  std::size_t sum = lanes_.capacity() * (sizeof(Lane) + sizeof(RowId)) + rows_.capacity() * sizeof(TimelineRow);
  for (const Lane& lane : lanes_) sum += lane.bytes();
  return sum;
}

bool Timeline::contains(SliceRef ref) const {
  return ref.part < parts_.size() && to_index(ref.slice) < parts_[ref.part].trace->slices.size();
}

TimeWindow Timeline::window(SliceRef ref) const {
  const Slice& at = slice(ref);
  const Nanoseconds start = at.start + parts_[ref.part].offset;
  return {start, start + std::max(Nanoseconds(0), at.duration)};
}

SliceRef Timeline::slice_at(LaneId id, std::size_t position) const {
  return {row(row_of(id)).part, lane(id).slice(position)};
}

std::optional<SlicePlace> Timeline::place(SliceRef ref) const {
  if (!contains(ref)) return std::nullopt;
  const Nanoseconds start = window(ref).start;
  for (const RowId id : rows_of_track_[ref.part][to_index(slice(ref).track)]) {
    const TimelineRow& at = row(id);
    for (std::size_t l = 0; l < at.lanes; ++l) {
      const Lane& on = lane(at.lane(l));
      for (std::size_t i = on.first_starting(start); i < on.size() && on.start(i) == start; ++i) {
        if (on.slice(i) == ref.slice) return SlicePlace{id, at.lane(l), i};
      }
    }
  }
  return std::nullopt;
}

std::optional<SliceRef> Timeline::next_in_lane(SliceRef ref) const {
  const auto at = place(ref);
  if (!at || at->position + 1 >= lane(at->lane).size()) return std::nullopt;
  return slice_at(at->lane, at->position + 1);
}

std::optional<SliceRef> Timeline::previous_in_lane(SliceRef ref) const {
  const auto at = place(ref);
  if (!at || at->position == 0) return std::nullopt;
  return slice_at(at->lane, at->position - 1);
}

std::string Timeline::full_title(RowId id) const {
  const TimelineRow& at = row(id);
  std::string text = at.group.empty() ? at.title : fmt::format("{} / {}", at.group, at.title);
  if (parts_.size() > 1 && !parts_[at.part].label.empty()) text = fmt::format("{}: {}", parts_[at.part].label, text);
  return text;
}

}  // namespace cohort
