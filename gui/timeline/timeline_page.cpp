#include "gui/timeline/timeline_page.hpp"

#include <QAction>
#include <QComboBox>
#include <QFileInfo>
#include <QSettings>
#include <QSignalBlocker>
#include <QVBoxLayout>
#include <algorithm>

#include "gui/window/qt_text.hpp"

namespace cohort {
namespace {

const QString kColouringSetting = QStringLiteral("colouring");

/// "predicted" and "measured" where that tells the traces apart, else their files' names without what follows the dot.
std::string label_of(const OpenFile& file, const std::vector<OpenFile>& files) {
  const TraceKind kind = file.trace->info.kind;
  const auto alike =
      std::count_if(files.begin(), files.end(), [&](const OpenFile& other) { return other.trace->info.kind == kind; });
  return alike == 1 ? std::string(to_string(kind)) : QFileInfo(file.path).baseName().toStdString();
}

/// Traces begin when their recorders were started: shown together, each begins at 0.
std::vector<TimelinePart> parts_of(const std::vector<OpenFile>& files) {
  std::vector<TimelinePart> parts;
  for (const OpenFile& file : files) {
    TimelinePart part{file.trace, Nanoseconds(0), label_of(file, files)};
    if (files.size() > 1) {
      Nanoseconds first = Nanoseconds::max();
      for (const Slice& slice : file.trace->slices) first = std::min(first, slice.start);
      if (!file.trace->slices.empty()) part.offset = -first;
    }
    parts.push_back(std::move(part));
  }
  return parts;
}

}  // namespace

TimelinePage::TimelinePage(QWidget* parent) : Page(parent), panel_(new TimelinePanel) {
  auto* layout = new QVBoxLayout(this);
  layout->setContentsMargins(0, 0, 0, 0);
  layout->addWidget(panel_);
  chooser_ = new QComboBox;
  chooser_->setAccessibleName(tr("Trace"));
  chooser_->setFocusPolicy(Qt::TabFocus);
  constexpr int kLetters = 18;
  chooser_->setSizeAdjustPolicy(QComboBox::AdjustToMinimumContentsLengthWithIcon);
  chooser_->setMinimumContentsLength(kLetters);
  panel_->begin_bar_with(chooser_);
  panel_->set_regroups(true);
  setFocusProxy(panel_);
  connect(chooser_, &QComboBox::activated, this, &TimelinePage::choose);
  connect(panel_, &TimelinePanel::settled_changed, this, &TimelinePage::state_changed);
  make_commands();
  update_chooser();
}

TimelinePage::~TimelinePage() = default;

QString TimelinePage::title() const { return tr("Timeline"); }

PageState TimelinePage::state() const {
  if (traces_.empty()) return {false, tr("Open a trace to look at its slices")};
  return {true, tr("Click a slice to see what is known of it; drag over rows to sum them up")};
}

void TimelinePage::make_commands() {
  const auto add = [&](const QString& text, auto act) {
    auto* action = new QAction(text, this);
    connect(action, &QAction::triggered, panel_, act);
    commands_.push_back(action);
  };
  add(tr("Show all of the timeline"), [this] { panel_->view().show_all(); });
  add(tr("Search slices"), [this] { panel_->ask_for_search(); });
  add(tr("Find a row"), [this] { panel_->ask_for_row(); });
  for (const Colouring colouring : kColourings) {
    add(tr("Colour slices by %1").arg(qt(to_string(colouring))),
        [this, colouring] { panel_->set_colouring(colouring); });
  }
  add(tr("A row for each stream and thread"), [this] { panel_->set_grouping(RowGrouping::kTracks); });
  add(tr("A row for each member of the model batch"), [this] { panel_->set_grouping(RowGrouping::kMembers); });
  add(tr("A row for each engine of a device"), [this] { panel_->set_grouping(RowGrouping::kEngines); });
}

void TimelinePage::set_files(const std::vector<OpenFile>& files) {
  traces_.clear();
  std::copy_if(files.begin(), files.end(), std::back_inserter(traces_),
               [](const OpenFile& file) { return file.trace; });
  QStringList wanted = shown_;
  wanted.removeIf([&](const QString& path) {
    return std::none_of(traces_.begin(), traces_.end(), [&](const OpenFile& file) { return file.path == path; });
  });
  if (wanted.isEmpty() && !traces_.empty()) wanted = {traces_.back().path};
  show_traces(wanted);
  update_chooser();
  Q_EMIT state_changed();
}

void TimelinePage::show_files(const QStringList& paths) {
  const bool any =
      std::any_of(traces_.begin(), traces_.end(), [&](const OpenFile& file) { return paths.contains(file.path); });
  if (!any) return;  // a plan has no slices
  show_traces(paths);
  update_chooser();
}

/// Each trace, then all of them together where there are several.
void TimelinePage::update_chooser() {
  const QSignalBlocker block(chooser_);
  chooser_->clear();
  for (const OpenFile& file : traces_) chooser_->addItem(QFileInfo(file.path).fileName());
  if (traces_.size() > 1) chooser_->addItem(tr("All %1 traces").arg(traces_.size()));
  chooser_->setVisible(traces_.size() > 1);
  int current = shown_.size() == static_cast<qsizetype>(traces_.size()) ? chooser_->count() - 1 : -1;
  for (std::size_t i = 0; i < traces_.size() && shown_.size() == 1; ++i) {
    if (traces_[i].path == shown_.front()) current = static_cast<int>(i);
  }
  chooser_->setCurrentIndex(current);
}

void TimelinePage::choose(int index) {
  QStringList paths;
  for (std::size_t i = 0; i < traces_.size(); ++i) {
    const bool all = index >= static_cast<int>(traces_.size());
    if (all || index == static_cast<int>(i)) paths << traces_[i].path;
  }
  show_traces(paths);
}

void TimelinePage::show_traces(const QStringList& paths) {
  std::vector<OpenFile> files;
  std::vector<std::shared_ptr<const Trace>> traces;
  shown_.clear();
  for (const OpenFile& file : traces_) {
    if (!paths.contains(file.path)) continue;
    files.push_back(file);
    traces.push_back(file.trace);
    shown_ << file.path;
  }
  if (traces == shown_traces_) return;
  shown_traces_ = std::move(traces);
  if (files.empty()) {
    making_.cancel();
    panel_->set_timeline(nullptr);
    Q_EMIT state_changed();
    return;
  }
  const auto& before = panel_->view().timeline();
  making_.start([files = std::move(files), options = before ? before->options() : TimelineOptions()](
                    const CancelToken&) { return make_timeline(parts_of(files), options); },
                [this](TimelineWithCurves made) {
                  panel_->set_timeline(std::move(made.timeline), std::move(made.curves));
                  Q_EMIT state_changed();
                });
  Q_EMIT state_changed();
}

void TimelinePage::set_theme(const Theme& theme) { panel_->set_theme(theme); }

void TimelinePage::save(QSettings& settings) const {
  if (const auto colouring = panel_->colouring()) settings.setValue(kColouringSetting, qt(to_string(*colouring)));
}

void TimelinePage::restore(QSettings& settings) {
  const QString saved = settings.value(kColouringSetting).toString();
  for (const Colouring colouring : kColourings) {
    if (saved == qt(to_string(colouring))) panel_->set_colouring(colouring);
  }
}

std::vector<Shortcut> TimelinePage::shortcuts() const {
  std::vector<Shortcut> shortcuts;
  for (const TimelineShortcut& shortcut : timeline_shortcuts()) {
    shortcuts.push_back({QString::fromLatin1(shortcut.keys), QString::fromLatin1(shortcut.meaning)});
  }
  return shortcuts;
}

std::vector<QAction*> TimelinePage::commands() const { return commands_; }

bool TimelinePage::settled() const { return !making_.running() && panel_->settled(); }

}  // namespace cohort
