#pragma once

#include <chrono>
#include <cstdint>
#include <memory>
#include <span>
#include <vector>

#include "base/device.hpp"
#include "base/result.hpp"
#include "base/units.hpp"
#include "models/model.hpp"
#include "simulator/plan/op_catalog.hpp"
#include "simulator/plan/program.hpp"

namespace cohort {

enum class EventId : std::uint32_t {};
enum class GraphId : std::uint32_t {};

/// Gets begin and end of each step on the device, from the threads that run the steps. Implementations must be
/// thread-safe and quick.
class TaskSink {
 public:
  TaskSink() = default;
  TaskSink(const TaskSink&) = delete;
  TaskSink& operator=(const TaskSink&) = delete;
  virtual ~TaskSink() = default;

  virtual void begin(StepId step, StreamId stream) noexcept = 0;
  virtual void end(StepId step, StreamId stream) noexcept = 0;
  /// Replaces begin() and end() on devices that record times themselves: called later, from Session::synchronize(),
  /// with each stream's steps in order. Times are those of steady_now().
  virtual void ran(StepId step, StreamId stream, Nanoseconds /*begun*/, Nanoseconds /*ended*/) noexcept {
    begin(step, stream);
    end(step, stream);
  }
  /// The host submits the step's work between these two calls, from the thread that drives the session or the launch
  /// thread of the step's stream, also during capture. For tools that watch the device's library.
  virtual void giving(StepId /*step*/, StreamId /*stream*/) noexcept {}
  virtual void given(StepId /*step*/, StreamId /*stream*/) noexcept {}
  /// Whether the sink needs the times of steps. If not, devices skip the events that they would record for it.
  [[nodiscard]] virtual bool needs_times() const noexcept { return true; }
};

/// A Program in a device's memory, ready to run. Work is submitted to streams in order; streams run side by side and
/// synchronise at events. Not thread-safe: one host thread drives it.
///
/// `slot` is which of the input buffers in flight a step reads.
class Session {
 public:
  Session() = default;
  Session(const Session&) = delete;
  Session& operator=(const Session&) = delete;
  virtual ~Session() = default;

  virtual void launch(StepId step, StreamId stream, int slot) = 0;
  /// An event that is reached when all work submitted to `stream` so far is done.
  virtual EventId record(StreamId stream) = 0;
  /// Later work on `stream` starts after `event`.
  virtual void wait(StreamId stream, EventId event) = 0;

  /// Between these calls work is captured instead of run; the capture can then be replayed.
  virtual void begin_capture() = 0;
  virtual GraphId end_capture() = 0;
  virtual void launch(GraphId graph) = 0;

  /// Returns when all submitted work is done. Errors: what failed in it, naming call and task.
  virtual Result<void> synchronize() = 0;

  /// Host memory of an input buffer, dense in the Program's layout. Call upload() between writing it and launching the
  /// steps that read it. Write it again once synchronize() has returned after the upload and, unless
  /// uploads_overlap_steps(), after those steps.
  virtual std::span<float> input(std::size_t input_index, int slot) = 0;
  virtual void upload(std::size_t input_index, int slot, StreamId stream) = 0;
  /// Whether uploads are copies that run beside steps. If not, steps read host memory directly, and upload() does
  /// nothing.
  [[nodiscard]] virtual bool uploads_overlap_steps() const = 0;
  /// Copies an output out, dense in logical order (NCHW for images). Call after synchronize().
  virtual Result<std::vector<float>> read_output(std::size_t output_index) = 0;

  /// Reads and writes a state's elements, dense in logical order; only between synchronize() and the next launch.
  /// Loading initialises states with their members' Weights.
  virtual Result<std::vector<float>> read_state(std::size_t state_index) = 0;
  virtual Result<void> write_state(std::size_t state_index, std::span<const float> values) = 0;

  /// The sink gets begin and end of every step until it is replaced; null: none, at no cost.
  /// Only between synchronize() and the next launch.
  virtual void set_sink(TaskSink* sink) = 0;
};

/// One device with its libraries.
class Backend {
 public:
  Backend() = default;
  Backend(const Backend&) = delete;
  Backend& operator=(const Backend&) = delete;
  virtual ~Backend() = default;

  [[nodiscard]] virtual const DeviceInfo& info() const = 0;
  [[nodiscard]] virtual const OpCatalog& catalog() const = 0;

  /// Allocates memory, packs weights and prepares every step. `weights` has one entry per member.
  /// Errors: kDoesNotFit where memory does not suffice; kInvalidInput naming a step it cannot run, or a state that has
  /// no first values.
  /// The Program must outlive the session.
  virtual Result<std::unique_ptr<Session>> load(const Program& program, std::span<const Weights* const> weights) = 0;
};

}  // namespace cohort
