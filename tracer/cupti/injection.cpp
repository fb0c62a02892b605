#include <fcntl.h>
#include <unistd.h>

#include <cerrno>
#include <chrono>
#include <condition_variable>
#include <cstdlib>
#include <mutex>
#include <new>
#include <string>
#include <string_view>
#include <thread>

#include "base/plugin.hpp"
#include "tracer/cupti/collector.hpp"
#include "tracer/cupti/driver.hpp"

// The module in another program: CUDA's driver opens it where CUDA_INJECTION64_PATH names it, and calls
// InitializeInjection before the first call of CUDA's does anything.

namespace cohort::cupti {
namespace {

constexpr std::chrono::milliseconds kFlushPeriod{200};

/// The spool of this process: whole chunks, straight to the file, since the program may die at any time.
class SpoolFile {
 public:
  /// A new file: `path`, or "path-2" and on where a process of this number wrote one before it became another program.
  explicit SpoolFile(const std::string& path) : descriptor_(create(path)) {
    constexpr int kMostPrograms = 1000;
    for (int i = 2; descriptor_ < 0 && errno == EEXIST && i <= kMostPrograms; ++i)
      descriptor_ = create(path + "-" + std::to_string(i));
  }

  [[nodiscard]] bool is_open() const { return descriptor_ >= 0; }
  void write(std::string_view chunks) {
    while (!chunks.empty() && is_open()) {
      const ssize_t written = ::write(descriptor_, chunks.data(), chunks.size());
      if (written < 0 && errno == EINTR) continue;
      if (written <= 0) {  // disk full: what is there stays readable, and has no end
        ::close(descriptor_);
        descriptor_ = -1;
        return;
      }
      chunks.remove_prefix(static_cast<std::size_t>(written));
    }
  }

 private:
  static int create(const std::string& path) {
    return ::open(path.c_str(), O_WRONLY | O_CREAT | O_EXCL | O_APPEND | O_CLOEXEC, 0644);
  }
  int descriptor_;
};

CuptiOptions options_from_environment() {
  const char* text = std::getenv(kTraceOptionsVariable);
  const std::string_view given = text != nullptr ? text : "";
  CuptiOptions options;
  options.whole_graphs = given.find("graphs") != std::string_view::npos;
  options.latency_timestamps = given.find("latency") != std::string_view::npos;
  options.event_times = given.find("events") != std::string_view::npos;
  return options;
}

/// Lives until the process does: CUPTI's threads may still call into it while the program ends.
struct Injected {
  explicit Injected(const std::string& path) : file(path) {}

  SpoolFile file;
  std::unique_ptr<Collector> collector;
  ::pid_t process = ::getpid();
  std::mutex mutex;
  std::condition_variable ending;
  bool ends = false;  ///< under the mutex
  std::thread flusher;

  /// Flushes now and then, so that a crash loses little.
  void run_flusher() {
    std::unique_lock lock(mutex);
    while (!ending.wait_for(lock, kFlushPeriod, [this] { return ends; })) {
      lock.unlock();  // CUPTI calls back from a flush
      collector->flush();
      lock.lock();
    }
  }
  /// No call of CUPTI's from here on while the program's libraries are torn down.
  void stop_flusher() {
    {
      const std::lock_guard lock(mutex);
      ends = true;
    }
    ending.notify_all();
    if (flusher.joinable()) flusher.join();
  }
};
Injected* injected = nullptr;

/// A forked child has the handlers of its parent, and none of its threads.
bool is_this_process() { return injected != nullptr && injected->process == ::getpid(); }

void finish() {
  if (!is_this_process() || injected->collector == nullptr) return;
  injected->stop_flusher();
  for (const int error : synchronize_contexts())  // a flush does not wait for what still runs
    injected->file.write(SpoolWriter::count(
        fmt::format("contexts whose work was not waited for at the end, as the driver returned error {}", error), 1));
  const auto stopped = injected->collector->stop(false);
  if (!stopped) injected->file.write(SpoolWriter::count(stopped.error().message, 1));
}

void start() {
  const char* prefix = std::getenv(kTraceSpoolVariable);
  if (prefix == nullptr || *prefix == '\0' || injected != nullptr) return;
  auto* const made = new Injected(std::string(prefix) + "." + std::to_string(::getpid()));
  if (!made->file.is_open()) {
    delete made;
    return;
  }
  injected = made;
  made->file.write(SpoolWriter::header(static_cast<std::uint32_t>(::getpid())));
  auto collector =
      Collector::start(options_from_environment(), [made](std::string_view chunks) { made->file.write(chunks); });
  if (!collector) {
    made->file.write(SpoolWriter::count(fmt::format("tracing did not start: {}", collector.error().message), 1));
    return;
  }
  made->collector = std::move(*collector);
  std::atexit(&finish);
  made->flusher = std::thread([made] { made->run_flusher(); });
}

}  // namespace
}  // namespace cohort::cupti

extern "C" COHORT_PLUGIN_EXPORT int InitializeInjection() {  // NOLINT(readability-identifier-naming): CUDA's name
  try {
    cohort::cupti::start();
  } catch (const std::exception&) {
    return 1;  // the program runs on untraced
  }
  return 1;
}
