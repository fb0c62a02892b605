#include "calibrate/device.hpp"

#include <fmt/format.h>

#include <chrono>
#include <cmath>

#include "calibrate/kernels.hpp"
#include "executor/device_error.hpp"

namespace cohort::calibrate {

void check(cudaError_t status, std::string_view call) {
  if (status == cudaSuccess) return;
  (void)cudaGetLastError();  // told here: else the next block's first kernel would be said to fail
  throw DeviceError(fmt::format("{} returned {} ({}): {}", call, cudaGetErrorName(status), static_cast<int>(status),
                                cudaGetErrorString(status)));
}

Nanoseconds Event::since(const Event& earlier) const {
  float milliseconds = 0;
  check(cudaEventElapsedTime(&milliseconds, earlier.event_, event_), "cudaEventElapsedTime");
  return Nanoseconds(std::llround(static_cast<double>(milliseconds) * 1e6));
}

DeviceBuffer::DeviceBuffer(std::size_t bytes) : bytes_(bytes) {
  check(cudaMalloc(&data_, bytes), fmt::format("cudaMalloc({})", bytes));
  check(cudaMemset(data_, 0, bytes), "cudaMemset");
  // Streams of ours do not wait for the default stream, on which that runs.
  check(cudaStreamSynchronize(nullptr), "cudaStreamSynchronize");
}

HostBuffer::HostBuffer(std::size_t bytes, bool pinned) {
  if (pinned) {
    check(cudaHostAlloc(&pinned_, bytes, cudaHostAllocDefault), fmt::format("cudaHostAlloc({})", bytes));
  } else {
    pageable_.assign(bytes, 1);  // touched, so that the system has given its pages
  }
}

Streams make_streams(int count) {
  Streams streams;
  streams.reserve(static_cast<std::size_t>(count));
  for (int i = 0; i < count; ++i) streams.push_back(std::make_unique<Stream>());
  return streams;
}

DeviceFacts facts_of(int device) {
  const auto attribute = [&](cudaDeviceAttr which) {
    int value = 0;
    check(cudaDeviceGetAttribute(&value, which, device), "cudaDeviceGetAttribute");
    return value;
  };
  DeviceFacts facts;
  facts.index = device;
  facts.sms = attribute(cudaDevAttrMultiProcessorCount);
  facts.threads_per_sm = attribute(cudaDevAttrMaxThreadsPerMultiProcessor);
  facts.blocks_per_sm = attribute(cudaDevAttrMaxBlocksPerMultiprocessor);
  facts.shared_per_sm = static_cast<std::size_t>(attribute(cudaDevAttrMaxSharedMemoryPerMultiprocessor));
  facts.shared_per_block = static_cast<std::size_t>(attribute(cudaDevAttrMaxSharedMemoryPerBlockOptin));
  facts.l2_bytes = static_cast<std::size_t>(attribute(cudaDevAttrL2CacheSize));
  cudaFuncAttributes bf16{};
  cudaFuncAttributes tf32{};
  check(attributes_of_chain(ChainKind::kTensorBf16, &bf16), "cudaFuncGetAttributes(tensor bf16)");
  check(attributes_of_chain(ChainKind::kTensorTf32, &tf32), "cudaFuncGetAttributes(tensor tf32)");
  facts.tensor_kernels = has_tensor_code(bf16) && has_tensor_code(tf32);
  std::size_t unused = 0;
  check(cudaMemGetInfo(&unused, &facts.memory_bytes), "cudaMemGetInfo");
  return facts;
}

Nanoseconds host_now() { return std::chrono::steady_clock::now().time_since_epoch(); }

void synchronize_device() { check(cudaDeviceSynchronize(), "cudaDeviceSynchronize"); }

}  // namespace cohort::calibrate
