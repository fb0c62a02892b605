#pragma once

#include <QSize>
#include <QString>
#include <QStringList>
#include <optional>

#include "base/result.hpp"
#include "gui/window/main_window.hpp"

namespace cohort {

/// What the command line of cohort-viewer says.
struct ViewerOptions {
  QStringList files;
  QString screenshot;  ///< file to write; empty: a window is opened
  QSize size{1280, 800};
  std::optional<PageId> page;
  std::optional<ThemeChoice> theme;
  QString answer;  ///< to --help and --version: printed instead of all else
};

/// Errors: kUsage, saying what would be right.
Result<ViewerOptions> viewer_options_from(const QStringList& words);

}  // namespace cohort
