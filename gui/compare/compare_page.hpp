#pragma once

#include <memory>
#include <optional>
#include <vector>

#include "base/file.hpp"
#include "gui/compare/comparison_job.hpp"
#include "gui/compare/difference_model.hpp"
#include "gui/compare/named_prediction.hpp"
#include "gui/compare/pairing.hpp"
#include "gui/jobs/latest_job.hpp"
#include "gui/window/page.hpp"

class QComboBox;
class QLabel;
class QLineEdit;
class QPushButton;
class QSplitter;
class QStackedWidget;
class QTableView;

namespace cohort {

class CompareBar;
class ErrorLegendBar;
class SliceFlash;
class TimelinePanel;
class FigureStrip;

/// Predicted laid over measured: a timeline coloured by error, totals, and a table of the largest differences whose
/// rows lead to their slices.
class ComparePage : public Page {
  Q_OBJECT

 public:
  explicit ComparePage(QWidget* parent = nullptr);
  ~ComparePage() override;

  [[nodiscard]] QString title() const override { return tr("Compare"); }
  [[nodiscard]] PageState state() const override;
  void set_files(const std::vector<OpenFile>& files) override;
  void show_files(const QStringList& paths) override;
  void set_theme(const Theme& theme) override;
  void save(QSettings& settings) const override;
  void restore(QSettings& settings) override;
  [[nodiscard]] std::vector<Shortcut> shortcuts() const override;
  [[nodiscard]] std::vector<QAction*> commands() const override { return actions_; }
  [[nodiscard]] bool settled() const override;

  /// Compares two predictions that are no files, until files are chosen instead of one or both.
  void compare_predictions(const NamedPrediction& first, const NamedPrediction& second);
  /// Without colours and rows, which the timeline and the table have.
  [[nodiscard]] const ComparisonPicture& picture() const { return picture_; }
  [[nodiscard]] TimelinePanel& panel() { return *panel_; }
  /// The table as it is shown. Errors: those of writing a file.
  Result<void> export_differences(const QString& path, Overwrite overwrite) const;

 private:
  void build_table_area(QSplitter& splitter);
  void build_actions();
  void choose_likely_pair();
  void compare_chosen();
  void compare_traces(const PerSide<std::shared_ptr<const Trace>>& traces);
  void redraw();
  void show_picture(ComparisonPicture picture);
  void show_emptiness();
  void jump_to_row(const QModelIndex& index);
  void describe(std::optional<SliceRef> slice);
  void select_row_of(std::optional<SliceRef> slice);
  void ask_where_to_export();

  std::vector<OpenFile> files_;
  PerSide<std::shared_ptr<const Trace>> shown_;  ///< what is compared
  bool chosen_by_user_ = false;
  PerSide<std::optional<NamedPrediction>> predictions_;  ///< where a side shows none of the files
  bool dark_ = false;
  TimelineOptions timeline_options_{RowGrouping::kTracks, PartLayout::kOverlaid};
  ComparisonPicture picture_;

  QStackedWidget* stack_ = nullptr;
  QLabel* emptiness_ = nullptr;
  QPushButton* next_step_ = nullptr;
  CompareBar* bar_ = nullptr;
  FigureStrip* totals_ = nullptr;
  QLabel* notes_ = nullptr;
  TimelinePanel* panel_ = nullptr;
  SliceFlash* flash_ = nullptr;
  ErrorLegendBar* legend_ = nullptr;
  QLabel* slice_line_ = nullptr;
  QSplitter* splitter_ = nullptr;
  QComboBox* by_ = nullptr;
  QLineEdit* filter_text_ = nullptr;
  QLabel* count_ = nullptr;
  QTableView* table_ = nullptr;
  DifferenceModel* model_ = nullptr;
  DifferenceFilter* filter_ = nullptr;
  bool selecting_ = false;  ///< the table's choice follows the timeline's, or the other way round
  std::vector<QAction*> actions_;
  LatestJob<ComparisonPicture> job_;  ///< last: what runs refers to nothing of the page
};

}  // namespace cohort
