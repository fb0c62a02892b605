#include <algorithm>
#include <cmath>
#include <iterator>
#include <limits>
#include <optional>
#include <set>
#include <utility>
#include <vector>

#include "view/chart/drawing.hpp"

namespace cohort {
namespace {

double along(const Drawing& drawing, const HitRegion& region) {
  return drawing.lying ? region.centre.y : region.centre.x;
}

/// The points of a series in the order in which they stand.
std::vector<const HitRegion*> points_of(const Drawing& drawing, std::size_t series) {
  std::vector<const HitRegion*> points;
  for (const HitRegion& region : drawing.regions) {
    if (region.point.series == series) points.push_back(&region);
  }
  std::sort(points.begin(), points.end(), [&](const HitRegion* a, const HitRegion* b) {
    return std::pair(along(drawing, *a), a->point) < std::pair(along(drawing, *b), b->point);
  });
  return points;
}

const HitRegion* nearest_of(const Drawing& drawing, std::size_t series, const HitRegion& to) {
  const HitRegion* nearest = nullptr;
  double least = 0;
  for (const HitRegion* point : points_of(drawing, series)) {
    const double distance = std::abs(along(drawing, *point) - along(drawing, to));
    if (nearest != nullptr && distance >= least) continue;
    nearest = point;
    least = distance;
  }
  return nearest;
}

std::optional<ChartPointId> in_other_series(const Drawing& drawing, const HitRegion& from, bool after) {
  std::set<std::size_t> series;
  for (const HitRegion& region : drawing.regions) series.insert(region.point.series);
  auto other = series.find(from.point.series);
  if (after ? std::next(other) == series.end() : other == series.begin()) return std::nullopt;
  other = after ? std::next(other) : std::prev(other);
  return nearest_of(drawing, *other, from)->point;
}

}  // namespace

std::optional<ChartPointId> Drawing::hit(DrawnPosition position, double reach) const {
  std::optional<ChartPointId> nearest;
  double least = std::nextafter(reach, std::numeric_limits<double>::infinity());
  for (const HitRegion& region : regions) {
    if (region.box && region.box->contains(position)) return region.point;
    if (region.box) continue;
    const double distance = std::hypot(region.centre.x - position.x, region.centre.y - position.y);
    if (distance >= least) continue;
    least = distance;
    nearest = region.point;
  }
  return nearest;
}

const HitRegion* Drawing::region(ChartPointId point) const {
  const auto found =
      std::find_if(regions.begin(), regions.end(), [&](const HitRegion& one) { return one.point == point; });
  return found == regions.end() ? nullptr : &*found;
}

std::optional<ChartPointId> step_from(const Drawing& drawing, std::optional<ChartPointId> from, ChartStep step) {
  if (drawing.regions.empty()) return std::nullopt;
  const HitRegion* here = from ? drawing.region(*from) : nullptr;
  if (here == nullptr) {
    const auto first = std::min_element(drawing.regions.begin(), drawing.regions.end(),
                                        [](const HitRegion& a, const HitRegion& b) { return a.point < b.point; });
    return points_of(drawing, first->point.series).front()->point;
  }
  if (step == ChartStep::kSeriesBefore || step == ChartStep::kSeriesAfter)
    return in_other_series(drawing, *here, step == ChartStep::kSeriesAfter);
  const std::vector<const HitRegion*> points = points_of(drawing, here->point.series);
  const auto at = std::find(points.begin(), points.end(), here);
  switch (step) {
    case ChartStep::kFirst:
      return points.front()->point;
    case ChartStep::kLast:
      return points.back()->point;
    case ChartStep::kNext:
      return at + 1 == points.end() ? std::nullopt : std::optional((*(at + 1))->point);
    default:
      return at == points.begin() ? std::nullopt : std::optional((*(at - 1))->point);
  }
}

}  // namespace cohort
