#include "gui/explore/exploration_source.hpp"

#include <QFileInfo>
#include <algorithm>
#include <utility>

namespace cohort {
namespace {

bool of_kind(const OpenFile& file, TraceKind kind) { return file.trace && file.trace->info.kind == kind; }

std::vector<ExplorationSource::Choice> choices_of(const std::vector<OpenFile>& files) {
  std::vector<ExplorationSource::Choice> choices;
  QStringList profiles;
  for (const OpenFile& file : files) {
    if (!of_kind(file, TraceKind::kProfile)) continue;
    choices.push_back({QFileInfo(file.path).fileName(), {file.path}});
    profiles << file.path;
  }
  if (profiles.size() > 1) {
    choices.push_back({QObject::tr("all %1 profiles together").arg(profiles.size()), profiles});
  }
  for (const OpenFile& file : files) {
    if (of_kind(file, TraceKind::kRecorded)) choices.push_back({QFileInfo(file.path).fileName(), {file.path}});
  }
  return choices;
}

}  // namespace

ExplorationSource::ExplorationSource(QObject* parent, Opener opener) : QObject(parent), opener_(std::move(opener)) {
  if (opener_) return;
  opener_ = [](std::vector<NamedTrace> traces, const CancelToken& cancel) {
    return Exploration::open(std::move(traces), {}, cancel);
  };
}

ExplorationSource::~ExplorationSource() = default;

QString ExplorationSource::emptiness(const QString& nothing_yet) const {
  if (opening()) return tr("<h3>Making the profile ready</h3>");
  if (error_.isEmpty()) return nothing_yet;
  return tr("<h3>This cannot be explored</h3><p>%1</p>").arg(error_.toHtmlEscaped());
}

void ExplorationSource::set_files(const std::vector<OpenFile>& files) {
  const auto same = [](const OpenFile& a, const OpenFile& b) {
    return a.path == b.path && a.trace == b.trace && a.plan == b.plan;
  };
  if (std::equal(files.begin(), files.end(), files_.begin(), files_.end(), same)) return;
  const QStringList before = chosen_ >= 0 ? choices_[static_cast<std::size_t>(chosen_)].paths : QStringList();
  files_ = files;
  choices_ = choices_of(files);
  const auto again = choice_of(before);
  // What is looked at already stays.
  chosen_ = again.value_or(choices_.empty() ? -1 : 0);
  Q_EMIT choices_changed();
  open();
  follow_plans();
}

std::optional<int> ExplorationSource::choice_of(const QStringList& paths) const {
  const auto found =
      std::find_if(choices_.begin(), choices_.end(), [&](const Choice& choice) { return choice.paths == paths; });
  if (found == choices_.end()) return std::nullopt;
  return static_cast<int>(found - choices_.begin());
}

void ExplorationSource::choose(int choice) {
  if (choice == chosen_ || choice < 0 || choice >= static_cast<int>(choices_.size())) return;
  chosen_ = choice;
  Q_EMIT choices_changed();
  open();
}

void ExplorationSource::open() {
  std::vector<NamedTrace> traces;
  std::vector<std::shared_ptr<const Trace>> wanted;
  std::vector<std::shared_ptr<const Trace>> recordings;
  if (chosen_ >= 0) {
    const QStringList& paths = choices_[static_cast<std::size_t>(chosen_)].paths;
    bool of_profiles = false;
    for (const OpenFile& file : files_) {
      if (!paths.contains(file.path)) continue;
      of_profiles = of_profiles || of_kind(file, TraceKind::kProfile);
      traces.push_back({file.path.toStdString(), file.trace});
    }
    for (const NamedTrace& trace : traces) recordings.push_back(trace.trace);
    // What was measured becomes points of the scaling chart.
    for (const OpenFile& file : files_) {
      if (of_profiles && of_kind(file, TraceKind::kMeasured)) traces.push_back({file.path.toStdString(), file.trace});
    }
    for (const NamedTrace& trace : traces) wanted.push_back(trace.trace);
  }
  if (wanted == opened_ && (exploration_ || opening())) return;
  const QStringList paths = chosen_ < 0 ? QStringList() : choices_[static_cast<std::size_t>(chosen_)].paths;
  opened_ = wanted;
  job_.cancel();
  // With another measurement beside it, a profile is explored on until that can be shown as well.
  const bool goes_on = exploration_ && !recordings.empty() && recordings == recordings_;
  recordings_ = std::move(recordings);
  if (!goes_on) exploration_.reset();
  error_.clear();
  if (!traces.empty()) {
    job_.start(
        [opener = opener_, traces = std::move(traces)](const CancelToken& cancel) { return opener(traces, cancel); },
        [this, paths](Result<std::unique_ptr<Exploration>> result) {
          if (result) {
            exploration_ = std::move(*result);
            // Of the same files with more beside them, or read anew: what was set for them holds.
            const bool is_same = std::exchange(opened_paths_, paths) == paths && settings_ != first_settings_;
            first_settings_ = first_settings();
            if (!is_same || !exploration_->problems(settings_).empty()) settings_ = first_settings_;
          } else {
            exploration_.reset();
            error_ = QString::fromStdString(result.error().message);
          }
          Q_EMIT exploration_changed();
        });
  }
  Q_EMIT exploration_changed();
}

ExploreSettings ExplorationSource::first_settings() const {
  if (!exploration_) return {};
  for (auto file = files_.rbegin(); file != files_.rend(); ++file) {
    if (!file->plan) continue;
    if (auto settings = exploration_->settings_of(*file->plan)) return std::move(*settings);
  }
  return exploration_->first_settings();
}

/// A plan that is opened after its profile is shown as one that was opened with it, unless something was changed
/// before.
void ExplorationSource::follow_plans() {
  if (!exploration_ || settings_ != first_settings_) return;
  first_settings_ = first_settings();
  set_settings(first_settings_);
}

void ExplorationSource::set_settings(ExploreSettings settings) {
  if (settings == settings_) return;
  settings_ = std::move(settings);
  Q_EMIT settings_changed();
}

}  // namespace cohort
