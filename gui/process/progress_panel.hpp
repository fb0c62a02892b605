#pragma once

#include <QElapsedTimer>
#include <QWidget>

#include "gui/process/child_program.hpp"

class QLabel;
class QPlainTextEdit;
class QProgressBar;
class QPushButton;

namespace cohort {

/// How far a ChildProgram is: a line, a bar, what it said, and a button that cancels it. Hidden until it starts.
class ProgressPanel : public QWidget {
  Q_OBJECT

 public:
  /// `program` must outlive it.
  explicit ProgressPanel(ChildProgram& program, QWidget* parent = nullptr);

  /// Shows an empty log under `command`, the line a user would type, and a bar that only says that something goes on.
  void begin(const QString& command);
  /// Stops the bar under a last line, in place of the progress.
  void finish(const QString& line);
  [[nodiscard]] QString text() const;
  [[nodiscard]] QString log() const;

 private:
  void show_progress(const ChildProgress& progress);

  ChildProgram& program_;
  QLabel* line_;
  QProgressBar* bar_;
  QPushButton* cancel_;
  QPlainTextEdit* log_;
  QElapsedTimer running_;
};

}  // namespace cohort
