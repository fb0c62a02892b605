#pragma once

#include <QColor>
#include <QFont>

#include "gui/window/theme.hpp"

namespace cohort {

/// What a timeline is painted with, besides the slices' own colours.
struct TimelineLook {
  QColor background;  ///< of rows
  QColor alternate;   ///< of the bands in which groups' names stand
  QColor text;
  QColor dim_text;
  QColor line;       ///< between rows, and of the time axis
  QColor grid;       ///< over rows, partly transparent
  QColor selection;  ///< around the chosen slice, and of arrows
  QColor hover;      ///< around the slice under the pointer
  QColor area;       ///< chosen stretch, partly transparent
  QColor mark;
  QColor busy;     ///< of the curve of a device's time
  QColor units;    ///< of the curve of its multiprocessors or cores
  QColor counter;  ///< of recorded counters
  QColor label;    ///< behind the label at the pointer
  QColor label_text;
  QFont font;  ///< of titles, axis and labels on slices

  friend bool operator==(const TimelineLook&, const TimelineLook&) = default;
};

/// The look that goes with a theme. Fonts: `family` where it is given, else the application's.
TimelineLook look_of(const Theme& theme, const QString& family = {});

}  // namespace cohort
