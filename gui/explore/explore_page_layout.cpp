// What an explore page is put together of, and what its parts tell each other.

#include <QAction>
#include <QComboBox>
#include <QHBoxLayout>
#include <QLabel>
#include <QProgressBar>
#include <QPushButton>
#include <QScrollArea>
#include <QSplitter>
#include <QStackedWidget>
#include <QTabWidget>
#include <QVBoxLayout>

#include "gui/chart/chart_widget.hpp"
#include "gui/explore/explore_page.hpp"
#include "gui/explore/plan_board.hpp"
#include "gui/explore/planner_panel.hpp"
#include "gui/explore/settings_form.hpp"
#include "gui/figures/figure_strip.hpp"
#include "gui/timeline/timeline_panel.hpp"
#include "gui/window/scrolling.hpp"

namespace cohort {

ExplorePage::ExplorePage(ExplorationSource& source, QWidget* parent)
    : Page(parent),
      source_(&source),
      stack_(new QStackedWidget),
      emptiness_(new QLabel),
      opening_(new QProgressBar),
      start_(new QPushButton(tr("Profile a model"))),
      choice_(new QComboBox),
      form_(new SettingsForm),
      board_(new PlanBoard),
      figures_(new FigureStrip),
      line_(new QLabel),
      columns_(new QSplitter(Qt::Horizontal)),
      rows_(new QSplitter(Qt::Vertical)),
      panel_(new TimelinePanel),
      tabs_(new QTabWidget),
      planner_(new PlannerPanel),
      gain_(new ChartWidget),
      memory_(new ChartWidget),
      doubts_(new QLabel),
      recommend_(new QPushButton(tr("Recommend"))),
      save_(new QPushButton(tr("Save plan…"))),
      run_(new QPushButton(tr("Run…"))) {
  emptiness_->setWordWrap(true);
  emptiness_->setAlignment(Qt::AlignCenter);
  emptiness_->setTextInteractionFlags(Qt::TextSelectableByMouse);
  opening_->setRange(0, 0);
  opening_->setFixedWidth(240);
  start_->setSizePolicy(QSizePolicy::Fixed, QSizePolicy::Fixed);
  auto* empty = new QWidget;
  auto* empty_column = new QVBoxLayout(empty);
  empty_column->addStretch(1);
  empty_column->addWidget(emptiness_);
  empty_column->addWidget(opening_, 0, Qt::AlignHCenter);
  empty_column->addWidget(start_, 0, Qt::AlignHCenter);
  empty_column->addStretch(2);

  columns_->addWidget(make_left());
  columns_->addWidget(make_right());
  columns_->setStretchFactor(0, 0);
  columns_->setStretchFactor(1, 1);
  columns_->setSizes({330, 950});
  columns_->setChildrenCollapsible(false);
  auto* shown = new QWidget;
  auto* column = new QVBoxLayout(shown);
  column->setContentsMargins(12, 8, 12, 8);
  column->setSpacing(4);
  column->addWidget(make_bar());
  column->addWidget(columns_, 1);
  stack_->addWidget(empty);
  // A window that is too small for all of it shows a part.
  stack_->addWidget(scrolling(shown));
  auto* layout = new QVBoxLayout(this);
  layout->setContentsMargins(0, 0, 0, 0);
  layout->addWidget(stack_);
  connect_parts();
  show_exploration();
}

ExplorePage::~ExplorePage() = default;

QWidget* ExplorePage::make_bar() {
  choice_->setObjectName("explored");
  choice_->setToolTip(tr("What is explored: profiles plan a model batch, traces of runs are changed as they are"));
  choice_->setSizeAdjustPolicy(QComboBox::AdjustToContents);
  line_->setObjectName("line");
  line_->setSizePolicy(QSizePolicy::Ignored, QSizePolicy::Preferred);
  recommend_->setObjectName("recommend plan");
  recommend_->setToolTip(tr("Searches the ways to run these models and shows the best"));
  save_->setObjectName("save plan");
  save_->setToolTip(tr("Writes the plan that `cohort run` takes, and its predicted trace beside it"));
  run_->setObjectName("run plan");
  run_->setToolTip(tr("Saves the plan and goes on to run it on a device of this machine"));
  auto* bar = new QWidget;
  auto* row = new QHBoxLayout(bar);
  row->setContentsMargins(0, 0, 0, 0);
  row->addWidget(new QLabel(tr("Explored")));
  row->addWidget(choice_);
  row->addWidget(line_, 1);
  row->addWidget(recommend_);
  row->addWidget(save_);
  row->addWidget(run_);
  return bar;
}

QWidget* ExplorePage::make_left() {
  auto* content = new QWidget;
  auto* column = new QVBoxLayout(content);
  column->setContentsMargins(0, 0, 6, 0);
  column->addWidget(form_);
  column->addStretch(1);
  QScrollArea* const fields = scrolling(content);
  fields->setHorizontalScrollBarPolicy(Qt::ScrollBarAlwaysOff);
  auto* left = new QSplitter(Qt::Vertical);
  left->setChildrenCollapsible(false);
  left->addWidget(fields);
  left->addWidget(board_);
  left->setStretchFactor(0, 3);
  left->setStretchFactor(1, 2);
  left->setMinimumWidth(280);
  left->setSizes({420, 300});
  board_->setMinimumHeight(190);
  return left;
}

QWidget* ExplorePage::make_charts() {
  doubts_->setWordWrap(true);
  doubts_->setMargin(8);
  doubts_->setTextFormat(Qt::RichText);
  doubts_->setAlignment(Qt::AlignTop | Qt::AlignLeft);
  doubts_->setTextInteractionFlags(Qt::TextSelectableByMouse);
  doubts_->setObjectName("doubts");
  gain_->setObjectName("gain");
  memory_->setObjectName("memory chart");
  QScrollArea* const doubts = scrolling(doubts_);
  auto* split = new QSplitter(Qt::Horizontal);
  split->setChildrenCollapsible(false);
  for (QWidget* widget :
       {static_cast<QWidget*>(gain_), static_cast<QWidget*>(memory_), static_cast<QWidget*>(doubts)}) {
    split->addWidget(widget);
    split->setStretchFactor(split->count() - 1, 1);
  }
  split->setSizes({320, 320, 260});
  return split;
}

QWidget* ExplorePage::make_right() {
  panel_->set_inspector_visible(false);
  tabs_->addTab(make_charts(), tr("Gain, memory, doubts"));
  tabs_->addTab(planner_, tr("Planner"));
  rows_->addWidget(panel_);
  rows_->addWidget(tabs_);
  rows_->setChildrenCollapsible(false);
  rows_->setStretchFactor(0, 1);
  rows_->setStretchFactor(1, 1);
  rows_->setSizes({320, 300});
  auto* right = new QWidget;
  auto* column = new QVBoxLayout(right);
  column->setContentsMargins(6, 0, 0, 0);
  column->setSpacing(2);
  column->addWidget(figures_);
  column->addWidget(rows_, 1);
  return right;
}

void ExplorePage::connect_parts() {
  connect(source_, &ExplorationSource::choices_changed, this, &ExplorePage::show_choices);
  connect(source_, &ExplorationSource::exploration_changed, this, &ExplorePage::show_exploration);
  // Another page may choose a point of its own.
  connect(source_, &ExplorationSource::settings_changed, this, [this] {
    if (shown_ && form_->settings() != source_->settings()) apply(source_->settings());
  });
  connect(choice_, &QComboBox::activated, source_, &ExplorationSource::choose);
  connect(form_, &SettingsForm::changed, this, [this] { apply(form_->settings()); });
  connect(form_, &SettingsForm::models_asked, this, [this](const std::vector<int>& models) {
    if (shown_) apply(shown_->with_models(form_->settings(), models));
  });
  connect(board_, &PlanBoard::edited, this, &ExplorePage::apply);
  connect(planner_, &PlannerPanel::candidate_chosen, this, &ExplorePage::apply);
  connect(planner_, &PlannerPanel::comparison_asked, this, &ExplorePage::compare_two);
  connect(planner_, &PlannerPanel::running_changed, this, [this] {
    recommend_->setEnabled(!planner_->running());
    Q_EMIT state_changed();
  });
  for (ChartWidget* chart : {gain_, memory_}) connect(chart, &ChartWidget::failed, this, &Page::failed);
  connect(planner_, &PlannerPanel::failed, this, &Page::failed);
  connect(panel_, &TimelinePanel::settled_changed, this, &Page::state_changed);
  connect(panel_, &TimelinePanel::grouping_changed, this, [this](RowGrouping grouping) {
    grouping_ = grouping;
    simulate();
  });
  connect(start_, &QPushButton::clicked, this, [this] { Q_EMIT requested({PageId::kProfile, {}}); });
  connect(save_, &QPushButton::clicked, this, [this] { static_cast<void>(ask_where_to_save()); });
  connect(run_, &QPushButton::clicked, this, &ExplorePage::run_plan);
  const auto add = [this](const QString& text, auto call) {
    auto* action = new QAction(text, this);
    connect(action, &QAction::triggered, this, call);
    actions_.push_back(action);
    return action;
  };
  QAction* details = add(tr("Details of slices, sums of areas, marks"), [] {});
  details->setCheckable(true);
  connect(details, &QAction::toggled, panel_, &TimelinePanel::set_inspector_visible);
  const auto recommend = [this] {
    tabs_->setCurrentWidget(planner_);
    if (!planner_->running()) planner_->recommend();
  };
  connect(recommend_, &QPushButton::clicked, this, recommend);
  add(tr("Recommend a plan"), recommend);
  add(tr("Save the plan…"), [this] { static_cast<void>(ask_where_to_save()); });
  add(tr("Run the plan…"), [this] { run_plan(); });
  add(tr("Settings as at the start"), [this] {
    if (shown_) apply(source_->first_settings());
  });
}

}  // namespace cohort
