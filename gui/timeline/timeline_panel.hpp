#pragma once

#include <QWidget>
#include <memory>
#include <optional>
#include <vector>

#include "gui/jobs/latest_job.hpp"
#include "gui/timeline/timeline_view.hpp"
#include "gui/window/theme.hpp"
#include "view/timeline/curves.hpp"
#include "view/timeline/search.hpp"

class QComboBox;
class QHBoxLayout;
class QLabel;
class QLineEdit;
class QScrollBar;
class QSplitter;

namespace cohort {

class RowFinder;
class TimelineCurvesStrip;
class TimelineInspector;
class TimelineMinimap;
class TimelineTitles;

/// A timeline with its curves, which take longer to work out than all the rest.
struct TimelineWithCurves {
  std::shared_ptr<const Timeline> timeline;
  std::vector<TimelineCurve> curves;
};
/// Best called off the GUI thread.
TimelineWithCurves make_timeline(std::vector<TimelinePart> parts, const TimelineOptions& options);

/// A timeline with all that belongs to it: titles of rows, a map of the whole, curves, search, what is known of the
/// chosen slice, sums of an area, marks. Screens put it where they want a timeline.
class TimelinePanel : public QWidget {
  Q_OBJECT

 public:
  explicit TimelinePanel(QWidget* parent = nullptr);
  ~TimelinePanel() override;

  /// Shows a timeline with its curves, which may be empty; nothing where null.
  void set_timeline(std::shared_ptr<const Timeline> timeline, std::vector<TimelineCurve> curves = {});
  /// Colours given from outside, by part and SliceId, under a name for the chooser: "relative error". They are shown at
  /// once. Without colours: the chooser's own only.
  void set_given_colours(const QString& name, SliceColours colours);
  void set_theme(const Theme& theme);
  [[nodiscard]] TimelineView& view() { return *view_; }
  [[nodiscard]] const TimelineView& view() const { return *view_; }
  [[nodiscard]] TimelineInspector& inspector() { return *inspector_; }
  /// Places a widget of the screen's own at the right end of the bar on top.
  void add_to_bar(QWidget* widget);
  /// The same at the left end.
  void begin_bar_with(QWidget* widget);
  /// Whether the panel makes other rows itself, in the background, when they are asked for. Otherwise, as at first, it
  /// only says so, and whoever made the timeline makes another one.
  void set_regroups(bool regroups) { regroups_ = regroups; }
  /// The panes below the timeline; shown at first.
  void set_inspector_visible(bool visible);

  /// Stays for the timelines that come after; as the chooser does.
  void set_colouring(Colouring colouring);
  /// Absent where colours given from outside are shown.
  [[nodiscard]] std::optional<Colouring> colouring() const;
  /// Asks for other rows of the same traces, as the choosers do.
  void set_grouping(RowGrouping grouping);
  void set_layout(PartLayout layout);
  /// Finds slices in the background, chooses the first from what is in view on, and says how many there are.
  void search_for(const QString& text);
  void search_next();
  void search_previous();
  [[nodiscard]] const SearchResults& found() const { return results_; }
  void ask_for_search();
  void ask_for_row();
  /// False while work is under way whose end changes the picture.
  [[nodiscard]] bool settled() const;

 Q_SIGNALS:
  void settled_changed();
  /// Other rows are asked for, which the panel does not make itself.
  void grouping_changed(cohort::RowGrouping grouping);
  void layout_changed(cohort::PartLayout layout);

 protected:
  bool eventFilter(QObject* watched, QEvent* event) override;

 private:
  QHBoxLayout* make_bar();
  void make_search(QHBoxLayout* bar);
  QWidget* make_rows();
  void connect_view();
  void place_columns();
  void update_scroll_bar();
  void update_choosers();
  void choose_colouring(int index);
  void regroup(const TimelineOptions& options);
  void step_search(bool forward);
  void go_to(SliceRef slice);
  void say_found();

  TimelineView* view_ = nullptr;
  TimelineTitles* titles_ = nullptr;
  TimelineMinimap* minimap_ = nullptr;
  TimelineCurvesStrip* strip_ = nullptr;
  TimelineInspector* inspector_ = nullptr;
  RowFinder* finder_ = nullptr;
  QHBoxLayout* bar_ = nullptr;
  QComboBox* colouring_ = nullptr;
  QComboBox* grouping_ = nullptr;
  QComboBox* parts_layout_ = nullptr;
  QLineEdit* search_field_ = nullptr;
  QLabel* found_label_ = nullptr;
  QSplitter* columns_ = nullptr;
  QLabel* map_label_ = nullptr;
  QScrollBar* scroll_bar_ = nullptr;
  bool regroups_ = false;
  SliceColours given_colours_;
  QString searched_;
  SearchResults results_;
  LatestJob<SearchResults> search_;
  LatestJob<TimelineWithCurves> regrouping_;
};

}  // namespace cohort
