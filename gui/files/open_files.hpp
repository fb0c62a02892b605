#pragma once

#include <QAbstractListModel>
#include <QDateTime>
#include <QFileSystemWatcher>
#include <QSet>
#include <QThreadPool>
#include <QTimer>
#include <memory>
#include <optional>
#include <vector>

#include "gui/files/load_file.hpp"

namespace cohort {

enum class FileStage {
  kOpening,  ///< read for the first time
  kOpen,
  kKept,    ///< gone or broken on disk since it was opened: its last good content stays
  kBroken,  ///< could not be read; tried again when it changes on disk
};

/// The files that are open, in the order in which they were asked for: read in the background, each with a way to
/// cancel it, and read again when they change on disk. A list model for the window; what pages show is contents().
class OpenFiles : public QAbstractListModel {
  Q_OBJECT

 public:
  enum Role { kPath = Qt::UserRole + 1, kStage, kMessage, kDescription, kProgress, kIsLoading };

  explicit OpenFiles(QObject* parent = nullptr);
  OpenFiles(const OpenFiles&) = delete;
  OpenFiles& operator=(const OpenFiles&) = delete;
  ~OpenFiles() override;

  /// Those that are open or being opened stay as they are.
  void open(const QStringList& paths);
  /// Stops reading: a file that is opened is closed, one that is read again keeps what it had.
  void cancel(const QString& path);
  void close(const QString& path);
  /// From disk, though it may not have changed.
  void reload(const QString& path);

  /// Of the files that have been read, in order.
  [[nodiscard]] std::vector<OpenFile> contents() const;
  [[nodiscard]] bool is_loading() const;
  [[nodiscard]] QStringList paths() const;
  [[nodiscard]] std::optional<FileStage> stage(const QString& path) const;

  [[nodiscard]] int rowCount(const QModelIndex& parent = {}) const override;
  /// The name; the description as tool tip. kProgress is the part read, from 0 to 1, where it is known.
  [[nodiscard]] QVariant data(const QModelIndex& index, int role) const override;
  [[nodiscard]] QHash<int, QByteArray> roleNames() const override;

  /// How long a file must have stayed the same before it is read again.
  void set_quiet_time(std::chrono::milliseconds time) { quiet_time_ = time; }

 Q_SIGNALS:
  void contents_changed();
  void opened(const QString& path);
  /// It could not be opened, or is gone or broken and its last content is kept.
  void failed(const QString& path, const Error& error);
  /// It is well after it had failed, or was closed.
  void mended(const QString& path);
  /// Nothing is being read any more.
  void idle();

 private:
  /// Which version of a file it was.
  struct Stamp {
    qint64 modified = 0;  ///< nanoseconds
    qint64 size = 0;
    quint64 file = 0;  ///< inode
    friend bool operator==(const Stamp&, const Stamp&) = default;
  };
  /// What a thread that reads and this object share.
  struct Reading {
    CancelToken cancel;
    ReadProgress progress;
    Stamp stamp;
  };
  struct Entry {
    FileStage stage = FileStage::kOpening;
    OpenFile content;  ///< its path from the start
    QString name;      ///< as it is shown
    QString description;
    QString message;
    Stamp stamp;                       ///< of what was read last
    std::optional<Stamp> seen;         ///< on disk at the last look, where that differs
    std::shared_ptr<Reading> reading;  ///< null: none under way
  };

  // Those that tell others of a change run their code, after which no reference to an entry is good any more.
  static std::optional<Stamp> stamp_of(const QString& path);
  [[nodiscard]] std::optional<std::size_t> row_of(const QString& path) const;
  [[nodiscard]] QString name_of(const QString& path) const;
  void name_all();
  void start_reading(Entry& entry);
  void finish_reading(const QString& path, const std::shared_ptr<Reading>& reading, Result<OpenFile> result);
  void take(Entry& entry, OpenFile file);
  void keep(Entry& entry, const Error& error);
  void remove(std::size_t row);
  void free_later(OpenFile file);
  void note_change(const QString& path);
  void show_progress();
  void end_if_idle();
  void watch(const QString& path);
  void suspect(const QString& path);
  void look();
  /// True where it must be looked at again.
  bool look_at(Entry& entry);

  std::vector<Entry> entries_;
  QThreadPool pool_;
  QTimer progress_timer_;
  QFileSystemWatcher watcher_;
  QTimer look_timer_;
  QSet<QString> suspects_;  ///< files that may have changed
  std::chrono::milliseconds quiet_time_{300};
};

}  // namespace cohort
