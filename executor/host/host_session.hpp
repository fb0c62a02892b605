#pragma once

#include <deque>
#include <memory>
#include <optional>
#include <span>
#include <vector>

#include "executor/backend.hpp"
#include "executor/host/host_memory.hpp"
#include "executor/host/host_stream.hpp"
#include "executor/host/kernel.hpp"

namespace cohort {

/// A host device: threads for streams, and kernels for ops.
class HostBackend final : public Backend {
 public:
  HostBackend(std::unique_ptr<HostKernels> kernels, DeviceInfo info)
      : kernels_(std::move(kernels)), info_(std::move(info)) {}

  [[nodiscard]] const DeviceInfo& info() const override { return info_; }
  [[nodiscard]] const OpCatalog& catalog() const override { return *kernels_; }
  /// The backend must outlive the session, too.
  Result<std::unique_ptr<Session>> load(const Program& program, std::span<const Weights* const> weights) override;

 private:
  std::unique_ptr<HostKernels> kernels_;
  DeviceInfo info_;
  CoreTurns turns_;
};

/// Streams 1 and up run on threads of their own. Stream 0 is the host thread's: its work is run in
/// synchronize(), so that a Program of one stream costs no hand-off between threads:
///
///   host      launch launch wait record | synchronize: stream 0 ........ wait for the others
///   stream 1  ..........................................................
///
/// Input is read where it is written, so upload() has nothing to do. What is given to the upload
/// stream (upload_stream()) counts as done at once.
class HostSession final : public Session {
 public:
  struct Parts {
    HostMemory memory;
    std::vector<std::shared_ptr<HostKernel>> kernels;  ///< by StepId; some steps of a stream run the same one
    CoreTurns* turns = nullptr;                        ///< of the backend's sessions
  };
  /// Throws std::system_error where the system gives no thread.
  HostSession(const Program& program, const HostKernels& kernels, Parts parts);
  ~HostSession() override;
  HostSession(const HostSession&) = delete;
  HostSession& operator=(const HostSession&) = delete;

  void launch(StepId step, StreamId stream, int slot) override;
  EventId record(StreamId stream) override;
  void wait(StreamId stream, EventId event) override;
  void begin_capture() override;
  GraphId end_capture() override;
  void launch(GraphId graph) override;
  Result<void> synchronize() override;
  std::span<float> input(std::size_t input_index, int slot) override;
  void upload(std::size_t input_index, int slot, StreamId stream) override;
  [[nodiscard]] bool uploads_overlap_steps() const override { return false; }
  Result<std::vector<float>> read_output(std::size_t output_index) override;
  Result<std::vector<float>> read_state(std::size_t state_index) override;
  Result<void> write_state(std::size_t state_index, std::span<const float> values) override;
  void set_sink(TaskSink* sink) override { context_.sink = sink; }

 private:
  struct Event {
    std::optional<StreamId> source;  ///< none: reached already
    std::uint32_t ticket = 0;
    bool captured = false;
  };
  struct Graph {
    std::vector<std::vector<StreamWork>> work;  ///< by stream
    std::vector<std::uint32_t> events;          ///< recorded by each stream
    bool waits = false;
  };
  void give(StreamId stream, StreamWork work);
  void post(StreamId stream, StreamCommand command);

  const Program* program_;
  Parts parts_;
  std::vector<HostArguments> arguments_;  ///< by slot, then StepId
  StreamContext context_;
  std::vector<std::uint32_t> given_;  ///< events given to each stream so far
  std::vector<char> busy_;            ///< streams with work since the last synchronize()
  std::vector<Event> events_;         ///< since the last synchronize()
  std::uint32_t first_event_ = 0;     ///< id of events_[0]; older ones are reached
  std::optional<Graph> capture_;
  std::deque<Graph> graphs_;
  std::deque<HostStream> streams_;  ///< last: threads end before what they use
};

}  // namespace cohort
