#include <QAction>
#include <QActionGroup>
#include <QApplication>
#include <QDockWidget>
#include <QFileDialog>
#include <QFileInfo>
#include <QLabel>
#include <QMenuBar>
#include <QMessageBox>
#include <QProgressBar>
#include <QSettings>
#include <QStatusBar>
#include <QToolButton>

#include "gui/files/choose_files.hpp"
#include "gui/files/file_panel.hpp"
#include "gui/window/banners.hpp"
#include "gui/window/command_palette.hpp"
#include "gui/window/main_window.hpp"
#include "gui/window/shortcut_sheet.hpp"

namespace cohort {
namespace {

constexpr PageId kPageOrder[] = {PageId::kProfile, PageId::kExplore,  PageId::kRun,
                                 PageId::kCompare, PageId::kTimeline, PageId::kScaling};

const QString kFolderKey = QStringLiteral("files/folder");

QString page_name(PageId id) {
  switch (id) {
    case PageId::kProfile:
      return MainWindow::tr("Profile");
    case PageId::kExplore:
      return MainWindow::tr("Explore");
    case PageId::kRun:
      return MainWindow::tr("Run");
    case PageId::kCompare:
      return MainWindow::tr("Compare");
    case PageId::kTimeline:
      return MainWindow::tr("Timeline");
    case PageId::kScaling:
      return MainWindow::tr("Scaling");
  }
  return {};
}

/// The commands of a menu and of those below it, with the menus' names before theirs.
void collect(const QMenu& menu, const QString& before, std::vector<CommandPalette::Command>& commands) {
  for (QAction* action : menu.actions()) {
    const QString name = before + QStringLiteral(": ") + action->text().remove(QLatin1Char('&'));
    if (action->menu() != nullptr)
      collect(*action->menu(), name, commands);
    else if (!action->isSeparator() && action->isVisible())
      commands.push_back({name, action});
  }
}

}  // namespace

void MainWindow::make_menus() {
  make_file_menu();
  make_view_menu();
  page_menu_ = menuBar()->addMenu(tr("&Page"));
  QMenu* help = menuBar()->addMenu(tr("&Help"));
  QAction* sheet = help->addAction(tr("Keys and mouse"), this, &MainWindow::show_shortcuts);
  sheet->setShortcuts({QKeySequence(QStringLiteral("?")), QKeySequence(Qt::Key_F1)});
  help->addAction(tr("Command palette"), QKeySequence(Qt::CTRL | Qt::SHIFT | Qt::Key_P), this,
                  &MainWindow::show_command_palette);
  help->addSeparator();
  help->addAction(tr("About Cohort"), this, &MainWindow::show_about);
}

void MainWindow::make_file_menu() {
  QMenu* menu = menuBar()->addMenu(tr("&File"));
  menu->addAction(tr("Open…"), QKeySequence::Open, this, &MainWindow::choose_files);
  recent_menu_ = menu->addMenu(tr("Open recent"));
  connect(recent_menu_, &QMenu::aboutToShow, this, &MainWindow::fill_recent_menu);
  connect(&recent_, &RecentFiles::changed, this, &MainWindow::fill_recent_menu);
  fill_recent_menu();
  QAction* again = menu->addAction(tr("Read all again"), this, [this] {
    for (const QString& path : files_.paths()) files_.reload(path);
  });
  again->setShortcut(Qt::Key_F5);
  menu->addAction(tr("Close the file chosen in the list"), QKeySequence::Close, this,
                  [this] { files_.close(panel_->current_path()); });
  menu->addAction(tr("Close all files"), this, [this] {
    for (const QString& path : files_.paths()) files_.close(path);
  });
  menu->addSeparator();
  menu->addAction(tr("Save a picture of this page…"), this, &MainWindow::save_picture);
  menu->addSeparator();
  menu->addAction(tr("Quit"), QKeySequence::Quit, this, &QWidget::close);
}

void MainWindow::make_view_menu() {
  QMenu* menu = menuBar()->addMenu(tr("&View"));
  int number = 1;
  for (const PageId id : kPageOrder) {
    QAction* action = menu->addAction(page_name(id), this, [this, id] { show_page(id); });
    action->setShortcut(QKeySequence(QStringLiteral("Ctrl+%1").arg(number++)));
    action->setVisible(false);  // until there is such a page
    page_actions_[id] = action;
  }
  menu->addSeparator();
  QAction* panel = dock_->toggleViewAction();
  panel->setText(tr("List of files"));
  panel->setShortcut(QKeySequence(Qt::CTRL | Qt::Key_B));
  menu->addAction(panel);
  QMenu* themes = menu->addMenu(tr("Theme"));
  auto* group = new QActionGroup(this);
  const std::pair<ThemeChoice, QString> choices[] = {{ThemeChoice::kSystem, tr("As the desktop")},
                                                     {ThemeChoice::kLight, tr("Light")},
                                                     {ThemeChoice::kDark, tr("Dark")}};
  for (const auto& [choice, name] : choices) {
    QAction* action = themes->addAction(name, this, [this, choice = choice] { set_theme(choice); });
    action->setCheckable(true);
    action->setChecked(choice == theme_choice_);
    group->addAction(action);
    theme_actions_[choice] = action;
  }
  menu->addSeparator();
  QAction* full = menu->addAction(tr("Full screen"), QKeySequence(Qt::Key_F11), this,
                                  [this] { setWindowState(windowState() ^ Qt::WindowFullScreen); });
  full->setMenuRole(QAction::NoRole);
}

void MainWindow::make_status() {
  reading_line_ = new QLabel(this);
  reading_bar_ = new QProgressBar(this);
  reading_bar_->setTextVisible(false);
  reading_bar_->setFixedSize(140, 10);
  reading_cancel_ = new QToolButton(this);
  reading_cancel_->setText(tr("Cancel"));
  connect(reading_cancel_, &QToolButton::clicked, this, [this] {
    for (const QString& path : files_.paths()) files_.cancel(path);
  });
  statusBar()->addPermanentWidget(reading_line_);
  statusBar()->addPermanentWidget(reading_bar_);
  statusBar()->addPermanentWidget(reading_cancel_);
  show_reading();
}

void MainWindow::show_reading() {
  if (reading_line_ == nullptr) return;
  QStringList names;
  double done = 0;
  bool is_known = true;
  for (int row = 0; row < files_.rowCount(); ++row) {
    const QModelIndex index = files_.index(row);
    if (!index.data(OpenFiles::kIsLoading).toBool()) continue;
    names += index.data(Qt::DisplayRole).toString();
    is_known = is_known && index.data(OpenFiles::kProgress).isValid();
    done += index.data(OpenFiles::kProgress).toDouble();
  }
  const bool is_reading = !names.isEmpty();
  reading_line_->setVisible(is_reading);
  reading_bar_->setVisible(is_reading);
  reading_cancel_->setVisible(is_reading);
  if (!is_reading) return;
  reading_line_->setText(names.size() == 1 ? tr("Reading %1").arg(names.front())
                                           : tr("Reading %1 files").arg(names.size()));
  reading_bar_->setRange(0, is_known ? 1000 : 0);
  if (is_known) reading_bar_->setValue(qRound(1000 * done / static_cast<double>(names.size())));
}

void MainWindow::fill_recent_menu() {
  recent_menu_->clear();
  for (const QString& path : recent_.paths())
    recent_menu_->addAction(QString(path).replace(QLatin1Char('&'), QLatin1String("&&")), this,
                            [this, path] { open({path}); });
  recent_menu_->setEnabled(!recent_menu_->isEmpty());
  if (recent_menu_->isEmpty()) return;
  recent_menu_->addSeparator();
  recent_menu_->addAction(tr("Forget these"), &recent_, &RecentFiles::clear);
}

void MainWindow::fill_page_menu() {
  page_menu_->clear();
  const Page* const shown = page(current_);
  if (shown != nullptr) {
    for (QAction* command : shown->commands()) page_menu_->addAction(command);
    page_menu_->setTitle(shown->title());
  }
  page_menu_->menuAction()->setVisible(!page_menu_->isEmpty());
}

void MainWindow::choose_files() {
  QSettings settings;
  const QStringList paths = choose_files_to_open(this, settings.value(kFolderKey).toString());
  if (paths.isEmpty()) return;
  settings.setValue(kFolderKey, QFileInfo(paths.front()).absolutePath());
  open(paths);
}

void MainWindow::save_picture() {
  Page* const shown = page(current_);
  if (shown == nullptr) return;
  QSettings settings;
  const QString proposal = settings.value(kFolderKey).toString() + QLatin1Char('/') + shown->title().toLower();
  const QString path = QFileDialog::getSaveFileName(this, tr("Save a picture"), proposal + QStringLiteral(".png"),
                                                    tr("PNG images (*.png)"));
  if (path.isEmpty()) return;
  if (shown->grab().save(path, "PNG"))
    statusBar()->showMessage(tr("Wrote %1").arg(path), 5000);
  else
    banners_->show_failure(path, tr("%1 cannot be written").arg(path));
}

void MainWindow::show_shortcuts() {
  std::vector<ShortcutSheet::Group> groups;
  std::vector<Shortcut> own;
  for (QAction* top : menuBar()->actions()) {
    if (top->menu() == nullptr || top->menu() == page_menu_) continue;
    std::vector<CommandPalette::Command> commands;
    collect(*top->menu(), {}, commands);
    for (const auto& command : commands) {
      const QString keys = command.action->shortcut().toString(QKeySequence::NativeText);
      if (!keys.isEmpty()) own.push_back({keys, command.action->text()});
    }
  }
  groups.emplace_back(tr("Everywhere"), std::move(own));
  if (const Page* shown = page(current_); shown != nullptr && !shown->shortcuts().empty())
    groups.emplace_back(shown->title(), shown->shortcuts());
  for (const auto& [id, page] : pages_) {
    if (id != current_ && !page->shortcuts().empty()) groups.emplace_back(page->title(), page->shortcuts());
  }
  auto* sheet = new ShortcutSheet(groups, this);
  sheet->setAttribute(Qt::WA_DeleteOnClose);
  sheet->open();
}

void MainWindow::show_command_palette() {
  std::vector<CommandPalette::Command> commands;
  for (QAction* top : menuBar()->actions()) {
    if (top->menu() != nullptr) collect(*top->menu(), top->text().remove(QLatin1Char('&')), commands);
  }
  auto* palette = new CommandPalette(std::move(commands), this);
  palette->setAttribute(Qt::WA_DeleteOnClose);
  palette->show();
}

void MainWindow::show_about() {
  QMessageBox::about(
      this, tr("About Cohort"),
      tr("<b>Cohort %1</b><p>Tells what you gain by running deep-learning models together on one device, "
         "and then does it.</p>")
          .arg(QApplication::applicationVersion()));
}

}  // namespace cohort
