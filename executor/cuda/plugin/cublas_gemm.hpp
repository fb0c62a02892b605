#pragma once

#include <cublasLt.h>

#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "base/units.hpp"
#include "executor/cuda/calls.hpp"
#include "executor/cuda/plugin/product_form.hpp"

namespace cohort::cuda {

/// Throws DeviceError naming the call and the status.
void check_cublas(cublasStatus_t status, std::string_view call);

cudaDataType_t native_type(DataType type);

/// A matrix product in cuBLASLt's terms, which are column-major. What lies in rows is there the transposed matrix, so
/// that the columns of y^T [columns, rows] = b^T a^T are the rows of y:
///
///     A = b as it lies, transposed where that is by rows of the result      B = a      C, D = y seen as [columns,
///     rows]
///
/// Sums are in float32, whatever the type in memory, which the bias shares.
///
/// The bias, its gradient and a Relu are the epilogue. Members of a stack are a strided batch.
class GemmProblem {
 public:
  explicit GemmProblem(const ProductForm& form);

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

  struct Pointers {
    const void* a = nullptr;
    const void* b = nullptr;
    const void* c = nullptr;  ///< null: none
    void* y = nullptr;
    std::byte* workspace = nullptr;
  };
  /// Throws DeviceError. The bias belongs to the descriptor: set_bias() first.
  void run(cublasLtHandle_t handle, const Algorithm& algorithm, const Pointers& pointers, cudaStream_t stream) const;
  void set_bias(const void* bias);

 private:
  struct Destroy {
    void operator()(cublasLtMatmulDesc_t descriptor) const { (void)cublasLtMatmulDescDestroy(descriptor); }
    void operator()(cublasLtMatrixLayout_t layout) const { (void)cublasLtMatrixLayoutDestroy(layout); }
  };
  using Operation = std::unique_ptr<std::remove_pointer_t<cublasLtMatmulDesc_t>, Destroy>;
  using Matrix = std::unique_ptr<std::remove_pointer_t<cublasLtMatrixLayout_t>, Destroy>;

  void set_epilogue(const ProductForm& form);
  /// One whose rows, `rows` of them, hold `columns` each: column-major [columns, rows].
  [[nodiscard]] Matrix matrix(std::int64_t rows, std::int64_t columns, const StoredMatrix& stored) const;

  cudaDataType_t type_;
  cublasComputeType_t compute_;
  std::int64_t batch_ = 1;
  Operation operation_;
  Matrix a_, b_, c_, d_;  ///< as cuBLASLt calls them
  std::uint32_t a_alignment_ = 4, b_alignment_ = 4, c_alignment_ = 4, d_alignment_ = 4;
};

}  // namespace cohort::cuda
