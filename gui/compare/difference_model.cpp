#include "gui/compare/difference_model.hpp"

#include <QBrush>
#include <QColor>
#include <algorithm>
#include <cstdlib>
#include <utility>

#include "gui/window/qt_text.hpp"

namespace cohort {
namespace {

QVariant sort_key(const DifferenceRow& row, int column) {
  switch (column) {
    case DifferenceModel::kName:
      return qt(row.name);
    case DifferenceModel::kOp:
      return qt(row.op);
    case DifferenceModel::kGroup:
      return qt(row.group);
    case DifferenceModel::kSlices:
      return static_cast<qlonglong>(row.slices[0].size() + row.slices[1].size());
    case DifferenceModel::kPredicted:
      return static_cast<qlonglong>(row.time.predicted.count());
    case DifferenceModel::kMeasured:
      return static_cast<qlonglong>(row.time.measured.count());
    case DifferenceModel::kDifference:
      return static_cast<qlonglong>(std::abs(row.difference().count()));
    case DifferenceModel::kError:
      return row.relative_error() ? std::abs(*row.relative_error()) : -1.0;
    case DifferenceModel::kShift:
      return row.start_shift ? static_cast<qlonglong>(std::abs(row.start_shift->count())) : qlonglong{-1};
    default:
      return {};
  }
}

}  // namespace

DifferenceModel::DifferenceModel(QObject* parent) : QAbstractTableModel(parent) {}

void DifferenceModel::set_rows(std::vector<DifferenceRow> rows, PerSide<std::string> labels) {
  beginResetModel();
  rows_ = std::move(rows);
  labels_ = std::move(labels);
  endResetModel();
}

void DifferenceModel::set_dark(bool dark) {
  colours_ = ErrorColours(dark);
  if (!rows_.empty()) Q_EMIT dataChanged(index(0, 0), index(rowCount() - 1, kColumns - 1), {Qt::BackgroundRole});
}

int DifferenceModel::rowCount(const QModelIndex& parent) const {
  return parent.isValid() ? 0 : static_cast<int>(rows_.size());
}

int DifferenceModel::columnCount(const QModelIndex& parent) const { return parent.isValid() ? 0 : kColumns; }

QString DifferenceModel::text(const DifferenceRow& row, int column) const {
  switch (column) {
    case kName:
      return qt(row.name);
    case kOp:
      return qt(row.op);
    case kGroup:
      return qt(row.group);
    case kSlices:
      if (row.slices[0].size() == row.slices[1].size()) return QString::number(row.slices[0].size());
      return tr("%1 / %2").arg(row.slices[0].size()).arg(row.slices[1].size());
    case kPredicted:
      return row.slices[0].empty() ? QStringLiteral("-") : qt(format_time(row.time.predicted));
    case kMeasured:
      return row.slices[1].empty() ? QStringLiteral("-") : qt(format_time(row.time.measured));
    case kDifference:
      return qt(format_difference(row.difference()));
    case kError:
      return row.both() ? qt(format_error(row.relative_error()))
                        : tr("only %1").arg(qt(labels_[row.slices[0].empty()]));
    case kShift:
      return row.start_shift ? qt(format_difference(*row.start_shift)) : QStringLiteral("-");
    default:
      return {};
  }
}

QVariant DifferenceModel::data(const QModelIndex& index, int role) const {
  if (!checkIndex(index, CheckIndexOption::IndexIsValid)) return {};
  const DifferenceRow& row = rows_[static_cast<std::size_t>(index.row())];
  const int column = index.column();
  const bool coloured = column == kError && row.both() && row.relative_error().has_value();
  switch (role) {
    case Qt::DisplayRole:
      return text(row, column);
    case Qt::ToolTipRole:
      return column <= kGroup ? QVariant(text(row, column)) : QVariant();
    case Qt::TextAlignmentRole:
      return QVariant::fromValue(Qt::Alignment(Qt::AlignVCenter | (column <= kGroup ? Qt::AlignLeft : Qt::AlignRight)));
    case Qt::BackgroundRole:
      return coloured ? QVariant(QBrush(QColor::fromRgb(argb(colours_.of_error(*row.relative_error()))))) : QVariant();
    case Qt::ForegroundRole:
      return coloured
                 ? QVariant(QBrush(QColor::fromRgb(text_colour_on(argb(colours_.of_error(*row.relative_error()))))))
                 : QVariant();
    case kSortRole:
      return sort_key(row, column);
    default:
      return {};
  }
}

QVariant DifferenceModel::headerData(int section, Qt::Orientation orientation, int role) const {
  if (orientation != Qt::Horizontal || section < 0 || section >= kColumns) return {};
  if (role == Qt::TextAlignmentRole) {
    return QVariant::fromValue(Qt::Alignment(Qt::AlignVCenter | (section <= kGroup ? Qt::AlignLeft : Qt::AlignRight)));
  }
  if (role == Qt::ToolTipRole) {
    switch (section) {
      case kSlices:
        return tr("Slices of both sides, in the step or in all steps");
      case kDifference:
        return tr("%1 minus %2 time").arg(qt(labels_[0]), qt(labels_[1]));
      case kError:
        return tr("(%1 - %2) / %2").arg(qt(labels_[0]), qt(labels_[1]));
      case kShift:
        return tr("How much later the %1 slices start, as the traces are aligned: the mean").arg(qt(labels_[0]));
      default:
        return {};
    }
  }
  if (role != Qt::DisplayRole) return {};
  switch (section) {
    case kName:
      return tr("what");
    case kOp:
      return tr("op");
    case kGroup:
      return tr("group");
    case kSlices:
      return tr("slices");
    case kPredicted:
      return qt(labels_[0]);
    case kMeasured:
      return qt(labels_[1]);
    case kDifference:
      return tr("difference");
    case kError:
      return tr("error");
    default:
      return tr("start shift");
  }
}

DifferenceFilter::DifferenceFilter(DifferenceModel& model, QObject* parent)
    : QSortFilterProxyModel(parent), model_(&model) {
  setSourceModel(&model);
  setSortRole(DifferenceModel::kSortRole);
  setSortCaseSensitivity(Qt::CaseInsensitive);
}

void DifferenceFilter::set_text(const QString& text) {
  text_ = text.trimmed().toStdString();
  invalidateFilter();
}

const DifferenceRow& DifferenceFilter::row(const QModelIndex& index) const {
  return model_->rows()[static_cast<std::size_t>(mapToSource(index).row())];
}

std::vector<DifferenceRow> DifferenceFilter::shown_rows() const {
  std::vector<DifferenceRow> rows;
  for (int i = 0; i < rowCount(); ++i) rows.push_back(row(index(i, 0)));
  return rows;
}

std::optional<int> DifferenceFilter::row_of(CompareSide side, SliceId slice) const {
  for (int i = 0; i < rowCount(); ++i) {
    const std::vector<SliceId>& slices = row(index(i, 0)).slices[to_index(side)];
    if (std::find(slices.begin(), slices.end(), slice) != slices.end()) return i;
  }
  return std::nullopt;
}

bool DifferenceFilter::filterAcceptsRow(int row, const QModelIndex& /*parent*/) const {
  return matches(model_->rows()[static_cast<std::size_t>(row)], text_);
}

}  // namespace cohort
