#pragma once

#include <QAbstractTableModel>
#include <QSortFilterProxyModel>
#include <string>
#include <vector>

#include "view/compare/difference_table.hpp"
#include "view/compare/error_colours.hpp"

namespace cohort {

/// The table of differences for a view.
class DifferenceModel : public QAbstractTableModel {
  Q_OBJECT

 public:
  enum Column { kName, kOp, kGroup, kSlices, kPredicted, kMeasured, kDifference, kError, kShift, kColumns };
  /// Numbers to sort by: absolute ones of differences and errors, so that the largest come first whatever their sign.
  static constexpr int kSortRole = Qt::UserRole;

  explicit DifferenceModel(QObject* parent = nullptr);

  void set_rows(std::vector<DifferenceRow> rows, PerSide<std::string> labels);
  void set_dark(bool dark);
  [[nodiscard]] const std::vector<DifferenceRow>& rows() const { return rows_; }

  [[nodiscard]] int rowCount(const QModelIndex& parent = {}) const override;
  [[nodiscard]] int columnCount(const QModelIndex& parent = {}) const override;
  [[nodiscard]] QVariant data(const QModelIndex& index, int role) const override;
  [[nodiscard]] QVariant headerData(int section, Qt::Orientation orientation, int role) const override;

 private:
  [[nodiscard]] QString text(const DifferenceRow& row, int column) const;

  std::vector<DifferenceRow> rows_;
  PerSide<std::string> labels_{"predicted", "measured"};
  ErrorColours colours_{false};
};

/// The rows that contain a text, sorted by any column.
class DifferenceFilter : public QSortFilterProxyModel {
  Q_OBJECT

 public:
  explicit DifferenceFilter(DifferenceModel& model, QObject* parent = nullptr);

  void set_text(const QString& text);
  [[nodiscard]] const DifferenceRow& row(const QModelIndex& index) const;
  /// As they are shown, for a file.
  [[nodiscard]] std::vector<DifferenceRow> shown_rows() const;
  /// Position of the first shown row that has a slice of the side; absent where none has.
  [[nodiscard]] std::optional<int> row_of(CompareSide side, SliceId slice) const;

 protected:
  [[nodiscard]] bool filterAcceptsRow(int row, const QModelIndex& parent) const override;

 private:
  DifferenceModel* model_;
  std::string text_;
};

}  // namespace cohort
