#pragma once

#include <QWidget>

class QListView;

namespace cohort {

class OpenFiles;

/// The list of open files: name, how far each is read, a cross that closes it or cancels the reading; broken ones are
/// marked. A click shows a file.
class FilePanel : public QWidget {
  Q_OBJECT

 public:
  /// `files` must outlive it.
  explicit FilePanel(OpenFiles& files, QWidget* parent = nullptr);

  [[nodiscard]] QListView* view() const { return view_; }
  [[nodiscard]] QString current_path() const;

 Q_SIGNALS:
  void show_requested(const QString& path);
  void open_requested();

 protected:
  bool eventFilter(QObject* watched, QEvent* event) override;

 private:
  void show_menu(const QPoint& at);
  void close_at(const QModelIndex& index);

  OpenFiles& files_;
  QListView* view_;
};

}  // namespace cohort
