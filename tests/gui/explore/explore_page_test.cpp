#include "gui/explore/explore_page.hpp"

#include <gmock/gmock.h>

#include <QAction>
#include <QCheckBox>
#include <QDir>
#include <QDoubleSpinBox>
#include <QFile>
#include <QLabel>
#include <QPushButton>
#include <QSignalSpy>
#include <QSlider>
#include <QTabWidget>
#include <QTemporaryDir>
#include <QTest>

#include "gui/chart/chart_widget.hpp"
#include "gui/explore/chip_board.hpp"
#include "gui/explore/number_field.hpp"
#include "gui/explore/plan_board.hpp"
#include "gui/explore/planner_panel.hpp"
#include "gui/figures/figure_strip.hpp"
#include "gui/timeline/timeline_panel.hpp"
#include "planning/plan_files.hpp"
#include "tests/gui/explore/fake_exploration.hpp"
#include "tests/view/compare/small_traces.hpp"

namespace cohort {
namespace {

using testing::ElementsAre;
using testing::HasSubstr;

class ExplorePageTest : public testing::Test {
 protected:
  ExplorePageTest() {
    page_.set_theme(theme_of(ThemeKind::kLight));
    page_.resize(1280, 800);
    page_.show();
  }
  void open() {
    page_.set_files({{"/p", shared(trace_of_plan(TraceKind::kProfile, {})), nullptr}});
    wait();
  }
  void wait() {
    ASSERT_TRUE(QTest::qWaitFor([&] { return page_.settled(); }));
  }
  template <class Widget>
  Widget& find(const char* name) {
    return *page_.findChild<Widget*>(QLatin1String(name));
  }
  QSlider& streams() { return find<NumberField>("streams").slider(); }
  std::string figures() { return page_.findChild<FigureStrip*>()->text().toStdString(); }
  ExploreSettings last_predicted() {
    const std::scoped_lock lock(control_->mutex);
    return control_->predicted.back();
  }

  std::shared_ptr<FakeControl> control_ = std::make_shared<FakeControl>();
  ExplorationSource source_{
      nullptr, [this](const std::vector<NamedTrace>&, const CancelToken&) -> Result<std::unique_ptr<Exploration>> {
        return std::make_unique<FakeExploration>(control_);
      }};
  ExplorePage page_{source_};
};

TEST_F(ExplorePageTest, SaysWhatToDoWithoutAFile) {
  EXPECT_FALSE(page_.state().enabled);
  EXPECT_THAT(page_.state().next.toStdString(), HasSubstr("Profile a model"));
  const QSignalSpy requested(&page_, &Page::requested);
  for (QPushButton* button : page_.findChildren<QPushButton*>()) {
    if (button->text() == "Profile a model") QTest::mouseClick(button, Qt::LeftButton);
  }
  ASSERT_EQ(requested.size(), 1);
  EXPECT_EQ(requested[0][0].value<PageRequest>().page, PageId::kProfile);
}

TEST_F(ExplorePageTest, PredictsWhatItOpens) {
  open();
  ASSERT_TRUE(page_.picture().answer.has_value());
  EXPECT_THAT(figures(), HasSubstr("Speedup over one after another: 2.00x; likely 1.80-2.20, bounds 1.00-4.00"));
  EXPECT_THAT(figures(), HasSubstr("Step of 4 models: 4.00 us; one by one 8.00 us"));
  EXPECT_THAT(figures(), HasSubstr("Memory: 1.00 MiB; of"));
  EXPECT_THAT(figures(), HasSubstr("Bound by: cores; busy 75%"));
  EXPECT_THAT(figures(), HasSubstr("Confidence: low; 1 doubt"));
  EXPECT_THAT(find<QLabel>("doubts").text().toStdString(), HasSubstr("no op was timed at this width"));
  EXPECT_EQ(page_.panel().view().timeline()->slices(), 4U);
  EXPECT_FALSE(find<ChartWidget>("gain").chart().empty());
  EXPECT_FALSE(find<ChartWidget>("memory chart").chart().empty());
}

TEST_F(ExplorePageTest, SimulatesEveryMoveOfASlider) {
  open();
  streams().setFocus();
  QTest::keyClick(&streams(), Qt::Key_Right);
  wait();
  EXPECT_EQ(last_predicted().streams, 3);
  EXPECT_THAT(figures(), HasSubstr("3.00x"));
}

TEST_F(ExplorePageTest, CancelsTheSimulationThatAChangeOvertakes) {
  open();
  const int before = control_->started;
  control_->hold = true;
  QTest::keyClick(&streams(), Qt::Key_Right);
  ASSERT_TRUE(QTest::qWaitFor([&] { return control_->started == before + 1; }));
  EXPECT_TRUE(page_.simulating());
  EXPECT_EQ(find<QLabel>("line").text(), "Simulating…");
  QTest::keyClick(&streams(), Qt::Key_Right);
  ASSERT_TRUE(QTest::qWaitFor([&] { return control_->cancelled == 1; }));
  control_->hold = false;
  wait();
  EXPECT_EQ(last_predicted().streams, 4);
  EXPECT_THAT(figures(), HasSubstr("4.00x"));
  const std::scoped_lock lock(control_->mutex);
  for (const ExploreSettings& settings : control_->predicted) EXPECT_NE(settings.streams, 3);
}

TEST_F(ExplorePageTest, FollowsTheNumberOfModels) {
  open();
  QDoubleSpinBox& box = find<NumberField>("models 0").box();
  box.selectAll();
  QTest::keyClicks(&box, "6");
  QTest::keyClick(&box, Qt::Key_Return);
  wait();
  EXPECT_THAT(figures(), HasSubstr("Step of 6 models: 6.00 us"));
  EXPECT_EQ(page_.panel().view().timeline()->slices(), 6U);
}

TEST_F(ExplorePageTest, KeepsWhatWasZoomedInOnInView) {
  open();
  const TimeWindow range{Nanoseconds(500), Nanoseconds(1500)};
  page_.panel().view().set_visible_range(range);
  QTest::keyClick(&streams(), Qt::Key_Right);
  wait();
  EXPECT_EQ(page_.panel().view().visible_range(), range);
  page_.panel().view().show_all();
  const TimeWindow all = page_.panel().view().visible_range();
  QTest::keyClick(&streams(), Qt::Key_Right);
  wait();
  EXPECT_EQ(page_.panel().view().visible_range(), all);
}

TEST_F(ExplorePageTest, StartsLimitsFromWhatThePlanTakes) {
  open();
  EXPECT_EQ(find<NumberField>("memory").value(), 1);
  auto& on = find<QCheckBox>("limit memory");
  on.setFocus();
  QTest::keyClick(&on, Qt::Key_Space);
  wait();
  EXPECT_EQ(last_predicted().limits.memory, (std::optional(Bytes{1 << 20})));
}

TEST_F(ExplorePageTest, MovesAnOpToAnotherStrategyByDragging) {
  open();
  ChipBoard& board = page_.findChild<PlanBoard*>()->ops_board();
  ASSERT_EQ(board.chips()[2].label, "fc1");
  const auto lane = static_cast<int>(board.lanes().indexOf("strided batch"));
  ASSERT_GE(lane, 0);
  const QPoint from = board.chip_rectangle(2).center();
  const QPoint to = board.lane_rectangle(lane).center();
  QTest::mousePress(&board, Qt::LeftButton, {}, from);
  QTest::mouseMove(&board, (from + to) / 2);
  QTest::mouseMove(&board, to);
  QTest::mouseRelease(&board, Qt::LeftButton, {}, to);
  wait();
  const ExploreSettings settings = last_predicted();
  ASSERT_EQ(settings.groups.size(), 2U);
  EXPECT_EQ(settings.groups[0].strategy, Strategy::kStridedBatch);
  EXPECT_THAT(settings.groups[0].ops, ElementsAre("fc1"));
  EXPECT_EQ(board.chips()[2].lane, board.lanes().indexOf("strided batch"));
}

TEST_F(ExplorePageTest, MovesAMemberToAnotherStreamByKeys) {
  open();
  ChipBoard& board = page_.findChild<PlanBoard*>()->members_board();
  ASSERT_EQ(board.chips().size(), 4U);
  QTest::keyClick(&board, Qt::Key_Right);
  QTest::keyClick(&board, Qt::Key_Down);
  wait();
  EXPECT_THAT(last_predicted().member_streams, ElementsAre(1, 0, 1, 1));
}

TEST_F(ExplorePageTest, SaysWhySettingsCannotBePredicted) {
  open();
  QDoubleSpinBox& threads = find<NumberField>("launch threads").box();
  threads.selectAll();
  QTest::keyClicks(&threads, "4");
  const int before = control_->started;
  QTest::keyClick(&threads, Qt::Key_Return);
  wait();
  EXPECT_EQ(control_->started, before);
  EXPECT_THAT(find<QLabel>("line").text().toStdString(), HasSubstr("each launches one stream or more"));
  EXPECT_TRUE(find<QLabel>("problems").isVisible());
  EXPECT_FALSE(find<QPushButton>("save plan").isEnabled());
}

TEST_F(ExplorePageTest, ShowsTheErrorOfAPrediction) {
  open();
  ExploreSettings settings = source_.settings();
  settings.limits.memory = Bytes{1024};
  source_.set_settings(settings);
  wait();
  EXPECT_THAT(find<QLabel>("line").text().toStdString(), HasSubstr("the plan takes 1.00 MiB"));
  EXPECT_FALSE(page_.picture().answer.has_value());
}

TEST_F(ExplorePageTest, LoadsWhatIsRecommendedAndOtherCandidatesIntoTheFields) {
  open();
  QTest::mouseClick(&find<QPushButton>("recommend plan"), Qt::LeftButton);
  EXPECT_FALSE(find<QPushButton>("recommend plan").isEnabled());
  wait();
  EXPECT_TRUE(find<QPushButton>("recommend plan").isEnabled());
  EXPECT_TRUE(page_.planner().isVisible());
  EXPECT_EQ(find<NumberField>("streams").value(), 4);
  EXPECT_THAT(figures(), HasSubstr("4.00x"));
  Q_EMIT page_.planner().candidate_chosen(page_.planner().found()->candidates[2].settings);
  wait();
  EXPECT_EQ(find<NumberField>("streams").value(), 1);
}

TEST_F(ExplorePageTest, HandsTwoPredictionsOnToBeCompared) {
  open();
  const QSignalSpy asked(&page_, &ExplorePage::comparison_asked);
  ExploreCandidate first;
  first.name = "four";
  first.settings = source_.settings();
  ExploreCandidate second = first;
  second.name = "two";
  second.settings.models = {2};
  Q_EMIT page_.planner().comparison_asked(first, second);
  wait();
  ASSERT_EQ(asked.size(), 1);
  EXPECT_EQ(asked[0][0].value<NamedPrediction>().name, "four");
  EXPECT_EQ(asked[0][0].value<NamedPrediction>().trace->slices.size(), 4U);
  EXPECT_EQ(asked[0][1].value<NamedPrediction>().trace->slices.size(), 2U);
}

TEST_F(ExplorePageTest, WritesPlanAndPredictedTraceAndRunsThem) {
  open();
  const QTemporaryDir folder;
  const QString path = folder.filePath("tiny.plan.json");
  ASSERT_TRUE(page_.save_plan(path, Overwrite::kNever).has_value());
  EXPECT_TRUE(QFile::exists(folder.filePath("tiny.predicted.json.gz")));
  EXPECT_EQ(read_plan(path.toStdString()).value().streams, 2);
  EXPECT_FALSE(page_.save_plan(path, Overwrite::kNever).has_value());
  const QSignalSpy requested(&page_, &Page::requested);
  QTest::mouseClick(&find<QPushButton>("run plan"), Qt::LeftButton);
  ASSERT_EQ(requested.size(), 1);
  const auto request = requested[0][0].value<PageRequest>();
  EXPECT_EQ(request.page, PageId::kRun);
  EXPECT_EQ(request.files.first(), path);
}

TEST_F(ExplorePageTest, SavesNothingThatIsOutOfDate) {
  open();
  control_->hold = true;
  QTest::keyClick(&streams(), Qt::Key_Right);
  const QTemporaryDir folder;
  EXPECT_FALSE(page_.save_plan(folder.filePath("tiny.plan.json"), Overwrite::kNever).has_value());
  EXPECT_FALSE(find<QPushButton>("save plan").isEnabled());
  control_->hold = false;
  wait();
  EXPECT_TRUE(find<QPushButton>("save plan").isEnabled());
}

TEST_F(ExplorePageTest, LoadsAnOpenPlan) {
  auto plan = std::make_shared<Plan>();
  plan->streams = 5;
  page_.set_files({{"/p", shared(trace_of_plan(TraceKind::kProfile, {})), nullptr}, {"/plan.json", nullptr, plan}});
  wait();
  page_.show_files({"/plan.json"});
  wait();
  EXPECT_EQ(last_predicted().streams, 5);
}

TEST_F(ExplorePageTest, EmptiesWhenTheProfileIsClosed) {
  open();
  page_.set_files({});
  EXPECT_FALSE(page_.state().enabled);
  EXPECT_FALSE(page_.picture().answer.has_value());
}

}  // namespace
}  // namespace cohort
