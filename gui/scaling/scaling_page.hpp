#pragma once

#include "gui/explore/exploration_source.hpp"
#include "gui/jobs/latest_job.hpp"
#include "gui/window/page.hpp"
#include "view/chart/chart.hpp"

class QLabel;
class QLineEdit;
class QProgressBar;
class QPushButton;
class QStackedWidget;

namespace cohort {

class ChartWidget;

/// How the speedup grows with the number of models, for each way to run them, with what was measured on top.
class ScalingPage : public Page {
  Q_OBJECT

 public:
  /// The source must outlive the page.
  explicit ScalingPage(ExplorationSource& source, QWidget* parent = nullptr);
  ~ScalingPage() override;

  [[nodiscard]] QString title() const override { return tr("Scaling"); }
  [[nodiscard]] PageState state() const override;
  void set_files(const std::vector<OpenFile>& files) override;
  [[nodiscard]] bool settled() const override;
  [[nodiscard]] std::vector<QAction*> commands() const override { return actions_; }

  [[nodiscard]] const std::optional<Scaling>& scaling() const { return scaling_; }
  [[nodiscard]] ChartWidget& chart() { return *chart_; }
  void start();

 protected:
  void showEvent(QShowEvent* event) override;

 private:
  void show_exploration();
  void show_settings();
  void show_progress(std::size_t done, std::size_t of, const QString& what);
  void show_result(Result<Scaling> result);
  void show_state();
  void choose_point(std::size_t series, std::size_t index);

  ExplorationSource* source_;
  std::shared_ptr<Exploration> shown_;
  std::optional<Scaling> scaling_;
  ExploreSettings followed_;  ///< what the curves were asked with, or are being
  bool wanted_ = false;       ///< to be followed as soon as the page is seen
  QStackedWidget* stack_;
  QLabel* emptiness_;
  QLabel* of_;
  QLineEdit* numbers_;
  QPushButton* start_;
  QProgressBar* progress_;
  QLabel* line_;
  ChartWidget* chart_;
  QLabel* missing_;
  std::vector<QAction*> actions_;
  LatestJob<Result<Scaling>> job_;
};

/// "1, 2, 4, 8-10" as ascending numbers; absent where it is not of this form or a number is not from 1 to `most`.
std::optional<std::vector<int>> numbers_from(const QString& text, int most);
/// The ways as curves of the chart, in their order.
Chart chart_of(const Scaling& scaling);

}  // namespace cohort
