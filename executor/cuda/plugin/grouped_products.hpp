#pragma once

#include <cublas_v2.h>

#include <memory>
#include <mutex>
#include <span>
#include <string>
#include <vector>

#include "executor/cuda/calls.hpp"
#include "executor/cuda/own/own_calls.hpp"

namespace cohort::cuda {

/// Sizes of products of several members, each a group of one, in cuBLAS's column-major terms: y^T [O, N] = w x^T is
/// m = O, n = N, k = I, with w seen as [I, O] transposed, x as [I, N].
struct GroupedSizes {
  std::vector<cublasOperation_t> transa, transb;
  std::vector<int> m, n, k, lda, ldb, ldc, count;
};
/// `calls` are matrix products of one member each.
GroupedSizes grouped_sizes(std::span<const OpCall> calls);

/// Matrix products of several members, of equal or different sizes, by cublasGemmGroupedBatchedEx
/// ("cublas:grouped"), which takes no algorithm and no epilogue: biases and post-ops follow in kernels of ours.
/// Tables of pointers are written when a call is bound, so before anything is captured.
class GroupedProducts {
 public:
  static bool names(std::string_view algorithm);

  /// Empty where the call is not of products alone, all of one type. Needs no device.
  [[nodiscard]] static std::vector<Alternative> alternatives(const OpCall& call);
  /// Errors: kInvalidInput where alternatives() is empty. Throws DeviceError.
  [[nodiscard]] Result<std::unique_ptr<PreparedCall>> prepare(const OpCall& call,
                                                              std::span<const std::vector<float>> weights,
                                                              WeightStore& store, KernelLauncher& launcher) const;

 private:
  struct Destroy {
    void operator()(cublasHandle_t handle) const { (void)cublasDestroy(handle); }
  };
  [[nodiscard]] cublasHandle_t handle() const;

  mutable std::mutex mutex_;
  mutable std::unique_ptr<cublasContext, Destroy> handle_;  ///< made when it is first needed
};

}  // namespace cohort::cuda
