#pragma once

#include "executor/onednn/implementation.hpp"

/// What primitives that slide windows have in common.
namespace cohort::onednn {

/// oneDNN counts the elements skipped, ONNX the distance.
dnnl::memory::dims skipped(const std::vector<std::int64_t>& dilation);

/// Weights of a convolution as [groups, rows/groups, columns, R, S], without the first axis for a single group: the
/// rows of `dims`, [rows, columns, R, S], are those of one model, or of several behind a leading model axis.
struct KernelView {
  Shape shape, strides;       ///< what the binding describes
  std::vector<Piece> pieces;  ///< where strides cannot say how they lie
};
/// Input `operand`, [K, C/groups, R, S] or [M, K, C/groups, R, S]; empty where a member's rows would have to be
/// gathered and are not dense.
std::optional<KernelView> kernel_of(const OpCall& call, std::size_t operand, std::int64_t groups, std::size_t spatial);
/// The same of dw, of `shape`, which lies in the packs of `models` members: [size] or [M, size].
KernelView kernel_gradient(const View& pack, const Shape& shape, std::int64_t models);

/// Input `operand`, [K] or [M, K], as the one axis that primitives take.
Binding bind_bias(const OpCall& call, std::size_t operand);

}  // namespace cohort::onednn
