#pragma once

#include <cuda_runtime_api.h>

#include <cstddef>
#include <cstdint>

// Launchers of the microbenchmarks' own kernels. Each launches once on `stream` and returns the launch's status.

namespace cohort::calibrate {

/// Where and when one block ran, by the device's own registers.
struct BlockLog {
  std::uint64_t start = 0;  ///< globaltimer, nanoseconds
  std::uint64_t end = 0;
  std::int64_t start_clock = 0;  ///< the SM's cycle counter
  std::int64_t end_clock = 0;
  std::uint32_t sm = 0;
  std::uint32_t block = 0;
};

struct Shape {
  int blocks = 1;
  int threads = 32;
  std::size_t shared_bytes = 0;  ///< dynamic, a block
};

enum class ChainKind { kFma, kTensorBf16, kTensorTf32, kShared, kL2 };

/// What one thread (warp, for tensor cores) does in one iteration of a chain.
struct ChainWork {
  double fma_flops_a_thread = 0;
  double tensor_flops_a_warp = 0;
  double shared_bytes_a_thread = 0;
  double l2_bytes_a_thread = 0;
};
ChainWork work_of(ChainKind kind);

cudaError_t launch_empty(cudaStream_t stream);
/// Each block spins for `nanoseconds` of the device's clock. `log` has an entry a block, or is null.
cudaError_t launch_spin(const Shape& shape, std::uint64_t nanoseconds, BlockLog* log, cudaStream_t stream);
/// Copies `bytes` (a multiple of 16) `repeats` times, the blocks taking turns.
cudaError_t launch_copy(const Shape& shape, const void* from, void* to, std::size_t bytes, int repeats,
                        cudaStream_t stream);
/// `iterations` of dependent work of one kind by every thread. `data` is read by kL2: `bytes` of it, a power of two
/// that fits L2. `sink` takes a value, so that nothing is optimised away; 4 bytes.
cudaError_t launch_chain(ChainKind kind, const Shape& shape, int iterations, const void* data, std::size_t bytes,
                         float* sink, cudaStream_t stream);

/// What the driver says of the kernel that `launch_*` starts.
cudaError_t attributes_of_empty(cudaFuncAttributes* attributes);
cudaError_t attributes_of_spin(cudaFuncAttributes* attributes);
cudaError_t attributes_of_copy(cudaFuncAttributes* attributes);
cudaError_t attributes_of_chain(ChainKind kind, cudaFuncAttributes* attributes);
/// Whether a kernel for tensor cores was compiled for an architecture that has what it multiplies (compute capability
/// 8.0): in code for an older one, which newer devices run too, it is empty.
inline bool has_tensor_code(const cudaFuncAttributes& attributes) { return attributes.ptxVersion >= 80; }
/// Lets kernels take up to `bytes` of dynamic shared memory.
cudaError_t allow_shared_memory(std::size_t bytes);

}  // namespace cohort::calibrate
