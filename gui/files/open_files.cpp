#include "gui/files/open_files.hpp"

#include <sys/stat.h>

#include <QDir>
#include <QFileInfo>
#include <algorithm>

namespace cohort {
namespace {

constexpr int kMostAtOnce = 2;  ///< parsing takes a core and much memory each

bool is_cut_short(const OpenFile& file) {
  return file.trace != nullptr && file.trace->info.dropped.contains(std::string(kCutShortReason));
}

}  // namespace

OpenFiles::OpenFiles(QObject* parent) : QAbstractListModel(parent) {
  pool_.setMaxThreadCount(kMostAtOnce);
  progress_timer_.setInterval(100);
  connect(&progress_timer_, &QTimer::timeout, this, &OpenFiles::show_progress);
  look_timer_.setSingleShot(true);
  connect(&look_timer_, &QTimer::timeout, this, &OpenFiles::look);
  connect(&watcher_, &QFileSystemWatcher::fileChanged, this, &OpenFiles::suspect);
  // A file that is written anew and renamed into its place, or comes back, shows only in its folder.
  connect(&watcher_, &QFileSystemWatcher::directoryChanged, this, [this](const QString& folder) {
    for (const Entry& entry : entries_) {
      if (QFileInfo(entry.content.path).absolutePath() == folder) suspect(entry.content.path);
    }
  });
}

OpenFiles::~OpenFiles() {
  for (const Entry& entry : entries_) {
    if (entry.reading) entry.reading->cancel.cancel();
  }
  pool_.waitForDone();
}

void OpenFiles::open(const QStringList& paths) {
  for (const QString& given : paths) {
    const QString path = QDir::cleanPath(QFileInfo(given).absoluteFilePath());
    if (const auto row = row_of(path)) {
      if (entries_[*row].stage == FileStage::kBroken) reload(path);
      continue;
    }
    const int last = static_cast<int>(entries_.size());
    beginInsertRows({}, last, last);
    entries_.emplace_back().content.path = path;
    entries_.back().name = name_of(path);
    endInsertRows();
    name_all();
    start_reading(entries_.back());
    watch(path);
  }
}

void OpenFiles::cancel(const QString& path) {
  const auto row = row_of(path);
  if (!row || !entries_[*row].reading) return;
  Entry& entry = entries_[*row];
  entry.reading->cancel.cancel();
  entry.reading.reset();  // what comes of it is not waited for
  if (entry.stage == FileStage::kOpening) return remove(*row);
  note_change(path);
  end_if_idle();
}

void OpenFiles::close(const QString& path) {
  if (const auto row = row_of(path)) remove(*row);
}

void OpenFiles::reload(const QString& path) {
  const auto row = row_of(path);
  if (!row || entries_[*row].reading) return;
  if (entries_[*row].stage == FileStage::kBroken) entries_[*row].stage = FileStage::kOpening;
  if (!std::exchange(entries_[*row].message, {}).isEmpty()) Q_EMIT mended(path);  // what is wrong is told again
  start_reading(entries_[*row]);
  note_change(path);
}

std::vector<OpenFile> OpenFiles::contents() const {
  std::vector<OpenFile> files;
  for (const Entry& entry : entries_) {
    if (entry.content.trace != nullptr || entry.content.plan != nullptr) files.push_back(entry.content);
  }
  return files;
}

bool OpenFiles::is_loading() const {
  return std::any_of(entries_.begin(), entries_.end(), [](const Entry& entry) { return entry.reading != nullptr; });
}

QStringList OpenFiles::paths() const {
  QStringList paths;
  for (const Entry& entry : entries_) paths += entry.content.path;
  return paths;
}

std::optional<FileStage> OpenFiles::stage(const QString& path) const {
  const auto row = row_of(path);
  if (!row) return std::nullopt;
  return entries_[*row].stage;
}

int OpenFiles::rowCount(const QModelIndex& parent) const {
  return parent.isValid() ? 0 : static_cast<int>(entries_.size());
}

QVariant OpenFiles::data(const QModelIndex& index, int role) const {
  if (!index.isValid()) return {};
  const Entry& entry = entries_[static_cast<std::size_t>(index.row())];
  switch (role) {
    case Qt::DisplayRole:
      return entry.name;
    case Qt::ToolTipRole: {
      const QString what = entry.message.isEmpty() ? entry.description : entry.message;
      QString text = what.isEmpty() ? entry.content.path : entry.content.path + QLatin1Char('\n') + what;
      if (entry.content.trace != nullptr) text += tr("\n%L1 slices").arg(entry.content.trace->slices.size());
      return text;
    }
    case kPath:
      return entry.content.path;
    case kStage:
      return static_cast<int>(entry.stage);
    case kMessage:
      return entry.message;
    case kDescription:
      return entry.description;
    case kIsLoading:
      return entry.reading != nullptr;
    case kProgress: {
      if (!entry.reading) return {};
      const auto total = entry.reading->progress.total.load(std::memory_order_relaxed);
      if (total == 0) return {};
      return static_cast<double>(entry.reading->progress.done.load(std::memory_order_relaxed)) /
             static_cast<double>(total);
    }
    default:
      return {};
  }
}

QHash<int, QByteArray> OpenFiles::roleNames() const {
  auto names = QAbstractListModel::roleNames();
  names.insert({{kPath, "path"},
                {kStage, "stage"},
                {kMessage, "message"},
                {kDescription, "description"},
                {kProgress, "progress"},
                {kIsLoading, "isLoading"}});
  return names;
}

std::optional<OpenFiles::Stamp> OpenFiles::stamp_of(const QString& path) {
  struct stat status {};
  if (::stat(path.toStdString().c_str(), &status) != 0) return std::nullopt;
  constexpr qint64 kNanoseconds = 1'000'000'000;
  return Stamp{status.st_mtim.tv_sec * kNanoseconds + status.st_mtim.tv_nsec, status.st_size, status.st_ino};
}

std::optional<std::size_t> OpenFiles::row_of(const QString& path) const {
  const auto found =
      std::find_if(entries_.begin(), entries_.end(), [&](const Entry& entry) { return entry.content.path == path; });
  if (found == entries_.end()) return std::nullopt;
  return static_cast<std::size_t>(found - entries_.begin());
}

/// With its folder where another open file has the same name.
QString OpenFiles::name_of(const QString& path) const {
  const QFileInfo file(path);
  const auto same = std::count_if(entries_.begin(), entries_.end(), [&](const Entry& other) {
    return QFileInfo(other.content.path).fileName() == file.fileName();
  });
  return same > 1 ? file.dir().dirName() + QLatin1Char('/') + file.fileName() : file.fileName();
}

void OpenFiles::name_all() {
  for (std::size_t row = 0; row < entries_.size(); ++row) {
    const QString name = name_of(entries_[row].content.path);
    if (std::exchange(entries_[row].name, name) == name) continue;
    const QModelIndex changed = index(static_cast<int>(row));
    Q_EMIT dataChanged(changed, changed, {Qt::DisplayRole});
  }
}

void OpenFiles::start_reading(Entry& entry) {
  const auto reading = std::make_shared<Reading>();
  reading->stamp = stamp_of(entry.content.path).value_or(Stamp{});
  entry.reading = reading;
  entry.seen.reset();
  progress_timer_.start();
  pool_.start([this, reading, path = entry.content.path] {
    auto result = load_file(path, reading->cancel, reading->progress);
    QMetaObject::invokeMethod(
        this,
        [this, path, reading, shared = std::make_shared<Result<OpenFile>>(std::move(result))] {
          finish_reading(path, reading, std::move(*shared));
        },
        Qt::QueuedConnection);
  });
}

void OpenFiles::finish_reading(const QString& path, const std::shared_ptr<Reading>& reading, Result<OpenFile> result) {
  const auto row = row_of(path);
  if (!row || entries_[*row].reading != reading) return;  // closed or cancelled meanwhile
  Entry& entry = entries_[*row];
  entry.reading.reset();
  entry.stamp = reading->stamp;
  const bool had_content = entry.stage != FileStage::kOpening;
  if (!result) {
    keep(entry, result.error());
  } else if (had_content && is_cut_short(*result) && !is_cut_short(entry.content)) {
    keep(entry, {ErrorCode::kInvalidInput, path.toStdString() + ": is cut short on disk; what it held is still shown"});
  } else {
    take(entry, std::move(*result));
  }
  note_change(path);
  suspect(path);  // it may have changed while it was read
  end_if_idle();
}

void OpenFiles::take(Entry& entry, OpenFile file) {
  const QString path = entry.content.path;
  const bool is_new = entry.stage == FileStage::kOpening;
  const bool had_failed = !entry.message.isEmpty();
  OpenFile before = std::exchange(entry.content, std::move(file));
  entry.description = description_of(entry.content);
  entry.stage = FileStage::kOpen;
  entry.message.clear();
  if (had_failed) Q_EMIT mended(path);
  Q_EMIT contents_changed();
  free_later(std::move(before));
  if (is_new) Q_EMIT opened(path);
}

/// To free millions of slices takes a while. Others have let go of them by now.
void OpenFiles::free_later(OpenFile file) {
  if (file.trace == nullptr) return;
  pool_.start([trace = std::move(file.trace)]() mutable { trace.reset(); });
}

void OpenFiles::keep(Entry& entry, const Error& error) {
  const bool has_content = entry.content.trace != nullptr || entry.content.plan != nullptr;
  entry.stage = has_content ? FileStage::kKept : FileStage::kBroken;
  const QString message = QString::fromStdString(error.message);
  if (entry.message == message) return;
  entry.message = message;
  const QString path = entry.content.path;
  Q_EMIT failed(path, error);
}

void OpenFiles::remove(std::size_t row) {
  Entry entry = std::move(entries_[row]);
  beginRemoveRows({}, static_cast<int>(row), static_cast<int>(row));
  entries_.erase(entries_.begin() + static_cast<std::ptrdiff_t>(row));
  endRemoveRows();
  name_all();
  const QString path = entry.content.path;
  if (entry.reading) entry.reading->cancel.cancel();
  watcher_.removePath(path);
  const QString folder = QFileInfo(path).absolutePath();
  const bool is_needed = std::any_of(entries_.begin(), entries_.end(), [&](const Entry& other) {
    return QFileInfo(other.content.path).absolutePath() == folder;
  });
  if (!is_needed) watcher_.removePath(folder);
  if (!entry.message.isEmpty()) Q_EMIT mended(path);
  Q_EMIT contents_changed();
  free_later(std::move(entry.content));
  end_if_idle();
}

void OpenFiles::note_change(const QString& path) {
  const auto row = row_of(path);
  if (!row) return;
  const QModelIndex changed = index(static_cast<int>(*row));
  Q_EMIT dataChanged(changed, changed);
}

void OpenFiles::show_progress() {
  for (std::size_t row = 0; row < entries_.size(); ++row) {
    const QModelIndex changed = index(static_cast<int>(row));
    if (entries_[row].reading) Q_EMIT dataChanged(changed, changed, {kProgress});
  }
}

void OpenFiles::end_if_idle() {
  if (is_loading()) return;
  progress_timer_.stop();
  Q_EMIT idle();
}

void OpenFiles::watch(const QString& path) {
  const QString folder = QFileInfo(path).absolutePath();
  if (!watcher_.directories().contains(folder)) watcher_.addPath(folder);
  if (!watcher_.files().contains(path) && QFileInfo::exists(path)) watcher_.addPath(path);
}

void OpenFiles::suspect(const QString& path) {
  suspects_.insert(path);
  // Not put off by what happens to others: look_at() itself waits until the file stays the same.
  if (!look_timer_.isActive()) look_timer_.start(quiet_time_);
}

void OpenFiles::look() {
  QSet<QString> again;
  for (const QString& path : std::exchange(suspects_, {})) {
    if (const auto row = row_of(path); row && look_at(entries_[*row])) again.insert(path);
  }
  suspects_ += again;
  if (!suspects_.isEmpty()) look_timer_.start(quiet_time_);
}

bool OpenFiles::look_at(Entry& entry) {
  if (entry.reading) return false;  // looked at when that is done
  const QString path = entry.content.path;
  const auto now = stamp_of(path);
  if (!now) {
    if (entry.stage == FileStage::kOpen || entry.stage == FileStage::kKept) {
      entry.stamp = {};
      keep(entry, {ErrorCode::kInvalidInput, path.toStdString() + ": is gone from disk; what it held is still shown"});
      note_change(path);
    }
    return false;
  }
  watch(path);
  if (*now == entry.stamp) return false;
  if (entry.seen != now) {  // perhaps still being written
    entry.seen = now;
    return true;
  }
  if (entry.stage == FileStage::kBroken) entry.stage = FileStage::kOpening;
  start_reading(entry);
  note_change(path);
  return false;
}

}  // namespace cohort
