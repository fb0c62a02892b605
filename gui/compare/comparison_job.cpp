#include "gui/compare/comparison_job.hpp"

#include <utility>

namespace cohort {
namespace {

bool same_traces(const TraceComparison& comparison, const ComparisonRequest& request) {
  return comparison.shared_trace(CompareSide::kPredicted) == request.traces[0] &&
         comparison.shared_trace(CompareSide::kMeasured) == request.traces[1];
}

bool same_timeline(const ComparisonRequest& request, const Overlay& overlay, const ComparisonPicture& before) {
  if (!before.timeline || !before.overlay) return false;
  const TimelineOptions& options = before.timeline->options();
  return before.overlay->offset == overlay.offset && options.grouping == request.timeline.grouping &&
         options.layout == request.timeline.layout;
}

}  // namespace

ComparisonPicture draw_comparison(const ComparisonRequest& request, const ComparisonPicture& before,
                                  const CancelToken& cancel) {
  ComparisonPicture picture;
  const bool known = before.comparison && same_traces(*before.comparison, request);
  picture.comparison =
      known ? before.comparison : std::make_shared<const TraceComparison>(request.traces[0], request.traces[1]);
  if (cancel.cancelled()) return picture;
  Result<Overlay> overlay = picture.comparison->overlay(request.settings);
  if (!overlay && request.settings.align == AlignAt::kAnchor) {
    // Another pair of steps may not have the name at which the last ones were aligned.
    CompareSettings settings = request.settings;
    settings.anchor.clear();
    overlay = picture.comparison->overlay(settings);
  }
  if (!overlay) {
    picture.error = overlay.error().message;
    return picture;
  }
  picture.overlay = std::make_shared<const Overlay>(std::move(*overlay));
  if (cancel.cancelled()) return picture;
  if (known && same_timeline(request, *picture.overlay, before)) {
    picture.timeline = before.timeline;
    picture.curves = before.curves;
  } else {
    picture.timeline =
        std::make_shared<const Timeline>(comparison_timeline(*picture.comparison, *picture.overlay, request.timeline));
    if (cancel.cancelled()) return picture;
    picture.curves = timeline_curves(*picture.timeline);
  }
  picture.colours = slice_colours(*picture.comparison, *picture.overlay, ErrorColours(request.dark));
  if (cancel.cancelled()) return picture;
  picture.rows = differences(*picture.comparison, *picture.overlay, request.by);
  return picture;
}

}  // namespace cohort
