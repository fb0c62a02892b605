#include "gui/window/application.hpp"

#include <QApplication>
#include <QIcon>

#include "gui/window/outlined_style.hpp"

namespace cohort {

void set_up(QApplication& application) {
  QApplication::setOrganizationName(QStringLiteral("cohort"));
  QApplication::setApplicationName(QStringLiteral("cohort-viewer"));
  QApplication::setApplicationDisplayName(QStringLiteral("Cohort"));
  QApplication::setDesktopFileName(QStringLiteral("cohort-viewer"));
  QApplication::setApplicationVersion(QStringLiteral(COHORT_VERSION));
  QApplication::setStyle(new OutlinedStyle);
  QApplication::setWindowIcon(
      QIcon::fromTheme(QStringLiteral("cohort-viewer"), QIcon(QStringLiteral(":/cohort-viewer.png"))));
  application.setAttribute(Qt::AA_DontShowIconsInMenus);
}

}  // namespace cohort
