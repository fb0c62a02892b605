#pragma once

#include <cstddef>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <vector>

#include "base/result.hpp"
#include "simulator/plan/op_catalog.hpp"

namespace cohort {

/// Where the operands of a prepared call lie: one pointer per input (null for a WeightView) and per
/// output, each to the view's first element, and the workspace.
struct HostArguments {
  std::vector<const float*> inputs;
  std::vector<float*> outputs;
  std::byte* workspace = nullptr;  ///< 64-byte aligned, as large as the alternative said
};

/// A prepared call with its packed weights.
class HostKernel {
 public:
  HostKernel() = default;
  HostKernel(const HostKernel&) = delete;
  HostKernel& operator=(const HostKernel&) = delete;
  virtual ~HostKernel() = default;

  /// By one thread at a time. Throws DeviceError where the library fails.
  virtual void run(const HostArguments& arguments) = 0;
};

/// Makes kernels that run on the host; each host device has its own.
class HostKernels : public OpCatalog {
 public:
  /// `weights` holds the dense values of each WeightView among the inputs, in order; they may be
  /// dropped after the call. `algorithm` is one that alternatives() listed for `threads`.
  virtual Result<std::unique_ptr<HostKernel>> prepare(const OpCall& call, const std::string& algorithm, int threads,
                                                      std::span<const std::vector<float>> weights) const = 0;

  /// Called by each thread that will run kernels of `threads` cores, before it does. `cores` says where: the
  /// caller is on the first, its helpers belong on the next; none: they may roam.
  virtual void use_threads(int threads, std::span<const int> cores) const = 0;

  /// Each stream is a thread; more threads than cores would only compete.
  std::optional<int> most_streams() const final { return cores(); }
};

}  // namespace cohort
