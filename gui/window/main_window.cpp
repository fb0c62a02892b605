#include "gui/window/main_window.hpp"

#include <QApplication>
#include <QCloseEvent>
#include <QDir>
#include <QDockWidget>
#include <QDragEnterEvent>
#include <QFileInfo>
#include <QMimeData>
#include <QSettings>
#include <QStackedWidget>
#include <QStatusBar>
#include <QToolBar>
#include <QToolTip>
#include <QUrl>
#include <QVBoxLayout>
#include <algorithm>

#include "gui/files/file_panel.hpp"
#include "gui/window/banners.hpp"
#include "gui/window/station_bar.hpp"

namespace cohort {
namespace {

constexpr int kLayoutVersion = 1;
const QString kGeometryKey = QStringLiteral("window/geometry");
const QString kLayoutKey = QStringLiteral("window/layout");
const QString kThemeKey = QStringLiteral("window/theme");

const std::map<ThemeChoice, QString>& theme_names() {
  static const std::map<ThemeChoice, QString> names = {{ThemeChoice::kSystem, QStringLiteral("system")},
                                                       {ThemeChoice::kLight, QStringLiteral("light")},
                                                       {ThemeChoice::kDark, QStringLiteral("dark")}};
  return names;
}

bool is_kind(const OpenFile& file, TraceKind kind) { return file.trace != nullptr && file.trace->info.kind == kind; }

QStringList local_files(const QMimeData& data) {
  QStringList paths;
  for (const QUrl& url : data.urls()) {
    if (url.isLocalFile()) paths += url.toLocalFile();
  }
  return paths;
}

/// An ONNX file: one to profile, not to open.
bool is_model(const QString& path) { return path.endsWith(QLatin1String(".onnx"), Qt::CaseInsensitive); }

/// As OpenFiles knows it.
QString clean(const QString& path) { return QDir::cleanPath(QFileInfo(path).absoluteFilePath()); }

QString settings_group(PageId id) { return QStringLiteral("page%1").arg(static_cast<int>(id)); }

}  // namespace

MainWindow::MainWindow(const QPalette& palette, QWidget* parent)
    : QMainWindow(parent),
      desktop_theme_(palette),
      stations_(new StationBar(this)),
      banners_(new Banners(this)),
      stack_(new QStackedWidget(this)),
      panel_(new FilePanel(files_, this)),
      dock_(new QDockWidget(tr("Files"), this)) {
  auto* middle = new QWidget(this);
  auto* column = new QVBoxLayout(middle);
  column->setContentsMargins(0, 0, 0, 0);
  column->setSpacing(0);
  column->addWidget(banners_);
  column->addWidget(stack_, 1);
  setCentralWidget(middle);
  // Across the whole window, above the list of files.
  auto* top = new QToolBar(tr("Stations"), this);
  top->setObjectName(QStringLiteral("top"));
  top->setMovable(false);
  top->addWidget(stations_);
  top->toggleViewAction()->setVisible(false);
  addToolBar(Qt::TopToolBarArea, top);
  setContextMenuPolicy(Qt::NoContextMenu);
  dock_->setObjectName(QStringLiteral("files"));
  dock_->setWidget(panel_);
  dock_->setFeatures(QDockWidget::DockWidgetClosable | QDockWidget::DockWidgetMovable);
  addDockWidget(Qt::LeftDockWidgetArea, dock_);
  resizeDocks({dock_}, {220}, Qt::Horizontal);
  setAcceptDrops(true);
  setWindowTitle(QStringLiteral("Cohort"));
  resize(1280, 800);

  connect_files();
  connect(stations_, &StationBar::chosen, this, &MainWindow::show_page);
  connect(&desktop_theme_, &DesktopTheme::changed, this, &MainWindow::apply_theme);
  make_menus();
  make_status();
  apply_theme();
}

MainWindow::~MainWindow() {
  // Members are gone before the pages, which are children: nobody may tell this window of a change any more.
  files_.disconnect(this);
  for (const auto& [id, page] : pages_) page->disconnect(this);
}

void MainWindow::connect_files() {
  connect(&files_, &OpenFiles::contents_changed, this, &MainWindow::hand_out_files);
  connect(&files_, &OpenFiles::opened, &recent_, &RecentFiles::add);
  connect(&files_, &OpenFiles::opened, this, &MainWindow::show_pending);
  connect(&files_, &OpenFiles::failed, this, [this](const QString& path, const Error& error) {
    banners_->show_failure(path, QString::fromStdString(error.message));
    show_pending();
  });
  connect(&files_, &OpenFiles::mended, banners_, &Banners::remove);
  connect(&files_, &QAbstractItemModel::dataChanged, this, &MainWindow::show_reading);
  connect(&files_, &QAbstractItemModel::rowsInserted, this, &MainWindow::show_reading);
  connect(&files_, &QAbstractItemModel::rowsRemoved, this, &MainWindow::show_pending);
  connect(&files_, &OpenFiles::idle, this, &MainWindow::show_reading);
  connect(&files_, &OpenFiles::idle, this, &MainWindow::show_pending);
  connect(panel_, &FilePanel::open_requested, this, &MainWindow::choose_files);
  connect(panel_, &FilePanel::show_requested, this, [this](const QString& path) {
    if (files_.stage(path) == FileStage::kBroken) return files_.reload(path);
    open({path});
  });
}

void MainWindow::add_page(PageId id, Page* page) {
  if (pages_.empty()) current_ = id;
  pages_[id] = page;
  stack_->addWidget(page);
  stations_->add(id, page->title());
  page_actions_[id]->setVisible(true);
  connect(page, &Page::requested, this, &MainWindow::ask);
  connect(page, &Page::failed, this,
          [this, id](const QString& message) { banners_->show_failure(settings_group(id), message); });
  connect(page, &Page::state_changed, this, [this, id] {
    update_states();
    if (id == current_) fill_page_menu();
  });
  page->set_theme(theme_);
  page->set_files(files_.contents());
  update_states();
  if (id == current_) show_page(id);
}

Page* MainWindow::page(PageId id) const {
  const auto found = pages_.find(id);
  return found != pages_.end() ? found->second : nullptr;
}

bool MainWindow::show_page(PageId id) {
  Page* const page = this->page(id);
  if (page == nullptr) return false;
  if (const PageState state = page->state(); !state.enabled) {
    statusBar()->showMessage(tr("%1: %2").arg(page->title(), state.next), 8000);
    return false;
  }
  current_ = id;
  stack_->setCurrentWidget(page);
  stations_->set_current(id);
  fill_page_menu();
  setWindowTitle(id == PageId::kProfile ? QStringLiteral("Cohort") : page->title() + QStringLiteral(" – Cohort"));
  page->setFocus();
  return true;
}

void MainWindow::open(const QStringList& paths) {
  if (!paths.isEmpty()) ask({std::nullopt, paths});
}

void MainWindow::ask(const PageRequest& request) {
  PageRequest traces_and_plans{request.page, {}};
  for (const QString& path : request.files) {
    if (is_model(path) && QFileInfo(path).isFile())
      show_model(clean(path));
    else
      traces_and_plans.files += clean(path);
  }
  if (traces_and_plans.files.isEmpty() && !request.files.isEmpty()) return;
  pending_.push_back({traces_and_plans.page, traces_and_plans.files});
  files_.open(traces_and_plans.files);
  show_pending();
}

void MainWindow::show_model(const QString& path) {
  Page* const start = page(PageId::kProfile);
  if (start == nullptr) return;
  start->show_model(path);
  recent_.add(path);
  show_page(PageId::kProfile);
}

void MainWindow::show_pending() {
  const auto is_awaited = [this](const QString& path) { return files_.stage(path) == FileStage::kOpening; };
  for (std::size_t i = 0; i < pending_.size();) {
    if (std::any_of(pending_[i].files.begin(), pending_[i].files.end(), is_awaited)) {
      ++i;
      continue;
    }
    const Pending ready = pending_[i];
    pending_.erase(pending_.begin() + static_cast<std::ptrdiff_t>(i));
    std::vector<OpenFile> there;
    QStringList paths;
    const std::vector<OpenFile> contents = files_.contents();
    for (const QString& path : ready.files) {
      const auto found =
          std::find_if(contents.begin(), contents.end(), [&](const OpenFile& f) { return f.path == path; });
      if (found == contents.end()) continue;
      there.push_back(*found);
      paths += path;
    }
    if (there.empty() && !ready.files.isEmpty()) continue;
    const PageId next = ready.page && page(*ready.page) != nullptr ? *ready.page : best_page(there);
    if (show_page(next) && !paths.isEmpty()) page(current_)->show_files(paths);
  }
  show_reading();
}

PageId MainWindow::best_page(const std::vector<OpenFile>& files) const {
  const auto usable = [this](PageId id) { return page(id) != nullptr && page(id)->state().enabled; };
  const auto any = [&](TraceKind kind) {
    return std::any_of(files.begin(), files.end(), [&](const OpenFile& file) { return is_kind(file, kind); });
  };
  if (current_ != PageId::kProfile && usable(current_)) return current_;
  if (any(TraceKind::kPredicted) && any(TraceKind::kMeasured) && usable(PageId::kCompare)) return PageId::kCompare;
  if (any(TraceKind::kProfile) && usable(PageId::kExplore)) return PageId::kExplore;
  const bool only_plans =
      std::all_of(files.begin(), files.end(), [](const OpenFile& file) { return file.plan != nullptr; });
  if (only_plans && usable(PageId::kRun)) return PageId::kRun;
  return usable(PageId::kTimeline) ? PageId::kTimeline : current_;
}

void MainWindow::hand_out_files() {
  const std::vector<OpenFile> contents = files_.contents();
  for (const auto& [id, page] : pages_) page->set_files(contents);
  update_states();
}

void MainWindow::update_states() {
  for (const auto& [id, page] : pages_) stations_->set_state(id, page->state());
  if (Page* const shown = page(current_); shown != nullptr && !shown->state().enabled && !pages_.empty()) {
    const auto usable =
        std::find_if(pages_.begin(), pages_.end(), [](const auto& p) { return p.second->state().enabled; });
    if (usable != pages_.end()) show_page(usable->first);
  }
}

bool MainWindow::settled() const {
  const Page* const shown = page(current_);
  return !files_.is_loading() && pending_.empty() && (shown == nullptr || shown->settled());
}

void MainWindow::set_theme(ThemeChoice choice) {
  theme_choice_ = choice;
  theme_actions_[choice]->setChecked(true);
  apply_theme();
}

void MainWindow::apply_theme() {
  const ThemeKind chosen = theme_choice_ == ThemeChoice::kDark ? ThemeKind::kDark : ThemeKind::kLight;
  theme_ = theme_of(theme_choice_ == ThemeChoice::kSystem ? desktop_theme_.kind() : chosen);
  const QPalette palette = palette_of(theme_);
  QApplication::setPalette(palette);
  QToolTip::setPalette(palette);
  qApp->setStyleSheet(style_sheet_of(theme_));
  for (const auto& [id, page] : pages_) page->set_theme(theme_);
}

void MainWindow::restore() {
  const QSettings stored;
  restoreGeometry(stored.value(kGeometryKey).toByteArray());
  restoreState(stored.value(kLayoutKey).toByteArray(), kLayoutVersion);
  const QString theme = stored.value(kThemeKey).toString();
  for (const auto& [choice, name] : theme_names()) {
    if (name == theme) set_theme(choice);
  }
  for (const auto& [id, page] : pages_) {
    QSettings settings;
    settings.beginGroup(settings_group(id));
    page->restore(settings);
  }
  remembers_ = true;
}

void MainWindow::save() const {
  if (!remembers_) return;
  QSettings settings;
  settings.setValue(kGeometryKey, saveGeometry());
  settings.setValue(kLayoutKey, saveState(kLayoutVersion));
  settings.setValue(kThemeKey, theme_names().at(theme_choice_));
  for (const auto& [id, page] : pages_) {
    settings.beginGroup(settings_group(id));
    page->save(settings);
    settings.endGroup();
  }
}

void MainWindow::closeEvent(QCloseEvent* event) {
  save();
  QMainWindow::closeEvent(event);
}

void MainWindow::dragEnterEvent(QDragEnterEvent* event) {
  if (!local_files(*event->mimeData()).isEmpty()) event->acceptProposedAction();
}

void MainWindow::dropEvent(QDropEvent* event) {
  open(local_files(*event->mimeData()));
  event->acceptProposedAction();
}

}  // namespace cohort
