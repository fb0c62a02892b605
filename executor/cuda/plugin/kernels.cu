#include <type_traits>

#include "executor/cuda/own/extent_bodies.hpp"
#include "executor/cuda/own/grid.hpp"
#include "executor/cuda/own/sequence_bodies.hpp"
#include "executor/cuda/own/whole_bodies.hpp"
#include "executor/cuda/plugin/kernels.hpp"

namespace cohort::cuda {
namespace {

using namespace own;

// What block `block` of a kernel does; blocks and threads are those of grid_of().

__device__ int thread_index(int block) { return block * static_cast<int>(blockDim.x) + static_cast<int>(threadIdx.x); }

/// Of all warps; there may be more threads than an int counts.
__device__ long long warp_index(int block) {
  return (static_cast<long long>(block) * blockDim.x + threadIdx.x) / kWarp;
}

template <class T>
__device__ void work(const MapArguments& k, int block) {
  const int i = thread_index(block);
  if (i < k.shape.count) map_element<T>(k, i);
}

template <class T>
__device__ void work(const ConvertArguments& k, int block) {
  const int i = thread_index(block);
  if (i < k.shape.count) convert_element(k, i);
}

template <class T>
__device__ void work(const ReshapeArguments& k, int block) {
  const int i = thread_index(block);
  if (i < k.y_shape.count) reshape_element<T>(k, i);
}

template <class T>
__device__ void work(const GatherArguments& k, int block) {
  const int i = thread_index(block);
  if (i < k.y_shape.count) gather_element<T>(k, i);
}

template <class T>
__device__ void work(const ScatterArguments& k, int block) {
  const int i = thread_index(block);
  if (i < k.y_shape.count) scatter_element<T>(k, i);
}

template <class T>
__device__ void work(const PoolArguments& k, int block) {
  const int i = thread_index(block);
  if (i < k.y_shape.count) pool_element<T>(k, i);
}

template <class T>
__device__ void work(const ConvolutionArguments& k, int block) {
  const int i = thread_index(block);
  if (i < k.y_shape.count) convolution_element<T>(k, i);
}

template <class T>
__device__ void work(const LrnArguments& k, int block) {
  const int i = thread_index(block);
  if (i < k.y_shape.count) lrn_element<T>(k, i);
}

template <class T>
__device__ void work(const MatMulArguments& k, int block) {
  const int i = thread_index(block);
  if (i < k.y_shape.count) matmul_element<T>(k, i);
}

template <class T>
__device__ void work(const ResizeArguments& k, int block) {
  const int i = thread_index(block);
  if (i < k.y_shape.count) resize_element<T>(k, i);
}

template <class T>
__device__ void work(const PadArguments& k, int block) {
  const int i = thread_index(block);
  if (i < k.y_shape.count) pad_element<T>(k, i);
}

template <class T>
__device__ void work(const ConvTransposeArguments& k, int block) {
  const int i = thread_index(block);
  if (i < k.y_shape.count) conv_transpose_element<T>(k, i);
}

template <class T>
__device__ void work(const MaxIndexArguments& k, int block) {
  const int i = thread_index(block);
  if (i < k.y_shape.count) max_index_element<T>(k, i);
}

template <class T>
__device__ void work(const WholeArguments& k, int block) {
  const int i = thread_index(block);
  if (i < k.shape.count) whole_element<T>(k, i);
}

template <class T>
__device__ void work(const LstmCellArguments& k, int block) {
  const int i = thread_index(block);
  if (i < k.samples * k.hidden) lstm_cell_element<T>(k, i);
}

template <class T>
__device__ void work(const GruCellArguments& k, int block) {
  const int i = thread_index(block);
  if (i < k.samples * k.hidden) gru_cell_element<T>(k, i);
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
template <class T>
__device__ void work(const SoftmaxArguments& k, int block) {
  const long long lane = warp_index(block);
  if (lane >= k.lanes.count) return;  // whole warps
  const int thread = static_cast<int>(threadIdx.x) % kWarp;
  const Index index = split(k.lanes, static_cast<int>(lane));
  const T* const x = static_cast<const T*>(k.x) + offset(k.x_strides, index, k.lanes.rank);
  T* const y = static_cast<T*>(k.y) + offset(k.y_strides, index, k.lanes.rank);
  const float largest = warp_largest(softmax_largest<T>(k, x, thread, kWarp));
  const float sum = warp_sum(softmax_sum<T>(k, x, largest, thread, kWarp));
  softmax_store<T>(k, x, y, largest, sum, thread, kWarp);
}

/// A warp takes one result.
template <class T>
__device__ void work(const GemmArguments& k, int block) {
  const long long place_index = warp_index(block);
  if (place_index >= static_cast<long long>(k.batch) * k.rows * k.columns) return;  // whole warps
  const int thread = static_cast<int>(threadIdx.x) % kWarp;
  const GemmPlace place = gemm_place(k, place_index);
  const float sum = warp_sum(gemm_partial<T>(k, place, thread, kWarp));
  if (thread == 0) gemm_store<T>(k, place, sum);
}

/// A warp takes a row.
template <class T>
__device__ void work(const LayerNormArguments& k, int block) {
  const long long row = warp_index(block);
  if (row >= k.rows.count) return;  // whole warps
  const int thread = static_cast<int>(threadIdx.x) % kWarp;
  const Index at = split(k.rows, static_cast<int>(row));
  const float count = static_cast<float>(k.inner.count);
  const float mean = k.centred ? warp_sum(layer_norm_partial<T>(k, at, false, 0, thread, kWarp)) / count : 0.0F;
  const float variance = warp_sum(layer_norm_partial<T>(k, at, true, mean, thread, kWarp)) / count;
  layer_norm_store<T>(k, at, mean, variance, thread, kWarp);
}

/// A thread takes a lane, or a warp, whose threads exchange what they have found.
template <class T>
__device__ void work(const ReduceArguments& k, int block) {
  const int threads = k.thread_per_lane ? 1 : kWarp;
  const int i = thread_index(block) / threads;
  if (i >= k.lanes.count) return;  // whole warps, where they share a lane
  const Index lane = split(k.lanes, i);
  const int thread = static_cast<int>(threadIdx.x) % threads;
  ReducePart part = reduce_partial<T>(k, lane, thread, threads);
  for (int step = threads / 2; step > 0; step /= 2) {
    const ReducePart other{__shfl_xor_sync(0xffffffffU, part.value, step),
                           __shfl_xor_sync(0xffffffffU, part.extra, step)};
    part = reduce_merge(k.kind, part, other);
  }
  if (thread == 0) reduce_store<T>(k, lane, part);
}

template <class T>
__device__ void work(const ArgMaxArguments& k, int block) {
  const int threads = k.thread_per_lane ? 1 : kWarp;
  const int i = thread_index(block) / threads;
  if (i >= k.lanes.count) return;  // whole warps, where they share a lane
  const Index lane = split(k.lanes, i);
  const int thread = static_cast<int>(threadIdx.x) % threads;
  Best best = argmax_partial<T>(k, lane, thread, threads);
  for (int step = threads / 2; step > 0; step /= 2) {
    const Best other{__shfl_xor_sync(0xffffffffU, best.value, step), __shfl_xor_sync(0xffffffffU, best.at, step)};
    best = better(k, best, other);
  }
  if (thread == 0) argmax_store<T>(k, lane, best);
}

/// A block takes a sample; its threads meet after every time step, when y holds what the next one reads.
template <class T>
__device__ void work(const LstmArguments& k, int block) {
  for (int t = 0; t < k.steps; ++t) {
    for (int h = static_cast<int>(threadIdx.x); h < k.hidden; h += static_cast<int>(blockDim.x))
      lstm_unit<T>(k, block, t, h);
    __syncthreads();
  }
}

template <class T>
__device__ void work(const GruArguments& k, int block) {
  for (int t = 0; t < k.steps; ++t) {
    for (int h = static_cast<int>(threadIdx.x); h < k.hidden; h += static_cast<int>(blockDim.x))
      gru_unit<T>(k, block, t, h);
    __syncthreads();
  }
}

/// The threads of a block that share a lane: one, a warp, or all.
class LaneTeam {
 public:
  __device__ explicit LaneTeam(int threads) : threads_(threads) {}
  [[nodiscard]] __device__ int thread() const { return static_cast<int>(threadIdx.x) % threads_; }
  [[nodiscard]] __device__ int threads() const { return threads_; }
  [[nodiscard]] __device__ float sum(float value) const {
    if (threads_ == 1) return value;
    value = warp_sum(value);
    return threads_ == kWarp ? value : warp_sum(of_warps(value, 0));
  }
  [[nodiscard]] __device__ float largest(float value) const {
    if (threads_ == 1) return value;
    value = warp_largest(value);
    return threads_ == kWarp ? value : warp_largest(of_warps(value, -INFINITY));
  }
  __device__ void meet() const { __syncthreads(); }

 private:
  /// What each warp of the block has come to, one for a thread of every warp; `nothing` for the others.
  [[nodiscard]] __device__ float of_warps(float value, float nothing) const {
    __shared__ float values[kBlock / kWarp];
    const int warp = static_cast<int>(threadIdx.x) / kWarp;
    const int place = static_cast<int>(threadIdx.x) % kWarp;
    __syncthreads();  // who reads the last values has read them
    if (place == 0) values[warp] = value;
    __syncthreads();
    return place < kBlock / kWarp ? values[place] : nothing;
  }

  int threads_;
};

template <class T, WorksOnElements Arguments>
__device__ void work(const Arguments& k, int block) {
  const long long i = static_cast<long long>(block) * blockDim.x + threadIdx.x;
  if (i < elements_of(k)) element(k, i);
}

/// Teams do a lane or none as a whole.
template <class T, WorksOnLanes Arguments>
__device__ void work(const Arguments& k, int block) {
  const long long i = (static_cast<long long>(block) * blockDim.x + threadIdx.x) / k.threads;
  if (i < lanes_of(k)) lane(k, i, LaneTeam(k.threads));
}

/// Of a block, by grid_of(): registers are dealt out so that such a block can be launched.
template <class Arguments>
constexpr int kMostThreads =
    std::is_same_v<Arguments, LstmArguments> || std::is_same_v<Arguments, GruArguments> ? kLargestBlock : kBlock;

template <class Arguments, class T>
__global__ void __launch_bounds__(kMostThreads<Arguments>) own_kernel(const __grid_constant__ Arguments k) {
  work<T>(k, static_cast<int>(blockIdx.x));
}

/// A block finds its part: the last that begins at or before it.
template <class Arguments, class T>
__global__ void __launch_bounds__(kMostThreads<Arguments>)
    own_table_kernel(const __grid_constant__ TableArguments table) {
  const int block = static_cast<int>(blockIdx.x);
  int part = 0;
  for (int beyond = table.count; beyond - part > 1;) {
    const int middle = (part + beyond) / 2;
    if (table.first_block[middle] <= block) {
      part = middle;
    } else {
      beyond = middle;
    }
  }
  work<T>(static_cast<const Arguments*>(table.parts)[part], block - table.first_block[part]);
}

template <class T, class Arguments>
void enqueue(const Arguments& k, cudaStream_t stream) {
  const Grid grid = grid_of(k);
  own_kernel<Arguments, T><<<static_cast<unsigned>(grid.blocks), static_cast<unsigned>(grid.threads), 0, stream>>>(k);
}

template <class T, std::size_t kKind = 0>
void enqueue_table(const TableArguments& table, cudaStream_t stream) {
  using Arguments = std::variant_alternative_t<kKind, KernelArguments>;
  if constexpr (!std::is_same_v<Arguments, TableArguments>) {
    if (table.kind == static_cast<int>(kKind)) {
      if constexpr (!Float32Only<Arguments> || std::is_same_v<T, float>)
        own_table_kernel<Arguments, T>
            <<<static_cast<unsigned>(table.blocks), static_cast<unsigned>(table.threads), 0, stream>>>(table);
    } else {
      enqueue_table<T, kKind + 1>(table, stream);
    }
  }
}

void enqueue_typed(const ConvertArguments& k, cudaStream_t stream) { enqueue<float>(k, stream); }
void enqueue_typed(const TableArguments& k, cudaStream_t stream) {
  with_type(k.type, [&](auto number) { enqueue_table<decltype(number)>(k, stream); });
}
template <class Arguments>
void enqueue_typed(const Arguments& k, cudaStream_t stream) {
  if constexpr (Float32Only<Arguments>) {
    enqueue<float>(k, stream);
  } else {
    with_type(k.type, [&](auto number) { enqueue<decltype(number)>(k, stream); });
  }
}

}  // namespace

cudaError_t launch_kernel(const KernelArguments& kernel, cudaStream_t stream) {
  std::visit([stream](const auto& arguments) { enqueue_typed(arguments, stream); }, kernel);
  return cudaGetLastError();
}

}  // namespace cohort::cuda
