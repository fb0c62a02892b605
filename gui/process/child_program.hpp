#pragma once

#include <QByteArray>
#include <QObject>
#include <QProcess>
#include <QString>
#include <QStringList>
#include <QTimer>
#include <chrono>
#include <optional>
#include <utility>

#include "base/result.hpp"

namespace cohort {

/// The program that the environment names in COHORT_PROGRAM, else the `cohort` beside this one, else that on the PATH.
/// Errors: kDeviceMissing where there is neither.
Result<QString> find_cohort();

/// What a program says of how far it is: `cohort --progress`.
struct ChildProgress {
  QString text;
  std::optional<std::pair<int, int>> part;  ///< "3 of 50" in the text: done, of how many
  std::optional<int> seconds_left;          ///< "7 s left" in the text
};

/// Of a line {"progress":"simulated 3 of at most 50 plans"}; nothing of any other.
std::optional<ChildProgress> child_progress_from(const QByteArray& line);

/// How a program ended.
struct ChildOutcome {
  int exit_code = 0;       ///< as a shell gives it: 128 + number where a signal ended it; 127: it did not start
  bool cancelled = false;  ///< by cancel()
  QByteArray output;       ///< its standard output
  QString message;         ///< why it failed, in its own words where it said so; empty where the exit code is 0

  [[nodiscard]] bool done() const { return exit_code == 0; }
};

/// A program that runs beside the window, `cohort` above all: its notes and progress line by line as they come, then
/// how it ended. One at a time; it ends with this object and with the viewer, however that ends.
class ChildProgram : public QObject {
  Q_OBJECT

 public:
  explicit ChildProgram(QObject* parent = nullptr);
  ChildProgram(const ChildProgram&) = delete;
  ChildProgram& operator=(const ChildProgram&) = delete;
  ~ChildProgram() override;

  /// In `folder`, else in this program's. Not while one runs.
  void start(const QString& program, const QStringList& words, const QString& folder = {});
  [[nodiscard]] bool running() const { return process_.state() != QProcess::NotRunning; }
  /// Asks it to stop, as Ctrl-C does, so that it can tidy up; again after `patience`, and after twice that kills it.
  void cancel();
  void set_patience(std::chrono::milliseconds patience) { patience_ = patience; }

 Q_SIGNALS:
  void progressed(const ChildProgress& progress);
  void said(const QString& line);  ///< a line of standard error that is no progress
  void finished(const ChildOutcome& outcome);

 private:
  void read_lines();
  void take_line(const QByteArray& line);
  void press_on();
  void end(int exit_code, const QString& message);
  [[nodiscard]] QString failure(int exit_code, QProcess::ExitStatus status) const;

  QProcess process_;
  QTimer impatience_;
  std::chrono::milliseconds patience_{5000};
  QByteArray unfinished_;  ///< the line that is being read
  QStringList lines_;      ///< the last ones said
  bool cancelled_ = false;
  int asked_ = 0;  ///< how often it was asked to stop
};

}  // namespace cohort
