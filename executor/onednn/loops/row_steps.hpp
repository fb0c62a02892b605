#pragma once

#include <cstdint>
#include <optional>
#include <vector>

#include "executor/onednn/loops/activation.hpp"
#include "executor/onednn/loops/own_way.hpp"

/// What follows a convolution as a matrix product: bias and post-ops on rows of results, a row for each position.
namespace cohort::onednn {

/// Where each position of a tensor [N, C, ...] begins, in logical order.
std::vector<std::int64_t> position_offsets(const View& view);

/// Whether kernels and bias are dense in logical order, as constants are.
bool has_dense_parameters(const OpCall& call);

/// A post-op.
struct FusedStep {
  ActivationLoops loops = nullptr;  ///< null: adds operand `operand`
  Activation activation = {};
  std::size_t operand = 0;
};

/// A call's post-ops; empty where there are no loops for one of them.
std::optional<std::vector<FusedStep>> fused_steps(const OpCall& call);

/// A call's bias and post-ops, and where its result goes.
class RowSteps {
 public:
  /// Empty where there are no loops for one of the post-ops.
  static std::optional<RowSteps> of(const OpCall& call);

  /// Channels [begin, end) of positions [first, first + count): `rows` holds the products of position `first` on, all
  /// channels of a position side by side, and is overwritten.
  void finish(const HostArguments& arguments, float* rows, std::int64_t first, std::int64_t count, std::int64_t begin,
              std::int64_t end) const;

 private:
  struct Step : FusedStep {
    std::vector<std::int64_t> positions = {};  ///< of the operand
    std::int64_t channel_step = 0;
  };

  std::vector<Step> steps_;
  std::vector<std::int64_t> outputs_;  ///< positions of y
  std::int64_t channels_ = 0, channel_step_ = 0;
  bool has_bias_ = false;
};

}  // namespace cohort::onednn
