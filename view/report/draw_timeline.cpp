#include <algorithm>
#include <cmath>
#include <utility>

#include "view/chart/axis_scale.hpp"
#include "view/report/timeline_figure.hpp"

namespace cohort {
namespace {

constexpr double kMargin = 8;
constexpr double kTextSize = 12;
constexpr double kSmallSize = 11;
constexpr double kLaneHeight = 18;
constexpr double kLaneGap = 3;
constexpr double kLegendRow = 18;

class FigurePainter {
 public:
  FigurePainter(const TimelineFigure& figure, double width) : figure_(figure) {
    drawing_.size.width = std::max(width, 200.0);
    drawing_.title = figure.title;
  }

  Drawing make() {
    place_columns();
    y_ = kMargin;
    draw_title();
    draw_legend();
    const std::vector<double> values = {0, static_cast<double>(figure_.length().count())};
    const AxisMap map({.unit = AxisUnit::kTime}, values,
                      {.from_zero = true, .most_ticks = static_cast<std::size_t>(std::max(plot_width() / 90, 2.0))});
    const double top = y_;
    const std::size_t behind = drawing_.marks.size();
    for (const FigureBand& band : figure_.bands) draw_band(band, map);
    draw_time(map, top, behind);
    drawing_.plot = {left_, top, plot_width(), y_ - top};
    drawing_.size.height = y_ + kSmallSize + 14;
    return std::move(drawing_);
  }

 private:
  [[nodiscard]] double plot_width() const { return drawing_.size.width - left_ - 3 * kMargin; }

  void place_columns() {
    double widest = 0;
    for (const FigureBand& band : figure_.bands) {
      for (const FigureLane& lane : band.lanes) widest = std::max(widest, text_width(lane.name, kSmallSize));
    }
    left_ = std::min(widest, 0.22 * drawing_.size.width) + 2 * kMargin;
  }

  void add_text(const std::string& text, DrawnPosition position, double room, DrawnText style = {}) {
    style.text = elide(text, room, style.size);
    if (style.text != text) style.title = text;
    style.position = position;
    drawing_.marks.emplace_back(std::move(style));
  }

  void draw_title() {
    if (figure_.title.empty()) return;
    add_text(figure_.title, {kMargin, y_ + 14}, drawing_.size.width / 1.12, {.size = 14, .bold = true});
    y_ += 14 + kMargin;
  }

  void draw_legend() {
    double x = kMargin;
    y_ += kTextSize;
    for (std::size_t i = 0; i < figure_.colours.size(); ++i) {
      const std::string shown = elide(figure_.colours[i], 300, kTextSize);
      const double width = 18 + text_width(shown, kTextSize) + 2 * kMargin;
      if (x > kMargin && x + width > drawing_.size.width) {
        x = kMargin;
        y_ += kLegendRow;
      }
      drawing_.marks.emplace_back(DrawnRectangle{{x, y_ - 10, 12, 12}, {Tone::kSeries, i}});
      add_text(figure_.colours[i], {x + 18, y_}, 300);
      x += width;
    }
    y_ += kMargin;
  }

  void draw_band(const FigureBand& band, const AxisMap& map) {
    y_ += kTextSize + 4;
    add_text(band.name, {kMargin, y_}, drawing_.size.width - 2 * kMargin, {.size = kTextSize, .bold = true});
    y_ += 5;
    for (const FigureLane& lane : band.lanes) {
      add_text(lane.name, {left_ - kMargin, y_ + kLaneHeight / 2 + 0.35 * kSmallSize}, left_ - 2 * kMargin,
               {.anchor = TextAnchor::kEnd, .size = kSmallSize, .ink = {Tone::kFaintText}});
      draw_lane(lane, map);
      y_ += kLaneHeight + kLaneGap;
    }
    if (band.lanes.empty()) draw_note("nothing ran");
    if (!band.left_out.empty()) draw_note(band.left_out);
  }

  void draw_note(const std::string& note) {
    y_ += kSmallSize;
    add_text(note, {left_, y_}, plot_width(), {.size = kSmallSize, .ink = {Tone::kFaintText}});
    y_ += 6;
  }

  /// Neighbours of one colour that would share a pixel become one rectangle; of other colours the first keeps it.
  void draw_lane(const FigureLane& lane, const AxisMap& map) {
    constexpr double kSeen = 0.5;  // pixels
    DrawnRectangle open;
    std::size_t merged = 0;
    const auto close = [&] {
      if (merged == 0) return;
      if (merged > 1) open.title = std::to_string(merged) + " slices, the first:\n" + open.title;
      open.box.width = std::max(open.box.width, kSeen);
      drawing_.marks.emplace_back(std::move(open));
      merged = 0;
    };
    for (const FigureSlice& slice : lane.slices) {
      const double from = left_ + map.at(static_cast<double>(slice.start.count())) * plot_width();
      const double to = left_ + map.at(static_cast<double>((slice.start + slice.duration).count())) * plot_width();
      const bool narrow = to - from < 2 * kSeen;
      const Ink ink{Tone::kSeries, slice.colour};
      if (merged > 0 && narrow && to <= open.box.right() + 2 * kSeen &&
          (open.ink == ink || to <= open.box.right() + kSeen)) {
        open.box.width = std::max(open.box.width, open.ink == ink ? to - open.box.x : open.box.width);
        ++merged;
        continue;
      }
      close();
      // A hair of ground between slices that follow each other.
      open = DrawnRectangle{{from, y_, to - from - (to - from > 3 ? 0.5 : 0), kLaneHeight}, ink, slice.title};
      merged = 1;
    }
    close();
  }

  void draw_time(const AxisMap& map, double top, std::size_t behind) {
    std::vector<DrawnMark> grid;
    for (const ChartTick& tick : map.ticks()) {
      const double x = left_ + map.at(tick.value) * plot_width();
      grid.emplace_back(DrawnLine{{x, top}, {x, y_}, {Tone::kGrid}});
      add_text(tick.label, {x, y_ + kSmallSize + 5}, 100,
               {.anchor = TextAnchor::kMiddle, .size = kSmallSize, .ink = {Tone::kFaintText}});
    }
    drawing_.marks.insert(drawing_.marks.begin() + static_cast<std::ptrdiff_t>(behind), grid.begin(), grid.end());
    drawing_.marks.emplace_back(DrawnLine{{left_, y_}, {left_ + plot_width(), y_}, {Tone::kAxis}});
  }

  const TimelineFigure& figure_;
  Drawing drawing_;
  double left_ = 0;  ///< where time begins
  double y_ = 0;     ///< down to where something is drawn
};

}  // namespace

Drawing draw(const TimelineFigure& figure, double width) { return FigurePainter(figure, width).make(); }

}  // namespace cohort
