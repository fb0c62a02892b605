#pragma once

#include <string>
#include <vector>

#include "base/result.hpp"
#include "base/units.hpp"
#include "tracer/microbenchmark_record.hpp"

namespace cohort {

/// Kernels of known work, each of which uses up one of a device's throughputs on half of every multiprocessor: what ops
/// are held against. On a stream of their own, in the process and on the device of the backend.
class ProbeKernels {
 public:
  ProbeKernels() = default;
  ProbeKernels(const ProbeKernels&) = delete;
  ProbeKernels& operator=(const ProbeKernels&) = delete;
  virtual ~ProbeKernels() = default;

  /// "copy", "l2", "fma", ...
  [[nodiscard]] virtual std::vector<std::string> names() const = 0;
  /// Gives the device a probe that takes about `length` alone, and returns at once.
  /// Errors: kDeviceMissing naming call and status.
  virtual Result<void> start(const std::string& name, Nanoseconds length) = 0;
  /// When it has ended: how it was launched, what it did and how long it took (kReplicas of one instance).
  virtual Result<MicrobenchmarkRecord> finish() = 0;
};

}  // namespace cohort
