#pragma once

#include <QWidget>
#include <map>

#include "gui/window/page.hpp"

class QHBoxLayout;
class QLabel;
class QToolButton;

namespace cohort {

/// The line at the top of the window: the four stations in the order of the work, then the two closer looks; below it
/// what to do next at the one that is shown.
class StationBar : public QWidget {
  Q_OBJECT

 public:
  explicit StationBar(QWidget* parent = nullptr);

  /// Places of pages that there are; others are left out. In any order.
  void add(PageId id, const QString& title);
  void set_state(PageId id, const PageState& state);
  void set_current(PageId id);

  /// The button of a page, null where it has none.
  [[nodiscard]] QToolButton* button(PageId id) const;
  [[nodiscard]] QString hint() const;

 Q_SIGNALS:
  void chosen(PageId id);

 private:
  struct Place {
    QToolButton* button = nullptr;
    PageState state;
  };
  void lay_out();
  void show_hint();

  std::map<PageId, Place> places_;
  QHBoxLayout* row_;
  QLabel* hint_;
  std::optional<PageId> current_;
};

}  // namespace cohort
