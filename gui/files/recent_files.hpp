#pragma once

#include <QObject>
#include <QStringList>

namespace cohort {

/// The files that were opened last, newest first, remembered from one start to the next.
class RecentFiles : public QObject {
  Q_OBJECT

 public:
  static constexpr qsizetype kMost = 12;

  explicit RecentFiles(QObject* parent = nullptr);

  /// Those that are still there.
  [[nodiscard]] QStringList paths() const;
  void add(const QString& path);
  void clear();

 Q_SIGNALS:
  void changed();

 private:
  void keep(const QStringList& paths);
};

}  // namespace cohort
