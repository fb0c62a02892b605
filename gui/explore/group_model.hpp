#pragma once

#include <QAbstractTableModel>
#include <QStyledItemDelegate>

#include "view/explore/group_edit.hpp"

namespace cohort {

/// The groups of the settings as a table in launch order, whose cells are edited: ops by name, the strategy.
class GroupModel : public QAbstractTableModel {
  Q_OBJECT

 public:
  enum Column { kName, kOps, kStrategy, kMembers, kColumns };
  /// Names of the strategies a group can have, and of the one it has; for the delegate.
  static constexpr int kStrategiesRole = Qt::UserRole;

  explicit GroupModel(QObject* parent = nullptr);

  void set_groups(const ExploreFacts& facts, const ExploreSettings& settings);

  [[nodiscard]] int rowCount(const QModelIndex& parent = {}) const override;
  [[nodiscard]] int columnCount(const QModelIndex& parent = {}) const override;
  [[nodiscard]] QVariant data(const QModelIndex& index, int role) const override;
  [[nodiscard]] QVariant headerData(int section, Qt::Orientation orientation, int role) const override;
  [[nodiscard]] Qt::ItemFlags flags(const QModelIndex& index) const override;
  bool setData(const QModelIndex& index, const QVariant& value, int role) override;

 Q_SIGNALS:
  /// A cell was edited: the settings as they are then. The model shows them once it is given them.
  void edited(const cohort::ExploreSettings& settings);
  /// A cell was given what it cannot be.
  void refused(const QString& why);

 private:
  [[nodiscard]] std::optional<ExploreSettings> with_ops(std::size_t group, const QString& text);
  [[nodiscard]] std::optional<ExploreSettings> with_name(std::size_t group, const QString& text);

  ExploreFacts facts_;
  ExploreSettings settings_;
};

/// A cell that is one of several texts: a list to choose from.
class StrategyDelegate : public QStyledItemDelegate {
  Q_OBJECT

 public:
  using QStyledItemDelegate::QStyledItemDelegate;

  QWidget* createEditor(QWidget* parent, const QStyleOptionViewItem& option, const QModelIndex& index) const override;
  void setEditorData(QWidget* editor, const QModelIndex& index) const override;
  void setModelData(QWidget* editor, QAbstractItemModel* model, const QModelIndex& index) const override;
};

}  // namespace cohort
