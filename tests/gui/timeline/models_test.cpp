#include "gui/timeline/models.hpp"

#include <gtest/gtest.h>

#include <QAbstractItemModelTester>
#include <QSignalSpy>

#include "tests/gui/timeline/fixtures.hpp"

namespace cohort {
namespace {

using namespace literals;
using Mode = QAbstractItemModelTester::FailureReportingMode;

QString text_at(const QAbstractItemModel& model, int row, int column) {
  return model.index(row, column).data().toString();
}

TEST(DetailsTable, ShowsNamesAndValues) {
  DetailsModel model;
  const QAbstractItemModelTester tester(&model, Mode::Fatal);
  EXPECT_EQ(model.rowCount(), 0);
  model.set_lines(details_of(*small_timeline(), kFirst, {}));
  ASSERT_GT(model.rowCount(), 5);
  EXPECT_EQ(text_at(model, 0, 0), "name");
  EXPECT_EQ(text_at(model, 0, 1), "sgemm_first");
  model.set_lines({});
  EXPECT_EQ(model.rowCount(), 0);
}

TEST(NamesTable, SortsByTimesNotByTheirText) {
  NamesModel model;
  const QAbstractItemModelTester tester(&model, Mode::Fatal);
  const auto timeline = small_timeline();
  const std::vector<RowId> rows = {RowId{0}, RowId{1}, RowId{2}};
  const AreaTotals totals = aggregate(*timeline, {0_us, 100_us}, rows);
  model.set_totals(totals.names, totals.total);
  ASSERT_EQ(model.rowCount(), 5);
  EXPECT_EQ(text_at(model, 0, NamesModel::kName), "outer");
  EXPECT_EQ(text_at(model, 0, NamesModel::kSelf), "80.0 us");
  EXPECT_EQ(model.index(0, NamesModel::kSelf).data(kSortRole).toLongLong(), 80'000);
  EXPECT_EQ(model.headerData(NamesModel::kSelf, Qt::Horizontal, Qt::DisplayRole).toString(), "Self");
}

TEST(RowsTable, ShowsHowBusyRowsAre) {
  RowsModel model;
  const QAbstractItemModelTester tester(&model, Mode::Fatal);
  const auto timeline = small_timeline();
  const std::vector<RowId> rows = {RowId{0}};
  model.set_totals(timeline, aggregate(*timeline, {0_us, 100_us}, rows).rows);
  ASSERT_EQ(model.rowCount(), 1);
  EXPECT_EQ(text_at(model, 0, RowsModel::kRow), "GPU 0 / stream 7");
  EXPECT_EQ(text_at(model, 0, RowsModel::kBusyShare), "50.0%");
}

TEST(MarksTable, LetsNamesBeEdited) {
  MarksModel model;
  const QAbstractItemModelTester tester(&model, Mode::Fatal);
  TimeMarks marks;
  marks.add(10_us);
  marks.add(30_us);
  model.set_marks(marks, 5_us);
  QSignalSpy renamed(&model, &MarksModel::renamed);
  ASSERT_EQ(model.rowCount(), 2);
  EXPECT_EQ(text_at(model, 0, MarksModel::kTime), "5.00 us (5000 ns)");
  EXPECT_EQ(text_at(model, 1, MarksModel::kSince), "20.0 us");
  EXPECT_TRUE(model.flags(model.index(0, MarksModel::kName)).testFlag(Qt::ItemIsEditable));
  EXPECT_FALSE(model.flags(model.index(0, MarksModel::kTime)).testFlag(Qt::ItemIsEditable));
  EXPECT_TRUE(model.setData(model.index(1, MarksModel::kName), "  steady "));
  EXPECT_EQ(text_at(model, 1, MarksModel::kName), "steady");
  EXPECT_FALSE(model.setData(model.index(1, MarksModel::kName), "   "));
  EXPECT_FALSE(model.setData(model.index(1, MarksModel::kTime), "x"));
  EXPECT_EQ(renamed.count(), 1);
}

}  // namespace
}  // namespace cohort
