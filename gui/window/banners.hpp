#pragma once

#include <QWidget>
#include <map>

class QVBoxLayout;

namespace cohort {

/// Failures above the pages, each until it is closed or mended. One a key: a newer message takes the place of an older.
class Banners : public QWidget {
  Q_OBJECT

 public:
  explicit Banners(QWidget* parent = nullptr);

  void show_failure(const QString& key, const QString& message);
  void remove(const QString& key);
  /// In the order in which they came.
  [[nodiscard]] QStringList messages() const;

 private:
  QVBoxLayout* column_;
  std::map<QString, QWidget*> banners_;
};

}  // namespace cohort
