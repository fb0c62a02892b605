#pragma once

#include <cstdint>
#include <optional>

#include "executor/cuda/calls.hpp"
#include "executor/cuda/own/training_lowering.hpp"

namespace cohort::cuda {

/// A matrix of each member of a stack, in rows.
struct StoredMatrix {
  std::int64_t step = 0;   ///< from row to row
  std::int64_t batch = 0;  ///< from member to member
  bool transposed = false;
  std::uint32_t alignment = 64;  ///< bytes to whose multiples every row begins, at most 64 as buffers do
};

enum class ProductBias {
  kNone,
  kAdded,     ///< [columns], to each row of the result
  kGradient,  ///< [rows], written: the sums over each row of the first matrix
};

/// y [rows, columns] = a [rows, inner] b [inner, columns], for each of `batch` members, plus c.
struct ProductForm {
  std::int64_t rows = 1, columns = 1, inner = 1, batch = 1;
  StoredMatrix a, b, y;
  std::optional<StoredMatrix> c;
  ProductBias bias = ProductBias::kNone;
  std::int64_t bias_batch = 0;
  std::uint32_t bias_alignment = 64;
  bool relu = false;
  DataType type = DataType::kFloat32;
  Precision precision = Precision::kFloat32;
  int multiprocessors = 0;
};

/// A call as one product, and what is left of it to kernels of ours.
struct LibraryProduct {
  ProductForm form;
  std::size_t a = 0, b = 1;         ///< inputs
  std::optional<std::size_t> bias;  ///< input that is added
  std::optional<std::size_t> c;     ///< input that is added before all other post-ops
  std::size_t fused_post_ops = 0;
  std::int64_t staged_values = 0;  ///< of x, copied to the workspace as rows in logical order
  std::int64_t weights = 0;        ///< of a gradient: elements of dw, behind which the pack goes on
};

/// Gemm; MatMul, whose leading axes must be one; GemmWeightGradient, with db by the library where `bias_gradient`.
/// Empty where the operands do not lie as a library needs them.
std::optional<LibraryProduct> product_of(const OpCall& call, bool bias_gradient = true);

}  // namespace cohort::cuda
