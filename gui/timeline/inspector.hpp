#pragma once

#include <QTabWidget>
#include <memory>

#include "gui/jobs/latest_job.hpp"
#include "gui/timeline/timeline_view.hpp"
#include "view/timeline/aggregate.hpp"

class QLabel;
class QPushButton;
class QStackedWidget;
class QTableView;

namespace cohort {

class DetailsModel;
class MarksModel;
class NamesModel;
class RowsModel;

/// What is known of a view's chosen slice, the sums of its chosen area, and its marks, each on a tab that comes up when
/// there is something new on it.
class TimelineInspector : public QTabWidget {
  Q_OBJECT

 public:
  explicit TimelineInspector(TimelineView& view, QWidget* parent = nullptr);
  ~TimelineInspector() override;

  [[nodiscard]] const DetailsModel& details() const { return *details_; }
  [[nodiscard]] const NamesModel& names() const { return *names_; }
  [[nodiscard]] const RowsModel& rows() const { return *rows_; }
  [[nodiscard]] MarksModel& marks() { return *marks_; }
  /// False while sums are worked out.
  [[nodiscard]] bool settled() const { return !sums_.running(); }

 Q_SIGNALS:
  void settled_changed();

 private:
  QWidget* make_details();
  QWidget* make_area();
  QWidget* make_marks();
  void show_slice(std::optional<SliceRef> slice);
  void show_area(const std::optional<TimelineArea>& area);
  void show_totals(const AreaTotals& totals);
  void show_marks();
  void open_detail(int row);
  void copy_totals() const;
  void remove_marks();

  TimelineView& view_;
  DetailsModel* details_ = nullptr;
  NamesModel* names_ = nullptr;
  RowsModel* rows_ = nullptr;
  MarksModel* marks_ = nullptr;
  QTableView* details_table_ = nullptr;
  QTableView* names_table_ = nullptr;
  QTableView* marks_table_ = nullptr;
  QStackedWidget* details_stack_ = nullptr;
  QStackedWidget* area_stack_ = nullptr;
  QStackedWidget* marks_stack_ = nullptr;
  QLabel* summary_ = nullptr;
  AreaTotals totals_;
  LatestJob<AreaTotals> sums_;
};

}  // namespace cohort
