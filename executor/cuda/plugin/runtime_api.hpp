#pragma once

#include <driver_types.h>

#include <string_view>

#include "executor/cuda/device_api.hpp"
#include "executor/cuda/own/own_calls.hpp"

namespace cohort::cuda {

/// Throws DeviceError, for exhausted memory OutOfDeviceMemory, naming the call and the status, which CUDA then no
/// longer keeps as its last error.
void check_cuda(cudaError_t status, std::string_view call);

inline cudaStream_t native(StreamHandle stream) { return reinterpret_cast<cudaStream_t>(stream); }

/// The CUDA runtime. Work is marked by NVTX ranges.
class RuntimeApi final : public DeviceApi, public KernelLauncher {
 public:
  /// Throws DeviceError where the device cannot be used.
  explicit RuntimeApi(int device);

  void use() override;

  [[nodiscard]] Bytes free_memory() override;
  std::byte* allocate(Bytes size) override;
  void release(std::byte* block) noexcept override;
  std::byte* allocate_pinned(Bytes size) override;
  void release_pinned(std::byte* block) noexcept override;
  void copy_to_device(std::byte* to, std::span<const std::byte> from) override;
  void copy_to_host(std::span<std::byte> to, const std::byte* from) override;
  void clear(std::byte* block, Bytes size) override;
  StreamHandle create_stream() override;
  void destroy(StreamHandle stream) noexcept override;
  EventHandle create_event(EventUse use) override;
  void destroy(EventHandle event) noexcept override;
  void record(EventHandle event, StreamHandle stream) override;
  void record_time(EventHandle event, StreamHandle stream) override;
  void wait(StreamHandle stream, EventHandle event) override;
  void synchronize(StreamHandle stream) override;
  Nanoseconds elapsed(EventHandle from, EventHandle to) override;
  void upload(std::byte* to, const std::byte* from, Bytes size, StreamHandle stream) override;
  void begin_capture(StreamHandle origin) override;
  GraphHandle end_capture(StreamHandle origin) override;
  void launch(GraphHandle graph, StreamHandle stream) override;
  void destroy(GraphHandle graph) noexcept override;
  void begin_work(const WorkLabel& label, StreamHandle stream) override;
  void end_work() noexcept override;
  void launch(const own::KernelArguments& kernel, StreamHandle stream) override;

 private:
  int device_;
};

}  // namespace cohort::cuda
