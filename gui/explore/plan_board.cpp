#include "gui/explore/plan_board.hpp"

#include <QComboBox>
#include <QHBoxLayout>
#include <QHeaderView>
#include <QLabel>
#include <QPushButton>
#include <QScrollArea>
#include <QSignalBlocker>
#include <QTabWidget>
#include <QTableView>
#include <QVBoxLayout>
#include <algorithm>

#include "gui/explore/chip_board.hpp"
#include "gui/explore/group_model.hpp"
#include "gui/window/qt_text.hpp"
#include "gui/window/scrolling.hpp"

namespace cohort {
namespace {

QString name_of(Strategy strategy) { return qt(strategy_name(strategy)); }

/// The member's model and number, where settings do not list members.
QString member_tip(const ExploreFacts& facts, const ExploreSettings& settings, std::size_t member) {
  if (member < settings.members.size()) return qt(settings.members[member].name);
  std::size_t first = 0;
  for (std::size_t i = 0; i < facts.models.size(); ++i) {
    const int models = settings.models[std::min(i, settings.models.size() - 1)];
    const auto count = static_cast<std::size_t>(models);
    if (member < first + count) return QStringLiteral("%1, member %2").arg(qt(facts.models[i].name)).arg(member);
    first += count;
  }
  return QString::number(member);
}

}  // namespace

PlanBoard::PlanBoard(QWidget* parent)
    : QWidget(parent),
      tabs_(new QTabWidget),
      rest_(new QComboBox),
      ops_(new ChipBoard),
      members_(new ChipBoard),
      members_note_(new QLabel),
      groups_(new GroupModel(this)),
      table_(new QTableView),
      refusal_(new QLabel) {
  rest_->setObjectName("rest");
  for (const Strategy strategy : kRestStrategies) rest_->addItem(name_of(strategy));
  ops_->setObjectName("ops");
  members_->setObjectName("members");
  members_note_->setWordWrap(true);

  auto* ops = new QWidget;
  auto* ops_column = new QVBoxLayout(ops);
  auto* rest_row = new QHBoxLayout;
  rest_row->addWidget(new QLabel(tr("The rest runs")));
  rest_row->addWidget(rest_, 1);
  ops_column->addLayout(rest_row);
  auto* hint = new QLabel(tr("Drag an op to another strategy."));
  hint->setForegroundRole(QPalette::PlaceholderText);
  ops_column->addWidget(hint);
  ops_column->addWidget(ops_);
  ops_column->addStretch(1);

  auto* members = new QWidget;
  auto* members_column = new QVBoxLayout(members);
  members_column->addWidget(members_note_);
  members_column->addWidget(members_);
  members_column->addStretch(1);

  tabs_->addTab(scrolling(ops), tr("Ops"));
  tabs_->addTab(scrolling(members), tr("Members"));
  tabs_->addTab(make_groups(), tr("Groups"));
  auto* column = new QVBoxLayout(this);
  column->setContentsMargins(0, 0, 0, 0);
  column->addWidget(tabs_);

  connect(rest_, &QComboBox::activated, this,
          [this](int index) { Q_EMIT edited(with_rest_strategy(settings_, kRestStrategies[index])); });
  connect(ops_, &ChipBoard::chip_moved, this, [this](int chip, int lane) {
    const std::string op = facts_.ops[static_cast<std::size_t>(chip)].name;
    Q_EMIT edited(with_op_strategy(settings_, facts_, op, lanes_[static_cast<std::size_t>(lane)]));
  });
  connect(members_, &ChipBoard::chip_moved, this, [this](int chip, int lane) {
    Q_EMIT edited(
        with_member_on_stream(settings_, facts_, static_cast<std::size_t>(chip), static_cast<std::uint32_t>(lane)));
  });
}

QWidget* PlanBoard::make_groups() {
  table_->setObjectName("groups");
  table_->setModel(groups_);
  table_->setItemDelegateForColumn(GroupModel::kStrategy, new StrategyDelegate(table_));
  table_->setSelectionBehavior(QAbstractItemView::SelectRows);
  table_->setSelectionMode(QAbstractItemView::SingleSelection);
  table_->setEditTriggers(QAbstractItemView::DoubleClicked | QAbstractItemView::EditKeyPressed);
  table_->verticalHeader()->hide();
  table_->verticalHeader()->setDefaultSectionSize(table_->fontMetrics().height() + 6);
  table_->horizontalHeader()->setStretchLastSection(true);
  table_->setWordWrap(false);
  refusal_->setWordWrap(true);
  refusal_->setObjectName("refusal");
  refusal_->hide();

  auto* page = new QWidget;
  auto* column = new QVBoxLayout(page);
  auto* buttons = new QHBoxLayout;
  const auto add = [&](const QString& text, const QString& tip, auto change) {
    auto* button = new QPushButton(text);
    button->setToolTip(tip);
    buttons->addWidget(button);
    connect(button, &QPushButton::clicked, this, [this, change] {
      if (const auto group = chosen_group()) Q_EMIT edited(change(settings_, *group));
    });
    group_buttons_.push_back(button);
  };
  add(tr("Earlier"), tr("Launch the chosen group earlier"),
      [](const ExploreSettings& settings, std::size_t group) { return with_group_moved(settings, group, -1); });
  add(tr("Later"), tr("Launch the chosen group later"),
      [](const ExploreSettings& settings, std::size_t group) { return with_group_moved(settings, group, 1); });
  add(tr("Dissolve"), tr("The chosen group's ops join the rest"),
      [](const ExploreSettings& settings, std::size_t group) { return without_group(settings, group); });
  buttons->addStretch(1);
  column->addWidget(table_, 1);
  column->addWidget(refusal_);
  column->addLayout(buttons);

  connect(groups_, &GroupModel::edited, this, [this](const ExploreSettings& settings) {
    refusal_->hide();
    Q_EMIT edited(settings);
  });
  connect(groups_, &GroupModel::refused, this, [this](const QString& why) {
    refusal_->setText(why);
    refusal_->show();
  });
  const auto enable = [this] {
    for (QPushButton* button : group_buttons_) button->setEnabled(chosen_group().has_value());
  };
  connect(table_->selectionModel(), &QItemSelectionModel::selectionChanged, this, enable);
  connect(groups_, &QAbstractItemModel::modelReset, this, enable);
  enable();
  return page;
}

std::optional<std::size_t> PlanBoard::chosen_group() const {
  const QModelIndex current = table_->currentIndex();
  if (!current.isValid() || !table_->selectionModel()->isRowSelected(current.row())) return std::nullopt;
  return static_cast<std::size_t>(current.row());
}

void PlanBoard::set_plan(const ExploreFacts& facts, const ExploreSettings& settings) {
  facts_ = facts;
  settings_ = settings;
  const Strategy rest = rest_strategy(settings);
  rest_->setCurrentText(name_of(rest));
  show_ops();
  show_members();
  const QModelIndex before = table_->currentIndex();
  groups_->set_groups(facts, settings);
  for (int column = 0; column < GroupModel::kColumns; ++column) table_->resizeColumnToContents(column);
  table_->setColumnWidth(GroupModel::kOps, std::min(table_->columnWidth(GroupModel::kOps), 180));
  if (before.isValid() && before.row() < groups_->rowCount()) table_->selectRow(before.row());
}

void PlanBoard::show_ops() {
  const Strategy rest = rest_strategy(settings_);
  lanes_ = {rest};
  const auto lane_of = [&](Strategy strategy) {
    const auto found = std::find(lanes_.begin(), lanes_.end(), strategy);
    if (found != lanes_.end()) return static_cast<int>(found - lanes_.begin());
    lanes_.push_back(strategy);
    return static_cast<int>(lanes_.size()) - 1;
  };
  std::vector<BoardChip> chips;
  for (const ExploredOp& op : facts_.ops) {
    BoardChip chip;
    chip.label = qt(op.name);
    chip.tip = QStringLiteral("%1, %2").arg(qt(op.name), qt(op.type));
    if (op.time > Nanoseconds(0)) chip.tip += QStringLiteral(", ") + qt(format_time(op.time));
    chip.lane = lane_of(strategy_of(settings_, op.name));
    for (const Strategy strategy : strategies_for(facts_, op.name)) chip.allowed.push_back(lane_of(strategy));
    chips.push_back(std::move(chip));
  }
  QStringList titles;
  for (const Strategy strategy : lanes_) {
    titles << (strategy == rest ? tr("%1 (the rest)").arg(name_of(strategy)) : name_of(strategy));
  }
  ops_->set_content(std::move(titles), std::move(chips));
}

void PlanBoard::show_members() {
  const std::size_t count = member_count(settings_, facts_);
  const bool too_many = count > kMostChips;
  members_->setVisible(!too_many && settings_.streams > 1);
  if (too_many) {
    members_note_->setText(tr("%1 members are too many to move one by one; neighbours share one.").arg(count));
  } else if (settings_.streams == 1) {
    members_note_->setText(facts_.on_gpu
                               ? tr("With one stream all members are on it. Set more streams to spread them.")
                               : tr("With one worker all members are on it. Set more workers to spread them."));
  } else {
    members_note_->setText(facts_.on_gpu ? tr("Drag a member to another stream.")
                                         : tr("Drag a member to another worker."));
  }
  std::vector<BoardChip> chips;
  QStringList lanes;
  if (!too_many && settings_.streams > 1) {
    for (int i = 0; i < settings_.streams; ++i) {
      lanes << (facts_.on_gpu ? tr("stream %1") : tr("worker %1")).arg(i);
    }
    const std::vector<std::uint32_t> streams = streams_of_members(settings_, facts_);
    for (std::size_t i = 0; i < count; ++i) {
      chips.push_back({QString::number(i), member_tip(facts_, settings_, i), static_cast<int>(streams[i]), {}});
    }
  }
  members_->set_content(std::move(lanes), std::move(chips));
}

}  // namespace cohort
