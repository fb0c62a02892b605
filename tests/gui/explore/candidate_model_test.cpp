#include "gui/explore/candidate_model.hpp"

#include <gtest/gtest.h>

#include <QAbstractItemModelTester>

#include "tests/gui/explore/fake_exploration.hpp"

namespace cohort {
namespace {

TEST(CandidateTable, RanksWaysAndSaysWhy) {
  FakeExploration exploration(std::make_shared<FakeControl>());
  const Recommendation found =
      exploration.recommend(exploration.initial_settings(), {}, CancelToken(), ExploreProgress()).value();
  CandidateModel model;
  const QAbstractItemModelTester tester(&model, QAbstractItemModelTester::FailureReportingMode::Fatal);
  model.set_candidates(found.candidates, found.ranked);
  const auto cell = [&](int row, int column) { return model.index(row, column).data().toString(); };
  EXPECT_EQ(model.rowCount(), 3);
  EXPECT_EQ(cell(0, CandidateModel::kRank), "1");
  EXPECT_EQ(cell(2, CandidateModel::kRank), "less memory");
  EXPECT_EQ(cell(0, CandidateModel::kName), "concurrent x4");
  EXPECT_EQ(cell(0, CandidateModel::kSpeedup), "4.00x");
  EXPECT_EQ(cell(0, CandidateModel::kStep), "2.00 us");
  EXPECT_EQ(cell(0, CandidateModel::kMemory), "4.00 MiB");
  EXPECT_EQ(cell(2, CandidateModel::kLatency), "-");
  EXPECT_EQ(cell(1, CandidateModel::kWhy), "overlaps 2 members");
}

}  // namespace
}  // namespace cohort
