#pragma once

#include <optional>
#include <string_view>
#include <vector>

#include "base/cancel.hpp"
#include "view/timeline/timeline.hpp"

namespace cohort {

/// Slices that a search found, by start, then part, then position in the trace.
class SearchResults {
 public:
  SearchResults() = default;
  SearchResults(const Timeline& timeline, std::vector<SliceRef> found);

  [[nodiscard]] const std::vector<SliceRef>& found() const { return found_; }
  [[nodiscard]] bool empty() const { return found_.empty(); }
  /// The one after `current` in time, from the first again after the last; the first at or after `from` where nothing
  /// is current. Absent where nothing was found.
  [[nodiscard]] std::optional<SliceRef> next(const Timeline& timeline, std::optional<SliceRef> current,
                                             Nanoseconds from) const;
  [[nodiscard]] std::optional<SliceRef> previous(const Timeline& timeline, std::optional<SliceRef> current,
                                                 Nanoseconds from) const;
  /// Position among the found, from 0.
  [[nodiscard]] std::optional<std::size_t> position(const Timeline& timeline, SliceRef ref) const;

 private:
  std::vector<SliceRef> found_;
};

/// Slices whose name, category or arguments hold `text`, upper and lower case alike. "key=value" asks for one argument:
/// "task=0-7/conv1", "stream=7". Nothing for an empty text. Cancelled: what was found so far. Time: O(n).
SearchResults search(const Timeline& timeline, std::string_view text, const CancelToken* cancel = nullptr);

/// Rows whose group or title holds `text`, upper and lower case alike, best first: those that begin with it.
std::vector<RowId> find_rows(const Timeline& timeline, std::string_view text);

}  // namespace cohort
