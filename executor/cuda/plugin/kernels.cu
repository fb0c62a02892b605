#include "executor/cuda/own/sequence_bodies.hpp"
#include "executor/cuda/plugin/kernels.hpp"

namespace cohort::cuda {
namespace {

using namespace own;

constexpr int kBlock = 256;
constexpr int kWarp = 32;
/// LSTM and softmax: one block works on one sample or lane.
constexpr int kLargestBlock = 1024;

__device__ int thread_index() { return static_cast<int>(blockIdx.x * blockDim.x + threadIdx.x); }

__global__ void map_kernel(const __grid_constant__ MapArguments k) {
  const int i = thread_index();
  if (i < k.shape.count) map_element(k, i);
}

__global__ void reshape_kernel(const __grid_constant__ ReshapeArguments k) {
  const int i = thread_index();
  if (i < k.y_shape.count) reshape_element(k, i);
}

__global__ void pool_kernel(const __grid_constant__ PoolArguments k) {
  const int i = thread_index();
  if (i < k.y_shape.count) pool_element(k, i);
}

__global__ void convolution_kernel(const __grid_constant__ ConvolutionArguments k) {
  const int i = thread_index();
  if (i < k.y_shape.count) convolution_element(k, i);
}

__global__ void lrn_kernel(const __grid_constant__ LrnArguments k) {
  const int i = thread_index();
  if (i < k.y_shape.count) lrn_element(k, i);
}

__device__ float warp_sum(float value) {
  for (int step = kWarp / 2; step > 0; step /= 2) value += __shfl_xor_sync(0xffffffffU, value, step);
  return value;
}

__device__ float warp_largest(float value) {
  for (int step = kWarp / 2; step > 0; step /= 2) value = fmaxf(value, __shfl_xor_sync(0xffffffffU, value, step));
  return value;
}

/// A warp takes a lane.
__global__ void softmax_kernel(const __grid_constant__ SoftmaxArguments k) {
  const int lane = thread_index() / kWarp;
  if (lane >= k.lanes.count) return;  // whole warps
  const int thread = static_cast<int>(threadIdx.x) % kWarp;
  const Index index = split(k.lanes, lane);
  const float* const x = k.x + offset(k.x_strides, index, k.lanes.rank);
  float* const y = k.y + offset(k.y_strides, index, k.lanes.rank);
  const float largest = warp_largest(softmax_largest(k, x, thread, kWarp));
  const float sum = warp_sum(softmax_sum(k, x, largest, thread, kWarp));
  softmax_store(k, x, y, largest, sum, thread, kWarp);
}

/// A warp takes one result.
__global__ void gemm_kernel(const __grid_constant__ GemmArguments k) {
  const long long place_index = (static_cast<long long>(blockIdx.x) * blockDim.x + threadIdx.x) / kWarp;
  if (place_index >= static_cast<long long>(k.batch) * k.rows * k.columns) return;  // whole warps
  const int thread = static_cast<int>(threadIdx.x) % kWarp;
  const GemmPlace place = gemm_place(k, place_index);
  const float sum = warp_sum(gemm_partial(k, place, thread, kWarp));
  if (thread == 0) gemm_store(k, place, sum);
}

/// A block takes a sample; its threads meet after every time step, when y holds what the next one reads.
__global__ void lstm_kernel(const __grid_constant__ LstmArguments k) {
  const int n = static_cast<int>(blockIdx.x);
  for (int t = 0; t < k.steps; ++t) {
    for (int h = static_cast<int>(threadIdx.x); h < k.hidden; h += static_cast<int>(blockDim.x)) lstm_unit(k, n, t, h);
    __syncthreads();
  }
}

__global__ void gru_kernel(const __grid_constant__ GruArguments k) {
  const int n = static_cast<int>(blockIdx.x);
  for (int t = 0; t < k.steps; ++t) {
    for (int h = static_cast<int>(threadIdx.x); h < k.hidden; h += static_cast<int>(blockDim.x)) gru_unit(k, n, t, h);
    __syncthreads();
  }
}

__global__ void matmul_kernel(const __grid_constant__ MatMulArguments k) {
  const int i = thread_index();
  if (i < k.y_shape.count) matmul_element(k, i);
}

/// A warp takes a row.
__global__ void layer_norm_kernel(const __grid_constant__ LayerNormArguments k) {
  const int row = thread_index() / kWarp;
  if (row >= k.rows.count) return;  // whole warps
  const int thread = static_cast<int>(threadIdx.x) % kWarp;
  const Index index = split(k.rows, row);
  const float* const x = k.x + offset(k.x_rows, index, k.rows.rank);
  float* const y = k.y + offset(k.y_rows, index, k.rows.rank);
  const float count = static_cast<float>(k.inner.count);
  const float mean = warp_sum(layer_norm_partial(k, x, false, 0, thread, kWarp)) / count;
  const float variance = warp_sum(layer_norm_partial(k, x, true, mean, thread, kWarp)) / count;
  layer_norm_store(k, x, y, mean, variance, thread, kWarp);
}

unsigned blocks_for(long long threads) { return static_cast<unsigned>((threads + kBlock - 1) / kBlock); }

void enqueue(const MapArguments& k, cudaStream_t stream) {
  map_kernel<<<blocks_for(k.shape.count), kBlock, 0, stream>>>(k);
}
void enqueue(const ReshapeArguments& k, cudaStream_t stream) {
  reshape_kernel<<<blocks_for(k.y_shape.count), kBlock, 0, stream>>>(k);
}
void enqueue(const PoolArguments& k, cudaStream_t stream) {
  pool_kernel<<<blocks_for(k.y_shape.count), kBlock, 0, stream>>>(k);
}
void enqueue(const ConvolutionArguments& k, cudaStream_t stream) {
  convolution_kernel<<<blocks_for(k.y_shape.count), kBlock, 0, stream>>>(k);
}
void enqueue(const LrnArguments& k, cudaStream_t stream) {
  lrn_kernel<<<blocks_for(k.y_shape.count), kBlock, 0, stream>>>(k);
}
void enqueue(const SoftmaxArguments& k, cudaStream_t stream) {
  softmax_kernel<<<blocks_for(static_cast<long long>(k.lanes.count) * kWarp), kBlock, 0, stream>>>(k);
}
void enqueue(const GemmArguments& k, cudaStream_t stream) {
  const long long results = static_cast<long long>(k.batch) * k.rows * k.columns;
  gemm_kernel<<<blocks_for(results * kWarp), kBlock, 0, stream>>>(k);
}
/// Threads of a block that has `hidden` units to compute at each step.
unsigned threads_for(int hidden) {
  return static_cast<unsigned>(min(kLargestBlock, (hidden + kWarp - 1) / kWarp * kWarp));
}

void enqueue(const LstmArguments& k, cudaStream_t stream) {
  lstm_kernel<<<static_cast<unsigned>(k.samples), threads_for(k.hidden), 0, stream>>>(k);
}
void enqueue(const GruArguments& k, cudaStream_t stream) {
  gru_kernel<<<static_cast<unsigned>(k.samples), threads_for(k.hidden), 0, stream>>>(k);
}
void enqueue(const MatMulArguments& k, cudaStream_t stream) {
  matmul_kernel<<<blocks_for(k.y_shape.count), kBlock, 0, stream>>>(k);
}
void enqueue(const LayerNormArguments& k, cudaStream_t stream) {
  layer_norm_kernel<<<blocks_for(static_cast<long long>(k.rows.count) * kWarp), kBlock, 0, stream>>>(k);
}

}  // namespace

cudaError_t launch_kernel(const KernelArguments& kernel, cudaStream_t stream) {
  std::visit([stream](const auto& arguments) { enqueue(arguments, stream); }, kernel);
  return cudaGetLastError();
}

}  // namespace cohort::cuda
