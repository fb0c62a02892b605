#pragma once

#include <map>
#include <memory>
#include <mutex>
#include <optional>
#include <string>
#include <vector>

#include "executor/cuda/calls.hpp"
#include "executor/cuda/own/own_calls.hpp"
#include "executor/cuda/plugin/cudnn_convolution.hpp"

namespace cohort::cuda {

/// Convolutions, and their gradients by x (ConvTranspose) and by their filters, by cuDNN. What it lists and prepares is
/// kept by the call's shapes, strides and alignments, since members of a model batch ask for the same again and again.
class Convolutions {
 public:
  explicit Convolutions(const EngineSource& source) : source_(source) {}

  /// Empty where cuDNN cannot run the call in its precision.
  [[nodiscard]] std::vector<Alternative> alternatives(const OpCall& call) const;
  /// Errors: kInvalidInput where the algorithm is no engine that cuDNN supports for the call here.
  [[nodiscard]] Result<std::unique_ptr<PreparedCall>> prepare(const OpCall& call, const CallChoice& choice,
                                                              std::span<const std::vector<float>> weights,
                                                              WeightStore& store, KernelLauncher& launcher) const;

 private:
  struct Entry {
    std::optional<std::vector<Alternative>> list;  ///< made when it is asked for: every engine is tried for it
    std::map<std::string, std::shared_ptr<Descriptor>> plans;  ///< by algorithm
    std::unique_ptr<ConvolutionGraph> fused, bare;             ///< what the plans refer to
  };
  Entry& entry(const OpCall& call) const;
  cudnnHandle_t handle_for(const OpCall& call, int stream) const;
  static const std::vector<Alternative>& list_of(const OpCall& call, Entry& entry);

  EngineSource source_;
  mutable std::mutex mutex_;
  mutable std::map<std::string, Entry> entries_;
  mutable std::map<int, CudnnHandle> handles_;  ///< by stream
};

/// Two calls with equal text are run by the same plans and algorithms.
std::string call_key(const OpCall& call);

}  // namespace cohort::cuda
