#pragma once

#include <atomic>
#include <cstdint>
#include <memory>
#include <mutex>
#include <optional>
#include <thread>
#include <variant>
#include <vector>

#include "executor/backend.hpp"
#include "executor/host/event_counter.hpp"
#include "executor/host/kernel.hpp"
#include "executor/host/post_queue.hpp"

namespace cohort {

/// The first thing that went wrong since it was last asked, by launch order.
class FirstFailure {
 public:
  /// Makes later steps be skipped.
  void remember(StepId step, Error error);
  [[nodiscard]] bool failed() const noexcept { return failed_.load(std::memory_order_relaxed); }
  /// Forgets it. Only while no stream runs.
  std::optional<Error> take();

 private:
  std::atomic<bool> failed_{false};
  std::mutex mutex_;
  StepId step_{};
  std::optional<Error> error_;
};

struct RunStep {
  StepId step{};
  int threads = 1;
  HostKernel* kernel = nullptr;
  const HostArguments* arguments = nullptr;
};
struct RecordEvent {};
struct WaitEvent {
  StreamId source{};
  std::uint32_t ticket = 0;  ///< inside a captured graph: counted from the graph's start
};
using StreamWork = std::variant<RunStep, RecordEvent, WaitEvent>;

/// One stream's part of a captured graph, to be run once more.
struct ReplayWork {
  const std::vector<StreamWork>* work = nullptr;
  std::shared_ptr<const std::vector<std::uint32_t>> first_tickets;  ///< by stream; null where nothing waits
};
using StreamCommand = std::variant<StreamWork, ReplayWork>;

/// What the streams of a session share.
struct StreamContext {
  const Program* program = nullptr;
  const HostKernels* kernels = nullptr;
  std::vector<EventCounter> events;  ///< by stream
  TaskSink* sink = nullptr;          ///< changed only while no stream runs
  CoreTurns* turns = nullptr;        ///< among the backend's sessions, each by its context; may be null
  FirstFailure failure;
};

/// Work in the order it was given, run by a thread of its own or by whoever calls run_posted().
/// After a failure steps are skipped, but events still happen, so that nobody waits for ever.
class HostStream {
 public:
  /// Its work runs on `cores`, the first for its own thread, the others for the kernels' helpers; none: anywhere.
  HostStream(StreamContext& context, StreamId id, std::vector<int> cores)
      : context_(&context), id_(id), cores_(std::move(cores)) {}
  HostStream(const HostStream&) = delete;
  HostStream& operator=(const HostStream&) = delete;
  ~HostStream();

  /// Throws std::system_error where the system gives no thread.
  void start_thread();
  void post(StreamCommand command);
  /// Runs what was posted so far, on the calling thread. Only for a stream without a thread.
  void run_posted();

 private:
  void thread_main();
  void execute(const StreamCommand& command);
  void execute(const StreamWork& work, const std::vector<std::uint32_t>* first_tickets);
  void run(const RunStep& work);

  StreamContext* context_;
  StreamId id_;
  std::vector<int> cores_;
  std::optional<int> threads_;  ///< as last told to the kernels, on the running thread
  PostQueue<StreamCommand> posted_;
  std::thread thread_;
};

}  // namespace cohort
