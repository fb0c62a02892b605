#pragma once

#include <cstddef>
#include <memory>
#include <vector>

#include "base/result.hpp"
#include "base/units.hpp"
#include "simulator/plan/program.hpp"

namespace cohort {

/// Zeroed memory that begins on a cache line.
class AlignedBytes {
 public:
  AlignedBytes() = default;
  /// Throws std::bad_alloc. Touches every page, so that no later run pays for it.
  explicit AlignedBytes(Bytes size);

  [[nodiscard]] std::byte* data() const { return data_.get(); }

 private:
  struct Free {
    void operator()(std::byte* data) const noexcept;
  };
  std::unique_ptr<std::byte, Free> data_;
};

/// The buffers of a Program in host memory: the arena in one block, every input once per minibatch
/// in flight, outputs on their own.
class HostMemory {
 public:
  /// `machine` is what the machine has, zero where that is not known. Weights are counted, though
  /// kernels keep them.
  /// Errors: kDoesNotFit saying what is needed, and what the machine has or what is free.
  static Result<HostMemory> allocate(const Program& program, Bytes machine);

  /// First byte of a buffer; `slot` matters for inputs only.
  [[nodiscard]] std::byte* at(BufferId buffer, int slot) const;
  [[nodiscard]] float* first_element(const View& view, int slot) const;

 private:
  explicit HostMemory(const Program& program) : program_(&program) {}
  void allocate_all();

  const Program* program_;
  AlignedBytes arena_;
  std::vector<std::vector<AlignedBytes>> own_;  ///< by buffer, then slot; empty for arena buffers
};

}  // namespace cohort
