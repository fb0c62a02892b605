#pragma once

#include <QDialog>
#include <QPointer>
#include <optional>
#include <vector>

class QAction;
class QLineEdit;
class QListWidget;

namespace cohort {

/// How well a name fits what was typed: its letters in their order, better where they begin words or stand together.
/// Nothing where it does not fit; more is better. Case does not matter.
std::optional<int> fit_of(const QString& typed, const QString& name);

/// Every command by its name: type a part of it, Enter runs it.
class CommandPalette : public QDialog {
  Q_OBJECT

 public:
  struct Command {
    QString name;  ///< "View: Dark theme"
    QPointer<QAction> action;
  };

  explicit CommandPalette(std::vector<Command> commands, QWidget* parent = nullptr);

  [[nodiscard]] QStringList shown() const;

 protected:
  bool eventFilter(QObject* watched, QEvent* event) override;

 private:
  void filter(const QString& typed);
  void run_chosen();

  std::vector<Command> commands_;
  QLineEdit* typed_;
  QListWidget* list_;
};

}  // namespace cohort
