#include "base/file.hpp"

#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <atomic>
#include <cerrno>
#include <charconv>
#include <cstdio>
#include <cstring>
#include <system_error>

namespace cohort {

/// Of a temporary that is there, or is about to be. Never freed, and used again only for a name that fits, so that a
/// signal handler can walk over all of them at any time.
struct TemporaryName {
  enum class State { kFree, kTaken, kThere };

  explicit TemporaryName(std::size_t bytes) : text(bytes, '\0') {}

  std::string text;  ///< a name and zeros; its size never changes
  std::atomic<State> state{State::kTaken};
  TemporaryName* next = nullptr;
};

namespace {

class Descriptor {
 public:
  explicit Descriptor(int fd) : fd_(fd) {}
  Descriptor(const Descriptor&) = delete;
  Descriptor& operator=(const Descriptor&) = delete;
  ~Descriptor() {
    if (fd_ >= 0) ::close(fd_);
  }
  [[nodiscard]] int get() const { return fd_; }
  [[nodiscard]] int close() {
    const int fd = fd_;
    fd_ = -1;
    return ::close(fd);
  }

 private:
  int fd_;
};

std::string reason(int error) { return std::generic_category().message(error); }

bool write_all(int fd, std::string_view content) {
  while (!content.empty()) {
    const ssize_t written = ::write(fd, content.data(), content.size());
    if (written < 0 && errno == EINTR) continue;
    if (written <= 0) return false;
    content.remove_prefix(static_cast<std::size_t>(written));
  }
  return true;
}

std::filesystem::path folder_of(const std::filesystem::path& path) {
  return path.has_parent_path() ? path.parent_path() : std::filesystem::path(".");
}

/// What a path leads to: of links the end, which need not exist. A file that is open, as /dev/stdout may be, lies in
/// /proc, and that is where it ends.
std::filesystem::path end_of_links(std::filesystem::path path) {
  constexpr int kMostLinks = 40;  // as the kernel has it
  const std::filesystem::path given = path;
  std::error_code error;
  for (int i = 0; i < kMostLinks; ++i) {
    const auto folder = std::filesystem::weakly_canonical(folder_of(path), error);
    if (error) return path;
    path = folder / path.filename();
    if (path.string().starts_with("/proc/")) return path;
    const auto target = std::filesystem::read_symlink(path, error);
    const bool as_named = i == 0 && !given.string().starts_with("/proc/");
    if (error) return as_named ? given : path;  // no link: messages have it as it was named
    path = target.is_absolute() ? target : folder / target;
  }
  return path;
}

/// A terminal, a pipe, /dev/full, an open file: written in place, for a rename would put a file where it stood.
bool is_device(const std::filesystem::path& path) {
  struct stat status {};
  if (::stat(path.c_str(), &status) != 0 || S_ISDIR(status.st_mode)) return false;
  return !S_ISREG(status.st_mode) || end_of_links(path).string().starts_with("/proc/");
}

/// Of this process's own open files another descriptor, with the same place in the file: what is printed next goes
/// behind it.
int open_in_place(const std::filesystem::path& path) {
  const std::filesystem::path end = end_of_links(path);
  int number = -1;
  const std::string name = end.filename().string();
  const auto read = std::from_chars(name.data(), name.data() + name.size(), number);
  if (end.parent_path() != fmt::format("/proc/{}/fd", ::getpid()) || read.ptr != name.data() + name.size())
    return ::open(path.c_str(), O_WRONLY | O_APPEND | O_CLOEXEC);
  std::fflush(nullptr);  // what was printed before stands before it
  return ::fcntl(number, F_DUPFD_CLOEXEC, 0);
}

Result<void> write_device(const std::filesystem::path& path, std::string_view content) {
  Descriptor file(open_in_place(path));
  if (file.get() >= 0 && write_all(file.get(), content) && file.close() == 0) return {};
  return fail(ErrorCode::kInvalidInput, "cannot write {}: {}", path.string(), reason(errno));
}

std::atomic<TemporaryName*>& temporary_names() {
  static std::atomic<TemporaryName*> first{nullptr};  // a signal handler can be given nothing
  static_assert(std::atomic<TemporaryName*>::is_always_lock_free);
  return first;
}

TemporaryName* take_name(std::size_t bytes) {
  std::atomic<TemporaryName*>& first = temporary_names();
  for (TemporaryName* name = first.load(); name != nullptr; name = name->next) {
    auto expected = TemporaryName::State::kFree;
    if (name->text.size() >= bytes && name->state.compare_exchange_strong(expected, TemporaryName::State::kTaken))
      return name;
  }
  constexpr std::size_t kLeastRoom = 256;
  auto* const added = new TemporaryName(std::max(bytes, kLeastRoom));
  added->next = first.load();
  while (!first.compare_exchange_weak(added->next, added)) {
  }
  return added;
}

/// Of a name that no other has. Not mkstemp's, whose files nobody else may read: the user's umask says who may.
int create_temporary(const std::filesystem::path& path, TemporaryName*& name) {
  static std::atomic<unsigned> made{0};
  constexpr int kTries = 100;
  int fd = -1;
  for (int i = 0; i < kTries; ++i) {
    const std::string text =
        (folder_of(path) / fmt::format(".{}.{:x}-{:x}", path.filename().string(), ::getpid(), made++)).string();
    name = take_name(text.size() + 1);
    std::copy_n(text.c_str(), text.size() + 1, name->text.begin());
    name->state = TemporaryName::State::kThere;  // before it is: a signal may come between
    fd = ::open(text.c_str(), O_CREAT | O_EXCL | O_WRONLY | O_CLOEXEC, 0666);
    if (fd >= 0 || errno != EEXIST) break;
    name->state = TemporaryName::State::kFree;  // what a killed program has left
  }
  return fd;
}

/// A file that is replaced keeps its permissions.
bool keep_mode(int fd, const std::filesystem::path& path) {
  struct stat status {};
  if (::stat(path.c_str(), &status) != 0) return true;
  return ::fchmod(fd, status.st_mode & (S_IRWXU | S_IRWXG | S_IRWXO)) == 0;
}

/// Writes the content into a new file beside `path`. Null where the system refuses, with errno; then nothing is left.
TemporaryName* write_temporary(const std::filesystem::path& path, std::string_view content) {
  TemporaryName* name = nullptr;
  Descriptor file(create_temporary(path, name));
  const bool made = file.get() >= 0;
  if (made && keep_mode(file.get(), path) && write_all(file.get(), content) && ::fsync(file.get()) == 0 &&
      file.close() == 0)
    return name;
  const int error = errno;
  if (made) ::unlink(name->text.data());
  name->state = TemporaryName::State::kFree;
  errno = error;
  return nullptr;
}

}  // namespace

Result<std::string> read_file(const std::filesystem::path& path) {
  const Descriptor file(::open(path.c_str(), O_RDONLY | O_CLOEXEC));
  if (file.get() < 0) return fail(ErrorCode::kInvalidInput, "cannot read {}: {}", path.string(), reason(errno));
  std::string content;
  struct stat status {};
  // Grown step by step, a large file would be copied several times.
  if (::fstat(file.get(), &status) == 0 && S_ISREG(status.st_mode))
    content.reserve(static_cast<std::size_t>(std::min<off_t>(status.st_size, off_t{1} << 31)));
  std::array<char, 1 << 16> chunk{};
  while (true) {
    const ssize_t count = ::read(file.get(), chunk.data(), chunk.size());
    if (count < 0 && errno == EINTR) continue;
    if (count < 0) return fail(ErrorCode::kInvalidInput, "cannot read {}: {}", path.string(), reason(errno));
    if (count == 0) return content;
    content.append(chunk.data(), static_cast<std::size_t>(count));
  }
}

Result<void> check_writable(const std::filesystem::path& path, Overwrite overwrite) {
  if (is_device(path)) {
    if (::access(path.c_str(), W_OK) == 0) return {};
    return fail(ErrorCode::kInvalidInput, "cannot write {}: {}", path.string(), reason(errno));
  }
  struct stat status {};
  if (::stat(path.c_str(), &status) == 0) {
    if (S_ISDIR(status.st_mode))
      return fail(ErrorCode::kInvalidInput, "cannot write {}: it is a folder", path.string());
    if (overwrite == Overwrite::kNever)
      return fail(ErrorCode::kInvalidInput, "{} exists already; give -f to overwrite it", path.string());
  }
  const auto folder = folder_of(end_of_links(path));
  if (::stat(folder.c_str(), &status) == 0 && !S_ISDIR(status.st_mode))
    return fail(ErrorCode::kInvalidInput, "cannot write {}: {} is a file, no folder", path.string(), folder.string());
  if (::access(folder.c_str(), W_OK | X_OK) != 0)
    return fail(ErrorCode::kInvalidInput, "cannot write {}: folder {}: {}", path.string(), folder.string(),
                reason(errno));
  return {};
}

Result<void> write_file(const std::filesystem::path& path, std::string_view content, Overwrite overwrite) {
  PendingFiles file(overwrite);
  COHORT_CHECK(file.add(path, content));
  return file.commit();
}

MadeFolders::~MadeFolders() {
  for (auto folder = made_.rbegin(); folder != made_.rend(); ++folder) ::rmdir(folder->c_str());  // if it is empty
}

Result<void> MadeFolders::make(const std::filesystem::path& folder) {
  std::vector<std::filesystem::path> missing;
  std::error_code error;
  for (auto path = folder; !path.empty() && !std::filesystem::exists(path, error); path = path.parent_path())
    missing.push_back(path);
  for (auto path = missing.rbegin(); path != missing.rend(); ++path) {
    if (std::filesystem::create_directory(*path, error)) made_.push_back(*path);
    if (error) break;
  }
  if (!error && !std::filesystem::is_directory(folder, error) && !error)
    error = std::make_error_code(std::errc::not_a_directory);
  if (error) return fail(ErrorCode::kInvalidInput, "cannot make folder {}: {}", folder.string(), error.message());
  return {};
}

PendingFiles::~PendingFiles() {
  for (const File& file : files_) {
    if (file.temporary == nullptr) continue;
    ::unlink(file.temporary->text.data());
    file.temporary->state = TemporaryName::State::kFree;
  }
}

Result<void> PendingFiles::add(const std::filesystem::path& path, std::string_view content) {
  COHORT_CHECK(check_writable(path, overwrite_));
  if (is_device(path)) {
    files_.push_back({path, nullptr, std::string(content)});
    return {};
  }
  const std::filesystem::path end = end_of_links(path);
  if (!names_.insert(std::filesystem::absolute(end).lexically_normal()).second)
    return fail(ErrorCode::kInvalidInput, "{} would be written twice; give it another name", path.string());
  TemporaryName* const temporary = write_temporary(end, content);
  if (temporary == nullptr) return fail(ErrorCode::kInvalidInput, "cannot write {}: {}", path.string(), reason(errno));
  files_.push_back({path, temporary, {}});
  return {};
}

Result<void> PendingFiles::commit() {
  for (const File& file : files_) COHORT_CHECK(check_writable(file.path, overwrite_));
  for (const File& file : files_) {
    if (file.temporary == nullptr) COHORT_CHECK(write_device(file.path, file.content));
  }
  for (File& file : files_) {
    if (file.temporary == nullptr) continue;
    if (::rename(file.temporary->text.data(), end_of_links(file.path).c_str()) != 0)
      return fail(ErrorCode::kInvalidInput, "cannot write {}: {}", file.path.string(), reason(errno));
    file.temporary->state = TemporaryName::State::kFree;
    file.temporary = nullptr;
  }
  files_.clear();
  return {};
}

void remove_temporaries() noexcept {
  for (TemporaryName* name = temporary_names().load(); name != nullptr; name = name->next) {
    if (name->state == TemporaryName::State::kThere) ::unlink(name->text.data());
  }
}

}  // namespace cohort
