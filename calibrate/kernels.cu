#include <cuda_bf16.h>
#include <mma.h>

#include "calibrate/kernels.hpp"

namespace cohort::calibrate {
namespace {

constexpr int kFmaChains = 4;       // independent chains a thread
constexpr int kSharedWords = 1024;  // of a block, static

__device__ std::uint64_t global_time() {
  std::uint64_t time;
  asm volatile("mov.u64 %0, %%globaltimer;" : "=l"(time));
  return time;
}

__device__ std::uint32_t sm_id() {
  std::uint32_t id;
  asm volatile("mov.u32 %0, %%smid;" : "=r"(id));
  return id;
}

/// Registers that leave room on an SM for as many threads of two probes as it holds.
#define PROBE __global__ __maxnreg__(32)

__global__ void empty_kernel() {}

__global__ void spin_kernel(std::uint64_t nanoseconds, BlockLog* log) {
  const std::uint64_t start = global_time();
  const long long start_clock = clock64();
  while (global_time() - start < nanoseconds) {
  }
  if (log == nullptr || threadIdx.x != 0) return;
  BlockLog entry;
  entry.start = start;
  entry.end = global_time();
  entry.start_clock = start_clock;
  entry.end_clock = clock64();
  entry.sm = sm_id();
  entry.block = blockIdx.x;
  log[blockIdx.x] = entry;
}

PROBE void copy_kernel(const float4* __restrict__ from, float4* __restrict__ to, std::uint32_t count, int repeats) {
  constexpr int kInFlight = 4;  // loads of a thread: one after another they would show latency, not bandwidth
  const std::uint32_t stride = gridDim.x * blockDim.x;
  for (int repeat = 0; repeat < repeats; ++repeat) {
    std::uint32_t i = blockIdx.x * blockDim.x + threadIdx.x;
    for (; i + (kInFlight - 1) * stride < count; i += kInFlight * stride) {
      float4 values[kInFlight];
#pragma unroll
      for (int k = 0; k < kInFlight; ++k) values[k] = __ldcs(from + (i + k * stride));
#pragma unroll
      for (int k = 0; k < kInFlight; ++k) __stcs(to + (i + k * stride), values[k]);
    }
    for (; i < count; i += stride) __stcs(to + i, __ldcs(from + i));
  }
}

PROBE void fma_kernel(int iterations, float* sink) {
  float x[kFmaChains];
  for (int c = 0; c < kFmaChains; ++c) x[c] = static_cast<float>(threadIdx.x + c);
  const float scale = 0.999F;
  for (int i = 0; i < iterations; ++i) {
#pragma unroll
    for (int c = 0; c < kFmaChains; ++c) x[c] = fmaf(x[c], scale, 1.0F);
  }
  float sum = 0;
  for (int c = 0; c < kFmaChains; ++c) sum += x[c];
  if (sum == -1.0F) *sink = sum;  // never: every term is positive
}

PROBE void tensor_bf16_kernel(int iterations, float* sink) {
#if __CUDA_ARCH__ >= 800
  using namespace nvcuda;
  wmma::fragment<wmma::matrix_a, 16, 16, 16, __nv_bfloat16, wmma::row_major> a;
  wmma::fragment<wmma::matrix_b, 16, 16, 16, __nv_bfloat16, wmma::col_major> b;
  wmma::fragment<wmma::accumulator, 16, 16, 16, float> c[2];
  wmma::fill_fragment(a, __float2bfloat16(0.5F));
  wmma::fill_fragment(b, __float2bfloat16(0.25F));
  for (int k = 0; k < 2; ++k) wmma::fill_fragment(c[k], 1.0F + static_cast<float>(k));  // equal ones would be made once
  for (int i = 0; i < iterations; ++i) {
    for (auto& part : c) wmma::mma_sync(part, a, b, part);
  }
  float sum = 0;
  for (int e = 0; e < c[0].num_elements; ++e) sum += c[0].x[e] + c[1].x[e];
  if (sum == -1.0F) *sink = sum;
#endif
}

PROBE void tensor_tf32_kernel(int iterations, float* sink) {
#if __CUDA_ARCH__ >= 800
  using namespace nvcuda;
  wmma::fragment<wmma::matrix_a, 16, 16, 8, wmma::precision::tf32, wmma::row_major> a;
  wmma::fragment<wmma::matrix_b, 16, 16, 8, wmma::precision::tf32, wmma::col_major> b;
  wmma::fragment<wmma::accumulator, 16, 16, 8, float> c[2];
  wmma::fill_fragment(a, wmma::__float_to_tf32(0.5F));
  wmma::fill_fragment(b, wmma::__float_to_tf32(0.25F));
  for (int k = 0; k < 2; ++k) wmma::fill_fragment(c[k], 1.0F + static_cast<float>(k));  // equal ones would be made once
  for (int i = 0; i < iterations; ++i) {
    for (auto& part : c) wmma::mma_sync(part, a, b, part);
  }
  float sum = 0;
  for (int e = 0; e < c[0].num_elements; ++e) sum += c[0].x[e] + c[1].x[e];
  if (sum == -1.0F) *sink = sum;
#endif
}

PROBE void shared_kernel(int iterations, float* sink) {
  __shared__ int words[kSharedWords];
  for (int i = static_cast<int>(threadIdx.x); i < kSharedWords; i += static_cast<int>(blockDim.x))
    words[i] = (i + 32) % kSharedWords;
  __syncthreads();
  int next = static_cast<int>(threadIdx.x) % kSharedWords;  // neighbours read neighbours: no bank conflict
  for (int i = 0; i < iterations; ++i) next = words[next];
  if (next == -1) *sink = static_cast<float>(next);
}

PROBE void l2_kernel(int iterations, const float4* __restrict__ data, unsigned mask, float* sink) {
  unsigned at = (blockIdx.x * blockDim.x + threadIdx.x) & mask;
  float sum = 0;
  for (int i = 0; i < iterations; ++i) {
    const float4 value = __ldcg(data + at);  // cached in L2 alone
    sum += value.x;
    at = (at + gridDim.x * blockDim.x + static_cast<unsigned>(value.y)) &
         mask;  // data holds zeros: one load after another
  }
  if (sum == -1.0F) *sink = sum;
}

template <class Kernel>
cudaError_t attributes(Kernel kernel, cudaFuncAttributes* result) {
  return cudaFuncGetAttributes(result, kernel);
}

template <class Kernel>
cudaError_t allow(Kernel kernel, std::size_t bytes) {
  return cudaFuncSetAttribute(kernel, cudaFuncAttributeMaxDynamicSharedMemorySize, static_cast<int>(bytes));
}

}  // namespace

ChainWork work_of(ChainKind kind) {
  ChainWork work;
  switch (kind) {
    case ChainKind::kFma:
      work.fma_flops_a_thread = 2.0 * kFmaChains;
      break;
    case ChainKind::kTensorBf16:
      work.tensor_flops_a_warp = 2.0 * 2 * 16 * 16 * 16;
      break;
    case ChainKind::kTensorTf32:
      work.tensor_flops_a_warp = 2.0 * 2 * 16 * 16 * 8;
      break;
    case ChainKind::kShared:
      work.shared_bytes_a_thread = sizeof(float);
      break;
    case ChainKind::kL2:
      work.l2_bytes_a_thread = sizeof(float4);
      break;
  }
  return work;
}

cudaError_t launch_empty(cudaStream_t stream) {
  empty_kernel<<<1, 32, 0, stream>>>();
  return cudaGetLastError();
}

cudaError_t launch_spin(const Shape& shape, std::uint64_t nanoseconds, BlockLog* log, cudaStream_t stream) {
  spin_kernel<<<shape.blocks, shape.threads, shape.shared_bytes, stream>>>(nanoseconds, log);
  return cudaGetLastError();
}

cudaError_t launch_copy(const Shape& shape, const void* from, void* to, std::size_t bytes, int repeats,
                        cudaStream_t stream) {
  copy_kernel<<<shape.blocks, shape.threads, shape.shared_bytes, stream>>>(
      static_cast<const float4*>(from), static_cast<float4*>(to), static_cast<std::uint32_t>(bytes / sizeof(float4)),
      repeats);
  return cudaGetLastError();
}

cudaError_t launch_chain(ChainKind kind, const Shape& shape, int iterations, const void* data, std::size_t bytes,
                         float* sink, cudaStream_t stream) {
  switch (kind) {
    case ChainKind::kFma:
      fma_kernel<<<shape.blocks, shape.threads, shape.shared_bytes, stream>>>(iterations, sink);
      break;
    case ChainKind::kTensorBf16:
      tensor_bf16_kernel<<<shape.blocks, shape.threads, shape.shared_bytes, stream>>>(iterations, sink);
      break;
    case ChainKind::kTensorTf32:
      tensor_tf32_kernel<<<shape.blocks, shape.threads, shape.shared_bytes, stream>>>(iterations, sink);
      break;
    case ChainKind::kShared:
      shared_kernel<<<shape.blocks, shape.threads, shape.shared_bytes, stream>>>(iterations, sink);
      break;
    case ChainKind::kL2:
      l2_kernel<<<shape.blocks, shape.threads, shape.shared_bytes, stream>>>(
          iterations, static_cast<const float4*>(data), static_cast<unsigned>(bytes / sizeof(float4)) - 1U, sink);
      break;
  }
  return cudaGetLastError();
}

cudaError_t attributes_of_empty(cudaFuncAttributes* result) { return attributes(empty_kernel, result); }
cudaError_t attributes_of_spin(cudaFuncAttributes* result) { return attributes(spin_kernel, result); }
cudaError_t attributes_of_copy(cudaFuncAttributes* result) { return attributes(copy_kernel, result); }
cudaError_t attributes_of_chain(ChainKind kind, cudaFuncAttributes* result) {
  switch (kind) {
    case ChainKind::kFma:
      return attributes(fma_kernel, result);
    case ChainKind::kTensorBf16:
      return attributes(tensor_bf16_kernel, result);
    case ChainKind::kTensorTf32:
      return attributes(tensor_tf32_kernel, result);
    case ChainKind::kShared:
      return attributes(shared_kernel, result);
    case ChainKind::kL2:
      return attributes(l2_kernel, result);
  }
  return cudaErrorInvalidValue;
}

cudaError_t allow_shared_memory(std::size_t bytes) {
  for (const cudaError_t status :
       {allow(spin_kernel, bytes), allow(copy_kernel, bytes), allow(fma_kernel, bytes),
        allow(tensor_bf16_kernel, bytes), allow(tensor_tf32_kernel, bytes), allow(l2_kernel, bytes)}) {
    if (status != cudaSuccess) return status;
  }
  return cudaSuccess;
}

}  // namespace cohort::calibrate
