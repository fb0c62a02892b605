#include <fmt/format.h>

#include <QApplication>
#include <QSettings>
#include <QTemporaryDir>
#include <cstdio>
#include <memory>
#include <optional>

#include "base/standard_error.hpp"
#include "gui/window/application.hpp"
#include "gui/window/main_window.hpp"
#include "gui/window/pages.hpp"
#include "gui/window/screenshot.hpp"
#include "gui/window/viewer_options.hpp"

namespace cohort {
namespace {

int report(const Error& error) {
  write_standard_error(fmt::format("cohort-viewer: {}\n", error.message));
  return static_cast<int>(error.code);
}

bool is_set(const char* name) { return !qEnvironmentVariableIsEmpty(name); }

/// What Qt remarks on a machine without a desktop concerns nobody who wants a picture.
void keep_quiet() {
  qInstallMessageHandler([](QtMsgType type, const QMessageLogContext&, const QString& message) {
    if (type == QtCriticalMsg || type == QtFatalMsg)
      write_standard_error(fmt::format("cohort-viewer: {}\n", message.toStdString()));
  });
}

/// Pictures are drawn without a display, and look the same whatever a user has set.
Result<void> prepare(const ViewerOptions& options) {
  if (is_set("QT_QPA_PLATFORM")) return {};
  if (!options.screenshot.isEmpty()) {
    qputenv("QT_QPA_PLATFORM", "offscreen");
    return {};
  }
  if (is_set("DISPLAY") || is_set("WAYLAND_DISPLAY")) return {};
  return fail(
      ErrorCode::kDeviceMissing,
      "there is no display to open a window on (DISPLAY and WAYLAND_DISPLAY are not set); --screenshot FILE.png "
      "draws one without");
}

void show_asked(MainWindow& window, const ViewerOptions& options) {
  if (options.theme) window.set_theme(*options.theme);
  if (options.page)
    window.ask({*options.page, options.files});
  else
    window.open(options.files);
}

int run(QApplication& application, const ViewerOptions& options) {
  const QPalette palette = QApplication::palette();
  set_up(application);
  const bool is_picture = !options.screenshot.isEmpty();
  std::optional<QTemporaryDir> settings;
  if (is_picture) {
    settings.emplace();
    QSettings::setDefaultFormat(QSettings::IniFormat);
    QSettings::setPath(QSettings::IniFormat, QSettings::UserScope, settings->path());
  }
  MainWindow window(palette);
  add_pages(window);
  if (!is_picture) {
    window.restore();
    window.show();
    show_asked(window, options);
    return QApplication::exec();
  }
  window.set_theme(ThemeChoice::kLight);
  window.resize(options.size);
  window.show();
  show_asked(window, options);
  Screenshot screenshot(window, options);
  int exit_code = 0;
  QObject::connect(&screenshot, &Screenshot::finished, &application, [&](const std::optional<Error>& error) {
    if (error) exit_code = report(*error);
    QApplication::exit(exit_code);
  });
  return QApplication::exec();
}

int parse_and_run(int argc, char** argv) {
  QStringList words;
  for (int i = 0; i < argc; ++i) words += QString::fromLocal8Bit(argv[i]);
  const auto options = viewer_options_from(words);
  if (!options) return report(options.error());
  if (!options->answer.isEmpty()) {
    fmt::print("{}", options->answer.toStdString());
    return 0;
  }
  if (const auto ready = prepare(*options); !ready) return report(ready.error());
  if (!options->screenshot.isEmpty()) keep_quiet();
  int no_more = 1;  // all others are ours
  QApplication application(no_more, argv);
  return run(application, *options);
}

}  // namespace
}  // namespace cohort

int main(int argc, char** argv) { return cohort::parse_and_run(argc, argv); }
