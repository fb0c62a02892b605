#pragma once

#include <QTimer>
#include <QWidget>
#include <vector>

#include "gui/timeline/timeline_view.hpp"

namespace cohort {

/// Frames around slices of a timeline that fade within about a second, so that the eye finds them after a jump. Lies
/// over the view and lets the mouse through.
class SliceFlash : public QWidget {
  Q_OBJECT

 public:
  explicit SliceFlash(TimelineView& view);

  static constexpr std::size_t kMost = 256;

  /// The first kMost of those that lie in the stretch of time that is shown: painting more takes longer than they glow.
  void flash(const std::vector<SliceRef>& slices);
  /// Those that still glow.
  [[nodiscard]] const std::vector<SliceRef>& slices() const { return slices_; }

 protected:
  void paintEvent(QPaintEvent* event) override;
  bool eventFilter(QObject* watched, QEvent* event) override;

 private:
  void fade();

  TimelineView* view_;
  std::vector<SliceRef> slices_;
  QTimer timer_;
  int left_ = 0;  ///< steps until nothing glows
};

}  // namespace cohort
