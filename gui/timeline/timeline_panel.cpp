#include "gui/timeline/timeline_panel.hpp"

#include <QComboBox>
#include <QHBoxLayout>
#include <QKeyEvent>
#include <QLabel>
#include <QLineEdit>
#include <QScrollBar>
#include <QSignalBlocker>
#include <QSplitter>
#include <QToolButton>
#include <QVBoxLayout>

#include "gui/timeline/curves_strip.hpp"
#include "gui/timeline/inspector.hpp"
#include "gui/timeline/minimap.hpp"
#include "gui/timeline/row_finder.hpp"
#include "gui/timeline/titles.hpp"
#include "gui/window/qt_text.hpp"

namespace cohort {
namespace {

constexpr int kTitleWidth = 210;
constexpr int kInspectorHeight = 190;

}  // namespace

TimelineWithCurves make_timeline(std::vector<TimelinePart> parts, const TimelineOptions& options) {
  TimelineWithCurves made;
  made.timeline = std::make_shared<const Timeline>(std::move(parts), options);
  made.curves = timeline_curves(*made.timeline);
  return made;
}

TimelinePanel::TimelinePanel(QWidget* parent) : QWidget(parent), view_(new TimelineView) {
  titles_ = new TimelineTitles(*view_);
  minimap_ = new TimelineMinimap(*view_);
  strip_ = new TimelineCurvesStrip(*view_);
  inspector_ = new TimelineInspector(*view_);
  auto* layout = new QVBoxLayout(this);
  layout->setContentsMargins(0, 0, 0, 0);
  layout->setSpacing(0);
  layout->addLayout(make_bar());
  auto* panes = new QSplitter(Qt::Vertical);
  panes->addWidget(make_rows());
  panes->addWidget(inspector_);
  panes->setStretchFactor(0, 1);
  panes->setSizes({3 * kInspectorHeight, kInspectorHeight});
  panes->setCollapsible(0, false);
  layout->addWidget(panes, 1);
  finder_ = new RowFinder(this);
  setFocusProxy(view_);
  connect_view();
  strip_->set_curves({});
  update_choosers();
}

TimelinePanel::~TimelinePanel() = default;

QHBoxLayout* TimelinePanel::make_bar() {
  bar_ = new QHBoxLayout;
  bar_->setContentsMargins(8, 4, 8, 4);
  bar_->setSpacing(6);
  const auto add_chooser = [&](const QString& what) {
    auto* label = new QLabel(what);
    auto* chooser = new QComboBox;
    label->setBuddy(chooser);
    chooser->setAccessibleName(what);
    chooser->setFocusPolicy(Qt::TabFocus);
    chooser->setSizeAdjustPolicy(QComboBox::AdjustToContents);
    bar_->addWidget(label);
    bar_->addWidget(chooser);
    return chooser;
  };
  colouring_ = add_chooser(tr("Colour by"));
  for (const Colouring colouring : kColourings) colouring_->addItem(qt(to_string(colouring)));
  connect(colouring_, &QComboBox::currentIndexChanged, this, &TimelinePanel::choose_colouring);
  grouping_ = add_chooser(tr("Rows by"));
  grouping_->addItems({tr("stream and thread"), tr("member"), tr("engine")});
  connect(grouping_, &QComboBox::activated, this, [this](int i) { set_grouping(static_cast<RowGrouping>(i)); });
  parts_layout_ = add_chooser(tr("Traces"));
  parts_layout_->addItems({tr("one below the other"), tr("row by row")});
  connect(parts_layout_, &QComboBox::activated, this, [this](int i) { set_layout(static_cast<PartLayout>(i)); });
  bar_->addStretch(1);
  make_search(bar_);
  return bar_;
}

void TimelinePanel::make_search(QHBoxLayout* bar) {
  found_label_ = new QLabel;
  bar->addWidget(found_label_);
  search_field_ = new QLineEdit;
  search_field_->setPlaceholderText(tr("Search  ( / )"));
  search_field_->setToolTip(tr("A part of a name or of an argument, or key=value: \"stream=7\""));
  search_field_->setAccessibleName(tr("Search slices"));
  search_field_->setClearButtonEnabled(true);
  search_field_->setMinimumWidth(150);
  search_field_->setMaximumWidth(260);
  search_field_->installEventFilter(this);
  bar->addWidget(search_field_, 2);
  connect(search_field_, &QLineEdit::textChanged, this, [this](const QString& text) {
    if (text.isEmpty()) search_for(text);
  });
  const auto add_button = [&](Qt::ArrowType arrow, const QString& tip, void (TimelinePanel::*act)()) {
    auto* button = new QToolButton;
    button->setArrowType(arrow);
    button->setToolTip(tip);
    button->setAccessibleName(tip);
    button->setAutoRaise(true);
    connect(button, &QToolButton::clicked, this, act);
    bar->addWidget(button);
  };
  add_button(Qt::LeftArrow, tr("The one before (Shift+Enter)"), &TimelinePanel::search_previous);
  add_button(Qt::RightArrow, tr("The next one (Enter)"), &TimelinePanel::search_next);
}

QWidget* TimelinePanel::make_rows() {
  auto* rows = new QWidget;
  auto* layout = new QVBoxLayout(rows);
  layout->setContentsMargins(0, 0, 0, 0);
  layout->setSpacing(0);
  auto* map = new QHBoxLayout;
  map->setSpacing(0);
  map_label_ = new QLabel;
  map_label_->setEnabled(false);
  map_label_->setContentsMargins(6, 0, 6, 0);
  map->addWidget(map_label_);
  map->addWidget(minimap_, 1);
  scroll_bar_ = new QScrollBar(Qt::Vertical);
  map->addSpacing(scroll_bar_->sizeHint().width());
  layout->addLayout(map);
  auto* curves = new QHBoxLayout;
  curves->setSpacing(0);
  curves->addWidget(strip_, 1);
  curves->addSpacing(scroll_bar_->sizeHint().width());
  layout->addLayout(curves);
  auto* below = new QHBoxLayout;
  below->setSpacing(0);
  columns_ = new QSplitter;
  columns_->addWidget(titles_);
  columns_->addWidget(view_);
  columns_->setStretchFactor(1, 1);
  columns_->setSizes({kTitleWidth, 1000});
  columns_->setCollapsible(1, false);
  columns_->setHandleWidth(1);
  connect(columns_, &QSplitter::splitterMoved, this, &TimelinePanel::place_columns);
  below->addWidget(columns_, 1);
  below->addWidget(scroll_bar_);
  layout->addLayout(below, 1);
  return rows;
}

void TimelinePanel::connect_view() {
  view_->installEventFilter(this);
  connect(scroll_bar_, &QScrollBar::valueChanged, view_, &TimelineView::set_scroll);
  connect(view_, &TimelineView::scrolled, this, &TimelinePanel::update_scroll_bar);
  connect(view_, &TimelineView::rows_changed, this, &TimelinePanel::update_scroll_bar);
  connect(view_, &TimelineView::search_requested, this, &TimelinePanel::ask_for_search);
  connect(view_, &TimelineView::track_requested, this, &TimelinePanel::ask_for_row);
  connect(view_, &TimelineView::slice_selected, this, &TimelinePanel::say_found);
  connect(inspector_, &TimelineInspector::settled_changed, this, &TimelinePanel::settled_changed);
  connect(finder_, &RowFinder::closed, view_, qOverload<>(&QWidget::setFocus));
  connect(finder_, &RowFinder::chosen, this, [this](RowId row) {
    view_->reveal_row(row);
    view_->select_area(TimelineArea{view_->visible_range(), {row}});
  });
}

void TimelinePanel::set_timeline(std::shared_ptr<const Timeline> timeline, std::vector<TimelineCurve> curves) {
  regrouping_.cancel();
  search_.cancel();
  results_ = {};
  searched_.clear();
  given_colours_.clear();
  finder_->forget();
  view_->set_timeline(std::move(timeline));
  strip_->set_curves(std::move(curves));
  update_choosers();
  if (colouring() != Colouring::kOpType) choose_colouring(colouring_->currentIndex());
  say_found();
  Q_EMIT settled_changed();
}

void TimelinePanel::update_choosers() {
  const QSignalBlocker block_colours(colouring_);
  if (!colouring()) colouring_->setCurrentIndex(0);
  while (colouring_->count() > static_cast<int>(std::size(kColourings)))
    colouring_->removeItem(colouring_->count() - 1);
  const auto& timeline = view_->timeline();
  const bool several = timeline && timeline->parts().size() > 1;
  parts_layout_->setVisible(several);
  for (int i = 0; i < bar_->count(); ++i) {
    auto* label = qobject_cast<QLabel*>(bar_->itemAt(i)->widget());
    if (label != nullptr && label->buddy() == parts_layout_) label->setVisible(several);
  }
  map_label_->clear();
  if (!timeline) return;
  map_label_->setText(tr("%1, %2 slices").arg(qt(format_time(timeline->window().length()))).arg(timeline->slices()));
  grouping_->setCurrentIndex(static_cast<int>(timeline->options().grouping));
  parts_layout_->setCurrentIndex(static_cast<int>(timeline->options().layout));
}

void TimelinePanel::set_given_colours(const QString& name, SliceColours colours) {
  update_choosers();
  given_colours_ = std::move(colours);
  if (given_colours_.empty()) {
    choose_colouring(colouring_->currentIndex());
    return;
  }
  const QSignalBlocker block(colouring_);
  colouring_->addItem(name);
  colouring_->setCurrentIndex(colouring_->count() - 1);
  choose_colouring(colouring_->count() - 1);
}

void TimelinePanel::choose_colouring(int index) {
  if (!view_->timeline() || index < 0) return;
  const bool own = index < static_cast<int>(std::size(kColourings));
  view_->set_colours(own ? colour_slices(*view_->timeline(), kColourings[index]) : given_colours_);
}

void TimelinePanel::set_colouring(Colouring colouring) {
  const int index =
      static_cast<int>(std::find(std::begin(kColourings), std::end(kColourings), colouring) - kColourings);
  colouring_->setCurrentIndex(index);
  choose_colouring(index);
}

std::optional<Colouring> TimelinePanel::colouring() const {
  const auto index = static_cast<std::size_t>(std::max(0, colouring_->currentIndex()));
  return index < std::size(kColourings) ? std::optional(kColourings[index]) : std::nullopt;
}

void TimelinePanel::set_grouping(RowGrouping grouping) {
  if (!view_->timeline()) return;
  TimelineOptions options = view_->timeline()->options();
  options.grouping = grouping;
  regroups_ ? regroup(options) : Q_EMIT grouping_changed(grouping);
}

void TimelinePanel::set_layout(PartLayout layout) {
  if (!view_->timeline()) return;
  TimelineOptions options = view_->timeline()->options();
  options.layout = layout;
  regroups_ ? regroup(options) : Q_EMIT layout_changed(layout);
}

/// The same slices on other rows: what was chosen and seen stays.
void TimelinePanel::regroup(const TimelineOptions& options) {
  const auto parts = view_->timeline()->parts();
  regrouping_.start([parts = std::vector<TimelinePart>(parts.begin(), parts.end()),
                     options](const CancelToken&) { return make_timeline(parts, options); },
                    [this](TimelineWithCurves made) {
                      const TimeWindow range = view_->visible_range();
                      const auto selected = view_->selected();
                      const TimeMarks marks = view_->marks();
                      const SliceColours colours = view_->colours();
                      const int colouring = colouring_->currentIndex();
                      SliceColours given = std::move(given_colours_);
                      const QString name = colouring_->itemText(colouring_->count() - 1);
                      const SearchResults results = std::move(results_);
                      const QString searched = searched_;
                      set_timeline(std::move(made.timeline), std::move(made.curves));
                      if (!given.empty()) set_given_colours(name, std::move(given));
                      const QSignalBlocker block(colouring_);
                      colouring_->setCurrentIndex(colouring);
                      view_->set_colours(colours);
                      results_ = results;
                      searched_ = searched;
                      view_->set_marks(marks);
                      view_->select(selected);
                      if (selected) view_->reveal(*selected);
                      view_->set_visible_range(range);
                    });
  Q_EMIT settled_changed();
}

void TimelinePanel::set_theme(const Theme& theme) {
  view_->set_look(look_of(theme));
  for (QWidget* widget :
       {static_cast<QWidget*>(titles_), static_cast<QWidget*>(minimap_), static_cast<QWidget*>(strip_)}) {
    widget->update();
  }
}

void TimelinePanel::add_to_bar(QWidget* widget) { bar_->addWidget(widget); }

void TimelinePanel::begin_bar_with(QWidget* widget) { bar_->insertWidget(0, widget); }

void TimelinePanel::set_inspector_visible(bool visible) { inspector_->setVisible(visible); }

void TimelinePanel::place_columns() {
  const int left = view_->mapTo(this, QPoint(0, 0)).x();
  map_label_->setFixedWidth(left);
  strip_->set_name_width(left);
}

void TimelinePanel::update_scroll_bar() {
  const QSignalBlocker block(scroll_bar_);
  const int page = std::max(1, view_->height() - view_->axis_height() - view_->rows().pinned_height());
  scroll_bar_->setRange(0, view_->most_scroll());
  scroll_bar_->setPageStep(page);
  scroll_bar_->setSingleStep(RowMetrics().lane);
  scroll_bar_->setValue(view_->scroll());
}

void TimelinePanel::search_for(const QString& text) {
  searched_ = text;
  results_ = {};
  search_.cancel();
  if (!text.isEmpty() && view_->timeline()) {
    search_.start([timeline = view_->timeline(), wanted = text.toStdString()](
                      const CancelToken& cancel) { return search(*timeline, wanted, &cancel); },
                  [this](SearchResults results) {
                    results_ = std::move(results);
                    const auto first = results_.next(*view_->timeline(), std::nullopt, view_->visible_range().start);
                    if (first) go_to(*first);
                    say_found();
                    Q_EMIT settled_changed();
                  });
  }
  say_found();
  Q_EMIT settled_changed();
}

void TimelinePanel::search_next() { step_search(true); }
void TimelinePanel::search_previous() { step_search(false); }

void TimelinePanel::step_search(bool forward) {
  if (search_field_->text() != searched_) {
    search_for(search_field_->text());
    return;
  }
  if (!view_->timeline()) return;
  const Nanoseconds from = view_->visible_range().start;
  const auto slice = forward ? results_.next(*view_->timeline(), view_->selected(), from)
                             : results_.previous(*view_->timeline(), view_->selected(), from);
  if (slice) go_to(*slice);
}

void TimelinePanel::go_to(SliceRef slice) {
  view_->select(slice);
  if (const auto place = view_->timeline()->place(slice)) view_->set_folded(place->row, false);
  view_->reveal(slice);
}

void TimelinePanel::say_found() {
  QString text;
  if (search_.running()) {
    text = tr("searching");
  } else if (!searched_.isEmpty() && results_.empty()) {
    text = tr("nothing found");
  } else if (!searched_.isEmpty()) {
    const auto selected = view_->selected();
    const auto at = selected ? results_.position(*view_->timeline(), *selected) : std::nullopt;
    text = at ? tr("%1 of %2").arg(*at + 1).arg(results_.found().size()) : tr("%1 found").arg(results_.found().size());
  }
  found_label_->setText(text);
}

void TimelinePanel::ask_for_search() {
  search_field_->setFocus();
  search_field_->selectAll();
}

void TimelinePanel::ask_for_row() { finder_->ask(view_->timeline()); }

bool TimelinePanel::settled() const { return !search_.running() && !regrouping_.running() && inspector_->settled(); }

bool TimelinePanel::eventFilter(QObject* watched, QEvent* event) {
  if (watched == view_ &&
      (event->type() == QEvent::Resize || event->type() == QEvent::Move || event->type() == QEvent::Show)) {
    place_columns();
  }
  if (watched == search_field_ && event->type() == QEvent::KeyPress) {
    const auto* key = static_cast<const QKeyEvent*>(event);
    if (key->key() == Qt::Key_Return || key->key() == Qt::Key_Enter) {
      step_search(!key->modifiers().testFlag(Qt::ShiftModifier));
      return true;
    }
    if (key->key() == Qt::Key_Escape) {
      view_->setFocus();
      return true;
    }
  }
  return QWidget::eventFilter(watched, event);
}

}  // namespace cohort
