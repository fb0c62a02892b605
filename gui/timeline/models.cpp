#include "gui/timeline/models.hpp"

#include <fmt/format.h>

#include <array>

#include "gui/window/qt_text.hpp"

namespace cohort {
namespace {

QString percent(double share) { return QStringLiteral("%1%").arg(share * 100, 0, 'f', 1); }

QVariant right_aligned(int role) {
  return role == Qt::TextAlignmentRole ? QVariant(static_cast<int>(Qt::AlignRight | Qt::AlignVCenter)) : QVariant();
}

template <std::size_t n>
QVariant header_of(const std::array<const char*, n>& names, int section, Qt::Orientation orientation, int role) {
  const auto column = static_cast<std::size_t>(section);
  if (orientation != Qt::Horizontal || column >= n) return {};
  if (role == Qt::DisplayRole) return QString::fromLatin1(names[column]);
  return section > 0 ? right_aligned(role) : QVariant();
}

}  // namespace

void DetailsModel::set_lines(std::vector<DetailLine> lines) {
  beginResetModel();
  lines_ = std::move(lines);
  endResetModel();
}

int DetailsModel::rowCount(const QModelIndex& parent) const {
  return parent.isValid() ? 0 : static_cast<int>(lines_.size());
}

int DetailsModel::columnCount(const QModelIndex& parent) const { return parent.isValid() ? 0 : 2; }

QVariant DetailsModel::data(const QModelIndex& index, int role) const {
  if (!index.isValid() || index.row() >= rowCount()) return {};
  const DetailLine& line = lines_[static_cast<std::size_t>(index.row())];
  if (role == Qt::DisplayRole || role == Qt::ToolTipRole) return qt(index.column() == 0 ? line.name : line.value);
  return {};
}

QVariant DetailsModel::headerData(int section, Qt::Orientation orientation, int role) const {
  if (role != Qt::DisplayRole || orientation != Qt::Horizontal) return {};
  return section == 0 ? tr("What") : tr("Value");
}

void NamesModel::set_totals(std::vector<NameTotal> names, Nanoseconds all) {
  beginResetModel();
  names_ = std::move(names);
  all_ = all;
  endResetModel();
}

int NamesModel::rowCount(const QModelIndex& parent) const {
  return parent.isValid() ? 0 : static_cast<int>(names_.size());
}

int NamesModel::columnCount(const QModelIndex& parent) const { return parent.isValid() ? 0 : kColumns; }

QVariant NamesModel::text(const NameTotal& name, int column) const {
  switch (column) {
    case kName:
      return qt(name.name);
    case kCount:
      return QString::number(name.count);
    case kTotal:
      return qt(format_time(name.total));
    case kSelf:
      return qt(format_time(name.self));
    case kShare:
      return all_ > Nanoseconds(0) ? percent(seconds(name.self) / seconds(all_)) : QString();
    case kMean:
      return qt(format_time(name.mean()));
    case kLongest:
      return qt(format_time(name.longest));
    default:
      return {};
  }
}

QVariant NamesModel::key(const NameTotal& name, int column) const {
  switch (column) {
    case kCount:
      return QVariant::fromValue<qlonglong>(name.count);
    case kTotal:
      return QVariant::fromValue<qlonglong>(name.total.count());
    case kSelf:
    case kShare:
      return QVariant::fromValue<qlonglong>(name.self.count());
    case kMean:
      return QVariant::fromValue<qlonglong>(name.mean().count());
    case kLongest:
      return QVariant::fromValue<qlonglong>(name.longest.count());
    default:
      return text(name, column);
  }
}

QVariant NamesModel::data(const QModelIndex& index, int role) const {
  if (!index.isValid() || index.row() >= rowCount()) return {};
  const NameTotal& name = names_[static_cast<std::size_t>(index.row())];
  if (role == Qt::DisplayRole) return text(name, index.column());
  if (role == kSortRole) return key(name, index.column());
  if (role == Qt::ToolTipRole && index.column() == kName) return qt(name.name);
  return index.column() == kName ? QVariant() : right_aligned(role);
}

QVariant NamesModel::headerData(int section, Qt::Orientation orientation, int role) const {
  static constexpr std::array<const char*, kColumns> kNames = {"Name",  "Slices", "Total",  "Self",
                                                               "Share", "Mean",   "Longest"};
  return header_of(kNames, section, orientation, role);
}

void RowsModel::set_totals(std::shared_ptr<const Timeline> timeline, std::vector<RowTotal> rows) {
  beginResetModel();
  rows_ = timeline ? std::move(rows) : std::vector<RowTotal>();
  timeline_ = rows_.empty() ? nullptr : std::move(timeline);  // not kept in memory for nothing
  endResetModel();
}

int RowsModel::rowCount(const QModelIndex& parent) const {
  return parent.isValid() ? 0 : static_cast<int>(rows_.size());
}

int RowsModel::columnCount(const QModelIndex& parent) const { return parent.isValid() ? 0 : kColumns; }

QVariant RowsModel::data(const QModelIndex& index, int role) const {
  if (!index.isValid() || index.row() >= rowCount()) return {};
  const RowTotal& row = rows_[static_cast<std::size_t>(index.row())];
  const bool shows = role == Qt::DisplayRole;
  if (!shows && role != kSortRole) return index.column() == kRow ? QVariant() : right_aligned(role);
  switch (index.column()) {
    case kRow:
      return qt(timeline_->full_title(row.row));
    case kSlices:
      return shows ? QVariant(QString::number(row.count)) : QVariant::fromValue<qlonglong>(row.count);
    case kBusy:
      return shows ? QVariant(qt(format_time(row.busy))) : QVariant::fromValue<qlonglong>(row.busy.count());
    case kBusyShare:
      return shows ? QVariant(percent(row.busy_share)) : QVariant(row.busy_share);
    default:
      return {};
  }
}

QVariant RowsModel::headerData(int section, Qt::Orientation orientation, int role) const {
  static constexpr std::array<const char*, kColumns> kNames = {"Row", "Slices", "Busy", "Busy share"};
  return header_of(kNames, section, orientation, role);
}

void MarksModel::set_marks(TimeMarks marks, Nanoseconds origin) {
  beginResetModel();
  marks_ = std::move(marks);
  origin_ = origin;
  endResetModel();
}

int MarksModel::rowCount(const QModelIndex& parent) const {
  return parent.isValid() ? 0 : static_cast<int>(marks_.all().size());
}

int MarksModel::columnCount(const QModelIndex& parent) const { return parent.isValid() ? 0 : kColumns; }

QVariant MarksModel::data(const QModelIndex& index, int role) const {
  if (!index.isValid() || index.row() >= rowCount()) return {};
  const auto at = static_cast<std::size_t>(index.row());
  const TimeMark& mark = marks_.all()[at];
  if (role != Qt::DisplayRole && role != Qt::EditRole) {
    return index.column() == kName ? QVariant() : right_aligned(role);
  }
  switch (index.column()) {
    case kName:
      return qt(mark.name);
    case kTime:
      return qt(fmt::format("{} ({} ns)", format_time(mark.time - origin_), (mark.time - origin_).count()));
    case kSince:
      return at == 0 ? QString() : qt(format_time(mark.time - marks_.all()[at - 1].time));
    default:
      return {};
  }
}

QVariant MarksModel::headerData(int section, Qt::Orientation orientation, int role) const {
  static constexpr std::array<const char*, kColumns> kNames = {"Mark", "Time", "After the one before"};
  return header_of(kNames, section, orientation, role);
}

Qt::ItemFlags MarksModel::flags(const QModelIndex& index) const {
  const Qt::ItemFlags flags = QAbstractTableModel::flags(index);
  return index.isValid() && index.column() == kName ? flags | Qt::ItemIsEditable : flags;
}

bool MarksModel::setData(const QModelIndex& index, const QVariant& value, int role) {
  if (role != Qt::EditRole || !index.isValid() || index.column() != kName || index.row() >= rowCount()) return false;
  const Nanoseconds time = marks_.all()[static_cast<std::size_t>(index.row())].time;
  if (!marks_.rename(time, value.toString().trimmed().toStdString())) return false;
  Q_EMIT dataChanged(index, index);
  Q_EMIT renamed();
  return true;
}

}  // namespace cohort
