#include "gui/process/child_program.hpp"

#include <signal.h>
#include <sys/prctl.h>

#include <QCoreApplication>
#include <QFileInfo>
#include <QJsonDocument>
#include <QJsonObject>
#include <QRegularExpression>
#include <QStandardPaths>

namespace cohort {
namespace {

constexpr int kNotStarted = 127;
constexpr qsizetype kMostLines = 40;  ///< an error is among the last

}  // namespace

Result<QString> find_cohort() {
  if (const QString named = qEnvironmentVariable("COHORT_PROGRAM"); !named.isEmpty()) return named;
  const QFileInfo beside(QCoreApplication::applicationDirPath() + QStringLiteral("/cohort"));
  if (beside.isFile() && beside.isExecutable()) return beside.absoluteFilePath();
  const QString on_path = QStandardPaths::findExecutable(QStringLiteral("cohort"));
  if (!on_path.isEmpty()) return on_path;
  return fail(ErrorCode::kDeviceMissing,
              "the program cohort is neither in {} nor on the PATH; install it beside this one",
              QCoreApplication::applicationDirPath().toStdString());
}

std::optional<ChildProgress> child_progress_from(const QByteArray& line) {
  if (!line.startsWith('{')) return std::nullopt;
  const QJsonObject object = QJsonDocument::fromJson(line).object();
  const QJsonValue text = object.value(QLatin1String("progress"));
  if (!text.isString()) return std::nullopt;
  ChildProgress progress;
  progress.text = text.toString();
  static const QRegularExpression part(QStringLiteral("(\\d+) of (?:at most )?(\\d+)"));
  if (const auto found = part.match(progress.text); found.hasMatch()) {
    bool is_done_small = false;
    bool is_of_small = false;
    const int done = found.captured(1).toInt(&is_done_small);
    const int of = found.captured(2).toInt(&is_of_small);
    if (is_done_small && is_of_small && of > 0 && done <= of) progress.part = {done, of};
  }
  static const QRegularExpression left(QStringLiteral("(\\d{1,6}) s left"));
  if (const auto found = left.match(progress.text); found.hasMatch()) progress.seconds_left = found.captured(1).toInt();
  return progress;
}

ChildProgram::ChildProgram(QObject* parent) : QObject(parent) {
  process_.setChildProcessModifier([] { ::prctl(PR_SET_PDEATHSIG, SIGINT); });
  process_.setStandardInputFile(QProcess::nullDevice());
  impatience_.setSingleShot(true);
  connect(&impatience_, &QTimer::timeout, this, &ChildProgram::press_on);
  connect(&process_, &QProcess::readyReadStandardError, this, &ChildProgram::read_lines);
  connect(&process_, &QProcess::finished, this, [this](int code, QProcess::ExitStatus status) {
    read_lines();
    if (!unfinished_.isEmpty()) take_line(std::exchange(unfinished_, {}));
    end(status == QProcess::CrashExit ? 128 + code : code, failure(code, status));
  });
  connect(&process_, &QProcess::errorOccurred, this, [this](QProcess::ProcessError error) {
    if (error != QProcess::FailedToStart) return;  // all others end in finished()
    end(kNotStarted, tr("%1 does not start: %2").arg(process_.program(), process_.errorString()));
  });
}

ChildProgram::~ChildProgram() {
  process_.disconnect(this);
  if (!running() || process_.processId() == 0) return;  // 0 would be this program and all beside it
  ::kill(static_cast<::pid_t>(process_.processId()), SIGINT);
  if (process_.waitForFinished(static_cast<int>(std::min(patience_, std::chrono::milliseconds(2000)).count()))) return;
  process_.kill();
  process_.waitForFinished(1000);
}

void ChildProgram::start(const QString& program, const QStringList& words, const QString& folder) {
  Q_ASSERT(!running());
  unfinished_.clear();
  lines_.clear();
  cancelled_ = false;
  asked_ = 0;
  process_.setWorkingDirectory(folder);
  process_.start(program, words);
}

void ChildProgram::cancel() {
  if (!running()) return;
  cancelled_ = true;
  asked_ = 0;
  press_on();
}

void ChildProgram::press_on() {
  constexpr int kMostOften = 2;
  if (!running()) return;
  if (asked_ == kMostOften || process_.processId() == 0) return process_.kill();
  ++asked_;
  ::kill(static_cast<::pid_t>(process_.processId()), SIGINT);
  impatience_.start(patience_);
}

void ChildProgram::read_lines() {
  unfinished_ += process_.readAllStandardError();
  for (qsizetype end = unfinished_.indexOf('\n'); end >= 0; end = unfinished_.indexOf('\n')) {
    const QByteArray line = unfinished_.left(end);
    unfinished_.remove(0, end + 1);
    take_line(line);
  }
}

void ChildProgram::take_line(const QByteArray& line) {
  if (const auto progress = child_progress_from(line)) {
    Q_EMIT progressed(*progress);
    return;
  }
  const QString text = QString::fromUtf8(line);
  lines_ += text;
  if (lines_.size() > kMostLines) lines_.removeFirst();
  Q_EMIT said(text);
}

QString ChildProgram::failure(int exit_code, QProcess::ExitStatus status) const {
  if (status == QProcess::NormalExit && exit_code == 0) return {};
  // "cohort: what is wrong", perhaps over several lines, is the last that it says.
  const QString own_name = QStringLiteral("cohort: ");
  for (qsizetype i = lines_.size(); i-- > 0;) {
    if (lines_[i].startsWith(own_name)) return lines_.mid(i).join(QLatin1Char('\n')).mid(own_name.size()).trimmed();
  }
  const QString name = QFileInfo(process_.program()).fileName();
  const QString how = status == QProcess::CrashExit ? tr("%1 was ended by signal %2").arg(name).arg(exit_code)
                                                    : tr("%1 ended with exit code %2").arg(name).arg(exit_code);
  for (qsizetype i = lines_.size(); i-- > 0;) {
    if (!lines_[i].trimmed().isEmpty()) return how + QStringLiteral(": ") + lines_[i].trimmed();
  }
  return how;
}

void ChildProgram::end(int exit_code, const QString& message) {
  impatience_.stop();
  ChildOutcome outcome;
  outcome.exit_code = exit_code;
  outcome.cancelled = cancelled_;
  outcome.output = process_.readAllStandardOutput();
  outcome.message = message;
  Q_EMIT finished(outcome);
}

}  // namespace cohort
