#include "gui/explore/candidate_model.hpp"

#include <fmt/format.h>

#include <QFont>
#include <utility>

#include "gui/window/qt_text.hpp"
#include "view/chart/chart.hpp"

namespace cohort {
namespace {

bool is_number(int column) { return column != CandidateModel::kName && column != CandidateModel::kWhy; }

QVariant sort_key(const ExploreCandidate& candidate, int row, int column) {
  switch (column) {
    case CandidateModel::kName:
      return qt(candidate.name);
    case CandidateModel::kSpeedup:
    case CandidateModel::kInterval:
      return candidate.speedup;
    case CandidateModel::kStep:
      return static_cast<qlonglong>(candidate.step.count());
    case CandidateModel::kRate:
      return candidate.per_second;
    case CandidateModel::kLatency:
      return candidate.p99_latency ? static_cast<qlonglong>(candidate.p99_latency->count()) : qlonglong{-1};
    case CandidateModel::kMemory:
      return candidate.memory ? static_cast<qlonglong>(candidate.memory->value) : qlonglong{-1};
    case CandidateModel::kWhy:
      return qt(candidate.explanation);
    default:
      return row;
  }
}

}  // namespace

CandidateModel::CandidateModel(QObject* parent) : QAbstractTableModel(parent) {}

void CandidateModel::set_candidates(std::vector<ExploreCandidate> candidates, std::size_t ranked) {
  beginResetModel();
  candidates_ = std::move(candidates);
  ranked_ = ranked;
  endResetModel();
}

int CandidateModel::rowCount(const QModelIndex& parent) const {
  return parent.isValid() ? 0 : static_cast<int>(candidates_.size());
}

int CandidateModel::columnCount(const QModelIndex& parent) const { return parent.isValid() ? 0 : kColumns; }

QString CandidateModel::text(std::size_t row, int column) const {
  const ExploreCandidate& candidate = candidates_[row];
  switch (column) {
    case kRank:
      return row < ranked_ ? QString::number(row + 1) : tr("less memory");
    case kName:
      return qt(candidate.name);
    case kSpeedup:
      return qt(fmt::format("{:.2f}x", candidate.speedup));
    case kInterval:
      return candidate.interval ? qt(fmt::format("{:.2f} to {:.2f}", candidate.interval->low, candidate.interval->high))
                                : QStringLiteral("-");
    case kStep:
      return qt(format_time(candidate.step));
    case kRate:
      return qt(format_value(AxisUnit::kRate, candidate.per_second));
    case kLatency:
      return candidate.p99_latency ? qt(format_time(*candidate.p99_latency)) : QStringLiteral("-");
    case kMemory:
      return candidate.memory ? qt(format_bytes(*candidate.memory)) : QStringLiteral("-");
    case kWhy:
      return qt(candidate.explanation);
    default:
      return {};
  }
}

QVariant CandidateModel::data(const QModelIndex& index, int role) const {
  if (!checkIndex(index, CheckIndexOption::IndexIsValid)) return {};
  const auto row = static_cast<std::size_t>(index.row());
  switch (role) {
    case Qt::DisplayRole:
      return text(row, index.column());
    case Qt::ToolTipRole:
      return is_number(index.column()) ? QVariant() : QVariant(text(row, index.column()));
    case Qt::TextAlignmentRole:
      return QVariant::fromValue(
          Qt::Alignment(Qt::AlignVCenter | (is_number(index.column()) ? Qt::AlignRight : Qt::AlignLeft)));
    case Qt::FontRole:
      if (row == 0 && ranked_ > 0) {
        QFont font;
        font.setBold(true);
        return font;
      }
      return {};
    case kSortRole:
      return sort_key(candidates_[row], index.row(), index.column());
    default:
      return {};
  }
}

QVariant CandidateModel::headerData(int section, Qt::Orientation orientation, int role) const {
  if (orientation != Qt::Horizontal || section < 0 || section >= kColumns) return {};
  if (role == Qt::TextAlignmentRole) {
    return QVariant::fromValue(Qt::Alignment(Qt::AlignVCenter | (is_number(section) ? Qt::AlignRight : Qt::AlignLeft)));
  }
  if (role != Qt::DisplayRole) return {};
  switch (section) {
    case kRank:
      return tr("rank");
    case kName:
      return tr("way");
    case kSpeedup:
      return tr("speedup");
    case kInterval:
      return tr("likely");
    case kStep:
      return tr("step");
    case kRate:
      return tr("a second");
    case kLatency:
      return tr("p99 latency");
    case kMemory:
      return tr("memory");
    default:
      return tr("why");
  }
}

}  // namespace cohort
