#include "executor/cuda/plugin/runtime_api.hpp"

#include <cuda_runtime_api.h>
#include <nvtx3/nvToolsExt.h>

#include <cmath>

#include "executor/cuda/plugin/kernels.hpp"

namespace cohort::cuda {
namespace {

cudaEvent_t native(EventHandle event) { return reinterpret_cast<cudaEvent_t>(event); }
cudaGraphExec_t native(GraphHandle graph) { return reinterpret_cast<cudaGraphExec_t>(graph); }

template <class Handle, class Native>
Handle handle_of(Native native) {
  return static_cast<Handle>(reinterpret_cast<std::uintptr_t>(native));
}

std::size_t count(Bytes size) { return static_cast<std::size_t>(size.value); }

}  // namespace

void check_cuda(cudaError_t status, std::string_view call) {
  if (status == cudaSuccess) return;
  (void)cudaGetLastError();  // told here: it is not to be blamed on the next kernel that is launched
  const std::string what = fmt::format("{}: {} ({})", call, cudaGetErrorName(status), cudaGetErrorString(status));
  if (status == cudaErrorMemoryAllocation) throw OutOfDeviceMemory(what);
  throw DeviceError(what);
}

RuntimeApi::RuntimeApi(int device) : device_(device) {
  use();
  check_cuda(cudaFree(nullptr), "cudaFree");  // starts the device's context
}

void RuntimeApi::use() { check_cuda(cudaSetDevice(device_), "cudaSetDevice"); }

// ---- Memory

Bytes RuntimeApi::free_memory() {
  std::size_t free = 0;
  std::size_t total = 0;
  check_cuda(cudaMemGetInfo(&free, &total), "cudaMemGetInfo");
  return Bytes{static_cast<std::int64_t>(free)};
}

std::byte* RuntimeApi::allocate(Bytes size) {
  void* block = nullptr;
  check_cuda(cudaMalloc(&block, count(size)), fmt::format("cudaMalloc of {}", format_bytes(size)));
  return static_cast<std::byte*>(block);
}

void RuntimeApi::release(std::byte* block) noexcept { (void)cudaFree(block); }

std::byte* RuntimeApi::allocate_pinned(Bytes size) {
  void* block = nullptr;
  check_cuda(cudaHostAlloc(&block, count(size), cudaHostAllocDefault),
             fmt::format("cudaHostAlloc of {}", format_bytes(size)));
  return static_cast<std::byte*>(block);
}

void RuntimeApi::release_pinned(std::byte* block) noexcept { (void)cudaFreeHost(block); }

void RuntimeApi::copy_to_device(std::byte* to, std::span<const std::byte> from) {
  check_cuda(cudaMemcpy(to, from.data(), from.size(), cudaMemcpyHostToDevice), "cudaMemcpy");
  // From pageable memory the call returns once the values are staged, and streams of ours do not wait for it.
  check_cuda(cudaStreamSynchronize(nullptr), "cudaStreamSynchronize");
}

void RuntimeApi::copy_to_host(std::span<std::byte> to, const std::byte* from) {
  check_cuda(cudaMemcpy(to.data(), from, to.size(), cudaMemcpyDeviceToHost), "cudaMemcpy");
}

void RuntimeApi::clear(std::byte* block, Bytes size) {
  check_cuda(cudaMemset(block, 0, count(size)), "cudaMemset");
  // Streams of ours are not ordered behind the stream that this ran on.
  check_cuda(cudaStreamSynchronize(nullptr), "cudaStreamSynchronize");
}

// ---- Streams and events

StreamHandle RuntimeApi::create_stream() {
  cudaStream_t stream = nullptr;
  check_cuda(cudaStreamCreateWithFlags(&stream, cudaStreamNonBlocking), "cudaStreamCreateWithFlags");
  return handle_of<StreamHandle>(stream);
}

void RuntimeApi::destroy(StreamHandle stream) noexcept { (void)cudaStreamDestroy(cuda::native(stream)); }

EventHandle RuntimeApi::create_event(EventUse use) {
  cudaEvent_t event = nullptr;
  const unsigned flags = use == EventUse::kTiming ? cudaEventDefault : cudaEventDisableTiming;
  check_cuda(cudaEventCreateWithFlags(&event, flags), "cudaEventCreateWithFlags");
  return handle_of<EventHandle>(event);
}

void RuntimeApi::destroy(EventHandle event) noexcept { (void)cudaEventDestroy(native(event)); }

void RuntimeApi::record(EventHandle event, StreamHandle stream) {
  check_cuda(cudaEventRecord(native(event), cuda::native(stream)), "cudaEventRecord");
}

void RuntimeApi::record_time(EventHandle event, StreamHandle stream) {
  cudaStreamCaptureStatus status = cudaStreamCaptureStatusNone;
  check_cuda(cudaStreamIsCapturing(cuda::native(stream), &status), "cudaStreamIsCapturing");
  // Outside a capture the flag is refused; inside, without it, the event would be an edge and keep no time.
  const unsigned flags = status == cudaStreamCaptureStatusActive ? cudaEventRecordExternal : cudaEventRecordDefault;
  check_cuda(cudaEventRecordWithFlags(native(event), cuda::native(stream), flags), "cudaEventRecordWithFlags");
}

void RuntimeApi::wait(StreamHandle stream, EventHandle event) {
  check_cuda(cudaStreamWaitEvent(cuda::native(stream), native(event), cudaEventWaitDefault), "cudaStreamWaitEvent");
}

void RuntimeApi::synchronize(StreamHandle stream) {
  check_cuda(cudaStreamSynchronize(cuda::native(stream)), "cudaStreamSynchronize");
}

Nanoseconds RuntimeApi::elapsed(EventHandle from, EventHandle to) {
  float milliseconds = 0;
  check_cuda(cudaEventElapsedTime(&milliseconds, native(from), native(to)), "cudaEventElapsedTime");
  return Nanoseconds(std::llround(static_cast<double>(milliseconds) * 1e6));
}

void RuntimeApi::upload(std::byte* to, const std::byte* from, Bytes size, StreamHandle stream) {
  check_cuda(cudaMemcpyAsync(to, from, count(size), cudaMemcpyHostToDevice, cuda::native(stream)), "cudaMemcpyAsync");
}

// ---- Graphs

void RuntimeApi::begin_capture(StreamHandle origin) {
  // Calls of other threads, such as decoders', do not disturb a capture of this one.
  check_cuda(cudaStreamBeginCapture(cuda::native(origin), cudaStreamCaptureModeThreadLocal), "cudaStreamBeginCapture");
}

GraphHandle RuntimeApi::end_capture(StreamHandle origin) {
  cudaGraph_t graph = nullptr;
  check_cuda(cudaStreamEndCapture(cuda::native(origin), &graph), "cudaStreamEndCapture");
  cudaGraphExec_t executable = nullptr;
  const cudaError_t status = cudaGraphInstantiate(&executable, graph, 0);
  (void)cudaGraphDestroy(graph);
  check_cuda(status, "cudaGraphInstantiate");
  const cudaError_t uploaded = cudaGraphUpload(executable, cuda::native(origin));
  if (uploaded != cudaSuccess) (void)cudaGraphExecDestroy(executable);
  check_cuda(uploaded, "cudaGraphUpload");
  return handle_of<GraphHandle>(executable);
}

void RuntimeApi::launch(GraphHandle graph, StreamHandle stream) {
  check_cuda(cudaGraphLaunch(native(graph), cuda::native(stream)), "cudaGraphLaunch");
}

void RuntimeApi::destroy(GraphHandle graph) noexcept { (void)cudaGraphExecDestroy(native(graph)); }

// ---- Work

void RuntimeApi::begin_work(const WorkLabel& label, StreamHandle /*stream*/) { (void)nvtxRangePushA(label.name); }

void RuntimeApi::end_work() noexcept { (void)nvtxRangePop(); }

void RuntimeApi::launch(const own::KernelArguments& kernel, StreamHandle stream) {
  check_cuda(launch_kernel(kernel, cuda::native(stream)), "launch of an own kernel");
}

}  // namespace cohort::cuda
