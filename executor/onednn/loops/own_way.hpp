#pragma once

#include <functional>
#include <memory>
#include <span>
#include <string>
#include <vector>

#include "executor/onednn/implementation.hpp"

/// Own loops beside the library's primitives, which the compiler vectorises and OpenMP threads share.
namespace cohort::onednn {

/// One of our own ways to run a call.
struct OwnWay {
  Loop loop;
  Bytes workspace = {};
  bool leads = true;  ///< stands before the library's ways, which it beat or equalled wherever measured
  std::string algorithm = "loops";
  bool stands_in = false;  ///< is one of stand_ins()
  /// The loop finds a constant input as this makes it of its values; not given: as they are.
  std::function<std::vector<float>(std::size_t input, const std::vector<float>& values)> pack = {};
  Bytes padding = {};  ///< by which `pack` makes constants larger
};
using OwnWays = std::vector<OwnWay>;

/// A kernel that runs it. Its loop finds constants among its inputs, dense in logical order.
std::unique_ptr<HostKernel> make_kernel(const OwnWay& way, const OpCall& call,
                                        std::span<const std::vector<float>> weights);

/// Operand `input` of the call as it lies; constants dense in logical order.
View view_of(const OpCall& call, std::size_t input);

/// Whether the inputs from `first` on are dense in logical order, as constants are.
bool inputs_row_major(const OpCall& call, std::size_t first);
/// The same of all inputs and the output.
bool all_row_major(const OpCall& call);

/// Empty where loops do not take the call's views, or post-ops.
OwnWays own_ways(const Convolution& op, const OpCall& call, int threads);
OwnWays own_ways(const Gemm& op, const OpCall& call, int threads);
OwnWays own_ways(const BatchNormalization& op, const OpCall& call, int threads);
OwnWays own_ways(const GroupNormalization& op, const OpCall& call, int threads);
OwnWays own_ways(const Reduce& op, const OpCall& call, int threads);
OwnWays own_ways(const Gather& op, const OpCall& call, int threads);
OwnWays own_ways(const Scatter& op, const OpCall& call, int threads);
OwnWays own_ways(const Transpose& op, const OpCall& call, int threads);
OwnWays own_ways(const TensorSlice& op, const OpCall& call, int threads);
OwnWays own_ways(const Pad& op, const OpCall& call, int threads);
OwnWays own_ways(const Tile& op, const OpCall& call, int threads);
OwnWays own_ways(const Resize& op, const OpCall& call, int threads);
OwnWays own_ways(const Cast& op, const OpCall& call, int threads);
OwnWays own_ways(const Select& op, const OpCall& call, int threads);
OwnWays own_ways(const ArgMax& op, const OpCall& call, int threads);
OwnWays own_ways(const Expand& op, const OpCall& call, int threads);
OwnWays own_ways(const Concat& op, const OpCall& call, int threads);
OwnWays own_ways(const Pack& op, const OpCall& call, int threads);
OwnWays own_ways(const Activation& op, const OpCall& call, int threads);
OwnWays own_ways(const Binary& op, const OpCall& call, int threads);
OwnWays own_ways(const Pool& op, const OpCall& call, int threads);
OwnWays own_ways(const MaxPoolIndices& op, const OpCall& call, int threads);
OwnWays own_ways(const PoolGradient& op, const OpCall& call, int threads);
OwnWays own_ways(const ActivationGradient& op, const OpCall& call, int threads);
OwnWays own_ways(const SoftmaxGradient& op, const OpCall& call, int threads);
OwnWays own_ways(const SoftmaxCrossEntropy& op, const OpCall& call, int threads);
OwnWays own_ways(const SoftmaxCrossEntropyGradient& op, const OpCall& call, int threads);
OwnWays own_ways(const BatchStatistics& op, const OpCall& call, int threads);
OwnWays own_ways(const NormalizeByStatistics& op, const OpCall& call, int threads);
OwnWays own_ways(const BatchNormalizationWeightGradient& op, const OpCall& call, int threads);
OwnWays own_ways(const BatchNormalizationGradient& op, const OpCall& call, int threads);
OwnWays own_ways(const LayerNormalization& op, const OpCall& call, int threads);
OwnWays own_ways(const LayerNormalizationGradient& op, const OpCall& call, int threads);
OwnWays own_ways(const LayerNormalizationWeightGradient& op, const OpCall& call, int threads);
OwnWays own_ways(const GroupNormalizationGradient& op, const OpCall& call, int threads);
OwnWays own_ways(const GroupNormalizationWeightGradient& op, const OpCall& call, int threads);
OwnWays own_ways(const LocalResponseNormalizationGradient& op, const OpCall& call, int threads);
OwnWays own_ways(const Lstm& op, const OpCall& call, int threads);
OwnWays own_ways(const LstmGradient& op, const OpCall& call, int threads);
OwnWays own_ways(const Recurrent& op, const OpCall& call, int threads);
OwnWays own_ways(const RecurrentGradient& op, const OpCall& call, int threads);
OwnWays own_ways(const GatherGradient& op, const OpCall& call, int threads);
OwnWays own_ways(const TensorSliceGradient& op, const OpCall& call, int threads);
OwnWays own_ways(const Dropout& op, const OpCall& call, int threads);
OwnWays own_ways(const Update& op, const OpCall& call, int threads);
OwnWays own_ways(const RunningAverage& op, const OpCall& call, int threads);

/// Ways for what the library has no direct way for: plain loops, a general product, or nothing; beside direct ones for
/// convolutions along one dimension and Softmax along short axes.
OwnWays stand_ins(const Convolution& op, const OpCall& call, int threads);
OwnWays stand_ins(const ConvTranspose& op, const OpCall& call, int threads);
OwnWays stand_ins(const Softmax& op, const OpCall& call, int threads);

template <class Op>
OwnWays stand_ins(const Op& /*op*/, const OpCall& /*call*/, int /*threads*/) {
  return {};
}
template <class Op>
OwnWays own_ways(const Op& /*op*/, const OpCall& /*call*/, int /*threads*/) {
  return {};
}

}  // namespace cohort::onednn
