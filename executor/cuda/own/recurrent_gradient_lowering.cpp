// Gradients of recurrent layers.

#include "executor/cuda/own/grid.hpp"
#include "executor/cuda/own/training_lowering.hpp"
#include "executor/reference/call.hpp"
#include "models/op_training.hpp"

namespace cohort::cuda::own {
namespace {

/// The workspace's parts, in elements.
struct WorkSizes {
  std::int64_t sums = 0, cells = 0, carried = 0;

  [[nodiscard]] std::int64_t total() const { return 2 * sums + cells + carried; }
};
WorkSizes work_sizes(bool gru, const Shape& x, std::int64_t hidden) {
  const std::int64_t units = x[1] * hidden;
  return {x[0] * units * kGateBlocks, gru ? 0 : x[0] * units, units};
}

/// x [T, N, I], w and r whose last two axes are the matrices', b, and y and dy, whose samples are dimension `samples`.
RecurrentWork work_of(bool gru, std::int64_t hidden, const Operands& operands, std::size_t samples) {
  const auto& in = operands.inputs;
  const auto data = [&](std::size_t input) { return static_cast<const float*>(in[input].data); };
  const auto last_two = [&](std::size_t input, std::int64_t& row, std::int64_t& column) {
    row = in[input].strides[in[input].strides.size() - 2];
    column = in[input].strides.back();
  };
  RecurrentWork work;
  work.gru = gru;
  work.steps = static_cast<std::int32_t>(in[0].shape[0]);
  work.samples = static_cast<std::int32_t>(in[0].shape[1]);
  work.inputs = static_cast<std::int32_t>(in[0].shape[2]);
  work.hidden = static_cast<std::int32_t>(hidden);
  work.x = data(0);
  work.w = data(1);
  work.r = data(2);
  work.b = data(3);
  work.y = data(4);
  work.dy = data(5);
  work.x_step = in[0].strides[0];
  work.x_sample = in[0].strides[1];
  work.x_input = in[0].strides[2];
  work.y_step = in[4].strides[0];
  work.y_sample = in[4].strides[samples];
  work.y_hidden = in[4].strides[samples + 1];
  work.dy_step = in[5].strides[0];
  work.dy_sample = in[5].strides[samples];
  work.dy_hidden = in[5].strides[samples + 1];
  last_two(1, work.w_row, work.w_column);
  last_two(2, work.r_row, work.r_column);
  work.b_step = in[3].strides.back();
  const WorkSizes sizes = work_sizes(gru, in[0].shape, hidden);
  work.sums = operands.workspace;
  work.deltas = work.sums + sizes.sums;
  work.cells = work.deltas + sizes.sums;
  work.carried = work.cells + sizes.cells;
  return work;
}

template <class Arguments>
Arguments with_work(const RecurrentWork& work, std::int32_t threads) {
  Arguments kernel;
  static_cast<RecurrentWork&>(kernel) = work;
  if constexpr (requires { kernel.threads; }) kernel.threads = threads;
  return kernel;
}

std::vector<KernelArguments> gradient_kernels(const RecurrentWork& work, const Operands& operands) {
  std::vector<KernelArguments> kernels{with_work<GateSumsArguments>(work, kWarp)};
  if (!work.gru) kernels.emplace_back(with_work<LstmCellsArguments>(work, 1));
  kernels.emplace_back(with_work<GateDeltasArguments>(work, kBlock));  // its teams meet, which only blocks can
  auto pack = with_work<RecurrentPackArguments>(work, kWarp);
  const auto rows = static_cast<std::int64_t>(work.gru ? 3 : 4) * work.hidden;
  pack.pack = static_cast<float*>(operands.y);
  pack.pack_step = operands.y_strides[0];
  pack.size = static_cast<std::int32_t>(operands.y_shape[0]);
  pack.w_place = static_cast<std::int32_t>(pack_place(element_count(operands.inputs[0].shape)));
  pack.r_place = static_cast<std::int32_t>(pack_place(pack.w_place + rows * work.inputs));
  pack.b_place = static_cast<std::int32_t>(pack_place(pack.r_place + rows * work.hidden));
  kernels.emplace_back(pack);
  return kernels;
}

}  // namespace

std::int64_t workspace_values(const LstmGradient& op, const OpCall& call) {
  return work_sizes(false, shape_of(call.inputs[0]), op.hidden).total();
}

std::int64_t workspace_values(const RecurrentGradient& op, const OpCall& call) {
  return work_sizes(true, shape_of(call.inputs[0]), op.layer.hidden).total();
}

std::vector<KernelArguments> kernels_of(const LstmGradient& op, const OpCall& /*call*/, const Operands& operands) {
  return gradient_kernels(work_of(false, op.hidden, operands, 1), operands);
}

/// Of GRUs; y and dy have a dimension for directions before the samples.
std::vector<KernelArguments> kernels_of(const RecurrentGradient& op, const OpCall& /*call*/, const Operands& operands) {
  return gradient_kernels(work_of(true, op.layer.hidden, operands, 2), operands);
}

}  // namespace cohort::cuda::own
