#include "gui/scaling/scaling_page.hpp"

#include <QAction>
#include <QHBoxLayout>
#include <QLabel>
#include <QLineEdit>
#include <QProgressBar>
#include <QPushButton>
#include <QStackedWidget>
#include <QVBoxLayout>
#include <algorithm>
#include <utility>

#include "gui/chart/chart_widget.hpp"
#include "gui/window/qt_text.hpp"
#include "view/chart/plan_charts.hpp"
#include "view/explore/check_settings.hpp"

namespace cohort {
std::optional<std::vector<int>> numbers_from(const QString& text, int most) {
  std::vector<int> numbers;
  for (const QString& part : text.split(QLatin1Char(','), Qt::SkipEmptyParts)) {
    const QStringList ends = part.split(QLatin1Char('-'));
    if (ends.size() > 2) return std::nullopt;
    bool first_is_number = false;
    bool last_is_number = false;
    const int first = ends.front().trimmed().toInt(&first_is_number);
    const int last = ends.back().trimmed().toInt(&last_is_number);
    if (!first_is_number || !last_is_number || first < 1 || last < first || last > most) return std::nullopt;
    for (int number = first; number <= last; ++number) numbers.push_back(number);
  }
  std::sort(numbers.begin(), numbers.end());
  numbers.erase(std::unique(numbers.begin(), numbers.end()), numbers.end());
  if (numbers.empty()) return std::nullopt;
  return numbers;
}

Chart chart_of(const Scaling& scaling) {
  std::vector<ScalingCurve> curves;
  for (const ScaledWay& way : scaling.ways) {
    ScalingCurve curve;
    curve.name = way.name;
    curve.measured = way.measured;
    for (const ScaledPoint& point : way.points) {
      curve.points.push_back({point.models, point.speedup, ValueRange{point.least, point.most}, point.name, false});
    }
    curves.push_back(std::move(curve));
  }
  return scaling_chart(curves);
}

ScalingPage::ScalingPage(ExplorationSource& source, QWidget* parent)
    : Page(parent),
      source_(&source),
      stack_(new QStackedWidget),
      emptiness_(new QLabel),
      of_(new QLabel),
      numbers_(new QLineEdit(QStringLiteral("1, 2, 4, 8, 16, 32"))),
      start_(new QPushButton),
      progress_(new QProgressBar),
      line_(new QLabel),
      chart_(new ChartWidget),
      missing_(new QLabel) {
  emptiness_->setWordWrap(true);
  emptiness_->setAlignment(Qt::AlignCenter);
  numbers_->setObjectName("numbers");
  numbers_->setToolTip(tr("Numbers of each model: 1, 2, 4, 8-12"));
  numbers_->setMaximumWidth(260);
  of_->setObjectName("of");
  of_->setToolTip(tr("Explore chooses among the open profiles and traces of runs"));
  start_->setObjectName("follow");
  progress_->setFixedWidth(140);
  progress_->setTextVisible(false);
  line_->setObjectName("line");
  line_->setSizePolicy(QSizePolicy::Ignored, QSizePolicy::Preferred);
  missing_->setWordWrap(true);
  missing_->setTextInteractionFlags(Qt::TextSelectableByMouse);

  auto* bar = new QHBoxLayout;
  bar->addWidget(of_);
  bar->addWidget(new QLabel(tr("Numbers of models")));
  bar->addWidget(numbers_);
  bar->addWidget(start_);
  bar->addWidget(progress_);
  bar->addWidget(line_, 1);
  auto* shown = new QWidget;
  auto* column = new QVBoxLayout(shown);
  column->setContentsMargins(12, 8, 12, 8);
  column->addLayout(bar);
  column->addWidget(chart_, 1);
  column->addWidget(missing_);
  stack_->addWidget(emptiness_);
  stack_->addWidget(shown);
  auto* layout = new QVBoxLayout(this);
  layout->setContentsMargins(0, 0, 0, 0);
  layout->addWidget(stack_);

  connect(source_, &ExplorationSource::exploration_changed, this, &ScalingPage::show_exploration);
  connect(source_, &ExplorationSource::settings_changed, this, &ScalingPage::show_settings);
  connect(start_, &QPushButton::clicked, this, [this] { job_.running() ? job_.stop() : start(); });
  connect(numbers_, &QLineEdit::returnPressed, this, &ScalingPage::start);
  connect(chart_, &ChartWidget::point_clicked, this, &ScalingPage::choose_point);
  connect(chart_, &ChartWidget::failed, this, &Page::failed);
  auto* follow = new QAction(tr("Follow the speedup over numbers of models"), this);
  connect(follow, &QAction::triggered, this, &ScalingPage::start);
  actions_.push_back(follow);
  show_exploration();
}

ScalingPage::~ScalingPage() = default;

PageState ScalingPage::state() const {
  if (source_->choices().empty()) {
    return {false, tr("Open a profile or a trace of a run to see how its speedup grows with the number of models.")};
  }
  return {true, tr("Click a point to explore that number of models.")};
}

bool ScalingPage::settled() const {
  return !source_->opening() && !job_.running() && !(wanted_ && shown_ && isVisible());
}

void ScalingPage::set_files(const std::vector<OpenFile>& files) { source_->set_files(files); }

void ScalingPage::showEvent(QShowEvent* event) {
  Page::showEvent(event);
  if (wanted_) start();
}

void ScalingPage::show_exploration() {
  if (shown_ && shown_ == source_->exploration()) return;
  job_.cancel();
  shown_ = source_->exploration();
  scaling_.reset();
  missing_->clear();
  chart_->set_chart({});
  stack_->setCurrentIndex(shown_ ? 1 : 0);
  if (!shown_) {
    emptiness_->setText(source_->emptiness(
        tr("<h3>Nothing to follow yet</h3><p>Open a profile, or a trace of a run: then this page shows how the speedup "
           "grows with the number of models, and what was measured beside it.</p>")));
  }
  if (shown_) {
    const QString title = source_->choices()[static_cast<std::size_t>(source_->chosen())].title;
    of_->setText(QStringLiteral("<b>%1</b>").arg(title.toHtmlEscaped()));
  }
  wanted_ = shown_ != nullptr;
  if (wanted_ && isVisible()) start();
  show_state();
  Q_EMIT state_changed();
}

/// Curves of other input or limits are followed anew: a click on a point would bring those back.
void ScalingPage::show_settings() {
  if (shown_ && !wanted_ && !same_input_and_limits(followed_, source_->settings(), shown_->facts())) {
    wanted_ = true;
    if (isVisible()) start();
  }
  show_state();
}

void ScalingPage::start() {
  if (!shown_) return;
  wanted_ = false;
  const auto numbers = numbers_from(numbers_->text(), shown_->facts().most_models);
  if (!numbers) {
    line_->setText(tr("Give numbers from 1 to %1: 1, 2, 4, 8-12").arg(shown_->facts().most_models));
    return;
  }
  followed_ = source_->settings();
  progress_->setRange(0, 0);
  line_->clear();
  job_.start(
      [this, exploration = shown_, settings = followed_, numbers = *numbers](const CancelToken& cancel) {
        // The job ends before this page does, and with it what is posted here.
        return exploration->scaling(
            settings, numbers, cancel, [this](std::size_t done, std::size_t of, std::string_view what) {
              const QString text = QString::fromUtf8(what.data(), static_cast<qsizetype>(what.size()));
              QMetaObject::invokeMethod(
                  this, [this, done, of, text] { show_progress(done, of, text); }, Qt::QueuedConnection);
            });
      },
      [this](Result<Scaling> result) { show_result(std::move(result)); });
  show_state();
  Q_EMIT state_changed();
}

void ScalingPage::show_progress(std::size_t done, std::size_t of, const QString& what) {
  if (!job_.running()) return;
  progress_->setRange(0, static_cast<int>(of));
  progress_->setValue(static_cast<int>(std::min(done, of)));
  line_->setText(what);
}

void ScalingPage::show_result(Result<Scaling> result) {
  line_->clear();
  if (result) {
    scaling_ = std::move(*result);
    chart_->set_chart(chart_of(*scaling_));
    QStringList missing;
    for (const ScaledWay& way : scaling_->ways) {
      for (const std::string& point : way.missing) missing << qt(way.name) + QStringLiteral(": ") + qt(point);
    }
    if (scaling_->interrupted) line_->setText(tr("Stopped early: points may be missing."));
    missing_->setText(missing.mid(0, 4).join('\n') +
                      (missing.size() > 4 ? tr("\nand %1 more").arg(missing.size() - 4) : QString()));
    missing_->setToolTip(missing.join('\n'));
    missing_->setVisible(!missing.isEmpty());
  } else if (result.error().code != ErrorCode::kInterrupted) {
    line_->setText(qt(result.error().message));
  }
  show_state();
  Q_EMIT state_changed();
}

void ScalingPage::show_state() {
  progress_->setVisible(job_.running());
  start_->setText(job_.running() ? tr("Stop") : tr("Predict"));
}

void ScalingPage::choose_point(std::size_t series, std::size_t index) {
  if (!scaling_ || series >= scaling_->ways.size() || index >= scaling_->ways[series].points.size()) return;
  const ScaledPoint& point = scaling_->ways[series].points[index];
  if (!point.settings) return;
  source_->set_settings(*point.settings);
  Q_EMIT requested({PageId::kExplore, {}});
}

}  // namespace cohort
