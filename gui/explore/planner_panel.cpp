#include "gui/explore/planner_panel.hpp"

#include <QComboBox>
#include <QHBoxLayout>
#include <QHeaderView>
#include <QLabel>
#include <QProgressBar>
#include <QPushButton>
#include <QSortFilterProxyModel>
#include <QSplitter>
#include <QTableView>
#include <QVBoxLayout>
#include <algorithm>
#include <utility>

#include "gui/chart/chart_widget.hpp"
#include "gui/figures/counted.hpp"
#include "gui/window/qt_text.hpp"
#include "view/explore/check_settings.hpp"

namespace cohort {
namespace {

struct NamedObjective {
  Objective objective;
  const char* name;
};
constexpr NamedObjective kNamed[] = {{Objective::kThroughput, QT_TRANSLATE_NOOP("PlannerPanel", "most throughput")},
                                     {Objective::kStepTime, QT_TRANSLATE_NOOP("PlannerPanel", "shortest step")},
                                     {Objective::kP99Latency, QT_TRANSLATE_NOOP("PlannerPanel", "least p99 latency")},
                                     {Objective::kBalancedGain, QT_TRANSLATE_NOOP("PlannerPanel", "balanced gain")}};

/// Whether what was searched for holds for settings: they ask for the same members, input and limits.
bool same_search(const ExploreSettings& a, const ExploreSettings& b, const ExploreFacts& facts) {
  return same_input_and_limits(a, b, facts) && a.models == b.models && a.members == b.members;
}

}  // namespace

PlannerPanel::PlannerPanel(QWidget* parent)
    : QWidget(parent),
      recommend_(new QPushButton),
      objective_(new QComboBox),
      progress_(new QProgressBar),
      line_(new QLabel),
      across_(new QComboBox),
      chart_(new ChartWidget),
      model_(new CandidateModel(this)),
      sorted_(new QSortFilterProxyModel(this)),
      table_(new QTableView),
      show_(new QPushButton(tr("Show"))),
      compare_(new QPushButton(tr("Compare two"))) {
  recommend_->setObjectName("recommend");
  objective_->setObjectName("objective");
  for (const NamedObjective& named : kNamed) objective_->addItem(tr(named.name));
  objective_->setToolTip(tr("What the best way has most or least of"));
  across_->addItems({tr("against memory"), tr("against p99 latency")});
  across_->setObjectName("across");
  progress_->setFixedWidth(140);
  progress_->setTextVisible(false);
  line_->setWordWrap(true);
  line_->setObjectName("candidate");
  line_->setSizePolicy(QSizePolicy::Ignored, QSizePolicy::Preferred);

  auto* bar = new QHBoxLayout;
  bar->addWidget(recommend_);
  bar->addWidget(objective_);
  bar->addWidget(progress_);
  bar->addWidget(line_, 1);
  bar->addWidget(across_);
  auto* split = new QSplitter(Qt::Horizontal);
  split->setChildrenCollapsible(false);
  split->addWidget(chart_);
  split->addWidget(make_list());
  split->setStretchFactor(0, 2);
  split->setStretchFactor(1, 3);
  split->setSizes({300, 500});
  auto* column = new QVBoxLayout(this);
  column->setContentsMargins(6, 6, 6, 4);
  column->addLayout(bar);
  column->addWidget(split, 1);

  connect(recommend_, &QPushButton::clicked, this, [this] { job_.running() ? stop() : recommend(); });
  connect(across_, &QComboBox::currentIndexChanged, this, &PlannerPanel::draw_chart);
  connect(chart_, &ChartWidget::failed, this, &PlannerPanel::failed);
  connect(chart_, &ChartWidget::point_hovered, this, [this](std::size_t series, std::size_t index) {
    if (series == 0 && index < points_.size()) show_candidate(points_[index]);
  });
  connect(chart_, &ChartWidget::point_left, this, &PlannerPanel::show_state);
  connect(chart_, &ChartWidget::point_clicked, this, [this](std::size_t series, std::size_t index) {
    if (series != 0 || index >= points_.size()) return;
    const QModelIndex row = sorted_->mapFromSource(model_->index(static_cast<int>(points_[index]), 0));
    table_->selectRow(row.row());
    table_->scrollTo(row);
    Q_EMIT candidate_chosen(model_->candidates()[points_[index]].settings);
  });
  show_state();
}

PlannerPanel::~PlannerPanel() = default;

QWidget* PlannerPanel::make_list() {
  sorted_->setSourceModel(model_);
  sorted_->setSortRole(CandidateModel::kSortRole);
  table_->setObjectName("candidates");
  table_->setModel(sorted_);
  table_->setSortingEnabled(true);
  table_->sortByColumn(CandidateModel::kRank, Qt::AscendingOrder);
  table_->setSelectionBehavior(QAbstractItemView::SelectRows);
  table_->setSelectionMode(QAbstractItemView::ExtendedSelection);
  table_->setAlternatingRowColors(true);
  table_->setShowGrid(false);
  table_->setWordWrap(false);
  table_->verticalHeader()->hide();
  table_->verticalHeader()->setDefaultSectionSize(table_->fontMetrics().height() + 6);
  table_->horizontalHeader()->setHighlightSections(false);
  // What a way is stands where it is seen in a narrow window.
  table_->horizontalHeader()->moveSection(CandidateModel::kName, CandidateModel::kSpeedup + 1);
  show_->setObjectName("show candidate");
  show_->setToolTip(tr("Load the chosen way into the fields"));
  compare_->setObjectName("compare candidates");
  compare_->setToolTip(tr("Lay the predictions of two chosen ways over each other"));

  auto* buttons = new QHBoxLayout;
  buttons->addStretch(1);
  buttons->addWidget(show_);
  buttons->addWidget(compare_);
  auto* list = new QWidget;
  auto* column = new QVBoxLayout(list);
  column->setContentsMargins(0, 0, 0, 0);
  column->addWidget(table_, 1);
  column->addLayout(buttons);

  const auto enable = [this] {
    const std::size_t chosen = chosen_candidates().size();
    show_->setEnabled(chosen == 1);
    compare_->setEnabled(chosen == 2);
  };
  connect(table_->selectionModel(), &QItemSelectionModel::selectionChanged, this, [this, enable] {
    enable();
    const std::vector<std::size_t> chosen = chosen_candidates();
    if (chosen.size() != 1) return;
    show_candidate(chosen.front());
    const auto point = std::find(points_.begin(), points_.end(), chosen.front());
    if (point == points_.end()) return chart_->show_point(std::nullopt);
    chart_->show_point(ChartPointId{0, static_cast<std::size_t>(point - points_.begin())});
  });
  connect(model_, &QAbstractItemModel::modelReset, this, enable);
  const auto show_chosen = [this] {
    const std::vector<std::size_t> chosen = chosen_candidates();
    if (chosen.size() == 1) Q_EMIT candidate_chosen(model_->candidates()[chosen.front()].settings);
  };
  connect(table_, &QTableView::activated, this, show_chosen);
  connect(show_, &QPushButton::clicked, this, show_chosen);
  connect(compare_, &QPushButton::clicked, this, [this] {
    const std::vector<std::size_t> chosen = chosen_candidates();
    if (chosen.size() != 2) return;
    Q_EMIT comparison_asked(model_->candidates()[chosen[0]], model_->candidates()[chosen[1]]);
  });
  enable();
  return list;
}

std::vector<std::size_t> PlannerPanel::chosen_candidates() const {
  std::vector<std::size_t> chosen;
  for (const QModelIndex& index : table_->selectionModel()->selectedRows()) {
    chosen.push_back(static_cast<std::size_t>(sorted_->mapToSource(index).row()));
  }
  std::sort(chosen.begin(), chosen.end());
  return chosen;
}

void PlannerPanel::set_exploration(std::shared_ptr<Exploration> exploration, bool of_same_recordings) {
  if (of_same_recordings) {  // what was found holds, and so does what is being looked for
    exploration_ = std::move(exploration);
    return show_state();
  }
  job_.cancel();
  exploration_ = std::move(exploration);
  found_.reset();
  model_->set_candidates({}, 0);
  draw_chart();
  show_state();
  Q_EMIT running_changed();
}

void PlannerPanel::set_settings(const ExploreSettings& settings) {
  settings_ = settings;
  show_state();
}

void PlannerPanel::recommend() {
  if (!exploration_) return;
  RecommendOptions options;
  options.objective = kNamed[std::max(0, objective_->currentIndex())].objective;
  searching_ = settings_;
  progress_->setRange(0, 0);
  job_.start(
      [this, exploration = exploration_, settings = settings_, options](const CancelToken& cancel) {
        // The job ends before this panel does, and with it what is posted here.
        return exploration->recommend(
            settings, options, cancel, [this](std::size_t done, std::size_t of, std::string_view what) {
              const QString text = QString::fromUtf8(what.data(), static_cast<qsizetype>(what.size()));
              QMetaObject::invokeMethod(
                  this, [this, done, of, text] { show_progress(done, of, text); }, Qt::QueuedConnection);
            });
      },
      [this](Result<Recommendation> result) { show_result(std::move(result)); });
  line_->setText(tr("Searching…"));
  show_state();
  Q_EMIT running_changed();
}

void PlannerPanel::stop() { job_.stop(); }

void PlannerPanel::show_progress(std::size_t done, std::size_t of, const QString& what) {
  if (!job_.running()) return;
  progress_->setRange(0, static_cast<int>(of));
  progress_->setValue(static_cast<int>(std::min(done, of)));
  line_->setText(of > 0 ? tr("%1: %2 of %3").arg(what).arg(done).arg(of) : what);
}

void PlannerPanel::show_result(Result<Recommendation> result) {
  if (result) {
    found_ = std::move(*result);
    searched_ = searching_;
    model_->set_candidates(found_->candidates, found_->ranked);
    table_->resizeColumnsToContents();
    table_->setColumnWidth(CandidateModel::kName, std::min(table_->columnWidth(CandidateModel::kName), 300));
    draw_chart();
  } else if (result.error().code != ErrorCode::kInterrupted) {
    Q_EMIT failed(qt(result.error().message));
  }
  // What was changed while it searched is not overwritten.
  const bool choose_best = result && found_->ranked > 0 && settings_ == searching_;
  if (choose_best) {
    table_->selectRow(sorted_->mapFromSource(model_->index(0, 0)).row());
    chart_->show_point(std::nullopt);  // the best has its ring; a note would hide those beside it
  }
  show_state();
  Q_EMIT running_changed();
  if (choose_best) Q_EMIT candidate_chosen(model_->candidates().front().settings);
}

void PlannerPanel::show_state() {
  recommend_->setEnabled(exploration_ != nullptr);
  recommend_->setText(job_.running() ? tr("Stop") : tr("Recommend"));
  objective_->setEnabled(!job_.running());
  progress_->setVisible(job_.running());
  if (job_.running()) return;
  if (!found_ || !exploration_) {
    line_->setText(tr("Recommend searches for the best way to run these models within the limits."));
    return;
  }
  QString text = counted(static_cast<qsizetype>(found_->candidates.size()), tr("way"), tr("ways"));
  if (!found_->refused.empty()) text += tr(", %1 refused").arg(found_->refused.size());
  if (found_->ranked > 0) text += tr("; best: %1").arg(qt(found_->candidates.front().name));
  if (found_->interrupted) text += tr("; stopped early, there may be better ones");
  if (!same_search(searched_, settings_, exploration_->facts()))
    text += tr("; for other models, input or limits than the fields say now");
  line_->setText(text);
  QStringList refused;
  for (const RefusedWay& way : found_->refused) refused << qt(way.name) + QStringLiteral(": ") + qt(way.reason);
  line_->setToolTip(refused.join('\n'));
}

void PlannerPanel::draw_chart() {
  if (!exploration_) {
    points_.clear();
    chart_->set_chart({});
    return;
  }
  CandidateChart drawn =
      candidate_chart(found_.value_or(Recommendation{}),
                      across_->currentIndex() == 0 ? CandidateAxis::kMemory : CandidateAxis::kLatency,
                      searched_.limits.memory, exploration_->facts().device_memory,
                      exploration_->facts().kind == ExploreFacts::Kind::kTraces ? "steps" : "samples");
  points_ = std::move(drawn.candidates);
  chart_->set_chart(std::move(drawn.chart));
}

void PlannerPanel::show_candidate(std::size_t candidate) {
  const ExploreCandidate& found = model_->candidates()[candidate];
  line_->setText(
      QStringLiteral("<b>%1</b> %2").arg(qt(found.name).toHtmlEscaped(), qt(found.explanation).toHtmlEscaped()));
}

}  // namespace cohort
