#pragma once

#include <memory>
#include <string>
#include <vector>

#include "executor/cuda/calls.hpp"
#include "executor/cuda/own/own_calls.hpp"
#include "executor/cuda/plugin/call_lists.hpp"
#include "executor/cuda/plugin/cublas_gemm.hpp"

namespace cohort::cuda {

/// Matrix products, and the gradients of their parameters, by cuBLASLt; members of a stack as one strided batch. Lists
/// are kept by call.
class Products {
 public:
  explicit Products(cublasLtHandle_t handle) : handle_(handle) {}

  /// Empty where cuBLASLt cannot run the call.
  [[nodiscard]] std::vector<Alternative> alternatives(const OpCall& call) const;
  /// Errors: kInvalidInput where the device has no such algorithm for the call.
  [[nodiscard]] Result<std::unique_ptr<PreparedCall>> prepare(const OpCall& call, const std::string& algorithm,
                                                              std::span<const std::vector<float>> weights,
                                                              WeightStore& store, KernelLauncher& launcher) const;

 private:
  cublasLtHandle_t handle_;
  mutable CallLists lists_;
};

}  // namespace cohort::cuda
