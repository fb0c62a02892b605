#include "gui/timeline/inspector.hpp"

#include <fmt/format.h>

#include <QApplication>
#include <QClipboard>
#include <QHeaderView>
#include <QLabel>
#include <QPushButton>
#include <QShortcut>
#include <QSortFilterProxyModel>
#include <QSplitter>
#include <QStackedWidget>
#include <QTableView>
#include <QVBoxLayout>

#include "gui/timeline/models.hpp"
#include "gui/window/qt_text.hpp"
#include "view/timeline/names.hpp"

namespace cohort {
namespace {

constexpr int kRowHeight = 22;
constexpr std::size_t kTopKernels = 3;

QTableView* make_table(QAbstractItemModel* model, bool sortable, QWidget* parent) {
  auto* table = new QTableView(parent);
  if (sortable) {
    auto* sorted = new QSortFilterProxyModel(table);
    sorted->setSourceModel(model);
    sorted->setSortRole(kSortRole);
    table->setModel(sorted);
  } else {
    table->setModel(model);
  }
  table->setSortingEnabled(sortable);
  table->setSelectionBehavior(QAbstractItemView::SelectRows);
  table->setShowGrid(false);
  table->setAlternatingRowColors(true);
  table->setWordWrap(false);
  table->setFrameShape(QFrame::NoFrame);
  table->setTabKeyNavigation(false);
  table->verticalHeader()->hide();
  table->verticalHeader()->setDefaultSectionSize(kRowHeight);
  table->horizontalHeader()->setHighlightSections(false);
  table->horizontalHeader()->setDefaultAlignment(Qt::AlignLeft | Qt::AlignVCenter);
  table->setTextElideMode(Qt::ElideMiddle);
  return table;
}

/// A table, or a sentence where there is nothing to show.
QStackedWidget* make_stack(const QString& hint, QWidget* content) {
  auto* stack = new QStackedWidget;
  auto* label = new QLabel(hint, stack);
  label->setAlignment(Qt::AlignCenter);
  label->setWordWrap(true);
  label->setEnabled(false);
  stack->addWidget(label);
  stack->addWidget(content);
  return stack;
}

}  // namespace

TimelineInspector::TimelineInspector(TimelineView& view, QWidget* parent)
    : QTabWidget(parent),
      view_(view),
      details_(new DetailsModel(this)),
      names_(new NamesModel(this)),
      rows_(new RowsModel(this)),
      marks_(new MarksModel(this)) {
  setDocumentMode(true);
  addTab(make_details(), tr("Slice"));
  addTab(make_area(), tr("Area"));
  addTab(make_marks(), tr("Marks"));
  connect(&view, &TimelineView::slice_selected, this, &TimelineInspector::show_slice);
  connect(&view, &TimelineView::area_selected, this, &TimelineInspector::show_area);
  connect(&view, &TimelineView::marks_changed, this, &TimelineInspector::show_marks);
  connect(marks_, &MarksModel::renamed, this, [this] { view_.set_marks(marks_->marks()); });
}

TimelineInspector::~TimelineInspector() = default;

QWidget* TimelineInspector::make_details() {
  details_table_ = make_table(details_, false, this);
  details_table_->setAccessibleName(tr("What is known of the chosen slice"));
  details_table_->setEditTriggers(QAbstractItemView::NoEditTriggers);
  details_table_->horizontalHeader()->hide();
  details_table_->horizontalHeader()->setStretchLastSection(true);
  details_table_->setColumnWidth(0, 170);
  connect(details_table_, &QTableView::activated, this, [this](const QModelIndex& index) { open_detail(index.row()); });
  auto* copy = new QShortcut(QKeySequence::Copy, details_table_, nullptr, nullptr, Qt::WidgetShortcut);
  connect(copy, &QShortcut::activated, this, [this] {
    const QModelIndex current = details_table_->currentIndex();
    if (current.isValid()) QApplication::clipboard()->setText(current.siblingAtColumn(1).data().toString());
  });
  details_stack_ = make_stack(tr("Click a slice to see what is known of it"), details_table_);
  return details_stack_;
}

QWidget* TimelineInspector::make_area() {
  auto* content = new QWidget;
  auto* layout = new QVBoxLayout(content);
  layout->setContentsMargins(0, 0, 0, 0);
  layout->setSpacing(0);
  auto* top = new QHBoxLayout;
  top->setContentsMargins(8, 4, 8, 4);
  summary_ = new QLabel;
  summary_->setTextInteractionFlags(Qt::TextSelectableByMouse);
  summary_->setSizePolicy(QSizePolicy::Ignored, QSizePolicy::Preferred);
  top->addWidget(summary_, 1);
  auto* zoom = new QPushButton(tr("Zoom to it"));
  connect(zoom, &QPushButton::clicked, this, [this] {
    if (view_.area()) view_.set_visible_range(view_.area()->window);
  });
  top->addWidget(zoom);
  auto* copy = new QPushButton(tr("Copy table"));
  connect(copy, &QPushButton::clicked, this, &TimelineInspector::copy_totals);
  top->addWidget(copy);
  layout->addLayout(top);
  auto* tables = new QSplitter;
  names_table_ = make_table(names_, true, this);
  names_table_->setAccessibleName(tr("Sums by name"));
  names_table_->horizontalHeader()->setSectionResizeMode(NamesModel::kName, QHeaderView::Stretch);
  for (int column = NamesModel::kCount; column < NamesModel::kColumns; ++column)
    names_table_->setColumnWidth(column, 74);
  names_table_->sortByColumn(NamesModel::kSelf, Qt::DescendingOrder);
  connect(names_table_, &QTableView::activated, this, [this](const QModelIndex& index) {
    const auto* sorted = static_cast<const QSortFilterProxyModel*>(names_table_->model());
    const SliceRef longest = names_->names()[static_cast<std::size_t>(sorted->mapToSource(index).row())].longest_slice;
    view_.select(longest);
    view_.reveal(longest);
  });
  auto* rows_table = make_table(rows_, true, this);
  rows_table->setAccessibleName(tr("How busy rows are"));
  rows_table->horizontalHeader()->setSectionResizeMode(RowsModel::kRow, QHeaderView::Stretch);
  for (int column = RowsModel::kSlices; column < RowsModel::kColumns; ++column) rows_table->setColumnWidth(column, 78);
  rows_table->sortByColumn(-1, Qt::AscendingOrder);
  tables->addWidget(names_table_);
  tables->addWidget(rows_table);
  tables->setStretchFactor(0, 3);
  tables->setStretchFactor(1, 2);
  layout->addWidget(tables, 1);
  area_stack_ =
      make_stack(tr("Drag over the rows to sum up an area; click a row's name for all of it that is shown"), content);
  return area_stack_;
}

QWidget* TimelineInspector::make_marks() {
  marks_table_ = make_table(marks_, false, this);
  marks_table_->setAccessibleName(tr("Marks"));
  marks_table_->setEditTriggers(QAbstractItemView::EditKeyPressed | QAbstractItemView::SelectedClicked);
  marks_table_->horizontalHeader()->setSectionResizeMode(MarksModel::kName, QHeaderView::Stretch);
  marks_table_->setColumnWidth(MarksModel::kSince, 180);
  marks_table_->setColumnWidth(MarksModel::kTime, 220);
  connect(marks_table_, &QTableView::activated, this, [this](const QModelIndex& index) {
    const Nanoseconds time = marks_->marks().all()[static_cast<std::size_t>(index.row())].time;
    const Nanoseconds length = view_.visible_range().length();
    view_.set_visible_range({time - length / 2, time - length / 2 + length});
  });
  auto* remove = new QShortcut(QKeySequence::Delete, marks_table_, nullptr, nullptr, Qt::WidgetShortcut);
  connect(remove, &QShortcut::activated, this, &TimelineInspector::remove_marks);
  marks_stack_ =
      make_stack(tr("Press M to mark the chosen slice's start, or the time under the pointer"), marks_table_);
  return marks_stack_;
}

void TimelineInspector::show_slice(std::optional<SliceRef> slice) {
  details_->set_lines(slice ? details_of(*view_.timeline(), *slice, view_.flows()) : std::vector<DetailLine>());
  details_stack_->setCurrentIndex(slice ? 1 : 0);
  if (slice) setCurrentIndex(0);
}

void TimelineInspector::show_area(const std::optional<TimelineArea>& area) {
  if (!area || !view_.timeline()) {
    sums_.cancel();
    show_totals({});
    area_stack_->setCurrentIndex(0);
    Q_EMIT settled_changed();
    return;
  }
  sums_.start([timeline = view_.timeline(),
               area = *area](const CancelToken&) { return aggregate(*timeline, area.window, area.rows); },
              [this](AreaTotals totals) {
                show_totals(totals);
                area_stack_->setCurrentIndex(1);
                setCurrentIndex(1);
                Q_EMIT settled_changed();
              });
  Q_EMIT settled_changed();
}

void TimelineInspector::show_totals(const AreaTotals& totals) {
  totals_ = totals;
  names_->set_totals(totals.names, totals.total);
  rows_->set_totals(view_.timeline(), totals.rows);
  std::string text = fmt::format("{} slices on {} rows over {}, {} together", totals.count, totals.rows.size(),
                                 format_time(totals.window.length()), format_time(totals.total));
  const auto top = totals.top_kernels(kTopKernels);
  for (std::size_t i = 0; i < top.size(); ++i) {
    text += fmt::format("{} {} {}", i == 0 ? ";  most device time:" : ",", shortened(short_name(top[i].name), 40),
                        format_time(top[i].total));
  }
  summary_->setText(qt(text));
  summary_->setToolTip(qt(text));
}

void TimelineInspector::show_marks() {
  const auto origin = view_.timeline() ? view_.timeline()->window().start : Nanoseconds(0);
  const bool more = view_.marks().all().size() > marks_->marks().all().size();
  marks_->set_marks(view_.marks(), origin);
  marks_stack_->setCurrentIndex(view_.marks().all().empty() ? 0 : 1);
  if (more) setCurrentIndex(2);
}

void TimelineInspector::open_detail(int row) {
  const auto target = details_->lines()[static_cast<std::size_t>(row)].leads_to;
  if (!target) return;
  view_.select(target);
  view_.reveal(*target);
}

void TimelineInspector::copy_totals() const { QApplication::clipboard()->setText(qt(to_tsv(totals_))); }

void TimelineInspector::remove_marks() {
  TimeMarks marks = view_.marks();
  const auto chosen = marks_table_->selectionModel()->selectedRows();
  for (const QModelIndex& index : chosen) {
    marks.remove(marks_->marks().all()[static_cast<std::size_t>(index.row())].time);
  }
  view_.set_marks(std::move(marks));
}

}  // namespace cohort
