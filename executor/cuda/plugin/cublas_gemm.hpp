#pragma once

#include <cublasLt.h>

#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "base/units.hpp"
#include "executor/cuda/calls.hpp"
#include "executor/cuda/own/own_calls.hpp"

namespace cohort::cuda {

/// Throws DeviceError naming the call and the status.
void check_cublas(cublasStatus_t status, std::string_view call);

cudaDataType_t native_type(DataType type);

/// A matrix product of a call in cuBLASLt's terms, which are column-major. With x [N, I], w [O, I] and y [N, O]
/// in rows, the columns of y^T [O, N] = w x^T are the samples:
///
///     A = w seen as [I, O], transposed     B = x seen as [I, N]     C, D = y seen as [O, N]
///
/// Sums are in float32, whatever the type in memory, which the bias shares.
///
/// A residual that comes first among the post-ops is C, a Relu behind it and the bias are the epilogue; what
/// post-ops are left is done by a kernel of ours. Members of a stack are a strided batch.
class GemmProblem {
 public:
  /// Whether cuBLASLt can run the call.
  static bool fits(const OpCall& call);
  explicit GemmProblem(const OpCall& call);
  /// A product of own kernels, of float32 in rows; a sum with what is in y becomes C. Of its pointers the alignment
  /// counts, and whether there is a bias.
  GemmProblem(const own::GemmArguments& product, Precision precision, int multiprocessors);

  /// One algorithm with its settings: what a plan stores.
  struct Algorithm {
    cublasLtMatmulAlgo_t algo{};
    Bytes workspace;
    /// "lt:66.20.1.0.0.0.0.0.2": id, tile, split, reduction, swizzle, custom, stages, inner, cluster; "lt-tf32:",
    /// "lt-bf16:" and "lt-fp16:" multiply otherwise.
    std::string name;
  };
  /// The library's choices, the best first; deterministic ones only. Those that it does not describe are left out;
  /// none where it refuses the product. Throws DeviceError where it lacks the preferences.
  [[nodiscard]] std::vector<Algorithm> algorithms(cublasLtHandle_t handle) const;
  /// Empty where the text is not an algorithm's name or the device does not support it for this product.
  [[nodiscard]] std::optional<Algorithm> algorithm(cublasLtHandle_t handle, std::string_view name) const;

  /// Post-ops that cuBLASLt does.
  [[nodiscard]] std::size_t fused_post_ops() const { return fused_; }

  struct Pointers {
    const void* w = nullptr;
    const void* bias = nullptr;
    const void* x = nullptr;
    const void* residual = nullptr;  ///< null: none
    void* y = nullptr;
    std::byte* workspace = nullptr;
  };
  /// Throws DeviceError. The bias belongs to the descriptor: set_bias() first.
  void run(cublasLtHandle_t handle, const Algorithm& algorithm, const Pointers& pointers, cudaStream_t stream) const;
  void set_bias(const void* bias);
  /// Input that C is; empty: none.
  [[nodiscard]] std::optional<std::size_t> residual_input() const { return residual_; }

 private:
  struct Destroy {
    void operator()(cublasLtMatmulDesc_t descriptor) const { (void)cublasLtMatmulDescDestroy(descriptor); }
    void operator()(cublasLtMatrixLayout_t layout) const { (void)cublasLtMatrixLayoutDestroy(layout); }
  };
  using Operation = std::unique_ptr<std::remove_pointer_t<cublasLtMatmulDesc_t>, Destroy>;
  using Matrix = std::unique_ptr<std::remove_pointer_t<cublasLtMatrixLayout_t>, Destroy>;

  [[nodiscard]] Matrix matrix(std::int64_t rows, std::int64_t columns, std::int64_t step,
                              std::int64_t batch_step) const;

  cudaDataType_t type_;
  cublasComputeType_t compute_;
  std::int64_t batch_ = 1;
  std::size_t fused_ = 0;
  std::optional<std::size_t> residual_;
  Operation operation_;
  Matrix a_, b_, c_, d_;
  std::uint32_t x_alignment_ = 4, c_alignment_ = 4, y_alignment_ = 4;
};

}  // namespace cohort::cuda
