#include "gui/compare/compare_bar.hpp"

#include <QComboBox>
#include <QFileInfo>
#include <QGridLayout>
#include <QLabel>
#include <QSignalBlocker>
#include <QToolButton>

namespace cohort {
namespace {

QComboBox* combo(const char* name, const QString& tip) {
  auto* box = new QComboBox;
  box->setObjectName(QLatin1String(name));
  box->setToolTip(tip);
  box->setSizeAdjustPolicy(QComboBox::AdjustToMinimumContentsLengthWithIcon);
  box->setMinimumContentsLength(10);
  return box;
}

QString kind_of(const Trace& trace) {
  const std::string_view kind = to_string(trace.info.kind);
  return QString::fromUtf8(kind.data(), static_cast<qsizetype>(kind.size()));
}

QString length_of(const TraceStep& step) { return QString::fromStdString(format_time(step.window.length())); }

/// The steps of a trace with their lengths, the typical one marked.
void fill_steps(QComboBox& box, const std::vector<TraceStep>& steps, std::size_t shown) {
  const QSignalBlocker blocker(box);
  box.clear();
  const std::size_t typical = steps.empty() ? 0 : typical_step(steps);
  for (std::size_t i = 0; i < steps.size(); ++i) {
    QString text = QStringLiteral("%1, %2").arg(QString::fromStdString(steps[i].name), length_of(steps[i]));
    if (i == typical && steps.size() > 1) text += QObject::tr(" (typical)");
    box.addItem(text);
  }
  box.setCurrentIndex(steps.empty() ? -1 : static_cast<int>(shown));
  box.setEnabled(steps.size() > 1);
}

std::optional<std::size_t> chosen_step(const QComboBox& box) {
  if (box.currentIndex() < 0) return std::nullopt;
  return static_cast<std::size_t>(box.currentIndex());
}

}  // namespace

CompareBar::CompareBar(QWidget* parent) : QWidget(parent) {
  files_ = {combo("predicted", tr("The trace of the prediction")),
            combo("measured", tr("The trace it is held against"))};
  steps_ = {combo("predicted step", tr("Which step of the first trace is laid over the other's")),
            combo("measured step", tr("Which step of the second trace is laid over the other's"))};
  swap_ = new QToolButton;
  swap_->setObjectName("swap");
  swap_->setText(QStringLiteral("⇄"));
  swap_->setToolTip(tr("Swap the two traces"));
  align_ = combo("align", tr("Where the two steps are laid over each other"));
  align_->addItems({tr("at the start"), tr("at an op"), tr("at the end")});
  anchor_ = combo("anchor", tr("The task or kernel whose starts are laid over each other"));
  anchor_->setMaxVisibleItems(20);
  scope_ = combo("scope", tr("What totals and the table are about"));
  scope_->addItems({tr("this step"), tr("all steps (medians)")});

  auto* grid = new QGridLayout(this);
  grid->setContentsMargins(0, 0, 0, 0);
  grid->setHorizontalSpacing(8);
  const auto labelled = [&](int row, int column, const QString& text, QComboBox* box) {
    auto* label = new QLabel(text);
    label->setBuddy(box);
    grid->addWidget(label, row, column);
    grid->addWidget(box, row, column + 1);
    return label;
  };
  sides_ = {labelled(0, 0, tr("Predicted"), files_[0]), labelled(1, 0, tr("Measured"), files_[1])};
  grid->addWidget(swap_, 0, 2, 2, 1, Qt::AlignVCenter);
  for (QComboBox* box : steps_) box->setMinimumContentsLength(22);  // "repetition 15, 4.81 ms (typical)"
  labelled(0, 3, tr("step"), steps_[0]);
  labelled(1, 3, tr("step"), steps_[1]);
  labelled(0, 5, tr("Align"), align_);
  grid->addWidget(anchor_, 0, 7);
  labelled(1, 5, tr("Table of"), scope_);
  grid->setColumnStretch(1, 3);
  grid->setColumnStretch(4, 1);

  for (const std::size_t side : {0U, 1U}) {
    connect(files_[side], &QComboBox::currentIndexChanged, this, &CompareBar::traces_changed);
    connect(steps_[side], &QComboBox::currentIndexChanged, this, &CompareBar::settings_changed);
  }
  connect(swap_, &QToolButton::clicked, this, &CompareBar::swap);
  connect(align_, &QComboBox::currentIndexChanged, this, [this] {
    show_anchors();
    Q_EMIT settings_changed();
  });
  connect(anchor_, &QComboBox::currentIndexChanged, this, &CompareBar::settings_changed);
  connect(scope_, &QComboBox::currentIndexChanged, this, &CompareBar::settings_changed);
  show_anchors();
}

void CompareBar::set_files(const std::vector<OpenFile>& files) {
  const ComparedPaths before = chosen();
  for (QComboBox* box : files_) {
    const QSignalBlocker blocker(box);
    box->clear();
    for (const OpenFile& file : files) {
      if (!file.trace) continue;
      box->addItem(QStringLiteral("%1 (%2)").arg(QFileInfo(file.path).fileName(), kind_of(*file.trace)), file.path);
      box->setItemData(box->count() - 1, file.path, Qt::ToolTipRole);
    }
    box->setCurrentIndex(-1);
  }
  for (const std::size_t side : {0U, 1U}) {
    const QSignalBlocker blocker(files_[side]);
    files_[side]->setCurrentIndex(before[side].isEmpty() ? -1 : files_[side]->findData(before[side]));
  }
}

void CompareBar::choose(const ComparedPaths& paths) {
  for (const std::size_t side : {0U, 1U}) {
    const QSignalBlocker blocker(files_[side]);
    files_[side]->setCurrentIndex(files_[side]->findData(paths[side]));
  }
  Q_EMIT traces_changed();
}

void CompareBar::choose_none(const PerSide<QString>& instead) {
  for (const std::size_t side : {0U, 1U}) {
    const QSignalBlocker blocker(files_[side]);
    files_[side]->setPlaceholderText(instead[side]);
    files_[side]->setCurrentIndex(-1);
  }
}

ComparedPaths CompareBar::chosen() const {
  return {files_[0]->currentData().toString(), files_[1]->currentData().toString()};
}

void CompareBar::swap() {
  const ComparedPaths paths = chosen();
  const QString first = files_[0]->placeholderText();
  files_[0]->setPlaceholderText(files_[1]->placeholderText());
  files_[1]->setPlaceholderText(first);
  for (const std::size_t side : {0U, 1U}) {
    const QSignalBlocker blocker(files_[side]);
    const QString& path = paths[1 - side];
    files_[side]->setCurrentIndex(path.isEmpty() ? -1 : files_[side]->findData(path));
  }
  Q_EMIT swapped();
}

void CompareBar::set_choices(const TraceComparison& comparison, const CompareSettings& shown,
                             const std::vector<std::string>& anchors) {
  const PerSide<std::string> labels = side_labels(comparison);
  for (const CompareSide side : {CompareSide::kPredicted, CompareSide::kMeasured}) {
    QString label = QString::fromStdString(labels[to_index(side)]);
    label[0] = label[0].toUpper();
    sides_[to_index(side)]->setText(label);
    fill_steps(*steps_[to_index(side)], comparison.steps(side), shown.step[to_index(side)].value_or(0));
  }
  const QSignalBlocker blocker(anchor_);
  const QString before = QString::fromStdString(shown.anchor);
  anchor_->clear();
  for (const std::string& name : anchors) anchor_->addItem(QString::fromStdString(name));
  const int again = anchor_->findText(before);
  anchor_->setCurrentIndex(again >= 0 ? again : (anchors.empty() ? -1 : 0));
}

CompareSettings CompareBar::settings() const {
  CompareSettings settings;
  settings.step = {chosen_step(*steps_[0]), chosen_step(*steps_[1])};
  settings.align = static_cast<AlignAt>(align_->currentIndex());
  settings.anchor = anchor_->currentText().toStdString();
  settings.scope = static_cast<CompareScope>(scope_->currentIndex());
  return settings;
}

void CompareBar::set_align(AlignAt align) { align_->setCurrentIndex(static_cast<int>(align)); }

void CompareBar::align_at(const QString& name) {
  const int index = anchor_->findText(name);
  if (index < 0) return;
  const QSignalBlocker blocker(align_);
  align_->setCurrentIndex(static_cast<int>(AlignAt::kAnchor));
  show_anchors();
  const QSignalBlocker anchor_blocker(anchor_);
  anchor_->setCurrentIndex(index);
  Q_EMIT settings_changed();
}

void CompareBar::set_scope(CompareScope scope) { scope_->setCurrentIndex(static_cast<int>(scope)); }

void CompareBar::show_anchors() { anchor_->setVisible(align_->currentIndex() == static_cast<int>(AlignAt::kAnchor)); }

}  // namespace cohort
