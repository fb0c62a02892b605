#include "gui/explore/group_model.hpp"

#include <gmock/gmock.h>

#include <QAbstractItemModelTester>
#include <QSignalSpy>

#include "tests/gui/explore/fake_exploration.hpp"

namespace cohort {
namespace {

class GroupTable : public testing::Test {
 protected:
  GroupTable() {
    settings_ = with_op_strategy(exploration_.initial_settings(), exploration_.facts(), "fc1", Strategy::kStridedBatch);
    settings_.groups.front().members = {0, 1, 3};
    model_.set_groups(exploration_.facts(), settings_);
  }
  QString cell(int row, int column) { return model_.index(row, column).data().toString(); }
  bool edit(int row, int column, const QString& text) {
    return model_.setData(model_.index(row, column), text, Qt::EditRole);
  }

  FakeExploration exploration_{std::make_shared<FakeControl>()};
  ExploreSettings settings_;
  GroupModel model_;
  QAbstractItemModelTester tester_{&model_, QAbstractItemModelTester::FailureReportingMode::Fatal};
  QSignalSpy edited_{&model_, &GroupModel::edited};
  QSignalSpy refused_{&model_, &GroupModel::refused};
};

TEST_F(GroupTable, ShowsGroupsInLaunchOrder) {
  EXPECT_EQ(model_.rowCount(), 2);
  EXPECT_EQ(cell(0, GroupModel::kName), "fc1");
  EXPECT_EQ(cell(0, GroupModel::kOps), "fc1");
  EXPECT_EQ(cell(0, GroupModel::kStrategy), "strided batch");
  EXPECT_EQ(cell(0, GroupModel::kMembers), "0-1, 3");
  EXPECT_EQ(cell(1, GroupModel::kOps), "all others");
  EXPECT_EQ(cell(1, GroupModel::kMembers), "all");
}

TEST_F(GroupTable, TakesOpsByName) {
  EXPECT_TRUE(edit(0, GroupModel::kOps, "fc1, fc2 , fc2"));
  ASSERT_EQ(edited_.size(), 1);
  EXPECT_THAT(edited_[0][0].value<ExploreSettings>().groups[0].ops, testing::ElementsAre("fc1", "fc2"));
  EXPECT_EQ(cell(0, GroupModel::kOps), "fc1, fc2");
}

TEST_F(GroupTable, RefusesAnOpThatIsNotThere) {
  EXPECT_FALSE(edit(0, GroupModel::kOps, "fc1, fc9"));
  ASSERT_EQ(refused_.size(), 1);
  EXPECT_EQ(refused_[0][0].toString(), "No model has an op named \"fc9\".");
  EXPECT_EQ(cell(0, GroupModel::kOps), "fc1");
}

TEST_F(GroupTable, OffersTheStrategiesOfAGroup) {
  EXPECT_EQ(model_.index(0, GroupModel::kStrategy).data(GroupModel::kStrategiesRole).toStringList(),
            (QStringList{"one after another", "concurrent", "strided batch", "grouped GEMM"}));
  EXPECT_TRUE(edit(0, GroupModel::kStrategy, "grouped GEMM"));
  EXPECT_EQ(edited_[0][0].value<ExploreSettings>().groups[0].strategy, Strategy::kGroupedGemm);
  EXPECT_FALSE(edit(0, GroupModel::kStrategy, "dense convolution"));
}

TEST_F(GroupTable, WantsNamesOfTheirOwn) {
  EXPECT_FALSE(edit(0, GroupModel::kName, cell(1, GroupModel::kName)));
  EXPECT_FALSE(edit(0, GroupModel::kName, " "));
  EXPECT_EQ(refused_.size(), 2);
  EXPECT_TRUE(edit(0, GroupModel::kName, "head"));
  EXPECT_EQ(cell(0, GroupModel::kName), "head");
}

TEST_F(GroupTable, DoesNotEditMembers) {
  EXPECT_FALSE(model_.flags(model_.index(0, GroupModel::kMembers)) & Qt::ItemIsEditable);
  EXPECT_TRUE(model_.flags(model_.index(0, GroupModel::kOps)) & Qt::ItemIsEditable);
}

}  // namespace
}  // namespace cohort
