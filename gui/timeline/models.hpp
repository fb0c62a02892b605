#pragma once

#include <QAbstractTableModel>
#include <memory>
#include <vector>

#include "view/timeline/aggregate.hpp"
#include "view/timeline/details.hpp"
#include "view/timeline/marks.hpp"
#include "view/timeline/timeline.hpp"

namespace cohort {

/// What tables sort by, where it is not the text that they show.
inline constexpr int kSortRole = Qt::UserRole + 1;

/// Names and values of what is known of a slice.
class DetailsModel : public QAbstractTableModel {
  Q_OBJECT

 public:
  using QAbstractTableModel::QAbstractTableModel;
  void set_lines(std::vector<DetailLine> lines);
  [[nodiscard]] const std::vector<DetailLine>& lines() const { return lines_; }

  [[nodiscard]] int rowCount(const QModelIndex& parent = {}) const override;
  [[nodiscard]] int columnCount(const QModelIndex& parent = {}) const override;
  [[nodiscard]] QVariant data(const QModelIndex& index, int role = Qt::DisplayRole) const override;
  [[nodiscard]] QVariant headerData(int section, Qt::Orientation orientation, int role) const override;

 private:
  std::vector<DetailLine> lines_;
};

/// What an area holds, by name.
class NamesModel : public QAbstractTableModel {
  Q_OBJECT

 public:
  enum Column { kName, kCount, kTotal, kSelf, kShare, kMean, kLongest, kColumns };

  using QAbstractTableModel::QAbstractTableModel;
  void set_totals(std::vector<NameTotal> names, Nanoseconds all);
  [[nodiscard]] const std::vector<NameTotal>& names() const { return names_; }

  [[nodiscard]] int rowCount(const QModelIndex& parent = {}) const override;
  [[nodiscard]] int columnCount(const QModelIndex& parent = {}) const override;
  [[nodiscard]] QVariant data(const QModelIndex& index, int role = Qt::DisplayRole) const override;
  [[nodiscard]] QVariant headerData(int section, Qt::Orientation orientation, int role) const override;

 private:
  [[nodiscard]] QVariant text(const NameTotal& name, int column) const;
  [[nodiscard]] QVariant key(const NameTotal& name, int column) const;

  std::vector<NameTotal> names_;
  Nanoseconds all_{};
};

/// How busy an area's rows are.
class RowsModel : public QAbstractTableModel {
  Q_OBJECT

 public:
  enum Column { kRow, kSlices, kBusy, kBusyShare, kColumns };

  using QAbstractTableModel::QAbstractTableModel;
  void set_totals(std::shared_ptr<const Timeline> timeline, std::vector<RowTotal> rows);
  [[nodiscard]] const std::vector<RowTotal>& rows() const { return rows_; }

  [[nodiscard]] int rowCount(const QModelIndex& parent = {}) const override;
  [[nodiscard]] int columnCount(const QModelIndex& parent = {}) const override;
  [[nodiscard]] QVariant data(const QModelIndex& index, int role = Qt::DisplayRole) const override;
  [[nodiscard]] QVariant headerData(int section, Qt::Orientation orientation, int role) const override;

 private:
  std::shared_ptr<const Timeline> timeline_;
  std::vector<RowTotal> rows_;
};

/// Marks with names that can be edited.
class MarksModel : public QAbstractTableModel {
  Q_OBJECT

 public:
  enum Column { kName, kTime, kSince, kColumns };

  using QAbstractTableModel::QAbstractTableModel;
  /// Times are shown after `origin`.
  void set_marks(TimeMarks marks, Nanoseconds origin);
  [[nodiscard]] const TimeMarks& marks() const { return marks_; }

  [[nodiscard]] int rowCount(const QModelIndex& parent = {}) const override;
  [[nodiscard]] int columnCount(const QModelIndex& parent = {}) const override;
  [[nodiscard]] QVariant data(const QModelIndex& index, int role = Qt::DisplayRole) const override;
  [[nodiscard]] QVariant headerData(int section, Qt::Orientation orientation, int role) const override;
  [[nodiscard]] Qt::ItemFlags flags(const QModelIndex& index) const override;
  bool setData(const QModelIndex& index, const QVariant& value, int role = Qt::EditRole) override;

 Q_SIGNALS:
  void renamed();  ///< by the user

 private:
  TimeMarks marks_;
  Nanoseconds origin_{};
};

}  // namespace cohort
