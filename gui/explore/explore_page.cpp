#include "gui/explore/explore_page.hpp"

#include <QAction>
#include <QComboBox>
#include <QFileDialog>
#include <QFileInfo>
#include <QLabel>
#include <QProgressBar>
#include <QPushButton>
#include <QSettings>
#include <QSignalBlocker>
#include <QSplitter>
#include <QStackedWidget>
#include <QTabWidget>
#include <algorithm>
#include <utility>

#include "gui/chart/chart_widget.hpp"
#include "gui/explore/answer_figures.hpp"
#include "gui/explore/plan_board.hpp"
#include "gui/explore/planner_panel.hpp"
#include "gui/explore/settings_form.hpp"
#include "gui/figures/figure_strip.hpp"
#include "gui/timeline/timeline_panel.hpp"
#include "gui/window/qt_text.hpp"
#include "planning/plan_files.hpp"
#include "view/chart/plan_charts.hpp"

namespace cohort {
namespace {

ExplorePicture draw(Exploration& exploration, const ExploreSettings& settings, RowGrouping grouping,
                    const CancelToken& cancel) {
  ExplorePicture picture;
  auto answer = exploration.predict(settings, cancel);
  if (!answer) {
    picture.error = answer.error().message;
    return picture;
  }
  if (cancel.cancelled()) return picture;
  picture.timeline = std::make_shared<const Timeline>(std::vector<TimelinePart>{{answer->trace, Nanoseconds(0), ""}},
                                                      TimelineOptions{grouping, PartLayout::kStacked});
  if (cancel.cancelled()) return picture;
  picture.curves = timeline_curves(*picture.timeline);
  picture.answer = std::move(*answer);
  return picture;
}

}  // namespace

PageState ExplorePage::state() const {
  if (source_->choices().empty()) {
    return {false, tr("Profile a model, or open a profile or a trace of a run, to explore what batching it gains.")};
  }
  if (!source_->exploration())
    return {true, source_->opening() ? tr("The profile is being made ready.") : source_->error()};
  if (source_->exploration()->facts().kind == ExploreFacts::Kind::kTraces) {
    return {true, tr("Change the fields and see what several such runs at once gain, or let the planner recommend a "
                     "way; a plan to run takes a profile.")};
  }
  return {true,
          tr("Change the fields and see what a plan gains, or let the planner recommend one; then save or run it.")};
}

bool ExplorePage::settled() const {
  return !source_->opening() && !job_.running() && !planner_->running() && !comparison_.running() && panel_->settled();
}

void ExplorePage::set_files(const std::vector<OpenFile>& files) { source_->set_files(files); }

void ExplorePage::show_files(const QStringList& paths) {
  if (const auto choice = source_->choice_of(paths)) {
    source_->choose(*choice);
    return;
  }
  for (const QString& path : paths) {
    if (const auto choice = source_->choice_of({path})) source_->choose(*choice);
  }
  for (const OpenFile& file : source_->files()) {
    if (!file.plan || !shown_ || !paths.contains(file.path)) continue;
    auto settings = shown_->settings_of(*file.plan);
    if (settings) {
      apply(std::move(*settings));
    } else {
      Q_EMIT failed(tr("%1: %2").arg(QFileInfo(file.path).fileName(), qt(settings.error().message)));
    }
  }
}

void ExplorePage::show_choices() {
  const QSignalBlocker blocker(choice_);
  choice_->clear();
  for (const ExplorationSource::Choice& choice : source_->choices()) {
    choice_->addItem(choice.title);
    choice_->setItemData(choice_->count() - 1, choice.paths.join('\n'), Qt::ToolTipRole);
  }
  choice_->setCurrentIndex(source_->chosen());
}

void ExplorePage::show_exploration() {
  if (source_->exploration() == shown_ && shown_) return;
  job_.cancel();
  comparison_.cancel();
  const bool is_same = shown_ && source_->exploration() && source_->recordings() == recordings_;
  shown_ = source_->exploration();
  recordings_ = source_->recordings();
  picture_ = {};
  if (!is_same) clear_answer();
  planner_->set_exploration(shown_, is_same);
  show_choices();
  if (!shown_) {
    show_emptiness();
    return;
  }
  stack_->setCurrentIndex(1);
  const bool profiles = shown_->facts().kind == ExploreFacts::Kind::kProfiles;
  board_->setVisible(profiles);
  form_->set_facts(shown_->facts());
  apply(source_->settings());
  Q_EMIT state_changed();
}

/// What is told of another file may not stand below this one's name.
void ExplorePage::clear_answer() {
  figures_->set_figures({});
  gain_->set_chart({});
  memory_->set_chart({});
  doubts_->clear();
  panel_->set_timeline(nullptr);
}

void ExplorePage::show_emptiness() {
  stack_->setCurrentIndex(0);
  opening_->setVisible(source_->opening());
  start_->setVisible(source_->choices().empty());
  emptiness_->setText(source_->emptiness(
      tr("<h3>Nothing to explore yet</h3><p>Open a profile to plan a batch of its model, or a trace of a run to see "
         "what running it many times at once would do.<br>Without a file, profile a model here first.</p>")));
  Q_EMIT state_changed();
}

void ExplorePage::apply(ExploreSettings settings) {
  if (!shown_) return;
  form_->set_settings(settings);
  board_->set_plan(shown_->facts(), settings);
  planner_->set_settings(settings);
  source_->set_settings(std::move(settings));
  simulate();
}

void ExplorePage::simulate() {
  if (!shown_) return;
  const ExploreSettings& settings = form_->settings();
  const std::vector<SettingsProblem> problems = shown_->problems(settings);
  form_->show_problems(problems);
  is_stale_ = true;
  saved_plan_.clear();
  save_->setEnabled(false);
  run_->setEnabled(false);
  if (!problems.empty()) {
    job_.cancel();
    show_line(tr("These settings cannot be predicted: %1").arg(qt(problems.front().why)), true);
    Q_EMIT state_changed();
    return;
  }
  show_line(tr("Simulating…"), false);
  job_.start([exploration = shown_, settings, grouping = grouping_](
                 const CancelToken& cancel) { return draw(*exploration, settings, grouping, cancel); },
             [this](ExplorePicture picture) { show_picture(std::move(picture)); });
  Q_EMIT state_changed();
}

void ExplorePage::show_line(const QString& text, bool trouble) {
  line_->setText(trouble ? QStringLiteral("<b>%1</b>").arg(text.toHtmlEscaped()) : text.toHtmlEscaped());
  line_->setToolTip(text);
  figures_->setEnabled(!is_stale_ || !trouble);
}

void ExplorePage::show_picture(ExplorePicture picture) {
  picture_ = std::move(picture);
  if (!picture_.answer) {
    show_line(qt(picture_.error), true);
    Q_EMIT state_changed();
    return;
  }
  is_stale_ = false;
  show_line({}, false);
  show_answer(*picture_.answer);
  show_timeline();
  const bool has_plan = picture_.answer->plan.has_value();
  save_->setEnabled(has_plan);
  run_->setEnabled(has_plan);
  if (!has_plan) save_->setToolTip(tr("A trace of a run makes no plan: profile the model to get one"));
  Q_EMIT state_changed();
}

void ExplorePage::show_timeline() {
  TimelineView& view = panel_->view();
  const TimeWindow range = view.visible_range();
  // What was zoomed in on stays in view, so that a change is seen there.
  const bool zoomed = view.timeline() && range.length() < view.timeline()->window().length() &&
                      range.end <= picture_.timeline->window().end;
  panel_->set_timeline(picture_.timeline, picture_.curves);
  if (zoomed) view.set_visible_range(range);
}

void ExplorePage::show_answer(const ExploreAnswer& answer) {
  figures_->set_figures(answer_figures(answer));
  doubts_->setText(QStringLiteral("<h4>%1</h4>%2").arg(tr("How sure this is"), answer_notes(answer)));
  const std::vector<PlanGain> gain{{"this plan", answer.report.gain}};
  form_->suggest_limits({answer.report.memory.total(), answer.report.memory.workspace});
  Chart gain_by_cause = gain_chart(gain);
  gain_by_cause.if_empty = "One after another gains nothing; change a strategy, or let the planner recommend one.";
  gain_->set_chart(std::move(gain_by_cause));
  const std::vector<NamedMemory> memory{{"this plan", answer.report.memory}};
  memory_->set_chart(memory_chart(memory, answer.memory_limit));
}

void ExplorePage::compare_two(const ExploreCandidate& first, const ExploreCandidate& second) {
  if (!shown_) return;
  comparison_.start(
      [exploration = shown_, first, second](const CancelToken& cancel) {
        Comparison comparison;
        for (const auto& [side, candidate] : {std::pair(0U, &first), std::pair(1U, &second)}) {
          auto answer = exploration->predict(candidate->settings, cancel);
          if (!answer) {
            comparison.error = answer.error().message;
            return comparison;
          }
          comparison.predictions[side] = {qt(candidate->name), answer->trace};
        }
        return comparison;
      },
      [this](const Comparison& comparison) {
        Q_EMIT state_changed();
        if (!comparison.error.empty()) {
          Q_EMIT failed(qt(comparison.error));
          return;
        }
        Q_EMIT comparison_asked(comparison.predictions[0], comparison.predictions[1]);
      });
}

Result<void> ExplorePage::save_plan(const QString& path, Overwrite overwrite) {
  if (is_stale_ || !picture_.answer || !picture_.answer->plan) {
    return fail(ErrorCode::kUsage, "there is no plan to save: settings must have been predicted");
  }
  const PlanFiles files = PlanFiles::of(path.toStdString());
  COHORT_CHECK(files.check(overwrite));
  PendingFiles pending(overwrite);
  COHORT_CHECK(files.add(*picture_.answer->plan, *picture_.answer->trace, pending));
  COHORT_CHECK(pending.commit());
  saved_plan_ = path;
  return {};
}

std::optional<QString> ExplorePage::ask_where_to_save() {
  if (is_stale_ || !picture_.answer || !picture_.answer->plan) return std::nullopt;
  QFileDialog dialog(this, tr("Save the plan"));
  dialog.setAcceptMode(QFileDialog::AcceptSave);
  dialog.setNameFilter(tr("Plans (*.plan.json)"));
  dialog.setDefaultSuffix(QStringLiteral("plan.json"));
  dialog.selectFile(qt(shown_->facts().name) + QStringLiteral(".plan.json"));
  if (dialog.exec() != QDialog::Accepted || dialog.selectedFiles().isEmpty()) return std::nullopt;
  const QString path = dialog.selectedFiles().front();
  // The dialog asks about the plan's file, not about the trace beside it.
  const QString trace = QString::fromStdString(PlanFiles::of(path.toStdString()).predicted.string());
  const auto allowed = !QFileInfo::exists(path) && QFileInfo::exists(trace) ? Overwrite::kNever : Overwrite::kAllow;
  if (const auto saved = save_plan(path, allowed); !saved) {
    Q_EMIT failed(qt(saved.error().message));
    return std::nullopt;
  }
  is_stale_ = false;
  show_line(tr("Saved %1").arg(path), false);
  return path;
}

void ExplorePage::run_plan() {
  QString path = saved_plan_;
  if (path.isEmpty()) {
    const auto saved = ask_where_to_save();
    if (!saved) return;
    path = *saved;
  }
  Q_EMIT requested(
      {PageId::kRun, {path, QString::fromStdString(PlanFiles::of(path.toStdString()).predicted.string())}});
}

void ExplorePage::set_theme(const Theme& theme) { panel_->set_theme(theme); }

void ExplorePage::save(QSettings& settings) const {
  settings.setValue("columns", columns_->saveState());
  settings.setValue("rows", rows_->saveState());
  settings.setValue("tab", tabs_->currentIndex());
}

void ExplorePage::restore(QSettings& settings) {
  if (settings.contains("columns")) columns_->restoreState(settings.value("columns").toByteArray());
  if (settings.contains("rows")) rows_->restoreState(settings.value("rows").toByteArray());
  tabs_->setCurrentIndex(std::clamp(settings.value("tab", 0).toInt(), 0, tabs_->count() - 1));
}

}  // namespace cohort
