#pragma once

#include <QFrame>
#include <memory>
#include <vector>

#include "view/timeline/timeline.hpp"

class QLineEdit;
class QListWidget;

namespace cohort {

/// A field over the timeline that finds a row by a part of its name.
class RowFinder : public QFrame {
  Q_OBJECT

 public:
  explicit RowFinder(QWidget* parent);

  /// Comes up with all rows; Enter or a click chooses one, Esc goes away again.
  void ask(std::shared_ptr<const Timeline> timeline);
  /// Goes away without an answer, and lets go of the timeline: its rows may be none of the next one's.
  void forget();

 Q_SIGNALS:
  void chosen(cohort::RowId row);
  void closed();

 protected:
  bool eventFilter(QObject* watched, QEvent* event) override;

 private:
  void list();
  void choose();
  void close_again();

  std::shared_ptr<const Timeline> timeline_;
  std::vector<RowId> rows_;  ///< as listed
  QLineEdit* field_ = nullptr;
  QListWidget* list_ = nullptr;
};

}  // namespace cohort
