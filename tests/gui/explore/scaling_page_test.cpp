#include "gui/scaling/scaling_page.hpp"

#include <gmock/gmock.h>

#include <QLabel>
#include <QLineEdit>
#include <QPushButton>
#include <QSignalSpy>
#include <QTest>

#include "gui/chart/chart_widget.hpp"
#include "tests/gui/explore/fake_exploration.hpp"
#include "tests/view/compare/small_traces.hpp"

namespace cohort {
namespace {

using testing::ElementsAre;
using testing::HasSubstr;

TEST(NumbersFrom, ReadsListsAndRanges) {
  EXPECT_THAT(numbers_from("1, 4,2", 64).value(), ElementsAre(1, 2, 4));
  EXPECT_THAT(numbers_from("8-11, 9", 64).value(), ElementsAre(8, 9, 10, 11));
  EXPECT_EQ(numbers_from("", 64), std::nullopt);
  EXPECT_EQ(numbers_from("0", 64), std::nullopt);
  EXPECT_EQ(numbers_from("65", 64), std::nullopt);
  EXPECT_EQ(numbers_from("4-2", 64), std::nullopt);
  EXPECT_EQ(numbers_from("1-2-3", 64), std::nullopt);
  EXPECT_EQ(numbers_from("x", 64), std::nullopt);
}

class ScalingPageTest : public testing::Test {
 protected:
  void open() {
    page_.resize(1000, 600);
    page_.set_files({{"/p", shared(trace_of_plan(TraceKind::kProfile, {})), nullptr}});
    page_.show();
    wait();
  }
  void wait() {
    ASSERT_TRUE(QTest::qWaitFor([&] { return page_.settled(); }));
  }

  std::shared_ptr<FakeControl> control_ = std::make_shared<FakeControl>();
  ExplorationSource source_{
      nullptr, [this](const std::vector<NamedTrace>&, const CancelToken&) -> Result<std::unique_ptr<Exploration>> {
        return std::make_unique<FakeExploration>(control_);
      }};
  ScalingPage page_{source_};
};

TEST_F(ScalingPageTest, SaysWhatToOpen) {
  EXPECT_FALSE(page_.state().enabled);
  EXPECT_THAT(page_.state().next.toStdString(), HasSubstr("Open a profile"));
}

TEST_F(ScalingPageTest, FollowsEachWayOnceItIsSeen) {
  open();
  ASSERT_TRUE(page_.scaling().has_value());
  const Chart& chart = page_.chart().chart();
  ASSERT_EQ(chart.series.size(), 2U);
  EXPECT_EQ(chart.series[0].name, "concurrent");
  ASSERT_EQ(chart.series[0].points.size(), 6U);
  EXPECT_EQ(chart.series[0].points[5].x, 32);
  EXPECT_EQ(chart.series[0].points[5].y, 17);
  EXPECT_EQ(chart.series[0].points[5].range, (ValueRange{1, 33}));
  EXPECT_EQ(chart.series[1].kind, SeriesKind::kPoints);
}

TEST_F(ScalingPageTest, FollowsOtherNumbers) {
  open();
  auto* numbers = page_.findChild<QLineEdit*>("numbers");
  numbers->selectAll();
  QTest::keyClicks(numbers, "3-5");
  QTest::keyClick(numbers, Qt::Key_Return);
  wait();
  EXPECT_EQ(page_.chart().chart().series[0].points.size(), 3U);
  numbers->selectAll();
  QTest::keyClicks(numbers, "none");
  QTest::keyClick(numbers, Qt::Key_Return);
  EXPECT_EQ(page_.findChild<QLabel*>("line")->text(), "Give numbers from 1 to 1024: 1, 2, 4, 8-12");
}

TEST_F(ScalingPageTest, FollowsAnewWhereInputOrLimitsAreOthers) {
  open();
  ExploreSettings settings = source_.settings();
  settings.models = {3};
  const int before = control_->followed;
  source_.set_settings(settings);
  wait();
  EXPECT_EQ(control_->followed, before) << "which is what is followed";
  settings.shared_input = !settings.shared_input;
  source_.set_settings(settings);
  wait();
  EXPECT_EQ(control_->followed, before + 1);
  page_.hide();
  settings.limits.memory = Bytes{1 << 20};
  source_.set_settings(settings);
  EXPECT_EQ(control_->followed, before + 1);
  page_.show();
  wait();
  EXPECT_EQ(control_->followed, before + 2);
}

TEST_F(ScalingPageTest, LeadsFromAPointToItsSettings) {
  open();
  EXPECT_EQ(page_.findChild<QLabel*>("of")->text(), "<b>p</b>");
  const QSignalSpy requested(&page_, &Page::requested);
  Q_EMIT page_.chart().point_clicked(0, 3);
  EXPECT_THAT(source_.settings().models, ElementsAre(8));
  ASSERT_EQ(requested.size(), 1);
  EXPECT_EQ(requested[0][0].value<PageRequest>().page, PageId::kExplore);
  Q_EMIT page_.chart().point_clicked(1, 0);  // measured: there are no settings
  EXPECT_EQ(requested.size(), 1);
}

TEST_F(ScalingPageTest, StopsWithWhatWasFound) {
  control_->hold = true;
  page_.set_files({{"/p", shared(trace_of_plan(TraceKind::kProfile, {})), nullptr}});
  page_.show();
  auto* follow = page_.findChild<QPushButton*>("follow");
  ASSERT_TRUE(QTest::qWaitFor([&] { return follow->text() == "Stop"; }));
  QTest::mouseClick(follow, Qt::LeftButton);
  wait();
  EXPECT_EQ(follow->text(), "Predict");
  EXPECT_TRUE(page_.scaling().has_value());
  EXPECT_THAT(page_.findChild<QLabel*>("line")->text().toStdString(), HasSubstr("Stopped early"));
}

}  // namespace
}  // namespace cohort
