#include "executor/cuda/own/bodies.hpp"
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
void enqueue(const LstmArguments& k, cudaStream_t stream) {
  const int threads = min(kLargestBlock, (k.hidden + kWarp - 1) / kWarp * kWarp);
  lstm_kernel<<<static_cast<unsigned>(k.samples), static_cast<unsigned>(threads), 0, stream>>>(k);
}

}  // namespace

cudaError_t launch_kernel(const KernelArguments& kernel, cudaStream_t stream) {
  std::visit([stream](const auto& arguments) { enqueue(arguments, stream); }, kernel);
  return cudaGetLastError();
}

}  // namespace cohort::cuda
