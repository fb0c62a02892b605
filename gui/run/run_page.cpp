#include "gui/run/run_page.hpp"

#include <QComboBox>
#include <QFileInfo>
#include <QFormLayout>
#include <QFrame>
#include <QHBoxLayout>
#include <QLabel>
#include <QPushButton>
#include <QVBoxLayout>
#include <algorithm>

#include "base/rate.hpp"
#include "gui/process/progress_panel.hpp"
#include "planning/plan_files.hpp"

namespace cohort {

RunPage::RunPage(QWidget* parent) : Page(parent) {
  constexpr int kMostWidth = 1320;  // on a large screen lines that are longer are hard to read
  auto* middle = new QWidget(this);
  middle->setMaximumWidth(kMostWidth);
  auto* across = new QHBoxLayout(this);
  across->setContentsMargins(0, 0, 0, 0);
  across->addStretch(1);
  across->addWidget(middle, 1000);
  across->addStretch(1);
  auto* column = new QVBoxLayout(middle);
  column->setContentsMargins(24, 18, 24, 18);
  column->setSpacing(12);
  auto* heading = new QLabel(tr("Run a plan on this machine"), this);
  heading->setObjectName(QStringLiteral("heading"));
  column->addWidget(heading);
  column->addWidget(make_choice());
  trouble_ = new QLabel(this);
  trouble_->setObjectName(QStringLiteral("bad"));
  trouble_->setTextFormat(Qt::PlainText);
  trouble_->setWordWrap(true);
  trouble_->hide();
  column->addWidget(trouble_);
  column->addWidget(make_result());
  progress_ = new ProgressPanel(program_, this);
  column->addWidget(progress_, 1);
  column->addStretch(0);

  connect(&program_, &ChildProgram::finished, this, &RunPage::finish_run);
  connect(&devices_, &DeviceList::changed, this, [this] {
    if (devices_.is_loaded()) fill_with_devices(*device_, devices_);
    choose_device();
    show_plan();
    Q_EMIT state_changed();
  });
  show_plan();
}

QWidget* RunPage::make_choice() {
  auto* card = new QFrame(this);
  card->setObjectName(QStringLiteral("card"));
  plan_ = new QComboBox(card);
  plan_->setObjectName(QStringLiteral("plan"));
  summary_ = new QLabel(card);
  summary_->setObjectName(QStringLiteral("dim"));
  summary_->setWordWrap(true);
  summary_->setTextFormat(Qt::PlainText);
  device_ = new QComboBox(card);
  device_->setObjectName(QStringLiteral("device"));
  plan_->setSizeAdjustPolicy(QComboBox::AdjustToContents);
  device_->setSizeAdjustPolicy(QComboBox::AdjustToContents);
  note_ = new QLabel(card);
  note_->setObjectName(QStringLiteral("dim"));
  note_->setWordWrap(true);
  note_->setTextFormat(Qt::PlainText);
  constexpr int kLeastWidth = 600;  // a form asks for the height of the text at its least width
  summary_->setMinimumWidth(kLeastWidth);
  note_->setMinimumWidth(kLeastWidth);
  summary_->setSizePolicy(QSizePolicy::Expanding, QSizePolicy::Preferred);
  note_->setSizePolicy(QSizePolicy::Expanding, QSizePolicy::Preferred);
  start_ = new QPushButton(tr("Run"), card);
  start_->setObjectName(QStringLiteral("start"));
  auto* form = new QFormLayout(card);
  form->setContentsMargins(16, 12, 16, 14);
  form->setFieldGrowthPolicy(QFormLayout::ExpandingFieldsGrow);
  form->addRow(tr("Plan"), plan_);
  form->addRow(QString(), summary_);
  form->addRow(tr("Device"), device_);
  form->addRow(QString(), note_);
  auto* row = new QHBoxLayout;
  row->addWidget(start_);
  row->addStretch(1);
  form->addRow(QString(), row);
  connect(plan_, &QComboBox::currentIndexChanged, this, [this] {
    choose_device();
    show_plan();
  });
  connect(device_, &QComboBox::currentIndexChanged, this, &RunPage::show_plan);
  connect(start_, &QPushButton::clicked, this, &RunPage::start_run);
  return card;
}

QWidget* RunPage::make_result() {
  result_ = new QFrame(this);
  result_->setObjectName(QStringLiteral("card"));
  speedup_ = new QLabel(result_);
  speedup_->setObjectName(QStringLiteral("figure"));
  times_ = new QLabel(result_);
  times_->setTextFormat(Qt::PlainText);
  times_->setWordWrap(true);
  times_->setTextInteractionFlags(Qt::TextSelectableByMouse);
  compare_ = new QPushButton(result_);
  compare_->setObjectName(QStringLiteral("compare"));
  connect(compare_, &QPushButton::clicked, this, [this] { Q_EMIT requested(comparison_); });
  auto* row = new QHBoxLayout(result_);
  row->setContentsMargins(16, 12, 16, 14);
  row->setSpacing(24);
  row->addWidget(speedup_);
  row->addWidget(times_, 1);
  row->addWidget(compare_);
  result_->hide();
  return result_;
}

PageState RunPage::state() const {
  if (program_.running()) return {true, tr("Running: its members one by one and together in turn, then a trace.")};
  if (plan_->count() == 0) return {false, tr("Waits for a plan: save one in Explore, or open a .plan.json file.")};
  if (result_->isVisibleTo(this)) return {true, tr("Look at predicted over measured in Compare, or run another plan.")};
  return {true, tr("Choose a plan and a device and run it; the comparison with the prediction opens when it is done.")};
}

void RunPage::set_files(const std::vector<OpenFile>& files) {
  files_ = files;
  const QString before = plan_->currentData().toString();
  {
    const QSignalBlocker quiet(plan_);
    plan_->clear();
    for (const OpenFile& file : files_) {
      if (file.plan == nullptr) continue;
      plan_->addItem(QFileInfo(file.path).fileName(), file.path);
      plan_->setItemData(plan_->count() - 1, file.path, Qt::ToolTipRole);
    }
    plan_->setCurrentIndex(std::max(plan_->findData(before), plan_->count() > 0 ? 0 : -1));
  }
  if (plan_->currentData().toString() != before) choose_device();
  show_plan();
  Q_EMIT state_changed();
}

void RunPage::show_files(const QStringList& paths) {
  for (const QString& path : paths) {
    if (const int row = plan_->findData(path); row >= 0) return plan_->setCurrentIndex(row);
  }
}

void RunPage::showEvent(QShowEvent* event) {
  devices_.load();
  Page::showEvent(event);
}

const OpenFile* RunPage::chosen() const {
  const QString path = plan_->currentData().toString();
  const auto found =
      std::find_if(files_.begin(), files_.end(), [&](const OpenFile& file) { return file.path == path && file.plan; });
  return found != files_.end() ? &*found : nullptr;
}

QString RunPage::measured_trace_of(const QString& plan) {
  return QString::fromStdString(beside_plan(plan.toStdString(), ".measured.json.gz").string());
}

/// The plan's own, where it can be used.
void RunPage::choose_device() {
  const OpenFile* const file = chosen();
  if (file == nullptr) return;
  const int row = device_->findData(QString::fromStdString(file->plan->device));
  if (row < 0 || (device_->model()->flags(device_->model()->index(row, 0)) & Qt::ItemIsEnabled) == 0) return;
  device_->setCurrentIndex(row);
}

void RunPage::show_plan() {
  const OpenFile* const file = chosen();
  start_->setEnabled(file != nullptr && !program_.running() && device_->count() > 0);
  summary_->setText(file != nullptr ? summary_of(*file->plan) : QString());
  QStringList notes;
  if (file != nullptr) {
    const QString device = QString::fromStdString(file->plan->device);
    if (device_->count() > 0 && device_->currentData().toString() != device)
      notes +=
          tr("The plan was made for %1: on another device its algorithms are that device's first choices.").arg(device);
    const QString measured = measured_trace_of(file->path);
    notes += QFileInfo::exists(measured) ? tr("Replaces %1.").arg(measured) : tr("Writes %1.").arg(measured);
    if (predicted_trace_of(*file, files_).isEmpty())
      notes += tr("No predicted trace of this plan is here, so that there will be nothing to compare with.");
  }
  if (!devices_.message().isEmpty()) notes += devices_.message();
  note_->setText(notes.join(QLatin1Char(' ')));
}

void RunPage::start_run() {
  const OpenFile* const file = chosen();
  if (file == nullptr || program_.running()) return;
  const auto cohort = find_cohort();
  trouble_->setVisible(!cohort);
  if (!cohort) return trouble_->setText(QString::fromStdString(cohort.error().message));
  running_plan_ = file->path;
  measured_ = measured_trace_of(file->path);
  QStringList words = {QStringLiteral("run"),      running_plan_,
                       QStringLiteral("--output"), measured_,
                       QStringLiteral("--json"),   QStringLiteral("--progress")};
  if (const QString device = device_->currentData().toString(); device != QString::fromStdString(file->plan->device))
    words += {QStringLiteral("--device"), device};
  if (QFileInfo::exists(measured_)) words += QStringLiteral("--force");
  result_->hide();
  progress_->begin(QStringLiteral("cohort ") + words.join(QLatin1Char(' ')));
  program_.start(*cohort, words);
  show_plan();
  Q_EMIT state_changed();
}

void RunPage::finish_run(const ChildOutcome& outcome) {
  show_plan();
  const auto figures = outcome.done() ? run_figures_from(outcome.output) : std::nullopt;
  if (outcome.cancelled && !figures) {
    progress_->finish(tr("Cancelled; nothing was written."));
  } else if (!figures) {
    progress_->finish(tr("The plan did not run."));
    trouble_->setText(outcome.done() ? tr("cohort run gave no figures") : outcome.message);
    trouble_->show();
  } else {
    progress_->finish(tr("Done: %1").arg(measured_));
    show_figures(*figures);
  }
  Q_EMIT state_changed();
  if (figures && !outcome.cancelled) Q_EMIT requested(comparison_);
}

void RunPage::show_figures(const RunFigures& figures) {
  speedup_->setText(tr("%1× measured").arg(figures.speedup, 0, 'f', 2));
  const auto line = [&](const QString& name, Nanoseconds step) {
    const double per_second = static_cast<double>(figures.samples_per_step) * 1e9 / static_cast<double>(step.count());
    return tr("%1: %2 a step, %3")
        .arg(name, QString::fromStdString(format_time(step)), QString::fromStdString(format_rate(per_second)));
  };
  times_->setText(line(tr("together"), figures.plan) + QLatin1Char('\n') + line(tr("one by one"), figures.baseline));
  const auto plan = std::find_if(files_.begin(), files_.end(),
                                 [&](const OpenFile& file) { return file.path == running_plan_ && file.plan; });
  const QString predicted = plan != files_.end() ? predicted_trace_of(*plan, files_) : QString();
  if (predicted.isEmpty()) {
    comparison_ = {PageId::kTimeline, {measured_}};
    compare_->setText(tr("Show its timeline"));
  } else {
    comparison_ = {PageId::kCompare, {predicted, measured_}};
    compare_->setText(tr("Compare with the prediction"));
  }
  result_->show();
}

}  // namespace cohort
