#pragma once

#include <cuda_runtime_api.h>

#include <cstddef>
#include <memory>
#include <string_view>
#include <vector>

#include "base/units.hpp"

namespace cohort::calibrate {

/// Throws DeviceError naming call and status.
void check(cudaError_t status, std::string_view call);

/// A stream that does not wait for the default stream.
class Stream {
 public:
  Stream() { check(cudaStreamCreateWithFlags(&stream_, cudaStreamNonBlocking), "cudaStreamCreateWithFlags"); }
  Stream(const Stream&) = delete;
  Stream& operator=(const Stream&) = delete;
  ~Stream() { cudaStreamDestroy(stream_); }
  [[nodiscard]] cudaStream_t get() const { return stream_; }
  void synchronize() const { check(cudaStreamSynchronize(stream_), "cudaStreamSynchronize"); }

 private:
  cudaStream_t stream_ = nullptr;
};

/// An event with a time.
class Event {
 public:
  Event() { check(cudaEventCreateWithFlags(&event_, cudaEventDefault), "cudaEventCreateWithFlags"); }
  Event(const Event&) = delete;
  Event& operator=(const Event&) = delete;
  ~Event() { cudaEventDestroy(event_); }
  void record(const Stream& stream) { check(cudaEventRecord(event_, stream.get()), "cudaEventRecord"); }
  void make_wait(const Stream& stream) const {
    check(cudaStreamWaitEvent(stream.get(), event_, 0), "cudaStreamWaitEvent");
  }
  /// Both must have been reached.
  [[nodiscard]] Nanoseconds since(const Event& earlier) const;

 private:
  cudaEvent_t event_ = nullptr;
};

/// Memory of the device, zeroed.
class DeviceBuffer {
 public:
  explicit DeviceBuffer(std::size_t bytes);
  DeviceBuffer(const DeviceBuffer&) = delete;
  DeviceBuffer& operator=(const DeviceBuffer&) = delete;
  ~DeviceBuffer() { cudaFree(data_); }
  template <class T = void>
  [[nodiscard]] T* get() const {
    return static_cast<T*>(data_);
  }
  [[nodiscard]] std::size_t size() const { return bytes_; }

 private:
  void* data_ = nullptr;
  std::size_t bytes_;
};

/// Memory of the host, pinned or as the system gives it.
class HostBuffer {
 public:
  HostBuffer(std::size_t bytes, bool pinned);
  HostBuffer(const HostBuffer&) = delete;
  HostBuffer& operator=(const HostBuffer&) = delete;
  ~HostBuffer() {
    if (pinned_ != nullptr) cudaFreeHost(pinned_);
  }
  [[nodiscard]] void* get() { return pinned_ != nullptr ? pinned_ : pageable_.data(); }

 private:
  void* pinned_ = nullptr;
  std::vector<char> pageable_;
};

using Streams = std::vector<std::unique_ptr<Stream>>;
Streams make_streams(int count);

/// What the benchmarks need to know of the device.
struct DeviceFacts {
  int index = 0;
  int sms = 1;
  int threads_per_sm = 1024;
  int blocks_per_sm = 16;
  std::size_t shared_per_sm = 0;
  std::size_t shared_per_block = 0;  ///< opted in
  std::size_t l2_bytes = 0;
  std::size_t memory_bytes = 0;
  /// The kernels for tensor cores have bodies in the code that runs here, see has_tensor_code().
  bool tensor_kernels = false;
};
DeviceFacts facts_of(int device);

Nanoseconds host_now();
void synchronize_device();

}  // namespace cohort::calibrate
