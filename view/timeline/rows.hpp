#pragma once

#include <string>
#include <vector>

#include "view/timeline/timeline.hpp"

namespace cohort {

/// Rows of one part before their slices are packed.
struct RowDrafts {
  struct Draft {
    TimelineRow row;
    std::string base;  ///< title of the stream it belongs to
    std::vector<TrackId> tracks;
  };
  std::vector<Draft> rows;
  std::vector<std::size_t> counts;          ///< slices of each row
  std::vector<std::uint32_t> row_of_slice;  ///< by SliceId; empty where tracks tell, by `row_of_track`
  /// By track and class of slice; kNoRow where there is none.
  std::vector<std::uint32_t> row_of_track;
  std::vector<std::uint8_t> class_of_category;  ///< by StringId
  std::size_t classes = 1;

  [[nodiscard]] std::uint32_t row_of(const Trace& trace, std::size_t slice) const {
    if (!row_of_slice.empty()) return row_of_slice[slice];
    const Slice& at = trace.slices[slice];
    return row_of_track[to_index(at.track) * classes + class_of_category[to_index(at.category)]];
  }
};

/// What rows a trace has. Time: O(n).
RowDrafts draft_rows(const Trace& trace, std::uint32_t part, RowGrouping grouping);

/// In which order rows of all parts stand, as positions in `rows`: devices' streams, then workers, then host threads by
/// activity.
std::vector<std::size_t> order_rows(const std::vector<RowDrafts::Draft>& rows, PartLayout layout);

/// "stream 2" before "stream 10".
bool naturally_before(std::string_view a, std::string_view b);

}  // namespace cohort
