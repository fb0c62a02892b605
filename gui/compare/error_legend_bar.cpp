#include "gui/compare/error_legend_bar.hpp"

#include <QPainter>

namespace cohort {
namespace {

constexpr int kScaleWidth = 132;
constexpr int kPatch = 12;
constexpr int kGap = 6;

}  // namespace

ErrorLegendBar::ErrorLegendBar(QWidget* parent) : QWidget(parent) {
  setSizePolicy(QSizePolicy::Fixed, QSizePolicy::Fixed);
  setToolTip(tr("Relative error of a slice: blue where the prediction is too short, red where it is too long"));
}

void ErrorLegendBar::set_dark(bool dark) {
  colours_ = ErrorColours(dark);
  update();
}

QSize ErrorLegendBar::sizeHint() const {
  const std::vector<ErrorLegendEntry> entries = error_legend(colours_);
  const QFontMetrics metrics(font());
  int width = kScaleWidth + 2 * kGap;
  for (const std::size_t i : {std::size_t{0}, entries.size() - 3, entries.size() - 2, entries.size() - 1}) {
    width += metrics.horizontalAdvance(QString::fromStdString(entries[i].text)) + 2 * kGap;
  }
  return {width + 2 * (kPatch + kGap), metrics.height() + 4};
}

void ErrorLegendBar::paintEvent(QPaintEvent* /*event*/) {
  QPainter painter(this);
  const std::vector<ErrorLegendEntry> entries = error_legend(colours_);
  const QFontMetrics metrics(font());
  const int top = (height() - kPatch) / 2;
  int x = 0;
  const auto write = [&](const std::string& text) {
    const QString label = QString::fromStdString(text);
    painter.setPen(palette().color(QPalette::WindowText));
    painter.drawText(QRect(x, 0, metrics.horizontalAdvance(label) + 2, height()), Qt::AlignVCenter, label);
    x += metrics.horizontalAdvance(label) + kGap;
  };
  write(entries.front().text);
  for (int i = 0; i < kScaleWidth; ++i) {
    const double error = colours_.full() * (2.0 * i / (kScaleWidth - 1) - 1);
    painter.fillRect(x + i, top, 1, kPatch, QColor::fromRgb(argb(colours_.of_error(error))));
  }
  painter.setPen(palette().color(QPalette::WindowText));
  painter.drawLine(x + kScaleWidth / 2, top - 2, x + kScaleWidth / 2, top + kPatch + 1);
  x += kScaleWidth + kGap;
  write(entries[entries.size() - 3].text);
  for (std::size_t i = entries.size() - 2; i < entries.size(); ++i) {
    x += kGap;
    painter.fillRect(x, top, kPatch, kPatch, QColor::fromRgb(argb(entries[i].colour)));
    x += kPatch + kGap;
    write(entries[i].text);
  }
}

}  // namespace cohort
