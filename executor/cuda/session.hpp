#pragma once

#include <memory>
#include <optional>
#include <span>
#include <string_view>
#include <variant>
#include <vector>

#include "executor/backend.hpp"
#include "executor/clock.hpp"
#include "executor/cuda/calls.hpp"
#include "executor/cuda/device_memory.hpp"
#include "executor/cuda/launch_threads.hpp"

namespace cohort::cuda {

/// Loads a Program: checks it, takes memory, puts weights on the device and binds every call. The
/// Program, `api` and `factory` must outlive the session. `now` is the clock in which sinks are told when
/// steps ran.
/// Errors: kInvalidInput naming the step; kDoesNotFit with what is free; kDeviceMissing where a call fails.
Result<std::unique_ptr<Session>> make_session(const Program& program, std::span<const Weights* const> weights,
                                              DeviceApi& api, const CallFactory& factory, TimeSource now);

/// A Program in device memory. Its streams are the Program's and one for uploads. The first call that
/// fails is remembered with its step; later work is not given, and synchronize() returns the error.
///
/// A graph is one launch, on stream 0:
///
///     stream 0   begin ── fork ── a ───────── join ── end         a replay comes after all work of
///     stream 1              └──── b ── c ──────┘                  every stream so far, and later work
///                                                                 of every stream after it
///
/// With several launch threads (Program::launch_threads) steps, uploads and events are given by them; graphs are
/// captured and launched by the calling thread while they have nothing to do.
///
/// While a sink is set that needs times, every step stands between two events with times. Graphs have a
/// second form for that, captured when it is first needed, so that a run without a sink costs nothing. An
/// event's time becomes the sink's by way of one event whose time is known in both clocks. A sink that only
/// watches is told of every graph's steps while it is captured once more, for this sink alone.
class CudaSession final : public Session {
 public:
  struct Parts {
    std::unique_ptr<WeightStore> weights;
    std::unique_ptr<ProgramMemory> memory;
    std::vector<std::unique_ptr<PreparedCall>> prepared;           ///< by StepId
    std::vector<std::vector<std::unique_ptr<BoundCall>>> by_slot;  ///< by StepId; one where input is not read
  };
  /// Throws DeviceError; std::system_error where the system gives no launch thread.
  CudaSession(const Program& program, DeviceApi& api, Parts parts, TimeSource now);
  ~CudaSession() override;
  CudaSession(const CudaSession&) = delete;
  CudaSession& operator=(const CudaSession&) = delete;

  void launch(StepId step, StreamId stream, int slot) override;
  EventId record(StreamId stream) override;
  void wait(StreamId stream, EventId event) override;
  void begin_capture() override;
  GraphId end_capture() override;
  void launch(GraphId graph) override;
  Result<void> synchronize() override;
  std::span<float> input(std::size_t input_index, int slot) override;
  void upload(std::size_t input_index, int slot, StreamId stream) override;
  [[nodiscard]] bool uploads_overlap_steps() const override { return true; }
  Result<std::vector<float>> read_output(std::size_t output_index) override;
  Result<std::vector<float>> read_state(std::size_t state_index) override;
  Result<void> write_state(std::size_t state_index, std::span<const float> values) override;
  void set_sink(TaskSink* sink) override;

 private:
  [[nodiscard]] std::byte* state_memory(const ProgramState& state) const;

  struct LaunchStep {
    StepId step{};
    int slot = 0;
  };
  struct RecordEvent {
    std::size_t event = 0;  ///< position among the capture's events
  };
  struct WaitEvent {
    std::size_t event = 0;
  };
  struct Command {
    StreamId stream{};
    std::variant<LaunchStep, RecordEvent, WaitEvent> what;
  };
  struct Graph {
    std::vector<Command> commands;
    std::size_t events = 0;
    std::optional<GraphHandle> plain, timed;
    std::optional<GraphHandle> watched;  ///< captured under the sink of now, without times
  };
  /// Events around one launch of a step, waiting to be read.
  struct Timing {
    EventHandle begin{}, end{};
    StreamId stream{};
    bool pending = false;
  };

  /// Runs `work` unless something has failed; a DeviceError becomes the error to be reported.
  template <class Work>
  void guarded(std::string_view what, Work&& work);
  [[nodiscard]] StreamHandle handle(StreamId stream) const { return streams_[to_index(stream)]; }
  [[nodiscard]] BoundCall& bound(const LaunchStep& work) const;
  /// Work is about to be given to a stream: brings it behind the last graph and the events it waits for.
  void touch(StreamId stream);
  void wait_on_first(std::size_t event);
  /// Has the host give a call to its stream: at once, or by the stream's launch thread, once `after` was given.
  std::optional<LaunchThreads::Ticket> give(const StreamCall& call, std::optional<LaunchThreads::Ticket> after = {});
  void give_now(const StreamCall& call);
  void give_step(const LaunchStep& work, StreamId stream, bool timed);
  void record_order(std::size_t event, StreamId stream);
  void wait_for_order(StreamId stream, std::size_t event);
  void collect_failure();
  EventHandle pooled(std::vector<EventHandle>& pool, std::size_t position);
  GraphHandle capture(const Graph& graph, bool timed);
  void give_captured(const Graph& graph, bool timed);
  void wait_for_all();
  void read_timings();
  void set_origin();
  void forget_watched() noexcept;

  const Program* program_;
  DeviceApi* api_;
  TimeSource now_;
  Parts parts_;
  std::vector<StreamHandle> streams_;
  std::vector<char> busy_;          ///< streams with work since the last synchronize() or graph
  std::vector<char> behind_graph_;  ///< streams that do not know of the last graph yet
  /// Events that streams but the first are to wait for before their next work. A graph takes them over: only
  /// the stream that it is launched on waits, once for each event.
  std::vector<std::vector<std::size_t>> pending_waits_;
  std::vector<std::size_t> waited_;                             ///< by stream 0, since the last synchronize()
  std::vector<EventHandle> order_events_, capture_events_;      ///< grow to what one step needs, then stay
  std::vector<std::optional<LaunchThreads::Ticket>> recorded_;  ///< by position in order_events_: its latest record
  std::size_t events_used_ = 0;                                 ///< of order_events_, since the last synchronize()
  std::uint32_t first_event_ = 0;                               ///< id of order_events_[0]; older ones are reached
  EventHandle join_event_{};
  std::optional<Graph> open_;
  std::vector<Graph> graphs_;
  TaskSink* sink_ = nullptr;
  bool timed_ = false;           ///< there is a sink, and it needs times
  std::vector<Timing> timings_;  ///< by StepId, once there has been a sink
  EventHandle origin_{};
  Nanoseconds origin_time_{};
  std::optional<Error> error_;
  std::unique_ptr<LaunchThreads> threads_;  ///< null: the calling thread gives everything. Last: it uses the rest
};

}  // namespace cohort::cuda
