#pragma once

#include <QAbstractTableModel>
#include <QSortFilterProxyModel>

#include "view/explore/explore_answer.hpp"

namespace cohort {

/// The ways that the planner found, best first.
class CandidateModel : public QAbstractTableModel {
  Q_OBJECT

 public:
  enum Column { kRank, kSpeedup, kInterval, kStep, kRate, kMemory, kLatency, kName, kWhy, kColumns };
  static constexpr int kSortRole = Qt::UserRole;

  explicit CandidateModel(QObject* parent = nullptr);

  void set_candidates(std::vector<ExploreCandidate> candidates, std::size_t ranked);
  [[nodiscard]] const std::vector<ExploreCandidate>& candidates() const { return candidates_; }

  [[nodiscard]] int rowCount(const QModelIndex& parent = {}) const override;
  [[nodiscard]] int columnCount(const QModelIndex& parent = {}) const override;
  [[nodiscard]] QVariant data(const QModelIndex& index, int role) const override;
  [[nodiscard]] QVariant headerData(int section, Qt::Orientation orientation, int role) const override;

 private:
  [[nodiscard]] QString text(std::size_t row, int column) const;

  std::vector<ExploreCandidate> candidates_;
  std::size_t ranked_ = 0;
};

}  // namespace cohort
