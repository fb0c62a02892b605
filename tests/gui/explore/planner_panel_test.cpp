#include "gui/explore/planner_panel.hpp"

#include <gmock/gmock.h>

#include <QComboBox>
#include <QLabel>
#include <QPushButton>
#include <QSignalSpy>
#include <QTableView>
#include <QTest>

#include "gui/chart/chart_widget.hpp"
#include "tests/gui/explore/fake_exploration.hpp"

namespace cohort {
namespace {

using testing::HasSubstr;

class Planner : public testing::Test {
 protected:
  Planner() {
    panel_.set_exploration(exploration_);
    panel_.set_settings(exploration_->initial_settings());
    panel_.resize(1100, 320);
    panel_.show();
  }
  template <class Widget>
  Widget& find(const char* name) {
    return *panel_.findChild<Widget*>(QLatin1String(name));
  }
  void recommend() {
    QTest::mouseClick(&find<QPushButton>("recommend"), Qt::LeftButton);
    wait();
    chosen_.clear();  // the best
  }
  void wait() {
    ASSERT_TRUE(QTest::qWaitFor([&] { return !panel_.running(); }));
  }
  std::string line() { return find<QLabel>("candidate").text().toStdString(); }
  void click_row(int row, Qt::KeyboardModifiers modifiers = {}) {
    auto& table = find<QTableView>("candidates");
    QTest::mouseClick(table.viewport(), Qt::LeftButton, modifiers,
                      table.visualRect(table.model()->index(row, 0)).center());
  }

  std::shared_ptr<FakeControl> control_ = std::make_shared<FakeControl>();
  std::shared_ptr<FakeExploration> exploration_ = std::make_shared<FakeExploration>(control_);
  PlannerPanel panel_;
  QSignalSpy chosen_{&panel_, &PlannerPanel::candidate_chosen};
  QSignalSpy compared_{&panel_, &PlannerPanel::comparison_asked};
};

TEST_F(Planner, SaysWhatItDoesBeforeItIsAsked) {
  EXPECT_THAT(line(), HasSubstr("Recommend searches"));
  EXPECT_THAT(panel_.chart().chart().if_empty, HasSubstr("Recommend"));
}

TEST_F(Planner, ListsWhatItFinds) {
  recommend();
  EXPECT_EQ(find<QTableView>("candidates").model()->rowCount(), 3);
  EXPECT_EQ(panel_.chart().chart().series.front().points.size(), 3U);
  EXPECT_THAT(line(), HasSubstr("3 ways, 1 refused; best: concurrent x4"));
}

TEST_F(Planner, ChoosesTheBestItFinds) {
  QTest::mouseClick(&find<QPushButton>("recommend"), Qt::LeftButton);
  wait();
  ASSERT_EQ(chosen_.size(), 1);
  EXPECT_EQ(chosen_[0][0].value<ExploreSettings>().streams, 4);
  EXPECT_EQ(find<QTableView>("candidates").selectionModel()->selectedRows().front().row(), 0);
  EXPECT_FALSE(panel_.chart().current().has_value());
}

TEST_F(Planner, LeavesAloneWhatWasChangedWhileItSearched) {
  control_->hold = true;
  QTest::mouseClick(&find<QPushButton>("recommend"), Qt::LeftButton);
  ExploreSettings settings = exploration_->initial_settings();
  settings.streams = 7;
  panel_.set_settings(settings);
  control_->hold = false;
  wait();
  EXPECT_EQ(find<QTableView>("candidates").model()->rowCount(), 3);
  EXPECT_TRUE(chosen_.empty());
}

TEST_F(Planner, StopsWithWhatWasFound) {
  control_->hold = true;
  QTest::mouseClick(&find<QPushButton>("recommend"), Qt::LeftButton);
  EXPECT_EQ(find<QPushButton>("recommend").text(), "Stop");
  ASSERT_TRUE(QTest::qWaitFor([&] { return line() == "candidates: 1 of 2"; }));
  QTest::mouseClick(&find<QPushButton>("recommend"), Qt::LeftButton);
  wait();
  EXPECT_EQ(find<QPushButton>("recommend").text(), "Recommend");
  EXPECT_THAT(line(), HasSubstr("stopped early"));
  EXPECT_EQ(find<QTableView>("candidates").model()->rowCount(), 3);
}

TEST_F(Planner, LeadsFromAPointToItsSettings) {
  recommend();
  const HitRegion* region = panel_.chart().drawing().region({0, 1});
  ASSERT_NE(region, nullptr);
  const QPoint point(static_cast<int>(region->centre.x), static_cast<int>(region->centre.y));
  QTest::mouseMove(&panel_.chart(), point);
  EXPECT_THAT(line(), HasSubstr("overlaps 2 members"));
  QTest::mouseClick(&panel_.chart(), Qt::LeftButton, {}, point);
  ASSERT_EQ(chosen_.size(), 1);
  EXPECT_EQ(chosen_[0][0].value<ExploreSettings>().streams, 2);
}

TEST_F(Planner, DrawsLatencyOfThoseThatHaveOne) {
  recommend();
  find<QComboBox>("across").setFocus();
  QTest::keyClick(&find<QComboBox>("across"), Qt::Key_Down);
  EXPECT_EQ(panel_.chart().chart().series.front().points.size(), 2U);
}

TEST_F(Planner, ShowsAndComparesRows) {
  recommend();
  click_row(1);
  EXPECT_TRUE(find<QPushButton>("show candidate").isEnabled());
  EXPECT_FALSE(find<QPushButton>("compare candidates").isEnabled());
  EXPECT_EQ(panel_.chart().current(), (std::optional(ChartPointId{0, 1})));
  QTest::mouseClick(&find<QPushButton>("show candidate"), Qt::LeftButton);
  ASSERT_EQ(chosen_.size(), 1);
  click_row(2, Qt::ControlModifier);
  QTest::mouseClick(&find<QPushButton>("compare candidates"), Qt::LeftButton);
  ASSERT_EQ(compared_.size(), 1);
  EXPECT_EQ(compared_[0][0].value<ExploreCandidate>().settings.streams, 2);
  EXPECT_EQ(compared_[0][1].value<ExploreCandidate>().settings.streams, 1);
}

TEST_F(Planner, SaysThatItSearchedForOtherModels) {
  recommend();
  ExploreSettings settings = exploration_->initial_settings();
  settings.streams = 7;  // how they run is what was searched
  panel_.set_settings(settings);
  EXPECT_THAT(line(), testing::Not(HasSubstr("for other models")));
  settings.buffers = 2;  // as it is unless given
  settings.minibatch = 1;
  panel_.set_settings(settings);
  EXPECT_THAT(line(), testing::Not(HasSubstr("for other models")));
  settings.models = {9};
  panel_.set_settings(settings);
  EXPECT_THAT(line(), HasSubstr("for other models"));
}

TEST_F(Planner, SaysWhatItSearchedForAlsoOnceASearchHasFailed) {
  recommend();
  ExploreSettings settings = exploration_->initial_settings();
  settings.models = {9};
  panel_.set_settings(settings);
  control_->finds_none = true;
  recommend();
  EXPECT_THAT(line(), HasSubstr("for other models"));
}

TEST_F(Planner, KeepsWhatItFoundOfTheSameRecordings) {
  recommend();
  panel_.set_exploration(std::make_shared<FakeExploration>(control_), true);
  EXPECT_EQ(find<QTableView>("candidates").model()->rowCount(), 3);
  EXPECT_THAT(line(), HasSubstr("3 ways"));
}

TEST_F(Planner, EmptiesForAnotherExploration) {
  recommend();
  panel_.set_exploration(nullptr);
  EXPECT_EQ(find<QTableView>("candidates").model()->rowCount(), 0);
  EXPECT_FALSE(find<QPushButton>("recommend").isEnabled());
}

}  // namespace
}  // namespace cohort
