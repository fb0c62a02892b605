#pragma once

#include <memory>
#include <string>
#include <vector>

#include "executor/cuda/calls.hpp"
#include "executor/cuda/own/own_calls.hpp"
#include "executor/cuda/plugin/call_lists.hpp"
#include "executor/cuda/plugin/cublas_gemm.hpp"

namespace cohort::cuda {

/// LSTMs and GRUs, of one member or of several of equal shapes, by cuBLASLt's strided batches and own kernels for the
/// cells (own/recurrent_steps.hpp): "lt-steps:A/B" with the algorithms of the inputs' and of the state's product.
class RecurrentProducts {
 public:
  explicit RecurrentProducts(cublasLtHandle_t handle) : handle_(handle) {}

  /// Whether an algorithm's name is one of these.
  static bool names(std::string_view algorithm);

  /// Empty where the call cannot be run so.
  [[nodiscard]] std::vector<Alternative> alternatives(const OpCall& call) const;
  /// Errors: kInvalidInput where the device has no such algorithms for the call.
  [[nodiscard]] Result<std::unique_ptr<PreparedCall>> prepare(const OpCall& call, const std::string& algorithm,
                                                              std::span<const std::vector<float>> weights,
                                                              WeightStore& store, KernelLauncher& launcher) const;

 private:
  cublasLtHandle_t handle_;
  mutable CallLists lists_;  ///< by the keys of all members' calls
};

}  // namespace cohort::cuda
