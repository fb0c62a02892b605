#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "executor/host/kernel.hpp"

namespace cohort::testing {

/// A view of a buffer of its own, dense in the layout.
View dense(std::uint32_t buffer, const Shape& shape, Layout layout = Layout::kNhwc);
/// Channels [first, first + shape[1]) of an NHWC buffer of `channels`.
View channel_slice(std::uint32_t buffer, const Shape& shape, std::int64_t channels, std::int64_t first);
WeightView weight(const Shape& shape);

OpCall make_call(OpAttributes attributes, std::vector<Operand> inputs, View output, std::vector<PostOp> post_ops = {});

/// Memory and weights of one call: a block per buffer, filled from a seed.
class CallRunner {
 public:
  /// Values lie in [low, high).
  explicit CallRunner(OpCall call, std::uint64_t seed = 1, float low = -1, float high = 1);

  /// Sets the elements of an input in logical order.
  void set_input(std::size_t operand, const std::vector<float>& values);

  /// The output's elements in logical order. Fails the running test where the kernel cannot be
  /// prepared, or wrote outside its output or workspace.
  std::vector<float> run(const HostKernels& kernels, const Alternative& alternative) const;
  /// By the first algorithm.
  std::vector<float> run(const HostKernels& kernels, int threads = 1) const;

  [[nodiscard]] const OpCall& call() const { return call_; }
  [[nodiscard]] const std::vector<std::vector<float>>& weights() const { return weights_; }
  /// One block per buffer, by BufferId.
  [[nodiscard]] const std::vector<std::vector<float>>& buffers() const { return buffers_; }
  /// Pointers to the views of the call in `buffers`, which has the form of buffers().
  [[nodiscard]] HostArguments arguments(std::vector<std::vector<float>>& buffers, std::byte* workspace) const;

 private:
  OpCall call_;
  std::vector<std::vector<float>> buffers_;
  std::vector<std::vector<float>> weights_;
};

/// 64-byte aligned bytes.
class AlignedBytes {
 public:
  explicit AlignedBytes(std::size_t size);
  [[nodiscard]] std::byte* data() const { return start_; }
  [[nodiscard]] bool overrun() const;

 private:
  std::vector<std::byte> bytes_;
  std::byte* start_;
  std::size_t size_;
};

}  // namespace cohort::testing
