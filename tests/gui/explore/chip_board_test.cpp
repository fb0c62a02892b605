#include "gui/explore/chip_board.hpp"

#include <gtest/gtest.h>

#include <QSignalSpy>
#include <QTest>

namespace cohort {
namespace {

class ChipBoardTest : public testing::Test {
 protected:
  ChipBoardTest() {
    board_.set_content({"stream 0", "stream 1", "stream 2"},
                       {{"0", "member 0", 0, {}}, {"1", "member 1", 0, {}}, {"2", "member 2", 2, {0, 2}}});
    board_.resize(300, board_.heightForWidth(300));
    board_.show();
  }

  void drag(QPoint from, QPoint to) {
    QTest::mousePress(&board_, Qt::LeftButton, {}, from);
    QTest::mouseMove(&board_, (from + to) / 2);
    QTest::mouseMove(&board_, to);
    QTest::mouseRelease(&board_, Qt::LeftButton, {}, to);
  }

  ChipBoard board_;
  QSignalSpy moved_{&board_, &ChipBoard::chip_moved};
};

TEST_F(ChipBoardTest, PutsChipsOnTheirLanes) {
  EXPECT_TRUE(board_.lane_rectangle(0).contains(board_.chip_rectangle(0)));
  EXPECT_TRUE(board_.lane_rectangle(0).contains(board_.chip_rectangle(1)));
  EXPECT_TRUE(board_.lane_rectangle(2).contains(board_.chip_rectangle(2)));
  EXPECT_FALSE(board_.chip_rectangle(0).intersects(board_.chip_rectangle(1)));
}

TEST_F(ChipBoardTest, MovesADraggedChip) {
  drag(board_.chip_rectangle(1).center(), board_.lane_rectangle(1).center());
  ASSERT_EQ(moved_.size(), 1);
  EXPECT_EQ(moved_[0][0].toInt(), 1);
  EXPECT_EQ(moved_[0][1].toInt(), 1);
}

TEST_F(ChipBoardTest, LeavesAChipWhereItMayNotGo) {
  drag(board_.chip_rectangle(2).center(), board_.lane_rectangle(1).center());
  EXPECT_EQ(moved_.size(), 0);
  drag(board_.chip_rectangle(2).center(), board_.lane_rectangle(0).center());
  EXPECT_EQ(moved_.size(), 1);
}

TEST_F(ChipBoardTest, DoesNothingForAClickOrADropOutside) {
  QTest::mouseClick(&board_, Qt::LeftButton, {}, board_.chip_rectangle(0).center());
  EXPECT_EQ(board_.chosen(), std::optional(0));
  drag(board_.chip_rectangle(0).center(), QPoint(150, board_.height() + 200));
  EXPECT_EQ(moved_.size(), 0);
}

TEST_F(ChipBoardTest, MovesTheChosenChipByKeys) {
  board_.setFocus();
  QTest::keyClick(&board_, Qt::Key_Right);
  EXPECT_EQ(board_.chosen(), std::optional(0));
  QTest::keyClick(&board_, Qt::Key_Right);
  QTest::keyClick(&board_, Qt::Key_Down);
  ASSERT_EQ(moved_.size(), 1);
  EXPECT_EQ(moved_[0][0].toInt(), 1);
  EXPECT_EQ(moved_[0][1].toInt(), 1);
  QTest::keyClick(&board_, Qt::Key_Right);
  QTest::keyClick(&board_, Qt::Key_Up);  // over a lane that does not take it
  ASSERT_EQ(moved_.size(), 2);
  EXPECT_EQ(moved_[1][0].toInt(), 2);
  EXPECT_EQ(moved_[1][1].toInt(), 0);
}

TEST_F(ChipBoardTest, BreaksLinesWhereChipsDoNotFit) {
  std::vector<BoardChip> chips;
  for (int i = 0; i < 40; ++i) chips.push_back({QString::number(i), {}, 0, {}});
  board_.set_content({"stream 0"}, chips);
  board_.resize(200, board_.heightForWidth(200));
  for (int i = 0; i < 40; ++i) EXPECT_TRUE(board_.rect().contains(board_.chip_rectangle(i))) << i;
  EXPECT_GT(board_.heightForWidth(120), board_.heightForWidth(400));
}

}  // namespace
}  // namespace cohort
