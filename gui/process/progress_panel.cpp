#include "gui/process/progress_panel.hpp"

#include <QFontDatabase>
#include <QHBoxLayout>
#include <QLabel>
#include <QPlainTextEdit>
#include <QProgressBar>
#include <QPushButton>
#include <QVBoxLayout>
#include <algorithm>

namespace cohort {
namespace {

constexpr int kBarSteps = 1000;  ///< of the bar, where it follows time

}  // namespace

ProgressPanel::ProgressPanel(ChildProgram& program, QWidget* parent)
    : QWidget(parent),
      program_(program),
      line_(new QLabel(this)),
      bar_(new QProgressBar(this)),
      cancel_(new QPushButton(tr("Cancel"), this)),
      log_(new QPlainTextEdit(this)) {
  line_->setWordWrap(true);
  line_->setTextFormat(Qt::PlainText);
  bar_->setTextVisible(false);
  cancel_->setObjectName(QStringLiteral("cancel"));
  log_->setReadOnly(true);
  log_->setFont(QFontDatabase::systemFont(QFontDatabase::FixedFont));
  log_->setMaximumBlockCount(2000);
  log_->setAccessibleName(tr("What the program said"));

  auto* row = new QHBoxLayout;
  row->addWidget(bar_, 1);
  row->addWidget(cancel_);
  auto* column = new QVBoxLayout(this);
  column->setContentsMargins(0, 0, 0, 0);
  column->addWidget(line_);
  column->addLayout(row);
  column->addWidget(log_, 1);
  hide();

  connect(cancel_, &QPushButton::clicked, this, [this] {
    cancel_->setEnabled(false);
    line_->setText(tr("Cancelling; it tidies up first"));
    program_.cancel();
  });
  connect(&program_, &ChildProgram::progressed, this, &ProgressPanel::show_progress);
  connect(&program_, &ChildProgram::said, log_, &QPlainTextEdit::appendPlainText);
}

void ProgressPanel::begin(const QString& command) {
  log_->setPlainText(QStringLiteral("$ ") + command);
  line_->setText(tr("Starting"));
  running_.start();
  bar_->setRange(0, 0);
  bar_->show();
  cancel_->setEnabled(true);
  cancel_->show();
  show();
}

void ProgressPanel::finish(const QString& line) {
  line_->setText(line);
  bar_->hide();
  cancel_->hide();
}

QString ProgressPanel::text() const { return line_->text(); }

QString ProgressPanel::log() const { return log_->toPlainText(); }

void ProgressPanel::show_progress(const ChildProgress& progress) {
  if (!cancel_->isEnabled()) return;  // it is being cancelled
  line_->setText(progress.text);
  if (progress.seconds_left) {
    // Parts of a stage would run back to zero with the next one; time does not.
    const auto passed = static_cast<int>(running_.elapsed() / 1000);
    const int before = bar_->maximum() > 0 ? bar_->value() : 0;
    bar_->setRange(0, kBarSteps);
    bar_->setValue(std::max(before, kBarSteps * passed / std::max(passed + *progress.seconds_left, 1)));
  } else if (progress.part) {
    bar_->setRange(0, progress.part->second);
    bar_->setValue(progress.part->first);
  } else {
    bar_->setRange(0, 0);
  }
}

}  // namespace cohort
