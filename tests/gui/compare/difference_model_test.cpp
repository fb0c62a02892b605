#include "gui/compare/difference_model.hpp"

#include <gmock/gmock.h>

#include <QAbstractItemModelTester>
#include <QBrush>
#include <QSignalSpy>

namespace cohort {
namespace {

using namespace literals;

std::vector<DifferenceRow> some_rows() {
  return {{"0/conv1", "conv1", "convolutions", {10_us, 8_us}, 1_us, {{{SliceId(0)}, {SliceId(4)}}}},
          {"0/fc1", "fc1", "matrices", {3_us, 1_us}, -2_us, {{{SliceId(1)}, {SliceId(5)}}}},
          {"0/pool", "pool", "rest", {1_us, 5_us}, std::nullopt, {{{SliceId(2)}, {SliceId(6), SliceId(7)}}}},
          {"0/never", "never", "rest", {7_us, 0_us}, std::nullopt, {{{SliceId(3)}, {}}}}};
}

class DifferenceTable : public testing::Test {
 protected:
  DifferenceTable() { model_.set_rows(some_rows(), {"predicted", "measured"}); }

  QString cell(int row, int column) { return filter_.index(row, column).data().toString(); }
  QStringList names() {
    QStringList names;
    for (int i = 0; i < filter_.rowCount(); ++i) names << cell(i, DifferenceModel::kName);
    return names;
  }

  DifferenceModel model_;
  DifferenceFilter filter_{model_};
  QAbstractItemModelTester model_tester_{&model_, QAbstractItemModelTester::FailureReportingMode::Fatal};
  QAbstractItemModelTester filter_tester_{&filter_, QAbstractItemModelTester::FailureReportingMode::Fatal};
};

TEST_F(DifferenceTable, ShowsTimesDifferencesAndErrors) {
  EXPECT_EQ(cell(0, DifferenceModel::kName), "0/conv1");
  EXPECT_EQ(cell(0, DifferenceModel::kSlices), "1");
  EXPECT_EQ(cell(0, DifferenceModel::kPredicted), "10.0 us");
  EXPECT_EQ(cell(0, DifferenceModel::kMeasured), "8.00 us");
  EXPECT_EQ(cell(0, DifferenceModel::kDifference), "+2.00 us");
  EXPECT_EQ(cell(0, DifferenceModel::kError), "+25.0%");
  EXPECT_EQ(cell(0, DifferenceModel::kShift), "+1.00 us");
  EXPECT_EQ(cell(2, DifferenceModel::kSlices), "1 / 2");
  EXPECT_EQ(cell(3, DifferenceModel::kMeasured), "-");
  EXPECT_EQ(cell(3, DifferenceModel::kError), "only predicted");
}

TEST_F(DifferenceTable, ColoursErrorsAsTheTimelineDoes) {
  const QVariant colour = filter_.index(0, DifferenceModel::kError).data(Qt::BackgroundRole);
  EXPECT_EQ(colour.value<QBrush>().color().rgb(), argb(ErrorColours(false).of_error(0.25)));
  EXPECT_FALSE(filter_.index(3, DifferenceModel::kError).data(Qt::BackgroundRole).isValid());
  EXPECT_FALSE(filter_.index(0, DifferenceModel::kName).data(Qt::BackgroundRole).isValid());
}

TEST_F(DifferenceTable, SortsBySizeWhateverTheSign) {
  filter_.sort(DifferenceModel::kDifference, Qt::DescendingOrder);
  EXPECT_EQ(names(), (QStringList{"0/never", "0/pool", "0/conv1", "0/fc1"}));
  filter_.sort(DifferenceModel::kError, Qt::DescendingOrder);
  EXPECT_EQ(names(), (QStringList{"0/fc1", "0/pool", "0/conv1", "0/never"}));
  filter_.sort(DifferenceModel::kShift, Qt::DescendingOrder);
  EXPECT_EQ(names().first(2), (QStringList{"0/fc1", "0/conv1"}));
  filter_.sort(DifferenceModel::kName, Qt::AscendingOrder);
  EXPECT_EQ(names(), (QStringList{"0/conv1", "0/fc1", "0/never", "0/pool"}));
}

TEST_F(DifferenceTable, IsFilteredByText) {
  filter_.set_text("REST");
  EXPECT_EQ(names(), (QStringList{"0/pool", "0/never"}));
  EXPECT_EQ(filter_.shown_rows().size(), 2U);
  filter_.set_text(" conv ");
  EXPECT_EQ(names(), QStringList{"0/conv1"});
  filter_.set_text("");
  EXPECT_EQ(filter_.rowCount(), 4);
}

TEST_F(DifferenceTable, FindsTheRowOfASlice) {
  EXPECT_EQ(filter_.row_of(CompareSide::kMeasured, SliceId(7)), std::optional(2));
  EXPECT_EQ(filter_.row_of(CompareSide::kPredicted, SliceId(1)), std::optional(1));
  EXPECT_EQ(filter_.row_of(CompareSide::kMeasured, SliceId(1)), std::nullopt);
}

TEST_F(DifferenceTable, TellsItsViewOfNewRowsAndColours) {
  const QSignalSpy reset(&model_, &QAbstractItemModel::modelReset);
  const QSignalSpy changed(&model_, &QAbstractItemModel::dataChanged);
  model_.set_dark(true);
  EXPECT_EQ(changed.size(), 1);
  model_.set_rows({}, {"first", "second"});
  EXPECT_EQ(reset.size(), 1);
  EXPECT_EQ(filter_.rowCount(), 0);
  EXPECT_EQ(model_.headerData(DifferenceModel::kPredicted, Qt::Horizontal, Qt::DisplayRole).toString(), "first");
}

}  // namespace
}  // namespace cohort
