#include "view/chart/frame.hpp"

#include <algorithm>
#include <cmath>
#include <map>

namespace cohort {
namespace {

constexpr double kTitleSize = 14;
constexpr double kTextSize = 12;
constexpr double kTickSize = 11;
constexpr double kRow = 18;     ///< of the legend, and of labels of limits
constexpr double kSwatch = 14;  ///< width of a legend's mark
constexpr double kGap = 8;
constexpr std::size_t kMostLegendRows = 3;

bool is_bar(SeriesKind kind) { return kind == SeriesKind::kBars || kind == SeriesKind::kStackedBars; }

/// The least distance between two of the positions; 1 where there are no two.
double least_gap(std::vector<double> positions) {
  std::sort(positions.begin(), positions.end());
  double gap = 0;
  for (std::size_t i = 1; i < positions.size(); ++i) {
    const double between = positions[i] - positions[i - 1];
    if (between > 0 && (gap == 0 || between < gap)) gap = between;
  }
  return gap > 0 ? gap : 1;
}

DrawnText tick_label(DrawnPosition position, const std::string& label, double width, TextAnchor anchor) {
  DrawnText text{.position = position, .text = elide(label, width, kTickSize), .anchor = anchor, .size = kTickSize};
  text.ink = {Tone::kFaintText};
  if (text.text != label) text.title = label;
  return text;
}

}  // namespace

Ink series_ink(const Chart& chart, std::size_t series, double opacity) {
  return {Tone::kSeries, chart.series[series].colour.value_or(series), opacity};
}

ChartBars bars_of(const Chart& chart) {
  ChartBars result;
  if (chart.y.scale != AxisScale::kLinear) return result;
  std::map<double, std::pair<double, double>> stacks;  // by position: how far up, how far down
  std::vector<double> positions;
  std::size_t beside = 0;
  std::optional<std::size_t> stacked_beside;
  for (std::size_t s = 0; s < chart.series.size(); ++s) {
    const ChartSeries& series = chart.series[s];
    if (!is_bar(series.kind)) continue;
    const bool stacked = series.kind == SeriesKind::kStackedBars;
    if (stacked && !stacked_beside) stacked_beside = beside++;
    const std::size_t own = stacked ? *stacked_beside : beside++;
    for (std::size_t i = 0; i < series.points.size(); ++i) {
      const ChartPoint& point = series.points[i];
      if (!can_show(chart.x, point.x) || !can_show(chart.y, point.y)) continue;
      double from = 0;
      if (stacked) {
        auto& [up, down] = stacks[point.x];
        double& end = point.y < 0 ? down : up;
        from = end;
        end += point.y;
      }
      positions.push_back(point.x);
      result.bars.push_back({{s, i}, point.x, from, from + point.y, own});
    }
  }
  result.most_beside = std::max<std::size_t>(beside, 1);
  result.slot = chart.x.categories.empty() ? least_gap(std::move(positions)) : 1;
  return result;
}

ChartFrame::ChartFrame(const Chart& chart, const ChartBars& bars, DrawnSize size)
    : chart_(chart), bars_(bars), size_(size), roomy_(size.width >= 200 && size.height >= 110) {
  collect_values();
  place_legend();
  place_plot();
}

void ChartFrame::collect_values() {
  for (const ChartSeries& series : chart_.series) {
    for (const ChartPoint& point : series.points) {
      if (!shows(point)) continue;
      xs_.push_back(point.x);
      if (!is_bar(series.kind)) ys_.push_back(point.y);
      if (!point.range) continue;
      ys_.push_back(point.range->low);
      ys_.push_back(point.range->high);
    }
  }
  for (const ChartBar& bar : bars_.bars) {
    ys_.push_back(bar.from);
    ys_.push_back(bar.to);
    if (chart_.x.scale != AxisScale::kLinear) continue;
    xs_.push_back(bar.x - bars_.slot / 2);
    xs_.push_back(bar.x + bars_.slot / 2);
  }
  for (const ChartLimit& limit : chart_.limits) {
    if (in_sight(limit)) (limit.axis == ChartLimit::Axis::kX ? xs_ : ys_).push_back(limit.value);
  }
}

bool ChartFrame::in_sight(const ChartLimit& limit) const {
  return limit.axis == ChartLimit::Axis::kX ? is_near(chart_.x, limit.value, xs_) : is_near(chart_.y, limit.value, ys_);
}

bool ChartFrame::is_upright(const ChartLimit& limit) const {
  return (limit.axis == ChartLimit::Axis::kX) != chart_.lying;
}

bool ChartFrame::shows(const ChartPoint& point) const {
  return can_show(chart_.x, point.x) && can_show(chart_.y, point.y);
}

void ChartFrame::place_legend() {
  top_ = chart_.title.empty() ? kGap : kTitleSize + 2 * kGap;
  if (!roomy_) return;
  DrawnPosition at{kGap, top_ + kTextSize};
  std::size_t row = 0;
  for (std::size_t s = 0; s < chart_.series.size(); ++s) {
    if (!chart_.series[s].name.empty() && !chart_.series[s].points.empty())
      add_entry(chart_.series[s].name, s, at, row);
  }
  for (const ChartLimit& limit : chart_.limits) {
    if (!in_sight(limit)) add_entry(limit.label + " (beyond this chart)", std::nullopt, at, row);
  }
  if (!legend_.empty()) top_ = at.y + kTickSize + 3;
}

void ChartFrame::add_entry(std::string name, std::optional<std::size_t> series, DrawnPosition& at, std::size_t& row) {
  const double mark = series ? kSwatch + 6 : 0;
  std::string shown = elide(name, std::min(360.0, size_.width - 2 * kGap - mark), kTextSize);
  const double width = mark + text_width(shown, kTextSize) + 2 * kGap;
  if (at.x > kGap && at.x + width > size_.width) {
    if (row + 1 == kMostLegendRows) return;  // hover still names each point's series
    ++row;
    at = {kGap, at.y + kRow};
  }
  std::string title = shown == name ? std::string() : std::move(name);
  legend_.push_back({std::move(shown), std::move(title), series, at});
  at.x += width;
}

void ChartFrame::place_plot() {
  const bool upright_named = roomy_ && !upright_axis().label.empty();
  const bool level_named = roomy_ && !level_axis().label.empty();
  double top = top_;
  for (const ChartLimit& limit : chart_.limits) {
    if (roomy_ && is_upright(limit) && in_sight(limit)) top += kRow - 2;
  }
  const double bottom = kTickSize + 10 + (level_named ? kRow : 0) + 4;
  const double height = std::max(size_.height - top - bottom, 1.0);
  const bool bars = !bars_.bars.empty();
  const auto y_ticks = static_cast<std::size_t>(std::max((chart_.lying ? size_.width / 100 : height / 42), 2.0));
  const auto x_ticks = static_cast<std::size_t>(std::max((chart_.lying ? height / 42 : size_.width / 90), 2.0));
  y_.emplace(chart_.y, ys_, AxisMap::Wishes{bars || chart_.y.from_zero, true, y_ticks});
  x_.emplace(chart_.x, xs_, AxisMap::Wishes{chart_.x.from_zero, false, x_ticks});
  const double left = left_margin(chart_.lying ? *x_ : *y_, upright_axis()) + (upright_named ? kRow : 0);
  const double right = right_margin(chart_.lying ? *y_ : *x_);
  plot_ = {left, top, std::max(size_.width - left - right, 1.0), height};
}

double ChartFrame::left_margin(const AxisMap& upright_axis, const ChartAxis& axis) const {
  double widest = 0;
  for (const ChartTick& tick : upright_axis.ticks()) widest = std::max(widest, text_width(tick.label, kTickSize));
  if (!axis.categories.empty()) widest = std::min(widest, 0.4 * size_.width);
  return widest + 6 + kGap;
}

double ChartFrame::right_margin(const AxisMap& level_axis) const {
  double margin = 2 * kGap;
  if (!level_axis.ticks().empty()) {
    margin = std::max(margin, text_width(level_axis.ticks().back().label, kTickSize) / 2 + 2);
  }
  for (const ChartLimit& limit : chart_.limits) {
    if (!roomy_ || is_upright(limit) || !in_sight(limit)) continue;
    margin = std::max(margin, std::min(text_width(limit.label, kTickSize), 0.3 * size_.width) + 6 + kGap);
  }
  return std::min(margin, 0.4 * size_.width);
}

DrawnPosition ChartFrame::at(double x, double y) const {
  if (!chart_.lying) return {plot_.x + x_->at(x) * plot_.width, plot_.bottom() - y_->at(y) * plot_.height};
  return {plot_.x + y_->at(y) * plot_.width, plot_.y + x_->at(x) * plot_.height};
}

double ChartFrame::slot() const {
  const double length = chart_.lying ? plot_.height : plot_.width;
  if (chart_.x.scale != AxisScale::kLinear) return length / 8;
  return std::abs(x_->at(x_->low() + bars_.slot) - x_->at(x_->low())) * length;
}

void ChartFrame::draw_ground(Drawing& drawing) const {
  if (!chart_.title.empty()) {
    DrawnText title{.position = {kGap, kGap + kTitleSize},
                    .text = elide(chart_.title, (size_.width - 2 * kGap) / 1.12, kTitleSize),
                    .size = kTitleSize,
                    .bold = true};
    if (title.text != chart_.title) title.title = chart_.title;
    drawing.marks.emplace_back(std::move(title));
  }
  draw_legend(drawing);
  draw_level_ticks(drawing);
  draw_upright_ticks(drawing);
  draw_axis_names(drawing);
}

void ChartFrame::draw_legend(Drawing& drawing) const {
  for (const Entry& entry : legend_) {
    double x = entry.position.x;
    const double middle = entry.position.y - 0.35 * kTextSize;
    if (entry.series) {
      const Ink ink = series_ink(chart_, *entry.series);
      const SeriesKind kind = chart_.series[*entry.series].kind;
      if (is_bar(kind)) {
        drawing.marks.emplace_back(DrawnRectangle{{x + 1, middle - 6, 12, 12}, ink});
      } else if (kind == SeriesKind::kPoints) {
        drawing.marks.emplace_back(DrawnCircle{{x + 7, middle}, 4, ink});
      } else {
        drawing.marks.emplace_back(DrawnLine{{x, middle}, {x + kSwatch, middle}, ink, 2.5});
      }
      x += kSwatch + 6;
    }
    drawing.marks.emplace_back(
        DrawnText{.position = {x, entry.position.y}, .text = entry.name, .size = kTextSize, .title = entry.title});
  }
}

void ChartFrame::draw_level_ticks(Drawing& drawing) const {
  const AxisMap& map = chart_.lying ? *y_ : *x_;
  const bool named = !level_axis().categories.empty();
  const double apart = plot_.width / static_cast<double>(std::max<std::size_t>(map.ticks().size(), 1));
  const auto each = static_cast<std::size_t>(named ? std::max(std::ceil(28 / apart), 1.0) : 1);
  double taken = -kGap;  // up to where labels are
  for (std::size_t i = 0; i < map.ticks().size(); ++i) {
    const ChartTick& tick = map.ticks()[i];
    const double x = plot_.x + map.at(tick.value) * plot_.width;
    if (!named) drawing.marks.emplace_back(DrawnLine{{x, plot_.y}, {x, plot_.bottom()}, {Tone::kGrid}});
    if (i % each != 0) continue;
    const double room = named ? apart * static_cast<double>(each) - 4 : size_.width;
    DrawnText label = tick_label({x, plot_.bottom() + kTickSize + 5}, tick.label, room, TextAnchor::kMiddle);
    const double half = text_width(label.text, kTickSize) / 2;
    if (x - half < taken + 2) continue;
    taken = x + half;
    drawing.marks.emplace_back(std::move(label));
  }
  if (!chart_.lying || bars_.bars.empty()) {
    const double y = bars_.bars.empty() ? plot_.bottom() : plot_.bottom() - y_->at(0) * plot_.height;
    drawing.marks.emplace_back(DrawnLine{{plot_.x, y}, {plot_.right(), y}, {Tone::kAxis}});
  }
}

void ChartFrame::draw_upright_ticks(Drawing& drawing) const {
  const AxisMap& map = chart_.lying ? *x_ : *y_;
  const bool named = !upright_axis().categories.empty();
  const double apart = plot_.height / static_cast<double>(std::max<std::size_t>(map.ticks().size(), 1));
  const auto each = static_cast<std::size_t>(named ? std::max(std::ceil((kTickSize + 2) / apart), 1.0) : 1);
  const double room = named ? std::max(plot_.x - kGap - 6, 1.0) : size_.width;
  for (std::size_t i = 0; i < map.ticks().size(); ++i) {
    const ChartTick& tick = map.ticks()[i];
    const double part = map.at(tick.value);
    const double y = chart_.lying ? plot_.y + part * plot_.height : plot_.bottom() - part * plot_.height;
    if (!named) drawing.marks.emplace_back(DrawnLine{{plot_.x, y}, {plot_.right(), y}, {Tone::kGrid}});
    if (i % each != 0) continue;
    drawing.marks.emplace_back(tick_label({plot_.x - 6, y + 0.35 * kTickSize}, tick.label, room, TextAnchor::kEnd));
  }
  if (chart_.lying || bars_.bars.empty()) {
    const double x = bars_.bars.empty() ? plot_.x : plot_.x + y_->at(0) * plot_.width;
    drawing.marks.emplace_back(DrawnLine{{x, plot_.y}, {x, plot_.bottom()}, {Tone::kAxis}});
  }
}

void ChartFrame::draw_axis_names(Drawing& drawing) const {
  if (!roomy_) return;
  const auto add = [&](const std::string& name, DrawnPosition position, double room, bool upwards) {
    if (name.empty()) return;
    DrawnText text{.position = position, .text = elide(name, room, kTextSize), .anchor = TextAnchor::kMiddle};
    text.size = kTextSize;
    text.upwards = upwards;
    if (text.text != name) text.title = name;
    drawing.marks.emplace_back(std::move(text));
  };
  add(level_axis().label, {plot_.x + plot_.width / 2, size_.height - 8}, plot_.width, false);
  add(upright_axis().label, {kGap + kTextSize - 2, plot_.y + plot_.height / 2}, plot_.height, true);
}

void ChartFrame::draw_limits(Drawing& drawing) const {
  std::vector<const ChartLimit*> upright;
  std::vector<const ChartLimit*> level;
  for (const ChartLimit& limit : chart_.limits) {
    if (in_sight(limit)) (is_upright(limit) ? upright : level).push_back(&limit);
  }
  const auto larger = [](const ChartLimit* a, const ChartLimit* b) { return a->value > b->value; };
  // From the right, and from above: a label in a higher row runs over the lines that end in lower ones.
  std::stable_sort(upright.begin(), upright.end(), larger);
  std::stable_sort(level.begin(), level.end(), larger);
  draw_upright_limits(drawing, upright);
  draw_level_limits(drawing, level);
}

void ChartFrame::draw_upright_limits(Drawing& drawing, std::span<const ChartLimit* const> limits) const {
  double row = plot_.y - 5;
  for (const ChartLimit* limit : limits) {
    const double x = plot_.x + map_of(*limit).at(limit->value) * plot_.width;
    const double top = roomy_ ? row - kTickSize : plot_.y;
    drawing.marks.emplace_back(DrawnLine{{x, top}, {x, plot_.bottom()}, {Tone::kLimit}, 1.5, true});
    const bool fits = x + 4 + text_width(limit->label, kTickSize) <= size_.width - 2;
    DrawnText text{.position = {fits ? x + 4 : x - 4, row}, .anchor = fits ? TextAnchor::kStart : TextAnchor::kEnd};
    add_limit_label(drawing, std::move(text), limit->label, fits ? size_.width : x - 6);
    row -= kRow - 2;
  }
}

void ChartFrame::draw_level_limits(Drawing& drawing, std::span<const ChartLimit* const> limits) const {
  double above = 0;
  for (const ChartLimit* limit : limits) {
    const double part = map_of(*limit).at(limit->value);
    const double y = chart_.lying ? plot_.y + part * plot_.height : plot_.bottom() - part * plot_.height;
    drawing.marks.emplace_back(DrawnLine{{plot_.x, y}, {plot_.right(), y}, {Tone::kLimit}, 1.5, true});
    const double base = std::max(y + 0.35 * kTickSize, above + kTickSize + 2);
    above = base;
    add_limit_label(drawing, {.position = {plot_.right() + 6, base}}, limit->label, size_.width - plot_.right() - 8);
  }
}

void ChartFrame::add_limit_label(Drawing& drawing, DrawnText text, const std::string& label, double room) const {
  if (!roomy_) return;
  text.text = elide(label, room, kTickSize);
  if (text.text != label) text.title = label;
  text.size = kTickSize;
  text.ink = {Tone::kLimit};
  drawing.marks.emplace_back(std::move(text));
}

}  // namespace cohort
