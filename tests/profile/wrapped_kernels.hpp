#pragma once

#include <memory>
#include <span>
#include <string>
#include <vector>

#include "executor/host/kernel.hpp"
#include "executor/reference/reference_kernels.hpp"

namespace cohort::testing {

/// The reference kernels of one core, each in a wrapper of the test's.
class WrappedKernels : public HostKernels {
 public:
  [[nodiscard]] Result<std::vector<Alternative>> alternatives(const OpCall& call, int threads) const override {
    return kernels_->alternatives(call, threads);
  }
  [[nodiscard]] bool accepts_strides(const OpCall& call) const override { return kernels_->accepts_strides(call); }
  [[nodiscard]] int cores() const override { return kernels_->cores(); }
  void use_threads(int threads, std::span<const int> cores) const override { kernels_->use_threads(threads, cores); }
  Result<std::unique_ptr<HostKernel>> prepare(const OpCall& call, const std::string& algorithm, int threads,
                                              std::span<const std::vector<float>> weights) const override {
    COHORT_TRY(auto kernel, kernels_->prepare(call, algorithm, threads, weights));
    return wrap(std::move(kernel), call);
  }

 protected:
  [[nodiscard]] virtual std::unique_ptr<HostKernel> wrap(std::unique_ptr<HostKernel> kernel,
                                                         const OpCall& call) const = 0;

 private:
  std::unique_ptr<HostKernels> kernels_ = make_reference_kernels(1);
};

}  // namespace cohort::testing
