#pragma once

#include <QDialog>
#include <utility>
#include <vector>

#include "gui/window/page.hpp"

namespace cohort {

/// The sheet of keys and mouse gestures, one column a screen. Esc, `?` or a click beside it closes it.
class ShortcutSheet : public QDialog {
  Q_OBJECT

 public:
  using Group = std::pair<QString, std::vector<Shortcut>>;  ///< a screen's title, and its shortcuts

  explicit ShortcutSheet(const std::vector<Group>& groups, QWidget* parent = nullptr);

 protected:
  void keyPressEvent(QKeyEvent* event) override;
};

}  // namespace cohort
