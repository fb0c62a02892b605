#include "base/file.hpp"

#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>

#include <array>
#include <cerrno>
#include <cstring>
#include <system_error>

namespace cohort {
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

/// A terminal, a pipe, /dev/full: written in place, for a rename would put a file where it stood.
bool is_device(const std::filesystem::path& path) {
  struct stat status {};
  return ::stat(path.c_str(), &status) == 0 && !S_ISREG(status.st_mode) && !S_ISDIR(status.st_mode);
}

std::filesystem::path folder_of(const std::filesystem::path& path) {
  return path.has_parent_path() ? path.parent_path() : std::filesystem::path(".");
}

Result<void> write_device(const std::filesystem::path& path, std::string_view content) {
  Descriptor file(::open(path.c_str(), O_WRONLY | O_CLOEXEC));
  if (file.get() >= 0 && write_all(file.get(), content) && file.close() == 0) return {};
  return fail(ErrorCode::kInvalidInput, "cannot write {}: {}", path.string(), reason(errno));
}

}  // namespace

Result<std::string> read_file(const std::filesystem::path& path) {
  const Descriptor file(::open(path.c_str(), O_RDONLY | O_CLOEXEC));
  if (file.get() < 0) return fail(ErrorCode::kInvalidInput, "cannot read {}: {}", path.string(), reason(errno));
  std::string content;
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
  const auto folder = folder_of(path);
  if (::stat(folder.c_str(), &status) == 0 && !S_ISDIR(status.st_mode))
    return fail(ErrorCode::kInvalidInput, "cannot write {}: {} is a file, no folder", path.string(), folder.string());
  if (::access(folder.c_str(), W_OK | X_OK) != 0)
    return fail(ErrorCode::kInvalidInput, "cannot write {}: folder {}: {}", path.string(), folder.string(),
                reason(errno));
  return {};
}

Result<void> write_file(const std::filesystem::path& path, std::string_view content, Overwrite overwrite) {
  COHORT_CHECK(check_writable(path, overwrite));
  if (is_device(path)) return write_device(path, content);
  std::string temporary = (folder_of(path) / fmt::format(".{}.XXXXXX", path.filename().string())).string();
  Descriptor file(::mkostemp(temporary.data(), O_CLOEXEC));
  if (file.get() < 0) return fail(ErrorCode::kInvalidInput, "cannot write {}: {}", path.string(), reason(errno));
  const bool written = write_all(file.get(), content) && ::fchmod(file.get(), 0644) == 0 && ::fsync(file.get()) == 0 &&
                       file.close() == 0 && ::rename(temporary.c_str(), path.c_str()) == 0;
  if (!written) {
    const int error = errno;
    ::unlink(temporary.c_str());
    return fail(ErrorCode::kInvalidInput, "cannot write {}: {}", path.string(), reason(error));
  }
  return {};
}

}  // namespace cohort
