#include "gui/timeline/timeline_view.hpp"

#include <gtest/gtest.h>

#include <QSignalSpy>
#include <QTest>

#include "tests/gui/timeline/fixtures.hpp"

namespace cohort {
namespace {

using namespace literals;

class View : public testing::Test {
 protected:
  View() {
    view_.resize(1000, 300);
    view_.set_timeline(small_timeline());
    view_.set_visible_range({0_us, 100_us});
    view_.show();
    static_cast<void>(QTest::qWaitForWindowExposed(&view_));
  }
  QPoint middle_of(SliceRef slice) { return view_.rectangle(slice)->center().toPoint(); }
  void drag(QPoint from, QPoint to, Qt::MouseButton button, Qt::KeyboardModifiers modifiers = {}) {
    QTest::mousePress(&view_, button, modifiers, from);
    for (const QPoint& point : {from + (to - from) / 2, to}) {
      QMouseEvent move(QEvent::MouseMove, point, view_.mapToGlobal(point), Qt::NoButton, button, modifiers);
      QApplication::sendEvent(&view_, &move);
    }
    QTest::mouseRelease(&view_, button, modifiers, to);
  }

  TimelineView view_;
};

TEST_F(View, ShowsAllOfATimelineAtFirst) {
  TimelineView fresh;
  fresh.set_timeline(small_timeline());
  EXPECT_EQ(fresh.visible_range(), (TimeWindow{-1_us, 101_us}));
  fresh.set_timeline(nullptr);
  EXPECT_TRUE(fresh.grab().size().isValid());
}

TEST_F(View, ZoomsAtThePointerWithCtrlAndTheWheel) {
  QSignalSpy spy(&view_, &TimelineView::range_changed);
  const Nanoseconds under = view_.scale().time_at(250);
  turn_wheel(view_, {250, 100}, 2, Qt::ControlModifier);
  EXPECT_EQ(view_.visible_range(), (TimeWindow{9_us, 73_us}));
  EXPECT_EQ(view_.scale().x_at(under), 250);
  ASSERT_EQ(spy.count(), 1);
  EXPECT_EQ(spy[0][0].value<TimeWindow>(), view_.visible_range());
  turn_wheel(view_, {250, 100}, -2, Qt::ControlModifier);
  EXPECT_EQ(view_.visible_range(), (TimeWindow{0_us, 100_us}));
}

TEST_F(View, MovesInTimeWithShiftAndTheWheel) {
  view_.set_visible_range({20_us, 40_us});
  turn_wheel(view_, {250, 100}, -1, Qt::ShiftModifier);
  EXPECT_EQ(view_.visible_range(), (TimeWindow{22'400_ns, 42'400_ns}));
}

TEST_F(View, ScrollsRowsWithTheWheel) {
  view_.resize(1000, 80);
  ASSERT_GT(view_.most_scroll(), 40);
  QSignalSpy spy(&view_, &TimelineView::scrolled);
  turn_wheel(view_, {250, 60}, -0.5);
  EXPECT_EQ(view_.scroll(), 30);
  turn_wheel(view_, {250, 60}, -100);
  EXPECT_EQ(view_.scroll(), view_.most_scroll());
  turn_wheel(view_, {250, 60}, 100);
  EXPECT_EQ(view_.scroll(), 0);
  EXPECT_EQ(spy.count(), 3);
}

TEST_F(View, ZoomsAndMovesWithLetters) {
  QTest::mouseMove(&view_, {500, 280});
  QTest::keyClick(&view_, Qt::Key_W);
  EXPECT_EQ(view_.visible_range(), (TimeWindow{10_us, 90_us}));
  QTest::keyClick(&view_, Qt::Key_D);
  EXPECT_EQ(view_.visible_range(), (TimeWindow{20_us, 100_us}));
  QTest::keyClick(&view_, Qt::Key_A);
  EXPECT_EQ(view_.visible_range(), (TimeWindow{10_us, 90_us}));
  QTest::keyClick(&view_, Qt::Key_S);
  EXPECT_EQ(view_.visible_range(), (TimeWindow{0_us, 100_us}));
  QTest::keyClick(&view_, Qt::Key_W);
  QTest::keyClick(&view_, Qt::Key_Home);
  EXPECT_EQ(view_.visible_range(), (TimeWindow{-1_us, 101_us}));
  QTest::keyClick(&view_, Qt::Key_W);
  QTest::keyClick(&view_, Qt::Key_0);
  EXPECT_EQ(view_.visible_range(), (TimeWindow{-1_us, 101_us}));
}

TEST_F(View, ChoosesASliceByAClickAndLetsGoBesideIt) {
  QSignalSpy spy(&view_, &TimelineView::slice_selected);
  QTest::mouseClick(&view_, Qt::LeftButton, {}, middle_of(kOther));
  EXPECT_EQ(view_.selected(), kOther);
  ASSERT_EQ(spy.count(), 1);
  EXPECT_EQ(spy[0][0].value<std::optional<SliceRef>>(), kOther);
  QTest::mouseClick(&view_, Qt::LeftButton, {}, QPoint(950, middle_of(kOther).y()));
  EXPECT_EQ(view_.selected(), std::nullopt);
}

TEST_F(View, FindsSlicesWhereTheyAreDrawn) {
  for (const SliceRef slice : {kOuter, kLaunch1, kLaunch2, kFirst, kSecond, kOther}) {
    const auto box = view_.rectangle(slice);
    ASSERT_TRUE(box);
    EXPECT_EQ(view_.slice_at(box->center()), slice);
    EXPECT_EQ(view_.slice_at(box->topLeft() + QPointF(1, 1)), slice);
    EXPECT_EQ(view_.slice_at(QPointF(box->right() + 2, box->center().y())), slice) << "a little beside it";
  }
  EXPECT_EQ(view_.rectangle(kFirst)->left(), 200);
  EXPECT_EQ(view_.rectangle(kFirst)->right(), 400);
  EXPECT_EQ(view_.slice_at({5, 5}), std::nullopt) << "the axis";
}

TEST_F(View, TellsOfTheSliceUnderThePointer) {
  QSignalSpy spy(&view_, &TimelineView::slice_hovered);
  QTest::mouseMove(&view_, middle_of(kFirst));
  QTest::mouseMove(&view_, middle_of(kFirst) + QPoint(3, 0));
  QTest::mouseMove(&view_, middle_of(kSecond));
  QEvent leave(QEvent::Leave);
  QApplication::sendEvent(&view_, &leave);
  ASSERT_EQ(spy.count(), 3);
  EXPECT_EQ(spy[0][0].value<std::optional<SliceRef>>(), kFirst);
  EXPECT_EQ(spy[1][0].value<std::optional<SliceRef>>(), kSecond);
  EXPECT_EQ(spy[2][0].value<std::optional<SliceRef>>(), std::nullopt);
}

TEST_F(View, ZoomsToASliceByADoubleClick) {
  QTest::mouseDClick(&view_, Qt::LeftButton, {}, middle_of(kFirst));
  EXPECT_EQ(view_.selected(), kFirst);
  EXPECT_EQ(view_.visible_range(), (TimeWindow{0_us, 60_us}));
}

TEST_F(View, SelectsAnAreaByDragging) {
  QSignalSpy spy(&view_, &TimelineView::area_selected);
  const int first = middle_of(kFirst).y();
  const int other = middle_of(kOther).y();
  drag({300, first}, {450, other}, Qt::LeftButton);
  ASSERT_EQ(spy.count(), 1);
  const auto area = spy[0][0].value<std::optional<TimelineArea>>();
  ASSERT_TRUE(area);
  EXPECT_EQ(area->window, (TimeWindow{30_us, 45_us}));
  EXPECT_EQ(area->rows, (std::vector<RowId>{RowId{0}, RowId{1}}));
  EXPECT_EQ(view_.selected(), std::nullopt) << "a drag is no click";
  drag({450, 5}, {300, 5}, Qt::LeftButton);
  EXPECT_EQ(view_.area()->window, (TimeWindow{30_us, 45_us}));
  EXPECT_EQ(view_.area()->rows.size(), 3U) << "on the axis: all rows";
  QTest::keyClick(&view_, Qt::Key_Escape);
  EXPECT_EQ(view_.area(), std::nullopt);
  EXPECT_EQ(spy.back()[0].value<std::optional<TimelineArea>>(), std::nullopt);
}

TEST_F(View, TakesASmallMovementForAClick) {
  drag(middle_of(kFirst), middle_of(kFirst) + QPoint(2, 0), Qt::LeftButton);
  EXPECT_EQ(view_.selected(), kFirst);
  EXPECT_EQ(view_.area(), std::nullopt);
}

TEST_F(View, MovesWithShiftOrTheMiddleButton) {
  view_.set_visible_range({20_us, 40_us});
  drag({500, 100}, {400, 100}, Qt::LeftButton, Qt::ShiftModifier);
  EXPECT_EQ(view_.visible_range(), (TimeWindow{22_us, 42_us}));
  drag({400, 100}, {500, 100}, Qt::MiddleButton);
  EXPECT_EQ(view_.visible_range(), (TimeWindow{20_us, 40_us}));
  EXPECT_EQ(view_.area(), std::nullopt);
}

TEST_F(View, StepsAlongTheLaneAndAcrossRows) {
  view_.select(kFirst);
  QTest::keyClick(&view_, Qt::Key_Period);
  EXPECT_EQ(view_.selected(), kSecond);
  QTest::keyClick(&view_, Qt::Key_Period);
  EXPECT_EQ(view_.selected(), kSecond) << "it is the last";
  QTest::keyClick(&view_, Qt::Key_Comma);
  EXPECT_EQ(view_.selected(), kFirst);
  QTest::keyClick(&view_, Qt::Key_Down);
  EXPECT_EQ(view_.selected(), kOther);
  QTest::keyClick(&view_, Qt::Key_Down);
  EXPECT_EQ(view_.selected(), kOuter);
  QTest::keyClick(&view_, Qt::Key_Down);
  EXPECT_EQ(view_.selected(), kLaunch2) << "the nearest";
  QTest::keyClick(&view_, Qt::Key_Up);
  EXPECT_EQ(view_.selected(), kOuter);
}

TEST_F(View, FollowsLinksAndComesBack) {
  view_.select(kLaunch2);
  QTest::keyClick(&view_, Qt::Key_BracketRight);
  EXPECT_EQ(view_.selected(), kSecond);
  QTest::keyClick(&view_, Qt::Key_BracketLeft);
  EXPECT_EQ(view_.selected(), kLaunch2);
}

TEST_F(View, CentresTheSelectionThenFitsIt) {
  view_.set_visible_range({0_us, 10_us});
  view_.select(kSecond);
  QTest::keyClick(&view_, Qt::Key_F);
  EXPECT_LE(view_.visible_range().start, 50_us);
  EXPECT_GE(view_.visible_range().end, 80_us);
  view_.set_visible_range({0_us, 50_us});
  QTest::keyClick(&view_, Qt::Key_F);
  EXPECT_EQ(view_.visible_range(), (TimeWindow{40_us, 90_us})) << "as long as before, around it";
  QTest::keyClick(&view_, Qt::Key_F);
  EXPECT_EQ(view_.visible_range(), (TimeWindow{15_us, 105_us})) << "three times as long, inside the margins";
}

TEST_F(View, MarksTheSelectionAndUnmarksIt) {
  QSignalSpy spy(&view_, &TimelineView::marks_changed);
  view_.select(kSecond);
  QTest::keyClick(&view_, Qt::Key_M);
  ASSERT_EQ(view_.marks().all().size(), 1U);
  EXPECT_EQ(view_.marks().all()[0], (TimeMark{50_us, "A"}));
  QTest::keyClick(&view_, Qt::Key_M);
  EXPECT_TRUE(view_.marks().all().empty());
  EXPECT_EQ(spy.count(), 2);
}

TEST_F(View, AsksForSearchAndRows) {
  QSignalSpy search(&view_, &TimelineView::search_requested);
  QSignalSpy row(&view_, &TimelineView::track_requested);
  QTest::keyClick(&view_, Qt::Key_Slash);
  QTest::keyClick(&view_, Qt::Key_P, Qt::ControlModifier);
  QTest::keyClick(&view_, Qt::Key_P);
  QTest::keyClick(&view_, Qt::Key_P, Qt::ControlModifier | Qt::ShiftModifier);
  EXPECT_EQ(search.count(), 1);
  EXPECT_EQ(row.count(), 1);
}

TEST_F(View, KeepsItsKeysFromTheWindowsShortcuts) {
  QKeyEvent own(QEvent::ShortcutOverride, Qt::Key_Slash, Qt::NoModifier, QStringLiteral("/"));
  own.ignore();
  QApplication::sendEvent(&view_, &own);
  EXPECT_TRUE(own.isAccepted());
  QKeyEvent other(QEvent::ShortcutOverride, Qt::Key_Question, Qt::ShiftModifier, QStringLiteral("?"));
  other.ignore();
  QApplication::sendEvent(&view_, &other);
  EXPECT_FALSE(other.isAccepted());
}

TEST_F(View, PinsAndFoldsRows) {
  QSignalSpy spy(&view_, &TimelineView::rows_changed);
  const double before = view_.rectangle(kOther)->top();
  view_.set_pinned(RowId{1}, true);
  view_.set_pinned(RowId{1}, true);
  EXPECT_EQ(spy.count(), 1);
  EXPECT_LT(view_.rectangle(kOther)->top(), before);
  EXPECT_EQ(view_.rectangle(kOther)->top(), view_.axis_height());
  EXPECT_EQ(view_.slice_at(view_.rectangle(kOther)->center()), kOther);
  view_.set_folded(RowId{2}, true);
  EXPECT_EQ(view_.rectangle(kLaunch1)->height(), RowMetrics().folded_lane - 1);
  view_.set_pinned(RowId{1}, false);
  view_.set_folded(RowId{2}, false);
  EXPECT_EQ(view_.rectangle(kOther)->top(), before);
}

TEST_F(View, RevealsWhatCannotBeSeen) {
  view_.resize(1000, 60);
  view_.set_visible_range({0_us, 10_us});
  view_.reveal(kLaunch2);
  EXPECT_GT(view_.scroll(), 0);
  const auto box = view_.rectangle(kLaunch2);
  EXPECT_LE(box->bottom(), 60);
  EXPECT_LE(view_.visible_range().start, 25_us);
  EXPECT_GE(view_.visible_range().end, 35_us);
}

TEST_F(View, StaysWithinWhatThereIsToSee) {
  view_.set_visible_range({-1000_us, 5000_us});
  EXPECT_EQ(view_.visible_range(), (TimeWindow{-5_us, 105_us}));
  for (int i = 0; i < 200; ++i) turn_wheel(view_, {500, 100}, 1, Qt::ControlModifier);
  EXPECT_EQ(view_.visible_range().length(), 1_ns);
  EXPECT_FALSE(view_.grab().isNull());
}

TEST_F(View, PaintsAgainOnlyWhatChanges) {
  const QImage before = view_.grab().toImage();
  EXPECT_EQ(view_.grab().toImage(), before);
  view_.select(kFirst);
  const QImage selected = view_.grab().toImage();
  EXPECT_NE(selected, before);
  view_.select(std::nullopt);
  EXPECT_EQ(view_.grab().toImage(), before);
  SliceColours colours = view_.colours();
  colours[0][3] = 0xff123456;
  view_.set_colours(colours);
  EXPECT_EQ(view_.grab().toImage().pixel(390, middle_of(kFirst).y()), 0xff123456);
}

TEST_F(View, ListsWhatItsKeysDo) {
  EXPECT_GE(timeline_shortcuts().size(), 15U);
  for (const TimelineShortcut& shortcut : timeline_shortcuts())
    EXPECT_GT(std::string_view(shortcut.meaning).size(), 5U);
}

}  // namespace
}  // namespace cohort
