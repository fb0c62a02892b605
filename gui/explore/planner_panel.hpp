#pragma once

#include <QWidget>
#include <memory>
#include <vector>

#include "gui/explore/answer_figures.hpp"
#include "gui/explore/candidate_model.hpp"
#include "gui/jobs/latest_job.hpp"
#include "view/explore/exploration.hpp"

class QComboBox;
class QLabel;
class QProgressBar;
class QPushButton;
class QSortFilterProxyModel;
class QTableView;

namespace cohort {

class ChartWidget;

/// The planner: searches on demand, draws what it found as points of throughput against memory or latency, and lists
/// it. A point or row leads to its settings; two can be compared.
class PlannerPanel : public QWidget {
  Q_OBJECT

 public:
  explicit PlannerPanel(QWidget* parent = nullptr);
  ~PlannerPanel() override;

  /// What is searched: another one empties the panel.
  /// What was found is kept where the new one is `of_same_recordings`.
  void set_exploration(std::shared_ptr<Exploration> exploration, bool of_same_recordings = false);
  /// Members, input and limits of the search. What was found for others says so.
  void set_settings(const ExploreSettings& settings);
  /// Chooses the best of what it finds, unless settings have changed by then.
  void recommend();
  /// What was found by then is shown.
  void stop();
  [[nodiscard]] bool running() const { return job_.running(); }
  [[nodiscard]] const std::optional<Recommendation>& found() const { return found_; }
  [[nodiscard]] ChartWidget& chart() { return *chart_; }

 Q_SIGNALS:
  void candidate_chosen(const cohort::ExploreSettings& settings);
  void comparison_asked(const cohort::ExploreCandidate& first, const cohort::ExploreCandidate& second);
  void running_changed();
  void failed(const QString& message);

 private:
  QWidget* make_list();
  void show_progress(std::size_t done, std::size_t of, const QString& what);
  void show_result(Result<Recommendation> result);
  void show_state();
  void draw_chart();
  void show_candidate(std::size_t candidate);
  [[nodiscard]] std::vector<std::size_t> chosen_candidates() const;

  std::shared_ptr<Exploration> exploration_;
  ExploreSettings settings_;
  ExploreSettings searching_;  ///< of the search that runs, or ran last
  ExploreSettings searched_;   ///< of what was found
  std::optional<Recommendation> found_;
  std::vector<std::size_t> points_;  ///< candidate of each point of the chart

  QPushButton* recommend_;
  QComboBox* objective_;
  QProgressBar* progress_;
  QLabel* line_;  ///< what is going on, or what the candidate pointed at is
  QComboBox* across_;
  ChartWidget* chart_;
  CandidateModel* model_;
  QSortFilterProxyModel* sorted_;
  QTableView* table_;
  QPushButton* show_;
  QPushButton* compare_;
  LatestJob<Result<Recommendation>> job_;
};

}  // namespace cohort
