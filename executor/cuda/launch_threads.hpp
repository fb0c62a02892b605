#pragma once

#include <cstdint>
#include <deque>
#include <functional>
#include <mutex>
#include <optional>
#include <thread>
#include <utility>
#include <variant>

#include "base/result.hpp"
#include "executor/cuda/device_api.hpp"
#include "executor/host/post_queue.hpp"

namespace cohort::cuda {

struct GiveStep {
  StepId step{};
  int slot = 0;
  bool timed = false;
};
struct GiveUpload {
  std::size_t input = 0;
  int slot = 0;
};
struct GiveRecord {
  EventHandle event{};
};
struct GiveWait {
  EventHandle event{};
};
/// What the host gives to a stream.
struct StreamCall {
  StreamId stream{};
  std::variant<GiveStep, GiveUpload, GiveRecord, GiveWait> what;
};

/// Host threads that give streams their work, each those of Program::launch_thread_of(). CUDA's launches then cost
/// several threads' time instead of one's. A wait is given once the record it is for has been: a wait for an event that
/// is not recorded yet would wait for nothing.
///
///     posted      record e on 0 | wait for e on 1 | launch b on 1
///     thread 0    record e
///     thread 1      (e given) wait for e, launch b
///
/// Records are posted before the waits for them, so nobody waits for ever.
class LaunchThreads {
 public:
  /// That a call has been given.
  struct Ticket {
    std::size_t thread = 0;
    std::uint32_t number = 0;  ///< of the thread's calls
  };
  /// `give` is called from the threads; it throws DeviceError. The device is the calling threads' own from their start.
  /// Throws std::system_error where the system gives no thread.
  LaunchThreads(const Program& program, DeviceApi& api, std::function<void(const StreamCall&)> give);
  LaunchThreads(const LaunchThreads&) = delete;
  LaunchThreads& operator=(const LaunchThreads&) = delete;
  ~LaunchThreads();

  /// Has the stream's thread give the call, once that of `after` was given.
  Ticket post(const StreamCall& call, std::optional<Ticket> after);
  /// Waits until all that was posted has been given. After a failure nothing is given until this has told it: the
  /// first by order of posting.
  std::optional<Error> drain();

 private:
  struct Posted {
    StreamCall call;
    std::optional<Ticket> after;
    std::uint64_t order = 0;
  };
  struct Worker {
    PostQueue<Posted> queue;
    EventCounter given;
    std::uint32_t posted = 0;
    std::thread thread;
  };

  void join();
  void thread_main(std::size_t index);
  void give_posted(std::size_t index, const Posted& posted);
  void remember(std::uint64_t order, std::string message);

  const Program& program_;
  DeviceApi& api_;
  std::function<void(const StreamCall&)> give_;
  std::uint64_t posted_ = 0;
  std::atomic<bool> failed_{false};
  std::mutex mutex_;
  std::optional<std::pair<std::uint64_t, Error>> failure_;  ///< guarded by mutex_
  std::deque<Worker> workers_;                              ///< last: threads end before what they use
};

}  // namespace cohort::cuda
