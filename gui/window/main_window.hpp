#pragma once

#include <QMainWindow>
#include <QPointer>
#include <map>
#include <optional>
#include <vector>

#include "gui/files/open_files.hpp"
#include "gui/files/recent_files.hpp"
#include "gui/window/desktop_theme.hpp"
#include "gui/window/page.hpp"

class QAction;
class QDockWidget;
class QLabel;
class QMenu;
class QProgressBar;
class QStackedWidget;
class QToolButton;

namespace cohort {

class Banners;
class FilePanel;
class StationBar;

enum class ThemeChoice { kSystem, kLight, kDark };

/// The window: the line of stations, the page that is shown, the open files beside it, and banners for what failed.
/// It opens files for the pages, takes the user from one page to the next, and remembers how it was left.
class MainWindow : public QMainWindow {
  Q_OBJECT

 public:
  /// `palette` is the desktop's, as it was before a theme was set.
  explicit MainWindow(const QPalette& palette, QWidget* parent = nullptr);
  ~MainWindow() override;

  /// Before the window is shown, each page once; the first is the one shown at the start.
  void add_page(PageId id, Page* page);
  /// Layout, theme and what pages keep, as the last window left them.
  void restore();

  /// Opens files and shows them where they belong: a profile in Explore, a plan in Run, predicted and measured in
  /// Compare, all else in Timeline; a page that is at work already is not left for it. An .onnx file is chosen as the
  /// model to profile.
  void open(const QStringList& paths);
  /// The same on a page of one's choice. Once all are read: those that cannot be are left out.
  void ask(const PageRequest& request);
  void set_theme(ThemeChoice choice);

  [[nodiscard]] OpenFiles& files() { return files_; }
  [[nodiscard]] RecentFiles& recent_files() { return recent_; }
  [[nodiscard]] StationBar& stations() { return *stations_; }
  [[nodiscard]] Banners& banners() { return *banners_; }
  [[nodiscard]] Page* page(PageId id) const;
  [[nodiscard]] PageId current_page() const { return current_; }
  [[nodiscard]] const Theme& theme() const { return theme_; }
  /// True when no file is being read, no page is to be changed to, and the page that is shown has done its work.
  [[nodiscard]] bool settled() const;

  /// Shows a page. False, with the reason in the status bar, where it has nothing to show.
  bool show_page(PageId id);
  void show_shortcuts();
  void show_command_palette();

 protected:
  void closeEvent(QCloseEvent* event) override;
  void dragEnterEvent(QDragEnterEvent* event) override;
  void dropEvent(QDropEvent* event) override;

 private:
  /// Files that are to be shown as soon as all of them have been read.
  struct Pending {
    std::optional<PageId> page;  ///< none: where they belong
    QStringList files;
  };

  void make_menus();
  void make_file_menu();
  void make_view_menu();
  void make_status();
  void fill_recent_menu();
  void fill_page_menu();
  void connect_files();
  void choose_files();
  void save_picture();
  void hand_out_files();
  void show_pending();
  void show_model(const QString& path);
  [[nodiscard]] PageId best_page(const std::vector<OpenFile>& files) const;
  void update_states();
  void apply_theme();
  void show_reading();
  void show_about();
  void save() const;

  OpenFiles files_;
  RecentFiles recent_;
  DesktopTheme desktop_theme_;
  ThemeChoice theme_choice_ = ThemeChoice::kSystem;
  Theme theme_;
  std::map<PageId, Page*> pages_;
  PageId current_ = PageId::kProfile;
  std::vector<Pending> pending_;
  bool remembers_ = false;  ///< only a window that was restored is worth remembering

  StationBar* stations_;
  Banners* banners_;
  QStackedWidget* stack_;
  FilePanel* panel_;
  QDockWidget* dock_;
  QMenu* recent_menu_ = nullptr;
  QMenu* page_menu_ = nullptr;
  std::map<PageId, QAction*> page_actions_;
  std::map<ThemeChoice, QAction*> theme_actions_;
  QLabel* reading_line_ = nullptr;
  QProgressBar* reading_bar_ = nullptr;
  QToolButton* reading_cancel_ = nullptr;
};

}  // namespace cohort
