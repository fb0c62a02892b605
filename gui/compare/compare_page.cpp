#include "gui/compare/compare_page.hpp"

#include <QAction>
#include <QComboBox>
#include <QFileDialog>
#include <QHeaderView>
#include <QLabel>
#include <QLineEdit>
#include <QPushButton>
#include <QScrollArea>
#include <QSettings>
#include <QSplitter>
#include <QStackedWidget>
#include <QTableView>
#include <QVBoxLayout>
#include <algorithm>
#include <utility>

#include "gui/compare/compare_bar.hpp"
#include "gui/compare/error_legend_bar.hpp"
#include "gui/compare/slice_flash.hpp"
#include "gui/compare/totals_figures.hpp"
#include "gui/figures/counted.hpp"
#include "gui/timeline/timeline_panel.hpp"
#include "gui/window/qt_text.hpp"
#include "gui/window/scrolling.hpp"

namespace cohort {
namespace {

constexpr DifferencesBy kTables[] = {DifferencesBy::kTask, DifferencesBy::kOp, DifferencesBy::kOpType,
                                     DifferencesBy::kGroup, DifferencesBy::kSlice};

/// A window with a little air on both sides.
TimeWindow with_margin(TimeWindow window) {
  const Nanoseconds margin = window.length() / 40 + Nanoseconds(1);
  return {window.start - margin, window.end + margin};
}

bool is_nothing(const PerSide<std::shared_ptr<const Trace>>& traces) { return !traces[0] || !traces[1]; }

}  // namespace

ComparePage::ComparePage(QWidget* parent) : Page(parent) {
  emptiness_ = new QLabel;
  emptiness_->setWordWrap(true);
  emptiness_->setAlignment(Qt::AlignCenter);
  emptiness_->setTextInteractionFlags(Qt::TextSelectableByMouse);
  next_step_ = new QPushButton;
  next_step_->setSizePolicy(QSizePolicy::Fixed, QSizePolicy::Fixed);
  auto* empty = new QWidget;
  auto* empty_column = new QVBoxLayout(empty);
  empty_column->addStretch(1);
  empty_column->addWidget(emptiness_);
  empty_column->addWidget(next_step_, 0, Qt::AlignHCenter);
  empty_column->addStretch(2);

  bar_ = new CompareBar;
  totals_ = new FigureStrip;
  notes_ = new QLabel;
  notes_->setObjectName("notes");
  notes_->setWordWrap(true);
  notes_->setContentsMargins(12, 8, 12, 0);
  notes_->setTextInteractionFlags(Qt::TextSelectableByMouse);
  notes_->hide();
  panel_ = new TimelinePanel;
  legend_ = new ErrorLegendBar;
  panel_->set_inspector_visible(false);
  flash_ = new SliceFlash(panel_->view());
  splitter_ = new QSplitter(Qt::Vertical);
  splitter_->addWidget(panel_);
  splitter_->setChildrenCollapsible(false);
  build_table_area(*splitter_);
  splitter_->setStretchFactor(0, 3);
  splitter_->setStretchFactor(1, 2);

  auto* shown = new QWidget;
  auto* column = new QVBoxLayout(shown);
  column->setContentsMargins(12, 8, 12, 8);
  column->setSpacing(4);
  column->addWidget(bar_);
  column->addWidget(totals_);
  column->addWidget(splitter_, 1);

  stack_ = new QStackedWidget;
  stack_->addWidget(empty);
  // A window that is too small for all of it shows a part.
  stack_->addWidget(scrolling(shown));
  auto* layout = new QVBoxLayout(this);
  layout->setContentsMargins(0, 0, 0, 0);
  layout->setSpacing(0);
  layout->addWidget(notes_);
  layout->addWidget(stack_, 1);

  connect(bar_, &CompareBar::traces_changed, this, &ComparePage::compare_chosen);
  connect(bar_, &CompareBar::swapped, this, [this] {
    std::swap(predictions_[0], predictions_[1]);
    compare_chosen();
  });
  connect(bar_, &CompareBar::settings_changed, this, &ComparePage::redraw);
  connect(panel_, &TimelinePanel::settled_changed, this, &Page::state_changed);
  connect(panel_, &TimelinePanel::layout_changed, this, [this](PartLayout layout_of_parts) {
    timeline_options_.layout = layout_of_parts;
    redraw();
  });
  connect(panel_, &TimelinePanel::grouping_changed, this, [this](RowGrouping grouping) {
    timeline_options_.grouping = grouping;
    redraw();
  });
  connect(&panel_->view(), &TimelineView::slice_selected, this, &ComparePage::select_row_of);
  connect(&panel_->view(), &TimelineView::slice_selected, this, &ComparePage::describe);
  connect(&panel_->view(), &TimelineView::slice_hovered, this, &ComparePage::describe);
  connect(next_step_, &QPushButton::clicked, this, [this] {
    const bool have_plan = std::any_of(files_.begin(), files_.end(), [](const OpenFile& file) { return file.plan; });
    Q_EMIT requested({have_plan ? PageId::kRun : PageId::kProfile, {}});
  });
  build_actions();
  show_emptiness();
}

ComparePage::~ComparePage() = default;

void ComparePage::build_table_area(QSplitter& splitter) {
  model_ = new DifferenceModel(this);
  filter_ = new DifferenceFilter(*model_, this);
  by_ = new QComboBox;
  by_->setObjectName("by");
  by_->setToolTip(tr("What a row of the table stands for"));
  for (const DifferencesBy by : kTables) by_->addItem(tr("by %1").arg(qt(to_string(by))));
  filter_text_ = new QLineEdit;
  filter_text_->setObjectName("filter");
  filter_text_->setPlaceholderText(tr("Filter by name, op or group"));
  filter_text_->setClearButtonEnabled(true);
  count_ = new QLabel;
  auto* save = new QPushButton(tr("Save as CSV…"));
  save->setToolTip(tr("Writes the table as it is shown: filtered and sorted"));
  slice_line_ = new QLabel;
  slice_line_->setObjectName("slice");
  slice_line_->setTextInteractionFlags(Qt::TextSelectableByMouse);
  slice_line_->setSizePolicy(QSizePolicy::Ignored, QSizePolicy::Preferred);

  table_ = new QTableView;
  table_->setObjectName("differences");
  table_->setModel(filter_);
  table_->setSortingEnabled(true);
  table_->sortByColumn(DifferenceModel::kDifference, Qt::DescendingOrder);
  table_->setSelectionBehavior(QAbstractItemView::SelectRows);
  table_->setSelectionMode(QAbstractItemView::SingleSelection);
  table_->setAlternatingRowColors(true);
  table_->setShowGrid(false);
  table_->setWordWrap(false);
  table_->verticalHeader()->hide();
  table_->verticalHeader()->setDefaultSectionSize(table_->fontMetrics().height() + 6);
  table_->horizontalHeader()->setHighlightSections(false);
  table_->horizontalHeader()->setSectionResizeMode(DifferenceModel::kName, QHeaderView::Stretch);
  table_->setMinimumHeight(110);

  auto* bar = new QHBoxLayout;
  bar->addWidget(new QLabel(tr("Largest differences")));
  bar->addWidget(by_);
  bar->addWidget(filter_text_, 1);
  bar->addWidget(count_);
  bar->addWidget(save);
  auto* area = new QWidget;
  auto* column = new QVBoxLayout(area);
  column->setContentsMargins(0, 0, 0, 0);
  auto* line = new QHBoxLayout;
  line->addWidget(slice_line_, 1);
  line->addWidget(legend_);
  column->addLayout(line);
  column->addLayout(bar);
  column->addWidget(table_, 1);
  splitter.addWidget(area);

  connect(by_, &QComboBox::currentIndexChanged, this, &ComparePage::redraw);
  const auto count = [this] {
    count_->setText(filter_->rowCount() == model_->rowCount()
                        ? counted(model_->rowCount(), tr("row"), tr("rows"))
                        : tr("%1 of %2 rows").arg(filter_->rowCount()).arg(model_->rowCount()));
  };
  connect(filter_text_, &QLineEdit::textChanged, this, [this, count](const QString& text) {
    const bool was_selecting = std::exchange(selecting_, true);  // a row that goes hands its place on to another
    filter_->set_text(text);
    selecting_ = was_selecting;
    count();
  });
  connect(model_, &QAbstractItemModel::modelReset, this, count);
  connect(table_->selectionModel(), &QItemSelectionModel::currentRowChanged, this,
          [this](const QModelIndex& current) { jump_to_row(current); });
  connect(table_, &QTableView::activated, this, &ComparePage::jump_to_row);
  connect(save, &QPushButton::clicked, this, &ComparePage::ask_where_to_export);
}

void ComparePage::build_actions() {
  const auto add = [this](const QString& text, auto&& call) {
    auto* action = new QAction(text, this);
    connect(action, &QAction::triggered, this, std::forward<decltype(call)>(call));
    actions_.push_back(action);
    return action;
  };
  add(tr("Align the steps at their start"), [this] { bar_->set_align(AlignAt::kStart); });
  add(tr("Align the steps at their end"), [this] { bar_->set_align(AlignAt::kEnd); });
  add(tr("Align the steps at the chosen slice"), [this] {
    const auto slice = panel_->view().selected();
    if (!slice || !picture_.overlay) return;
    const auto pair = picture_.overlay->pair_of[slice->part][to_index(slice->slice)];
    if (!pair) return;
    bar_->align_at(qt(picture_.comparison->identity(picture_.overlay->pairs[*pair].identity).name));
  });
  QAction* details = add(tr("Details of slices, sums of areas, marks"), [] {});
  details->setCheckable(true);
  connect(details, &QAction::toggled, panel_, &TimelinePanel::set_inspector_visible);
  add(tr("Swap the compared traces"), [this] { bar_->swap(); });
  add(tr("Save the table of differences as CSV…"), [this] { ask_where_to_export(); });
}

PageState ComparePage::state() const {
  const auto traces = std::count_if(files_.begin(), files_.end(), [](const OpenFile& file) { return file.trace; });
  if (is_nothing(shown_) && traces < 2) {
    return {traces > 0, tr("Open two traces of the same plan, predicted and measured, to see where they differ.")};
  }
  return {true, tr("Look at the largest differences: a row of the table leads to its slices.")};
}

bool ComparePage::settled() const { return !job_.running() && panel_->settled(); }

void ComparePage::set_files(const std::vector<OpenFile>& files) {
  files_ = files;
  bar_->set_files(files);
  choose_likely_pair();
  Q_EMIT state_changed();
}

void ComparePage::compare_chosen() {
  chosen_by_user_ = true;
  const ComparedPaths paths = bar_->chosen();
  PerSide<std::shared_ptr<const Trace>> traces;
  for (const std::size_t side : {0U, 1U}) {
    if (const OpenFile* file = open_trace(files_, paths[side])) {
      predictions_[side].reset();
      traces[side] = file->trace;
    } else if (predictions_[side]) {
      traces[side] = predictions_[side]->trace;
    }
  }
  if (traces[0] && traces[1] && traces != shown_) compare_traces(traces);
}

void ComparePage::choose_likely_pair() {
  const ComparedPaths chosen = bar_->chosen();
  const OpenFile* predicted = open_trace(files_, chosen[0]);
  const OpenFile* measured = open_trace(files_, chosen[1]);
  if (predictions_[0] && predictions_[1]) return;
  if ((predictions_[0] && measured != nullptr) || (predictions_[1] && predicted != nullptr)) return compare_chosen();
  predictions_ = {};
  if (chosen_by_user_ && predicted != nullptr && measured != nullptr) {
    const bool changed = shown_[0] != predicted->trace || shown_[1] != measured->trace;
    if (changed) compare_traces({predicted->trace, measured->trace});
    return;
  }
  chosen_by_user_ = false;
  if (const auto pair = likely_pair(files_)) {
    if (*pair == chosen && predicted != nullptr && measured != nullptr && shown_[0] == predicted->trace &&
        shown_[1] == measured->trace)
      return;
    bar_->choose(*pair);
    chosen_by_user_ = false;
    return;
  }
  job_.cancel();
  shown_ = {};
  picture_ = {};
  panel_->set_timeline(nullptr);  // which keeps its traces in memory
  model_->set_rows({}, {});
  show_emptiness();
}

void ComparePage::show_files(const QStringList& paths) {
  std::vector<OpenFile> named;
  for (const QString& path : paths) {
    if (const OpenFile* file = open_trace(files_, path)) named.push_back(*file);
  }
  if (const auto pair = likely_pair(named)) bar_->choose(*pair);
}

void ComparePage::compare_predictions(const NamedPrediction& first, const NamedPrediction& second) {
  predictions_ = {first, second};
  chosen_by_user_ = false;
  bar_->choose_none({first.name, second.name});
  // Plans that differ have few tasks in common: what is done for each op tells them apart.
  by_->setCurrentIndex(
      static_cast<int>(std::find(std::begin(kTables), std::end(kTables), DifferencesBy::kOp) - std::begin(kTables)));
  compare_traces({first.trace, second.trace});
}

void ComparePage::compare_traces(const PerSide<std::shared_ptr<const Trace>>& traces) {
  if (is_nothing(traces)) return;
  if (shown_ != traces) picture_ = {};
  shown_ = traces;
  stack_->setCurrentIndex(1);
  redraw();
  Q_EMIT state_changed();
}

void ComparePage::redraw() {
  if (is_nothing(shown_)) return;
  ComparisonRequest request;
  request.traces = shown_;
  request.settings = bar_->settings();
  // Steps of the traces before are none of these.
  if (!picture_.comparison) request.settings.step = {};
  request.timeline = timeline_options_;
  request.by = kTables[std::max(0, by_->currentIndex())];
  request.dark = dark_;
  job_.start([request = std::move(request),
              before = picture_](const CancelToken& cancel) { return draw_comparison(request, before, cancel); },
             [this](ComparisonPicture picture) { show_picture(std::move(picture)); });
}

void ComparePage::show_picture(ComparisonPicture picture) {
  const bool other_timeline = picture.timeline != picture_.timeline;
  const bool other_traces = picture.comparison != picture_.comparison;
  const bool moved = !picture_.overlay || !picture.overlay || picture_.overlay->offset != picture.overlay->offset;
  picture_ = std::move(picture);
  QStringList notes;
  if (!picture_.error.empty()) notes << qt(picture_.error);
  for (const std::string& note : picture_.comparison->notes()) notes << qt(note);
  notes_->setText(notes.join(' '));
  notes_->setVisible(!notes.isEmpty());
  const CompareSettings settings = picture_.overlay ? picture_.overlay->settings : bar_->settings();
  bar_->set_choices(*picture_.comparison, settings,
                    picture_.overlay ? picture_.overlay->anchors : std::vector<std::string>());
  if (!picture_.overlay) {
    totals_->set_figures({});
    panel_->set_timeline(nullptr);
    model_->set_rows({}, side_labels(*picture_.comparison));
    Q_EMIT state_changed();
    return;
  }
  totals_->set_figures(totals_figures(*picture_.comparison, *picture_.overlay));
  if (other_timeline) {
    TimelineView& view = panel_->view();
    const TimeWindow range = view.visible_range();
    const std::optional<SliceRef> chosen = view.selected();
    panel_->set_timeline(picture_.timeline, picture_.curves);
    view.set_visible_range(moved ? with_margin(chosen_window(*picture_.comparison, *picture_.overlay)) : range);
    if (!other_traces && chosen) view.select(chosen);
  }
  // These grow with the traces, and the next request has no use for them.
  panel_->set_given_colours(tr("relative error"), std::exchange(picture_.colours, {}));
  model_->set_rows(std::exchange(picture_.rows, {}), side_labels(*picture_.comparison));
  table_->resizeColumnsToContents();
  for (const int column : {static_cast<int>(DifferenceModel::kOp), static_cast<int>(DifferenceModel::kGroup)}) {
    table_->setColumnWidth(column, std::min(table_->columnWidth(column), 220));
  }
  describe(panel_->view().selected());
  Q_EMIT state_changed();
}

void ComparePage::show_emptiness() {
  stack_->setCurrentIndex(0);
  notes_->hide();
  const auto has = [&](TraceKind kind) {
    return std::any_of(files_.begin(), files_.end(),
                       [&](const OpenFile& file) { return file.trace && file.trace->info.kind == kind; });
  };
  const bool have_plan = std::any_of(files_.begin(), files_.end(), [](const OpenFile& file) { return file.plan; });
  if (has(TraceKind::kPredicted) || have_plan) {
    emptiness_->setText(
        tr("<h3>Nothing measured yet</h3><p>Run the plan: what it measures is laid over its prediction here.<br>"
           "Or open a measured trace beside the predicted one.</p>"));
    next_step_->setText(tr("Run a plan"));
  } else {
    emptiness_->setText(
        tr("<h3>Two traces are needed</h3><p>Open a predicted and a measured trace of one plan, or any two traces of "
           "the same work.<br>Without files yet, start from a profile.</p>"));
    next_step_->setText(tr("Start from a profile"));
  }
  Q_EMIT state_changed();
}

void ComparePage::jump_to_row(const QModelIndex& index) {
  if (!index.isValid() || !picture_.timeline || selecting_) return;
  const DifferenceRow& row = filter_->row(index);
  std::vector<SliceRef> slices;
  for (const std::uint32_t side : {0U, 1U}) {
    for (const SliceId slice : row.slices[side]) slices.push_back({side, slice});
  }
  if (slices.empty()) return;
  // The measured slice of the largest row is looked at first: it is the one that happened.
  const SliceRef first = row.slices[1].empty() ? slices.front() : SliceRef{1, row.slices[1].front()};
  selecting_ = true;
  panel_->view().select(first);
  panel_->view().reveal(first);
  describe(first);
  selecting_ = false;
  flash_->flash(slices);
}

void ComparePage::select_row_of(std::optional<SliceRef> slice) {
  if (selecting_ || !slice || !picture_.overlay) return;
  const auto row = filter_->row_of(static_cast<CompareSide>(slice->part), slice->slice);
  if (!row) return;
  selecting_ = true;
  table_->setCurrentIndex(filter_->index(*row, 0));
  table_->scrollTo(filter_->index(*row, 0));
  selecting_ = false;
}

void ComparePage::describe(std::optional<SliceRef> slice) {
  if (!slice) slice = panel_->view().selected();
  if (!slice || !picture_.overlay || !picture_.timeline || !picture_.timeline->contains(*slice)) {
    slice_line_->setText(tr("Point at a slice to see how far it is off; click a row below to jump to its slices."));
    return;
  }
  QStringList parts{QStringLiteral("<b>%1</b>").arg(qt(picture_.timeline->name(*slice)).toHtmlEscaped())};
  for (const std::string& line :
       describe_error(*picture_.comparison, *picture_.overlay, static_cast<CompareSide>(slice->part), slice->slice)) {
    parts << qt(line).toHtmlEscaped();
  }
  slice_line_->setText(parts.join(QStringLiteral(" · ")));
}

void ComparePage::set_theme(const Theme& theme) {
  dark_ = theme.dark();
  panel_->set_theme(theme);
  legend_->set_dark(dark_);
  model_->set_dark(dark_);
  redraw();
}

void ComparePage::save(QSettings& settings) const {
  settings.setValue("splitter", splitter_->saveState());
  settings.setValue("by", by_->currentIndex());
  settings.setValue("stacked", timeline_options_.layout == PartLayout::kStacked);
}

void ComparePage::restore(QSettings& settings) {
  if (settings.contains("splitter")) splitter_->restoreState(settings.value("splitter").toByteArray());
  by_->setCurrentIndex(std::clamp(settings.value("by", 0).toInt(), 0, by_->count() - 1));
  if (settings.value("stacked", false).toBool()) timeline_options_.layout = PartLayout::kStacked;
}

std::vector<Shortcut> ComparePage::shortcuts() const {
  return {{tr("Up / Down in the table"), tr("jump to the slices of the row before or after")}};
}

Result<void> ComparePage::export_differences(const QString& path, Overwrite overwrite) const {
  return write_file(path.toStdString(), differences_csv(filter_->shown_rows()), overwrite);
}

void ComparePage::ask_where_to_export() {
  if (model_->rowCount() == 0) return;
  const QString path = QFileDialog::getSaveFileName(this, tr("Save the differences"), QStringLiteral("differences.csv"),
                                                    tr("Comma-separated values (*.csv)"));
  if (path.isEmpty()) return;
  // The dialog has asked about a file that is there.
  if (const auto written = export_differences(path, Overwrite::kAllow); !written) {
    Q_EMIT failed(qt(written.error().message));
  }
}

}  // namespace cohort
