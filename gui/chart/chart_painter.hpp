#pragma once

#include <QColor>
#include <QFont>
#include <QImage>
#include <QPainter>

#include "view/chart/drawing.hpp"
#include "view/chart/palette.hpp"

namespace cohort {

QColor qt_colour(Colour colour);
QColor qt_colour(const Palette& palette, const Ink& ink);

/// Paints a drawing at the painter's origin, its background apart. `font` gives the family of texts.
void paint(QPainter& painter, const Drawing& drawing, const Palette& palette, const QFont& font);

/// A picture of a drawing on the palette's background, `scale` pixels for each of the drawing's.
QImage to_image(const Drawing& drawing, const Palette& palette, const QFont& font, double scale);

}  // namespace cohort
