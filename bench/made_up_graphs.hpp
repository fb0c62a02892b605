#pragma once

#include <cstddef>
#include <cstdint>

#include "simulator/engine/simulate.hpp"

namespace cohort {

/// A host thread that launches kernels on eight streams, with an event between streams now and then:
/// about two edges a task, as traces have them.
TaskGraph launches(std::size_t tasks);

/// Kernels on streams of an H100, as contention_oracle has them: seven kinds of 16 to 136 times `scale` blocks that
/// share DRAM, those of many blocks the SMs' pipes too.
class ContendingKernels {
 public:
  ContendingKernels(std::size_t count, std::size_t streams, int scale);

  [[nodiscard]] TaskGraph graph() const;
  [[nodiscard]] SimulationOptions options() const;
  /// The same kernels, each begun when the one before it on its stream has ended. Returns when the last one has.
  [[nodiscard]] std::int64_t run_engine() const;

 private:
  std::size_t streams_, count_;
  GpuWork work_;
};

}  // namespace cohort
