#pragma once

#include <atomic>
#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "executor/backend.hpp"
#include "executor/clock.hpp"
#include "executor/input/observer.hpp"
#include "tracer/trace.hpp"

namespace cohort {

/// One run of a step of a Program.
struct TaskRun {
  const Step* step = nullptr;
  std::string_view group;  ///< name of the plan's group
  std::int64_t iteration = 0;
  Nanoseconds start{};
  Nanoseconds duration{};
  bool trains = false;  ///< of a training step: then the task's phase is said
};
/// The slice of a task in a measured trace: category "task", with arguments task, op, members, group, iteration,
/// algorithm and threads, of a training step also its phase.
SliceId add_task_slice(Trace& trace, TrackId track, const TaskRun& run);

/// Records begin and end of each step of a Program in preallocated memory. begin() and end() neither allocate nor lock:
/// a stream's steps are noted by the one thread that runs it.
class TraceSink final : public TaskSink {
 public:
  /// Room for `iterations` steps of the whole model batch; what comes after is dropped and counted.
  /// `group_names` are those of the plan's groups.
  TraceSink(const Program& program, std::vector<std::string> group_names, int iterations, TimeSource now);

  void begin(StepId step, StreamId stream) noexcept override;
  void end(StepId step, StreamId stream) noexcept override;
  void ran(StepId step, StreamId stream, Nanoseconds begun, Nanoseconds ended) noexcept override;

  /// Only while nothing runs: Session::synchronize() has returned.
  [[nodiscard]] std::optional<Nanoseconds> first() const;
  /// One track per stream, a slice per step with arguments task, op, members, group, iteration,
  /// algorithm and threads. Times count from `origin`.
  void add_to(Trace& trace, Nanoseconds origin) const;

 private:
  struct Record {
    StepId step{};
    Nanoseconds start{};
    Nanoseconds end{};
  };
  /// On cache lines of its own, since each is written by another thread.
  struct alignas(64) Stream {
    std::vector<Record> records;
    std::size_t count = 0;
    std::int64_t dropped = 0;
    std::size_t steps = 0;  ///< in one iteration
  };

  const Program* program_;
  std::vector<std::string> group_names_;
  TimeSource now_;
  std::vector<Stream> streams_;
};

/// Records the stages of the input in the same way while switched on.
class StageSink final : public InputObserver {
 public:
  /// Room for `stages` stages of each worker; what comes after is dropped and counted.
  StageSink(int workers, std::size_t stages, TimeSource now);

  void begin(InputStage stage, const InputWork& work) noexcept override;
  void end(InputStage stage, const InputWork& work) noexcept override;

  /// From any thread. A stage counts if it begins while the sink is on.
  void switch_on(bool on) { on_.store(on, std::memory_order_relaxed); }

  /// Of what has ended so far; workers may go on meanwhile.
  [[nodiscard]] std::optional<Nanoseconds> first() const;
  /// One track per decode worker, a slice per stage with arguments minibatch, place and pipeline.
  void add_to(Trace& trace, Nanoseconds origin) const;

 private:
  struct Record {
    InputStage stage{};
    InputWork work;
    Nanoseconds start{};
    Nanoseconds end{};
  };
  struct alignas(64) Worker {
    std::vector<Record> records;
    std::atomic<std::size_t> ended{0};
    std::atomic<std::int64_t> dropped{0};
    bool open = false;  ///< the worker's own: a stage has begun and is to be noted
  };

  TimeSource now_;
  std::atomic<bool> on_{false};
  std::vector<Worker> workers_;
};

/// A trace of kind kMeasured of what the sinks noted, from the first slice on. `stages` may be null.
Trace measured_trace(const TraceSink& tasks, const StageSink* stages, const DeviceInfo& device);

}  // namespace cohort
