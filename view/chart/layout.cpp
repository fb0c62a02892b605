#include <algorithm>
#include <cmath>
#include <set>
#include <utility>

#include "view/chart/drawing.hpp"
#include "view/chart/frame.hpp"
#include "view/chart/label_placer.hpp"

namespace cohort {
namespace {

constexpr double kPointRadius = 4;
constexpr double kLinePointRadius = 3;
constexpr double kHighlightRadius = 8;
constexpr double kLabelSize = 11;
constexpr double kWidestBar = 48;
constexpr std::size_t kMostLinePoints = 64;  ///< of a line: with more their circles would hide it

std::string title_of(const Chart& chart, ChartPointId id) {
  std::string title;
  for (const std::string& line : describe(chart, id)) {
    if (!title.empty()) title += '\n';
    title += line;
  }
  return title;
}

class ChartLayout {
 public:
  ChartLayout(const Chart& chart, DrawnSize size)
      : chart_(chart), bars_(bars_of(chart)), frame_(chart, bars_, size), placer_(frame_.plot()) {
    drawing_.size = size;
    drawing_.plot = frame_.plot();
    drawing_.title = chart.title;
    drawing_.lying = chart.lying;
  }

  Drawing make() {
    frame_.draw_ground(drawing_);
    for (std::size_t s = 0; s < chart_.series.size(); ++s) draw_band(s);
    draw_bars();
    draw_limits();
    for (std::size_t s = 0; s < chart_.series.size(); ++s) draw_line(s);
    for (std::size_t s = 0; s < chart_.series.size(); ++s) draw_points(s);
    draw_highlights();
    return std::move(drawing_);
  }

 private:
  [[nodiscard]] bool is_line(std::size_t s) const {
    return chart_.series[s].kind == SeriesKind::kLine || chart_.series[s].kind == SeriesKind::kStepped;
  }

  void draw_band(std::size_t s) {
    if (!is_line(s)) return;
    std::vector<DrawnPosition> along;
    std::vector<DrawnPosition> back;
    for (const ChartPoint& point : chart_.series[s].points) {
      if (!frame_.shows(point) || !has_range(point)) continue;
      along.push_back(frame_.at(point.x, point.range->high));
      back.push_back(frame_.at(point.x, point.range->low));
    }
    if (along.size() < 2) return;
    banded_.insert(s);
    along.insert(along.end(), back.rbegin(), back.rend());
    drawing_.marks.emplace_back(DrawnPath{std::move(along), series_ink(chart_, s, band_opacity()), 0, true});
  }

  /// Many bands over each other would hide what lies below.
  [[nodiscard]] double band_opacity() const {
    std::size_t lines = 0;
    for (std::size_t s = 0; s < chart_.series.size(); ++s) lines += is_line(s) ? 1U : 0U;
    return std::min(0.16, 0.45 / static_cast<double>(std::max<std::size_t>(lines, 1)));
  }

  [[nodiscard]] bool has_range(const ChartPoint& point) const {
    return point.range && can_show(chart_.y, point.range->low) && can_show(chart_.y, point.range->high);
  }

  void draw_bars() {
    const double slot = std::min(0.8 * frame_.slot(), kWidestBar * static_cast<double>(bars_.most_beside));
    const double width = slot / static_cast<double>(bars_.most_beside);
    for (const ChartBar& bar : bars_.bars) {
      const DrawnPosition from = frame_.at(bar.x, bar.from);
      const DrawnPosition to = frame_.at(bar.x, bar.to);
      const double shift = -slot / 2 + width * static_cast<double>(bar.beside);
      const DrawnBox box = chart_.lying
                               ? DrawnBox{std::min(from.x, to.x), from.y + shift, std::abs(to.x - from.x), width}
                               : DrawnBox{from.x + shift, std::min(from.y, to.y), width, std::abs(to.y - from.y)};
      drawing_.marks.emplace_back(
          DrawnRectangle{inset(box), series_ink(chart_, bar.point.series), title_of(chart_, bar.point)});
      const DrawnPosition end =
          chart_.lying ? DrawnPosition{to.x, box.y + width / 2} : DrawnPosition{box.x + width / 2, to.y};
      placer_.block(box);
      drawing_.regions.push_back({bar.point, end, box});
      draw_whisker(chart_.series[bar.point.series].points[bar.point.index], end, {Tone::kText});
    }
  }

  void draw_limits() {
    const std::size_t first = drawing_.marks.size();
    frame_.draw_limits(drawing_);
    for (std::size_t i = first; i < drawing_.marks.size(); ++i) {
      if (const auto* line = std::get_if<DrawnLine>(&drawing_.marks[i])) placer_.block(line->from, line->to);
    }
  }

  /// Half a pixel of ground between bars that touch.
  static DrawnBox inset(DrawnBox box) {
    if (box.width > 3) {
      box.x += 0.5;
      box.width -= 1;
    }
    if (box.height > 3) {
      box.y += 0.5;
      box.height -= 1;
    }
    return box;
  }

  /// `middle`: where the point is, which a bar beside others is not at its x.
  void draw_whisker(const ChartPoint& point, DrawnPosition middle, const Ink& ink) {
    if (!has_range(point)) return;
    constexpr double kCap = 4;
    const DrawnPosition low = frame_.at(point.x, point.range->low);
    const DrawnPosition high = frame_.at(point.x, point.range->high);
    if (chart_.lying) {
      drawing_.marks.emplace_back(DrawnLine{{low.x, middle.y}, {high.x, middle.y}, ink, 1.5});
      for (const double x : {low.x, high.x})
        drawing_.marks.emplace_back(DrawnLine{{x, middle.y - kCap}, {x, middle.y + kCap}, ink, 1.5});
      return;
    }
    drawing_.marks.emplace_back(DrawnLine{{middle.x, low.y}, {middle.x, high.y}, ink, 1.5});
    for (const double y : {low.y, high.y})
      drawing_.marks.emplace_back(DrawnLine{{middle.x - kCap, y}, {middle.x + kCap, y}, ink, 1.5});
    placer_.block(DrawnPosition{middle.x, low.y}, DrawnPosition{middle.x, high.y});
  }

  void draw_line(std::size_t s) {
    if (!is_line(s)) return;
    const ChartSeries& series = chart_.series[s];
    std::vector<DrawnPosition> positions;
    for (const ChartPoint& point : series.points) {
      if (!frame_.shows(point)) continue;
      const DrawnPosition at = frame_.at(point.x, point.y);
      if (series.kind == SeriesKind::kStepped && !positions.empty()) {
        const DrawnPosition last = positions.back();
        positions.push_back(chart_.lying ? DrawnPosition{last.x, at.y} : DrawnPosition{at.x, last.y});
      }
      positions.push_back(at);
    }
    for (std::size_t i = 1; i < positions.size(); ++i) placer_.block(positions[i - 1], positions[i]);
    if (positions.size() > 1) drawing_.marks.emplace_back(DrawnPath{std::move(positions), series_ink(chart_, s)});
  }

  void draw_points(std::size_t s) {
    const ChartSeries& series = chart_.series[s];
    if (!is_line(s) && series.kind != SeriesKind::kPoints) return;
    const bool circles = series.kind == SeriesKind::kPoints ||
                         (series.kind == SeriesKind::kLine && series.points.size() <= kMostLinePoints);
    const double radius = is_line(s) ? kLinePointRadius : kPointRadius;
    for (std::size_t i = 0; i < series.points.size(); ++i) {
      const ChartPoint& point = series.points[i];
      if (!frame_.shows(point)) continue;
      const DrawnPosition at = frame_.at(point.x, point.y);
      if (!banded_.contains(s)) draw_whisker(point, at, series_ink(chart_, s));
      if (circles)
        drawing_.marks.emplace_back(DrawnCircle{at, radius, series_ink(chart_, s), true, title_of(chart_, {s, i})});
      drawing_.regions.push_back({{s, i}, at});
      placer_.block(DrawnBox{at.x - radius, at.y - radius, 2 * radius, 2 * radius});
    }
  }

  void draw_highlights() {
    for (const HitRegion& region : drawing_.regions) {
      const ChartPoint& point = chart_.series[region.point.series].points[region.point.index];
      if (!point.highlight) continue;
      if (!region.box) {
        drawing_.marks.emplace_back(
            DrawnCircle{region.centre, kHighlightRadius, {Tone::kHighlight}, false, title_of(chart_, region.point)});
      }
      if (point.label.empty()) continue;
      if (auto label = placer_.place(region.centre, kHighlightRadius + 3, point.label, kLabelSize)) {
        drawing_.marks.emplace_back(std::move(*label));
      }
    }
  }

  const Chart& chart_;
  ChartBars bars_;
  ChartFrame frame_;
  LabelPlacer placer_;
  std::set<std::size_t> banded_;  ///< series whose ranges are a band
  Drawing drawing_;
};

/// Title, and in the middle what to do to see something.
Drawing empty_drawing(const Chart& chart, DrawnSize size) {
  constexpr double kSize = 13;
  Drawing drawing{.size = size, .plot = {0, 0, size.width, size.height}, .title = chart.title};
  if (!chart.title.empty()) {
    drawing.marks.emplace_back(DrawnText{
        .position = {8, 22}, .text = elide(chart.title, (size.width - 16) / 1.12, 14), .size = 14, .bold = true});
  }
  const std::vector<std::string> lines =
      wrap(chart.if_empty.empty() ? "Nothing to show yet." : chart.if_empty, std::max(0.8 * size.width, 60.0), kSize);
  double y = size.height / 2 - 0.5 * 1.5 * kSize * (static_cast<double>(lines.size()) - 1);
  for (const std::string& line : lines) {
    drawing.marks.emplace_back(DrawnText{.position = {size.width / 2, y},
                                         .text = line,
                                         .anchor = TextAnchor::kMiddle,
                                         .size = kSize,
                                         .ink = {Tone::kFaintText}});
    y += 1.5 * kSize;
  }
  return drawing;
}

}  // namespace

Drawing layout(const Chart& chart, DrawnSize size) {
  size = {std::max(size.width, 1.0), std::max(size.height, 1.0)};
  if (chart.empty()) return empty_drawing(chart, size);
  return ChartLayout(chart, size).make();
}

}  // namespace cohort
