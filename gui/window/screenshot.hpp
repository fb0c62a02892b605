#pragma once

#include <QObject>
#include <QTimer>
#include <optional>

#include "base/result.hpp"
#include "gui/window/main_window.hpp"
#include "gui/window/viewer_options.hpp"

namespace cohort {

/// Takes a picture of a window as soon as nothing goes on in it any more.
class Screenshot : public QObject {
  Q_OBJECT

 public:
  /// `window` must outlive it.
  Screenshot(MainWindow& window, const ViewerOptions& options, QObject* parent = nullptr);

 Q_SIGNALS:
  /// With the error where there is no picture: a file that cannot be read, a page that has nothing to show, a picture
  /// that cannot be written.
  void finished(const std::optional<Error>& error);

 private:
  void look();
  [[nodiscard]] std::optional<Error> take() const;

  MainWindow& window_;
  ViewerOptions options_;
  QTimer timer_;
  int quiet_looks_ = 0;  ///< in a row
};

}  // namespace cohort
