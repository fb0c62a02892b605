#pragma once

#include <memory>
#include <string>
#include <vector>

#include "base/cancel.hpp"
#include "view/compare/difference_table.hpp"
#include "view/compare/error_colours.hpp"
#include "view/timeline/curves.hpp"

namespace cohort {

/// What the Compare page is asked to show.
struct ComparisonRequest {
  PerSide<std::shared_ptr<const Trace>> traces;
  CompareSettings settings;
  TimelineOptions timeline{RowGrouping::kTracks, PartLayout::kOverlaid};
  DifferencesBy by = DifferencesBy::kTask;
  bool dark = false;
};

/// What it then shows; parts are kept from one request to the next where they are the same.
struct ComparisonPicture {
  std::shared_ptr<const TraceComparison> comparison;
  std::shared_ptr<const Overlay> overlay;  ///< null where the request cannot be met
  std::string error;                       ///< then why
  std::shared_ptr<const Timeline> timeline;
  std::vector<TimelineCurve> curves;
  SliceColours colours;
  std::vector<DifferenceRow> rows;
};

/// All that takes time. `before` is the last picture; returns early, with parts missing, once cancelled.
ComparisonPicture draw_comparison(const ComparisonRequest& request, const ComparisonPicture& before,
                                  const CancelToken& cancel);

}  // namespace cohort
