#include "gui/explore/group_model.hpp"

#include <QComboBox>
#include <algorithm>
#include <utility>

namespace cohort {
namespace {

QString ops_text(const ExploreGroup& group) {
  QStringList ops;
  for (const std::string& op : group.ops) ops << QString::fromStdString(op);
  return ops.join(QStringLiteral(", "));
}

/// "0-3, 7".
QString members_text(const std::vector<std::uint32_t>& members) {
  QStringList ranges;
  for (std::size_t i = 0; i < members.size();) {
    std::size_t last = i;
    while (last + 1 < members.size() && members[last + 1] == members[last] + 1) ++last;
    ranges << (last == i ? QString::number(members[i]) : QStringLiteral("%1-%2").arg(members[i]).arg(members[last]));
    i = last + 1;
  }
  return ranges.join(QStringLiteral(", "));
}

}  // namespace

GroupModel::GroupModel(QObject* parent) : QAbstractTableModel(parent) {}

void GroupModel::set_groups(const ExploreFacts& facts, const ExploreSettings& settings) {
  beginResetModel();
  facts_ = facts;
  settings_ = settings;
  endResetModel();
}

int GroupModel::rowCount(const QModelIndex& parent) const {
  return parent.isValid() ? 0 : static_cast<int>(settings_.groups.size());
}

int GroupModel::columnCount(const QModelIndex& parent) const { return parent.isValid() ? 0 : kColumns; }

QVariant GroupModel::data(const QModelIndex& index, int role) const {
  if (!checkIndex(index, CheckIndexOption::IndexIsValid)) return {};
  const ExploreGroup& group = settings_.groups[static_cast<std::size_t>(index.row())];
  if (role == kStrategiesRole) {
    QStringList names;
    for (const Strategy strategy : strategies_for(facts_, group)) {
      names << QString::fromStdString(strategy_name(strategy));
    }
    return names;
  }
  if (role != Qt::DisplayRole && role != Qt::EditRole && role != Qt::ToolTipRole) return {};
  switch (index.column()) {
    case kName:
      return QString::fromStdString(group.name);
    case kOps:
      if (group.ops.empty() && role != Qt::EditRole) return tr("all others");
      return ops_text(group);
    case kStrategy:
      return QString::fromStdString(strategy_name(group.strategy));
    case kMembers:
      return group.members.empty() ? tr("all") : members_text(group.members);
    default:
      return {};
  }
}

QVariant GroupModel::headerData(int section, Qt::Orientation orientation, int role) const {
  if (orientation != Qt::Horizontal || role != Qt::DisplayRole) return {};
  switch (section) {
    case kName:
      return tr("group");
    case kOps:
      return tr("ops");
    case kStrategy:
      return tr("strategy");
    case kMembers:
      return tr("members");
    default:
      return {};
  }
}

Qt::ItemFlags GroupModel::flags(const QModelIndex& index) const {
  Qt::ItemFlags flags = QAbstractTableModel::flags(index);
  if (index.isValid() && index.column() != kMembers) flags |= Qt::ItemIsEditable;
  return flags;
}

std::optional<ExploreSettings> GroupModel::with_ops(std::size_t group, const QString& text) {
  ExploreSettings settings = settings_;
  std::vector<std::string> ops;
  for (const QString& part : text.split(QLatin1Char(','), Qt::SkipEmptyParts)) {
    const std::string op = part.trimmed().toStdString();
    const bool known =
        std::any_of(facts_.ops.begin(), facts_.ops.end(), [&](const ExploredOp& other) { return other.name == op; });
    if (!known) {
      Q_EMIT refused(tr("No model has an op named \"%1\".").arg(part.trimmed()));
      return std::nullopt;
    }
    if (std::find(ops.begin(), ops.end(), op) == ops.end()) ops.push_back(op);
  }
  settings.groups[group].ops = std::move(ops);
  settings.groups[group].op_streams.clear();
  return settings;
}

std::optional<ExploreSettings> GroupModel::with_name(std::size_t group, const QString& text) {
  const std::string name = text.trimmed().toStdString();
  const bool taken = std::any_of(settings_.groups.begin(), settings_.groups.end(),
                                 [&](const ExploreGroup& other) { return other.name == name; });
  if (name.empty() || taken) {
    if (settings_.groups[group].name != name) {
      Q_EMIT refused(name.empty() ? tr("A group needs a name.") : tr("There is a group of that name already."));
    }
    return std::nullopt;
  }
  ExploreSettings settings = settings_;
  for (ExploreGroup& other : settings.groups) {
    std::replace(other.after.begin(), other.after.end(), settings.groups[group].name, name);
  }
  settings.groups[group].name = name;
  return settings;
}

bool GroupModel::setData(const QModelIndex& index, const QVariant& value, int role) {
  if (role != Qt::EditRole || !checkIndex(index, CheckIndexOption::IndexIsValid)) return false;
  const auto row = static_cast<std::size_t>(index.row());
  std::optional<ExploreSettings> settings;
  if (index.column() == kName) settings = with_name(row, value.toString());
  if (index.column() == kOps) settings = with_ops(row, value.toString());
  if (index.column() == kStrategy) {
    for (const Strategy strategy : strategies_for(facts_, settings_.groups[row])) {
      if (value.toString().toStdString() == strategy_name(strategy)) {
        settings = with_group_strategy(settings_, row, strategy);
      }
    }
  }
  if (!settings || *settings == settings_) return false;
  settings_ = std::move(*settings);
  Q_EMIT dataChanged(this->index(index.row(), 0), this->index(index.row(), kColumns - 1));
  Q_EMIT edited(settings_);
  return true;
}

QWidget* StrategyDelegate::createEditor(QWidget* parent, const QStyleOptionViewItem& /*option*/,
                                        const QModelIndex& index) const {
  auto* box = new QComboBox(parent);
  box->addItems(index.data(GroupModel::kStrategiesRole).toStringList());
  connect(box, &QComboBox::activated, this, [this, box] {
    auto* delegate = const_cast<StrategyDelegate*>(this);
    Q_EMIT delegate->commitData(box);
    Q_EMIT delegate->closeEditor(box);
  });
  return box;
}

void StrategyDelegate::setEditorData(QWidget* editor, const QModelIndex& index) const {
  auto* box = qobject_cast<QComboBox*>(editor);
  box->setCurrentText(index.data(Qt::EditRole).toString());
}

void StrategyDelegate::setModelData(QWidget* editor, QAbstractItemModel* model, const QModelIndex& index) const {
  model->setData(index, qobject_cast<QComboBox*>(editor)->currentText(), Qt::EditRole);
}

}  // namespace cohort
