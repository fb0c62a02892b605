#include <fcntl.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <charconv>
#include <chrono>
#include <condition_variable>
#include <cstdlib>
#include <functional>
#include <memory>
#include <mutex>
#include <optional>
#include <string>
#include <string_view>
#include <thread>
#include <vector>

#include "base/plugin.hpp"
#include "tracer/cupti/api.hpp"
#include "tracer/cupti/collector.hpp"
#include "tracer/cupti/driver.hpp"

// The module in another program: CUDA's driver opens it where CUDA_INJECTION64_PATH names it, and calls
// InitializeInjection before the first call of CUDA's does anything.

namespace cohort::cupti {
namespace {

constexpr std::chrono::milliseconds kFlushPeriod{200};
/// Nothing says that a flush comes back while a device hangs.
constexpr std::chrono::milliseconds kMostFlush{5000};

/// The spool of this process: whole chunks from any thread, straight to the file, since the program may die at any
/// time.
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
    const std::lock_guard lock(mutex_);
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
  std::mutex mutex_;
  int descriptor_;
};

struct Settings {
  CuptiOptions cupti;
  std::chrono::milliseconds end_wait = kEndWait;
  std::vector<std::string> unknown;  ///< words that say none of this
};

std::optional<std::chrono::milliseconds> end_wait_of(std::string_view word) {
  if (!word.starts_with(kEndWaitOption)) return std::nullopt;
  word.remove_prefix(kEndWaitOption.size());
  std::uint32_t milliseconds = 0;
  const auto [end, error] = std::from_chars(word.data(), word.data() + word.size(), milliseconds);
  if (error != std::errc() || end != word.data() + word.size()) return std::nullopt;
  return std::chrono::milliseconds(milliseconds);
}

Settings settings_of(std::string_view words) {
  Settings settings;
  while (!words.empty()) {
    const std::string_view word = words.substr(0, words.find(' '));
    words.remove_prefix(std::min(word.size() + 1, words.size()));
    if (word.empty()) continue;
    if (word == "graphs") {
      settings.cupti.whole_graphs = true;
    } else if (word == "latency") {
      settings.cupti.latency_timestamps = true;
    } else if (word == "events") {
      settings.cupti.event_times = true;
    } else if (const auto wait = end_wait_of(word)) {
      settings.end_wait = *wait;
    } else {
      settings.unknown.emplace_back(word);
    }
  }
  return settings;
}

/// To the program's standard error, past buffers whose locks a thread that hangs may hold.
void say(const std::string& line) {
  [[maybe_unused]] const ssize_t written = ::write(STDERR_FILENO, line.data(), line.size());
}

/// Runs `work` on a thread of its own and waits for its end, at most `limit`. What it uses must live as long as the
/// process, since a thread that has not ended by then is left behind.
void run_at_most(std::chrono::milliseconds limit, std::function<void()> work) {
  struct End {
    std::mutex mutex;
    std::condition_variable told;
    bool is_here = false;
  };
  const auto end = std::make_shared<End>();
  std::thread([end, work = std::move(work)] {
    work();
    {
      const std::lock_guard lock(end->mutex);
      end->is_here = true;
    }
    end->told.notify_all();
  }).detach();
  std::unique_lock lock(end->mutex);
  end->told.wait_for(lock, limit, [&] { return end->is_here; });
}

/// Lives until the process does: CUPTI's threads may still call into it while the program ends.
struct Injected {
  Injected(const std::string& path, const Settings& given) : file(path), settings(given) {}

  SpoolFile file;
  Settings settings;
  std::unique_ptr<Collector> collector;
  ::pid_t process = ::getpid();
  std::mutex mutex;
  std::condition_variable ending;
  bool ends = false;    ///< under the mutex
  bool flushes = true;  ///< likewise: the flusher has not ended
  std::thread flusher;

  void count(std::string_view reason, std::uint64_t records = 1) { file.write(SpoolWriter::count(reason, records)); }

  /// Flushes now and then, so that a crash loses little.
  void run_flusher() {
    std::unique_lock lock(mutex);
    while (!ending.wait_for(lock, kFlushPeriod, [this] { return ends; })) {
      lock.unlock();  // CUPTI calls back from a flush
      collector->flush();
      lock.lock();
    }
    flushes = false;
    ending.notify_all();
  }
  /// No call of CUPTI's from here on while the program's libraries are torn down. False where one does not come back.
  bool stop_flusher() {
    if (!flusher.joinable()) return true;
    std::unique_lock lock(mutex);
    ends = true;
    ending.notify_all();
    const bool stopped = ending.wait_for(lock, kMostFlush, [this] { return !flushes; });
    lock.unlock();
    if (stopped) {
      flusher.join();
    } else {
      flusher.detach();
    }
    return stopped;
  }
  void end();
  void end_unfinished(std::size_t contexts);
};
Injected* injected = nullptr;

/// A flush does not wait for what still runs, so that is waited for first.
void Injected::end() {
  if (!stop_flusher()) {
    count("flushes of CUPTI's that did not come back");
    return say("cohort: CUPTI did not come back from a flush; the trace is not complete\n");
  }
  const auto since = static_cast<std::uint64_t>(collector->now().value_or(Nanoseconds::max()).count());
  const ContextsAtEnd contexts = synchronize_contexts(settings.end_wait);
  for (const std::uint32_t thread : contexts.threads) file.write(SpoolWriter::own_thread(thread, since));
  for (const int error : contexts.failed)
    count(fmt::format("contexts whose work was not waited for at the end, as the driver returned error {}", error));
  if (contexts.unfinished > 0) return end_unfinished(contexts.unfinished);
  const auto stopped = collector->stop(false);
  if (!stopped) count(stopped.error().message);
}

/// A kernel that does not end, or a device that hangs, must not keep the program from its end.
void Injected::end_unfinished(std::size_t contexts) {
  const double waited = std::chrono::duration<double>(settings.end_wait).count();
  count(fmt::format("{} within {} s after the program's", kUnfinishedContexts, waited), contexts);
  say(fmt::format("cohort: the GPU still worked {} s after the program's end; the trace is not complete\n", waited));
  run_at_most(kMostFlush, [this] { collector->leave(); });
}

/// A forked child has the handlers of its parent, and none of its threads.
bool is_this_process() { return injected != nullptr && injected->process == ::getpid(); }

void finish() {
  if (!is_this_process() || injected->collector == nullptr) return;
  try {
    injected->end();
  } catch (const std::exception& error) {  // no more threads: the recording has no end then
    injected->count(fmt::format("ends of the recording: {}", error.what()));
    say(fmt::format("cohort: the trace is not complete: {}\n", error.what()));
  }
}

void start() {
  const char* prefix = std::getenv(kTraceSpoolVariable);
  if (prefix == nullptr || *prefix == '\0' || injected != nullptr) return;
  const char* const words = std::getenv(kTraceOptionsVariable);
  auto* const made =
      new Injected(std::string(prefix) + "." + std::to_string(::getpid()), settings_of(words != nullptr ? words : ""));
  if (!made->file.is_open()) {
    delete made;
    return;
  }
  injected = made;
  made->file.write(SpoolWriter::header(static_cast<std::uint32_t>(::getpid())));
  for (const std::string& word : made->settings.unknown)
    made->count(fmt::format("unknown options in {}: {}", kTraceOptionsVariable, word));
  auto collector =
      Collector::start(made->settings.cupti, [made](std::string_view chunks) { made->file.write(chunks); });
  if (!collector) return made->count(fmt::format("tracing did not start: {}", collector.error().message));
  made->collector = std::move(*collector);
  std::atexit(&finish);
  made->flusher = std::thread([made] { made->run_flusher(); });
}

}  // namespace
}  // namespace cohort::cupti

namespace {

using GetExportTable = const void* (*)(std::uint32_t table);
constexpr const char* kNvtxEntry = "InitializeInjectionNvtx2";

}  // namespace

// NVTX opens the module where NVTX_INJECTION64_PATH names it. Ranges are CUPTI's: of the one library that the recording
// uses as well, which the program may have brought itself.
extern "C" COHORT_PLUGIN_EXPORT int InitializeInjectionNvtx2(
    GetExportTable get) {  // NOLINT(readability-identifier-naming)
  try {
    const auto library = cohort::cupti::find_library();
    if (!library) return 0;
    const auto initialize = library->function<int(GetExportTable)>(kNvtxEntry);
    return initialize ? (*initialize)(get) : 0;
  } catch (const std::exception&) {
    return 0;  // the program runs on without ranges
  }
}

extern "C" COHORT_PLUGIN_EXPORT int InitializeInjection() {  // NOLINT(readability-identifier-naming): CUDA's name
  try {
    cohort::cupti::start();
  } catch (const std::exception&) {
    return 1;  // the program runs on untraced
  }
  return 1;
}
