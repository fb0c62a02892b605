#include "gui/window/command_palette.hpp"

#include <QAction>
#include <QCoreApplication>
#include <QKeyEvent>
#include <QLineEdit>
#include <QListWidget>
#include <QVBoxLayout>
#include <algorithm>

namespace cohort {

std::optional<int> fit_of(const QString& typed, const QString& name) {
  constexpr int kBeginsWord = 8;
  constexpr int kFollows = 6;
  constexpr int kStandsThere = 20;
  // For each place in the name: the best fit of the letters so far, the last of them there.
  std::vector<std::optional<int>> fits(static_cast<std::size_t>(name.size()));
  bool is_first = true;
  for (const QChar letter : typed.simplified()) {
    if (letter.isSpace()) continue;
    std::vector<std::optional<int>> next(fits.size());
    std::optional<int> before = is_first ? std::optional<int>(0) : std::nullopt;  // best of all earlier places
    for (std::size_t at = 0; at < fits.size(); ++at) {
      const auto place = static_cast<qsizetype>(at);
      const bool is_it = name[place].toCaseFolded() == letter.toCaseFolded();
      const bool begins_word = place == 0 || !name[place - 1].isLetterOrNumber();
      if (is_it && before) next[at] = *before + (begins_word ? kBeginsWord : 0);
      if (is_it && at > 0 && fits[at - 1])
        next[at] = std::max(next[at].value_or(0), *fits[at - 1] + kFollows + (begins_word ? kBeginsWord : 0));
      if (!is_first) before = std::max(before, fits[at]);
    }
    fits = std::move(next);
    is_first = false;
  }
  if (is_first) return 0;
  const auto best = std::max_element(fits.begin(), fits.end());
  if (best == fits.end() || !*best) return std::nullopt;
  return **best + (name.contains(typed.trimmed(), Qt::CaseInsensitive) ? kStandsThere : 0);
}

CommandPalette::CommandPalette(std::vector<Command> commands, QWidget* parent)
    : QDialog(parent, Qt::Popup),
      commands_(std::move(commands)),
      typed_(new QLineEdit(this)),
      list_(new QListWidget(this)) {
  setObjectName(QStringLiteral("palette"));
  typed_->setPlaceholderText(tr("Type a command"));
  typed_->setAccessibleName(tr("Command"));
  typed_->installEventFilter(this);
  list_->setFocusPolicy(Qt::NoFocus);
  list_->setHorizontalScrollBarPolicy(Qt::ScrollBarAlwaysOff);
  auto* column = new QVBoxLayout(this);
  column->setContentsMargins(8, 8, 8, 8);
  column->addWidget(typed_);
  column->addWidget(list_);
  connect(typed_, &QLineEdit::textChanged, this, &CommandPalette::filter);
  connect(typed_, &QLineEdit::returnPressed, this, &CommandPalette::run_chosen);
  connect(list_, &QListWidget::itemClicked, this, &CommandPalette::run_chosen);
  filter({});
  resize(520, 380);
  if (parent != nullptr) move(parent->mapToGlobal(QPoint((parent->width() - width()) / 2, 70)));
  typed_->setFocus();
}

QStringList CommandPalette::shown() const {
  QStringList names;
  for (int row = 0; row < list_->count(); ++row) names += list_->item(row)->data(Qt::UserRole + 1).toString();
  return names;
}

void CommandPalette::filter(const QString& typed) {
  std::vector<std::pair<int, std::size_t>> fitting;
  for (std::size_t i = 0; i < commands_.size(); ++i) {
    if (const auto fit = fit_of(typed, commands_[i].name)) fitting.emplace_back(-*fit, i);
  }
  if (!typed.trimmed().isEmpty()) std::sort(fitting.begin(), fitting.end());
  list_->clear();
  for (const auto& [fit, i] : fitting) {
    const QAction* action = commands_[i].action;
    if (action == nullptr) continue;
    const QString keys = action->shortcut().toString(QKeySequence::NativeText);
    auto* item = new QListWidgetItem(
        keys.isEmpty() ? commands_[i].name : commands_[i].name + QStringLiteral("    ") + keys, list_);
    item->setData(Qt::UserRole, QVariant::fromValue(i));
    item->setData(Qt::UserRole + 1, commands_[i].name);
    if (!action->isEnabled()) item->setFlags(Qt::NoItemFlags);
  }
  for (int row = 0; row < list_->count(); ++row) {
    if ((list_->item(row)->flags() & Qt::ItemIsEnabled) == 0) continue;
    list_->setCurrentRow(row);
    break;
  }
}

void CommandPalette::run_chosen() {
  const QListWidgetItem* item = list_->currentItem();
  if (item == nullptr || (item->flags() & Qt::ItemIsEnabled) == 0) return;
  const QPointer<QAction> action = commands_[item->data(Qt::UserRole).value<std::size_t>()].action;
  accept();
  if (action) action->trigger();
}

bool CommandPalette::eventFilter(QObject* watched, QEvent* event) {
  if (event->type() == QEvent::KeyPress) {
    const auto* key = static_cast<QKeyEvent*>(event);
    const bool moves = key->key() == Qt::Key_Up || key->key() == Qt::Key_Down || key->key() == Qt::Key_PageUp ||
                       key->key() == Qt::Key_PageDown;
    if (moves) {
      QKeyEvent copy(key->type(), key->key(), key->modifiers(), key->text());
      QCoreApplication::sendEvent(list_, &copy);
      return true;
    }
  }
  return QDialog::eventFilter(watched, event);
}

}  // namespace cohort
