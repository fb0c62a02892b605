#include "gui/files/recent_files.hpp"

#include <QFileInfo>
#include <QSettings>

namespace cohort {
namespace {

const QString kRecentKey = QStringLiteral("files/recent");

}  // namespace

RecentFiles::RecentFiles(QObject* parent) : QObject(parent) {}

QStringList RecentFiles::paths() const {
  QStringList there = QSettings().value(kRecentKey).toStringList();
  there.removeIf([](const QString& path) { return !QFileInfo::exists(path); });
  return there;
}

void RecentFiles::add(const QString& path) {
  QStringList known = QSettings().value(kRecentKey).toStringList();
  known.removeAll(path);
  known.prepend(path);
  keep(known.mid(0, kMost));
}

void RecentFiles::clear() { keep({}); }

void RecentFiles::keep(const QStringList& paths) {
  QSettings().setValue(kRecentKey, paths);
  Q_EMIT changed();
}

}  // namespace cohort
