#pragma once

#include <memory>
#include <optional>
#include <vector>

#include "base/file.hpp"
#include "gui/compare/named_prediction.hpp"
#include "gui/explore/exploration_source.hpp"
#include "gui/jobs/latest_job.hpp"
#include "gui/window/page.hpp"
#include "view/compare/compared_slices.hpp"
#include "view/timeline/colours.hpp"
#include "view/timeline/curves.hpp"

class QComboBox;
class QLabel;
class QProgressBar;
class QPushButton;
class QSplitter;
class QStackedWidget;
class QTabWidget;

namespace cohort {

class ChartWidget;
class FigureStrip;
class PlanBoard;
class PlannerPanel;
class SettingsForm;
class TimelinePanel;

/// What the settings are predicted to do, ready to be drawn.
struct ExplorePicture {
  std::optional<ExploreAnswer> answer;  ///< absent where there is none
  std::string error;                    ///< then why
  std::shared_ptr<const Timeline> timeline;
  std::vector<TimelineCurve> curves;
};

/// The plan explorer: fields, sliders and boards whose every change is simulated at once, off the GUI thread, with the
/// timeline, speedup and its bounds, gain by cause, memory and doubts of the answer; and the planner's candidates.
class ExplorePage : public Page {
  Q_OBJECT

 public:
  /// The source must outlive the page.
  explicit ExplorePage(ExplorationSource& source, QWidget* parent = nullptr);
  ~ExplorePage() override;

  [[nodiscard]] QString title() const override { return tr("Explore"); }
  [[nodiscard]] PageState state() const override;
  void set_files(const std::vector<OpenFile>& files) override;
  void show_files(const QStringList& paths) override;
  void set_theme(const Theme& theme) override;
  void save(QSettings& settings) const override;
  void restore(QSettings& settings) override;
  [[nodiscard]] std::vector<QAction*> commands() const override { return actions_; }
  [[nodiscard]] bool settled() const override;

  [[nodiscard]] const ExplorePicture& picture() const { return picture_; }
  [[nodiscard]] bool simulating() const { return job_.running(); }
  [[nodiscard]] TimelinePanel& panel() { return *panel_; }
  [[nodiscard]] PlannerPanel& planner() { return *planner_; }

  /// Writes the plan of the answer and its predicted trace beside it, as `cohort plan` does. Errors: kUsage where there
  /// is no plan to write; those of PlanFiles::check() and PendingFiles.
  Result<void> save_plan(const QString& path, Overwrite overwrite);

 Q_SIGNALS:
  /// Two predictions to lay over each other.
  void comparison_asked(const cohort::NamedPrediction& first, const cohort::NamedPrediction& second);

 private:
  struct Comparison {
    PerSide<NamedPrediction> predictions;
    std::string error;
  };

  QWidget* make_left();
  QWidget* make_right();
  QWidget* make_charts();
  QWidget* make_bar();
  void connect_parts();
  void show_choices();
  void show_exploration();
  void clear_answer();
  void apply(ExploreSettings settings);
  void simulate();
  void show_picture(ExplorePicture picture);
  void show_timeline();
  void show_answer(const ExploreAnswer& answer);
  void show_line(const QString& text, bool trouble);
  void show_emptiness();
  void compare_two(const ExploreCandidate& first, const ExploreCandidate& second);
  [[nodiscard]] std::optional<QString> ask_where_to_save();
  void run_plan();

  ExplorationSource* source_;
  std::shared_ptr<Exploration> shown_;                    ///< whose fields are shown
  std::vector<std::shared_ptr<const Trace>> recordings_;  ///< of shown_
  ExplorePicture picture_;
  bool is_stale_ = false;  ///< the picture is of other settings than the fields
  QString saved_plan_;     ///< of the picture; empty while it is not saved

  QStackedWidget* stack_;
  QLabel* emptiness_;
  QProgressBar* opening_;
  QPushButton* start_;
  QComboBox* choice_;
  SettingsForm* form_;
  PlanBoard* board_;
  FigureStrip* figures_;
  QLabel* line_;
  QSplitter* columns_;
  QSplitter* rows_;
  TimelinePanel* panel_;
  QTabWidget* tabs_;
  PlannerPanel* planner_;
  ChartWidget* gain_;
  ChartWidget* memory_;
  QLabel* doubts_;
  QPushButton* recommend_;
  QPushButton* save_;
  QPushButton* run_;
  RowGrouping grouping_ = RowGrouping::kTracks;
  std::vector<QAction*> actions_;
  LatestJob<ExplorePicture> job_;
  LatestJob<Comparison> comparison_;
};

}  // namespace cohort
