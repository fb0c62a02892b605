#include "view/explore/group_edit.hpp"

#include <gmock/gmock.h>

namespace cohort {
namespace {

using testing::ElementsAre;

class GroupEdit : public testing::Test {
 protected:
  GroupEdit() {
    facts_.models = {{"tiny", {"tiny.trace.json"}, 1}};
    facts_.ops = {{"conv1", "Conv", 1, 1, Nanoseconds(10), {Strategy::kDenseConvolution}},
                  {"relu", "Relu", 1, 1, Nanoseconds(1), {}},
                  {"fc1", "Gemm", 1, 1, Nanoseconds(5), {Strategy::kStridedBatch, Strategy::kGroupedGemm}},
                  {"fc2", "Gemm", 1, 1, Nanoseconds(5), {Strategy::kStridedBatch}}};
    settings_.models = {4};
    settings_.streams = 2;
    settings_.groups = {all_ops(Strategy::kConcurrent)};
    initial_ = settings_;
  }

  ExploreFacts facts_;
  ExploreSettings settings_, initial_;

  static std::vector<std::string> names(const ExploreSettings& settings) {
    std::vector<std::string> names;
    for (const ExploreGroup& group : settings.groups) {
      std::string text = group.name + ":";
      for (const std::string& op : group.ops) text += " " + op;
      names.push_back(text);
    }
    return names;
  }
};

TEST_F(GroupEdit, GivesAnOpAGroupOfItsOwn) {
  settings_ = with_op_strategy(settings_, facts_, "fc1", Strategy::kStridedBatch);
  const std::string rest = settings_.groups.back().name;
  EXPECT_THAT(names(settings_), ElementsAre("fc1: fc1", rest + ":"));
  EXPECT_EQ(strategy_of(settings_, "fc1"), Strategy::kStridedBatch);
  EXPECT_EQ(strategy_of(settings_, "relu"), Strategy::kConcurrent);
}

TEST_F(GroupEdit, JoinsANeighbourOfTheSameStrategy) {
  settings_ = with_op_strategy(settings_, facts_, "fc2", Strategy::kStridedBatch);
  settings_ = with_op_strategy(settings_, facts_, "fc1", Strategy::kStridedBatch);
  EXPECT_THAT(settings_.groups.front().ops, ElementsAre("fc1", "fc2"));
  EXPECT_EQ(settings_.groups.size(), 2U);
}

TEST_F(GroupEdit, KeepsNamedGroupsInTheOrderOfTheirOpsBeforeTheRest) {
  settings_ = with_op_strategy(settings_, facts_, "fc1", Strategy::kStridedBatch);
  settings_ = with_op_strategy(settings_, facts_, "conv1", Strategy::kDenseConvolution);
  EXPECT_THAT(names(settings_), ElementsAre("conv1: conv1", "fc1: fc1", settings_.groups.back().name + ":"));
}

TEST_F(GroupEdit, ReturnsAnOpToTheRest) {
  const ExploreSettings before = settings_;
  settings_ = with_op_strategy(settings_, facts_, "fc1", Strategy::kStridedBatch);
  settings_ = with_op_strategy(settings_, facts_, "fc1", Strategy::kConcurrent);
  EXPECT_EQ(settings_, before);
}

TEST_F(GroupEdit, LeavesAPlanWithoutARestWhole) {
  ExploreGroup first, others;
  first.name = "first";
  first.strategy = Strategy::kDenseConvolution;
  first.ops = {"conv1"};
  others.name = "others";
  others.ops = {"relu", "fc1", "fc2"};
  others.after = {"first"};
  settings_.groups = {first, others};
  settings_ = with_op_strategy(settings_, facts_, "conv1", Strategy::kConcurrent);
  EXPECT_THAT(names(settings_), ElementsAre("conv1: conv1", "others: relu fc1 fc2"));
  EXPECT_TRUE(settings_.groups.back().after.empty()) << "what it waited for is gone";
}

TEST_F(GroupEdit, RefusesWhatAnOpCannotDo) {
  EXPECT_EQ(with_op_strategy(settings_, facts_, "relu", Strategy::kStridedBatch), settings_);
  EXPECT_EQ(with_op_strategy(settings_, facts_, "unheard of", Strategy::kStridedBatch), settings_);
}

TEST_F(GroupEdit, OffersAGroupWhatAllItsOpsCanDo) {
  ExploreGroup group;
  group.ops = {"fc1", "fc2"};
  EXPECT_THAT(strategies_for(facts_, group),
              ElementsAre(Strategy::kSerial, Strategy::kConcurrent, Strategy::kStridedBatch));
  EXPECT_THAT(strategies_for(facts_, ExploreGroup{}), ElementsAre(Strategy::kSerial, Strategy::kConcurrent));
}

TEST_F(GroupEdit, ChangesTheRest) {
  settings_ = with_op_strategy(settings_, facts_, "fc1", Strategy::kStridedBatch);
  settings_ = with_rest_strategy(settings_, Strategy::kSerial);
  EXPECT_EQ(rest_strategy(settings_), Strategy::kSerial);
  EXPECT_EQ(strategy_of(settings_, "fc1"), Strategy::kStridedBatch);
}

TEST_F(GroupEdit, DissolvesAGroupButNotTheLastRest) {
  settings_ = with_op_strategy(settings_, facts_, "fc1", Strategy::kStridedBatch);
  EXPECT_EQ(without_group(settings_, 1), settings_);
  EXPECT_EQ(without_group(settings_, 0), initial_);
  EXPECT_EQ(without_group(settings_, 7), settings_);
}

TEST_F(GroupEdit, MovesGroupsInLaunchOrder) {
  settings_ = with_op_strategy(settings_, facts_, "fc1", Strategy::kStridedBatch);
  const ExploreSettings moved = with_group_moved(settings_, 0, 1);
  EXPECT_EQ(moved.groups[1].name, "fc1");
  EXPECT_EQ(with_group_moved(settings_, 0, -1), settings_);
  EXPECT_EQ(with_group_moved(moved, 1, 1), moved);
}

TEST_F(GroupEdit, MovesAMemberToAStream) {
  EXPECT_THAT(streams_of_members(settings_, facts_), ElementsAre(0, 0, 1, 1));
  settings_ = with_member_on_stream(settings_, facts_, 1, 1);
  EXPECT_THAT(settings_.member_streams, ElementsAre(0, 1, 1, 1));
  EXPECT_EQ(with_member_on_stream(settings_, facts_, 1, 2), settings_);
  EXPECT_EQ(with_member_on_stream(settings_, facts_, 9, 0), settings_);
}

TEST_F(GroupEdit, KnowsWhereAPlanPutMembersByHand) {
  settings_.groups.front().streams = {1, 1, 0, 1};
  EXPECT_THAT(streams_of_members(settings_, facts_), ElementsAre(1, 1, 0, 1));
  settings_ = with_member_on_stream(settings_, facts_, 2, 1);
  EXPECT_THAT(settings_.member_streams, ElementsAre(1, 1, 1, 1));
  EXPECT_TRUE(settings_.groups.front().streams.empty());
}

TEST_F(GroupEdit, SpreadsMembersOfStreamsThatGo) {
  settings_.streams = 4;
  settings_.member_streams = {3, 2, 1, 0};
  settings_ = with_streams(settings_, facts_, 2);
  EXPECT_EQ(settings_.streams, 2);
  EXPECT_THAT(settings_.member_streams, ElementsAre(0, 1, 1, 0));
  settings_.member_streams.clear();
  EXPECT_TRUE(with_streams(settings_, facts_, 1).member_streams.empty());
  EXPECT_EQ(with_streams(settings_, facts_, 0), settings_);
}

}  // namespace
}  // namespace cohort
