#pragma once

#include <QWidget>

#include "view/explore/group_edit.hpp"

class QComboBox;
class QLabel;
class QPushButton;
class QTabWidget;
class QTableView;

namespace cohort {

class ChipBoard;
class GroupModel;

/// Which ops run how, and which member runs where: two boards to drag on, and the groups as a table.
class PlanBoard : public QWidget {
  Q_OBJECT

 public:
  explicit PlanBoard(QWidget* parent = nullptr);

  void set_plan(const ExploreFacts& facts, const ExploreSettings& settings);
  [[nodiscard]] ChipBoard& ops_board() { return *ops_; }
  [[nodiscard]] ChipBoard& members_board() { return *members_; }

  /// More members than this are not drawn one by one.
  static constexpr std::size_t kMostChips = 256;

 Q_SIGNALS:
  /// The settings after a change by hand.
  void edited(const cohort::ExploreSettings& settings);

 private:
  QWidget* make_groups();
  void show_ops();
  void show_members();
  [[nodiscard]] std::optional<std::size_t> chosen_group() const;

  ExploreFacts facts_;
  ExploreSettings settings_;
  std::vector<Strategy> lanes_;  ///< of the board of ops
  QTabWidget* tabs_;
  QComboBox* rest_;
  ChipBoard* ops_;
  ChipBoard* members_;
  QLabel* members_note_;
  GroupModel* groups_;
  QTableView* table_;
  QLabel* refusal_;
  std::vector<QPushButton*> group_buttons_;
};

}  // namespace cohort
