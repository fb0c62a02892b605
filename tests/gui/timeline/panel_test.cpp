#include "gui/timeline/timeline_panel.hpp"

#include <gtest/gtest.h>

#include <QComboBox>
#include <QLabel>
#include <QLineEdit>
#include <QListWidget>
#include <QSignalSpy>
#include <QTest>

#include "gui/timeline/curves_strip.hpp"
#include "gui/timeline/inspector.hpp"
#include "gui/timeline/minimap.hpp"
#include "gui/timeline/models.hpp"
#include "gui/timeline/row_finder.hpp"
#include "gui/timeline/titles.hpp"
#include "tests/gui/timeline/fixtures.hpp"

namespace cohort {
namespace {

using namespace literals;

class Panel : public testing::Test {
 protected:
  Panel() {
    panel_.resize(1200, 700);
    const auto timeline = small_timeline();
    panel_.set_timeline(timeline, timeline_curves(*timeline));
    panel_.show();
    panel_.activateWindow();
    static_cast<void>(QTest::qWaitForWindowActive(&panel_));
  }
  template <class Widget>
  Widget& only() {
    auto* found = panel_.findChild<Widget*>();
    EXPECT_NE(found, nullptr);
    return *found;
  }
  QLineEdit& search_field() { return *panel_.findChildren<QLineEdit*>().front(); }
  bool settle() {
    return QTest::qWaitFor([&] { return panel_.settled(); });
  }

  TimelinePanel panel_;
};

TEST_F(Panel, ShowsWhatIsKnownOfTheChosenSlice) {
  panel_.view().select(kFirst);
  const DetailsModel& details = panel_.inspector().details();
  ASSERT_GT(details.rowCount(), 0);
  EXPECT_EQ(details.lines()[0].value, "sgemm_first");
  EXPECT_EQ(panel_.inspector().currentIndex(), 0);
  panel_.view().select(std::nullopt);
  EXPECT_EQ(details.rowCount(), 0);
}

TEST_F(Panel, SumsUpTheChosenArea) {
  panel_.view().select_area(TimelineArea{{0_us, 60_us}, {RowId{0}, RowId{1}}});
  ASSERT_TRUE(settle());
  EXPECT_EQ(panel_.inspector().currentIndex(), 1);
  EXPECT_EQ(panel_.inspector().names().rowCount(), 3);
  EXPECT_EQ(panel_.inspector().rows().rowCount(), 2);
  EXPECT_EQ(panel_.inspector().rows().rows()[0].busy, 30_us);
  panel_.view().select_area(std::nullopt);
  EXPECT_EQ(panel_.inspector().names().rowCount(), 0);
}

TEST_F(Panel, SearchesFromTheKeyboard) {
  panel_.view().setFocus();
  QTest::keyClick(&panel_.view(), Qt::Key_Slash);
  ASSERT_TRUE(search_field().hasFocus());
  QTest::keyClicks(&search_field(), "launch");
  QTest::keyClick(&search_field(), Qt::Key_Return);
  ASSERT_TRUE(settle());
  EXPECT_EQ(panel_.found().found().size(), 2U);
  EXPECT_EQ(panel_.view().selected(), kLaunch1);
  QTest::keyClick(&search_field(), Qt::Key_Return);
  EXPECT_EQ(panel_.view().selected(), kLaunch2);
  QTest::keyClick(&search_field(), Qt::Key_Return);
  EXPECT_EQ(panel_.view().selected(), kLaunch1) << "from the first again";
  QTest::keyClick(&search_field(), Qt::Key_Return, Qt::ShiftModifier);
  EXPECT_EQ(panel_.view().selected(), kLaunch2);
  QTest::keyClick(&search_field(), Qt::Key_Escape);
  EXPECT_TRUE(panel_.view().hasFocus());
}

TEST_F(Panel, FindsRowsByName) {
  panel_.view().setFocus();
  QTest::keyClick(&panel_.view(), Qt::Key_P, Qt::ControlModifier);
  auto& finder = only<RowFinder>();
  ASSERT_TRUE(finder.isVisible());
  auto* field = finder.findChild<QLineEdit*>();
  QTest::keyClicks(field, "stream 8");
  EXPECT_EQ(finder.findChild<QListWidget*>()->count(), 1);
  QTest::keyClick(field, Qt::Key_Return);
  EXPECT_FALSE(finder.isVisible());
  ASSERT_TRUE(panel_.view().area());
  EXPECT_EQ(panel_.view().area()->rows, std::vector<RowId>{RowId{1}});
}

TEST_F(Panel, ForgetsRowsThatWereBeingFoundWithTheirTimeline) {
  panel_.ask_for_row();
  auto& finder = only<RowFinder>();
  ASSERT_TRUE(finder.isVisible());
  finder.findChild<QListWidget*>()->setCurrentRow(2);
  panel_.set_timeline(std::make_shared<const Timeline>(std::vector<TimelinePart>{}, TimelineOptions()));
  EXPECT_FALSE(finder.isVisible());
  QTest::keyClick(finder.findChild<QLineEdit*>(), Qt::Key_Return);
  EXPECT_FALSE(panel_.view().area()) << "of a row that is no more";
}

TEST_F(Panel, LetsGoOfATimelineThatIsNoLongerShown) {
  const std::weak_ptr<const Timeline> before = panel_.view().timeline();
  panel_.view().select_area(TimelineArea{{0_us, 50_us}, {RowId{0}}});
  ASSERT_TRUE(settle());
  panel_.view().select_area(std::nullopt);
  panel_.ask_for_row();
  QTest::keyClick(only<RowFinder>().findChild<QLineEdit*>(), Qt::Key_Escape);
  panel_.set_timeline(nullptr);
  EXPECT_TRUE(before.expired());
}

TEST_F(Panel, PinsAndFoldsByTheButtonsBesideTitles) {
  auto& titles = only<TimelineTitles>();
  QTest::mouseClick(&titles, Qt::LeftButton, {}, titles.pin_button(RowId{1}).center());
  EXPECT_TRUE(panel_.view().is_pinned(RowId{1}));
  QTest::mouseClick(&titles, Qt::LeftButton, {}, titles.pin_button(RowId{1}).center());
  EXPECT_FALSE(panel_.view().is_pinned(RowId{1}));
  EXPECT_TRUE(titles.fold_button(RowId{0}).isNull()) << "one lane";
  QTest::mouseClick(&titles, Qt::LeftButton, {}, titles.fold_button(RowId{2}).center());
  EXPECT_TRUE(panel_.view().is_folded(RowId{2}));
  QTest::mouseClick(&titles, Qt::LeftButton, {}, titles.pin_button(RowId{0}).center() - QPoint(80, 0));
  ASSERT_TRUE(panel_.view().area());
  EXPECT_EQ(panel_.view().area()->rows, std::vector<RowId>{RowId{0}});
}

TEST_F(Panel, MovesByTheMap) {
  auto& map = only<TimelineMinimap>();
  panel_.view().set_visible_range({20_us, 40_us});
  const QPoint middle = map.marked().center().toPoint();
  const int moved = map.width() / 10;
  QTest::mousePress(&map, Qt::LeftButton, {}, middle);
  QTest::mouseMove(&map, middle + QPoint(moved, 0));
  QTest::mouseRelease(&map, Qt::LeftButton, {}, middle + QPoint(moved, 0));
  EXPECT_EQ(panel_.view().visible_range().length(), 20_us);
  EXPECT_NEAR(static_cast<double>(panel_.view().visible_range().start.count()), 30'200, 150);
  const QPoint end(static_cast<int>(map.marked().right()), 20);
  QTest::mousePress(&map, Qt::LeftButton, {}, end);
  QTest::mouseMove(&map, end + QPoint(moved, 0));
  QTest::mouseRelease(&map, Qt::LeftButton, {}, end + QPoint(moved, 0));
  EXPECT_NEAR(static_cast<double>(panel_.view().visible_range().length().count()), 30'200, 300);
  QTest::mouseDClick(&map, Qt::LeftButton, {}, QPoint(5, 20));
  EXPECT_EQ(panel_.view().visible_range(), (TimeWindow{-1_us, 101_us}));
}

TEST_F(Panel, MakesOtherRowsAndKeepsWhatWasChosen) {
  panel_.set_regroups(true);
  panel_.view().set_visible_range({10_us, 70_us});
  panel_.view().select(kSecond);
  TimeMarks marks;
  marks.add(12_us);
  panel_.view().set_marks(marks);
  panel_.set_grouping(RowGrouping::kMembers);
  ASSERT_TRUE(settle());
  EXPECT_EQ(panel_.view().timeline()->row(RowId{0}).title, "member 1");
  EXPECT_EQ(panel_.view().visible_range(), (TimeWindow{10_us, 70_us}));
  EXPECT_EQ(panel_.view().selected(), kSecond);
  EXPECT_EQ(panel_.view().marks().all().size(), 1U);
}

TEST_F(Panel, AsksForOtherRowsWhereItDoesNotMakeThem) {
  QSignalSpy spy(&panel_, &TimelinePanel::grouping_changed);
  panel_.set_grouping(RowGrouping::kEngines);
  ASSERT_EQ(spy.count(), 1);
  EXPECT_EQ(spy[0][0].value<RowGrouping>(), RowGrouping::kEngines);
  EXPECT_EQ(panel_.view().timeline()->options().grouping, RowGrouping::kTracks);
}

TEST_F(Panel, OffersColoursGivenFromOutside) {
  auto* chooser = panel_.findChildren<QComboBox*>().front();
  const int own = chooser->count();
  const SliceColours red{std::vector<Argb>(6, 0xffff0000)};
  panel_.set_given_colours("relative error", red);
  EXPECT_EQ(chooser->count(), own + 1);
  EXPECT_EQ(chooser->currentText(), "relative error");
  EXPECT_EQ(panel_.view().colours(), red);
  panel_.set_colouring(Colouring::kName);
  EXPECT_EQ(panel_.view().colours(), colour_slices(*panel_.view().timeline(), Colouring::kName));
  chooser->setCurrentIndex(own);
  EXPECT_EQ(panel_.view().colours(), red);
  panel_.set_given_colours({}, {});
  EXPECT_EQ(chooser->count(), own);
}

TEST_F(Panel, ShowsCurvesAboveTheRows) {
  auto& strip = only<TimelineCurvesStrip>();
  ASSERT_EQ(strip.curves().size(), 2U);
  EXPECT_EQ(strip.curves()[0].title, "device busy");
  EXPECT_TRUE(strip.isVisible());
  panel_.set_timeline(small_timeline());
  EXPECT_FALSE(strip.isVisible());
}

TEST_F(Panel, RenamesAndListsMarks) {
  panel_.view().select(kSecond);
  panel_.view().setFocus();
  QTest::keyClick(&panel_.view(), Qt::Key_M);
  EXPECT_EQ(panel_.inspector().currentIndex(), 2);
  MarksModel& marks = panel_.inspector().marks();
  ASSERT_EQ(marks.rowCount(), 1);
  EXPECT_TRUE(marks.setData(marks.index(0, 0), "start of relu"));
  EXPECT_EQ(panel_.view().marks().all()[0].name, "start of relu");
}

TEST_F(Panel, SurvivesHavingNothingToShow) {
  panel_.set_timeline(nullptr);
  panel_.search_for("x");
  panel_.search_next();
  panel_.ask_for_row();
  QTest::keyClick(&panel_.view(), Qt::Key_W);
  turn_wheel(panel_.view(), {100, 100}, 1, Qt::ControlModifier);
  QTest::mouseClick(&panel_.view(), Qt::LeftButton, {}, QPoint(100, 100));
  EXPECT_FALSE(panel_.grab().isNull());
}

}  // namespace
}  // namespace cohort
