#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>
#include <span>

#include "base/units.hpp"
#include "executor/device_error.hpp"
#include "simulator/plan/program.hpp"

namespace cohort::cuda {

enum class StreamHandle : std::uintptr_t {};
enum class EventHandle : std::uintptr_t {};
enum class GraphHandle : std::uintptr_t {};

/// Memory that the device does not have.
class OutOfDeviceMemory : public DeviceError {
 public:
  using DeviceError::DeviceError;
};

/// kOrder: for waits only. kTiming: also tells when it was reached.
enum class EventUse { kOrder, kTiming };

/// What is being given to a stream, for tools that watch: a step of the Program, or an upload.
struct WorkLabel {
  const char* name = "";  ///< for people; lives as long as the session
  std::optional<StepId> step;
  std::optional<std::size_t> input;
  int slot = 0;
};

/// What a session needs of the CUDA runtime and nothing more, so that its order of calls can be tested
/// without a GPU. Several threads may call at a time, each for streams of its own. Pointers to device memory are never
/// followed by the host. Every call throws DeviceError naming itself and its status where it fails; release and destroy
/// never do.
class DeviceApi {
 public:
  DeviceApi() = default;
  DeviceApi(const DeviceApi&) = delete;
  DeviceApi& operator=(const DeviceApi&) = delete;
  virtual ~DeviceApi() = default;

  /// Makes the device that of the calling thread; every thread that calls does so first.
  virtual void use() = 0;

  // Memory. Blocks of device memory begin at multiples of 256 bytes.
  [[nodiscard]] virtual Bytes free_memory() = 0;
  virtual std::byte* allocate(Bytes size) = 0;
  virtual void release(std::byte* block) noexcept = 0;
  /// Host memory that copies need not stage.
  virtual std::byte* allocate_pinned(Bytes size) = 0;
  virtual void release_pinned(std::byte* block) noexcept = 0;
  /// These return when the copy is done.
  virtual void copy_to_device(std::byte* to, std::span<const std::byte> from) = 0;
  virtual void copy_to_host(std::span<std::byte> to, const std::byte* from) = 0;
  virtual void clear(std::byte* block, Bytes size) = 0;

  // Streams and events. No stream is ordered behind the legacy default stream.
  virtual StreamHandle create_stream() = 0;
  virtual void destroy(StreamHandle stream) noexcept = 0;
  virtual EventHandle create_event(EventUse use) = 0;
  virtual void destroy(EventHandle event) noexcept = 0;
  /// Inside a capture the event is an edge of the graph, and only later calls of the same capture may
  /// wait for it.
  virtual void record(EventHandle event, StreamHandle stream) = 0;
  /// Records the time, inside a capture at every replay.
  virtual void record_time(EventHandle event, StreamHandle stream) = 0;
  virtual void wait(StreamHandle stream, EventHandle event) = 0;
  virtual void synchronize(StreamHandle stream) = 0;
  /// Between two kTiming events that have been reached.
  virtual Nanoseconds elapsed(EventHandle from, EventHandle to) = 0;
  /// From pinned memory, in the stream's order.
  virtual void upload(std::byte* to, const std::byte* from, Bytes size, StreamHandle stream) = 0;

  // Capture. Streams join it by waiting for an event of it and must be waited for before it ends.
  virtual void begin_capture(StreamHandle origin) = 0;
  /// Ready to be launched: instantiated, and already on the device.
  virtual GraphHandle end_capture(StreamHandle origin) = 0;
  virtual void launch(GraphHandle graph, StreamHandle stream) = 0;
  virtual void destroy(GraphHandle graph) noexcept = 0;

  // What the calls between these belong to.
  virtual void begin_work(const WorkLabel& label, StreamHandle stream) = 0;
  virtual void end_work() noexcept = 0;
};

}  // namespace cohort::cuda
