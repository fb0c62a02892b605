#pragma once

#include <optional>
#include <vector>

#include "executor/cuda/calls.hpp"
#include "executor/cuda/own/kernel_arguments.hpp"

namespace cohort::cuda::own {

/// A tensor in device memory.
struct Tensor {
  const void* data = nullptr;
  Shape shape;
  Shape strides;
  DataType type = DataType::kFloat32;
};

/// An op's operands: views where they lie, constants as packed() stores them, with packed_strides().
struct Operands {
  std::vector<Tensor> inputs;
  void* y = nullptr;
  Shape y_shape;
  Shape y_strides;
  DataType y_type = DataType::kFloat32;
  float* workspace = nullptr;
  const void* table = nullptr;  ///< what table_of() gives, where it gives something
  std::size_t own_inputs = 0;   ///< leading inputs that are the op's own
};

/// `constants` by input, null for views, where packed() values were put.
Operands operands_of(const OpCall& call, const CallArguments& arguments, const std::vector<const void*>& constants);

/// Whether own kernels can run a call. Errors: kInvalidInput with the reason where not.
Result<void> check_supported(const OpCall& call);

/// Whether operand `input` of an op, or without one its result, holds whole numbers, which are 32 bits in memory
/// whatever the type of the rest. Of ops that only move elements the types say so.
bool holds_whole_numbers(const OpAttributes& op, std::optional<std::size_t> input = std::nullopt);

/// Values of constant input `input`, as the kernels read them. `weights` has the dense values of all
/// constants of the call, in order.
std::vector<float> packed(const OpCall& call, std::size_t input, std::span<const std::vector<float>> weights);
/// How they then lie in memory; of products columns are in the order of x's memory.
Shape packed_strides(const OpCall& call, std::size_t input);
/// Whether a batch normalisation is one factor and one addend for each channel, as all its parameters are constants.
bool is_folded(const OpCall& call);
/// The bytes of `values` in a type.
std::vector<std::byte> bytes_of(const std::vector<float>& values, DataType type);
/// What a kernel of the call reads besides, the same at every step; of most nothing.
std::vector<std::byte> table_of(const OpCall& call);
/// `elements` further on.
const void* advanced(const void* from, std::int64_t elements, DataType type);
void* advanced(void* from, std::int64_t elements, DataType type);

/// Bytes of workspace.
Bytes workspace_of(const OpCall& call);

/// Kernels that compute the call, in order; none where its result has no elements. Only for what check_supported()
/// accepts.
std::vector<KernelArguments> kernels_of(const OpCall& call, const Operands& operands);

/// Its kernels do no post-ops; they follow in one of their own.
bool finishes_apart(const OpCall& call);
/// Whether a product can read the samples of its x, whose values may have to lie together.
bool takes_samples(const OpCall& call);

/// Post-ops from number `first` on, found by the index of the output's dimensions.
PostOps post_ops(const OpCall& call, const Operands& operands, std::size_t first = 0);

/// Kernels of ops without memory between elements: Activation, Binary, BatchNormalization, Concat, Reshape,
/// Transpose, TensorSlice, Expand, Select, Cast.
std::vector<KernelArguments> map_kernels(const OpCall& call, const Operands& operands);
/// y = post(y + bias along dimension 1).
MapArguments epilogue(const OpCall& call, const Operands& operands, const void* bias, std::size_t first);

/// Of what reads or makes whole numbers one by one; empty for other ops.
std::optional<WholeArguments> whole_kernel(const OpCall& call, const Operands& operands);
KernelArguments kernel_of(const Scatter& op, const OpCall& call, const Operands& operands);

/// y = f(a, b, c), dimensions in the order of y's memory.
MapArguments map_of(MapKind kind, const std::vector<Tensor>& from, const Operands& to, const PostOps& post);
/// The elements of `from` at `to`, whose strides are by the same dimensions.
MapArguments copy_of(const Tensor& from, void* to, const Shape& to_strides);
/// Of one that computes a number from two, up to kMod.
MapKind kind_of(BinaryKind kind);
/// The kernels know activations by the names that models have for them.
PostKind post_kind(ActivationKind kind);

// Windows: a window as kernels have it; the one of an op, if it has one; ops with one spatial dimension, and their
// operands, as ops with two.
Window2 to_window(const Window& window);
const Window* window_of(const OpAttributes& attributes);
OpAttributes as_plane(OpAttributes attributes);
Operands as_plane(Operands operands);
/// Neighbouring elements in memory are neighbouring channels.
bool channels_last(const Shape& shape, const Shape& strides);
/// The step between the places of a filter, counted row by row; empty where there is not one.
std::optional<std::int64_t> place_step(const Shape& shape, const Shape& strides);

KernelArguments kernel_of(const Convolution& op, const OpCall& call, const Operands& operands);
KernelArguments kernel_of(const ConvTranspose& op, const OpCall& call, const Operands& operands);
KernelArguments kernel_of(const MaxPoolIndices& op, const OpCall& call, const Operands& operands);
KernelArguments kernel_of(const Pool& op, const OpCall& call, const Operands& operands);

/// x of a product as rows of values in logical order: where it lies, or copied to the workspace.
struct ProductRows {
  const void* data = nullptr;
  std::int64_t model = 0, sample = 0;      ///< strides
  std::optional<KernelArguments> copying;  ///< what fills the workspace
};
/// x [N, ...] or, stacked, [M, N, ...].
ProductRows product_rows(const Tensor& x, bool stacked, float* workspace);
/// Elements of workspace that product_rows() takes.
std::int64_t product_row_values(const Shape& shape, const Shape& strides, bool stacked);
std::int64_t workspace_values(const Gemm& op, const OpCall& call);
std::vector<KernelArguments> kernels_of(const Gemm& op, const OpCall& call, const Operands& operands);

// Of ops whose result has other extents than what they read.
KernelArguments kernel_of(const Reduce& op, const OpCall& call, const Operands& operands);
KernelArguments kernel_of(const ArgMax& op, const OpCall& call, const Operands& operands);
KernelArguments kernel_of(const Resize& op, const OpCall& call, const Operands& operands);
KernelArguments kernel_of(const Pad& op, const OpCall& call, const Operands& operands);
KernelArguments kernel_of(const Tile& op, const OpCall& call, const Operands& operands);

// Of ops of language models.
KernelArguments kernel_of(const MatMul& op, const OpCall& call, const Operands& operands);
KernelArguments kernel_of(const LayerNormalization& op, const OpCall& call, const Operands& operands);
KernelArguments kernel_of(const GroupNormalization& op, const OpCall& call, const Operands& operands);
std::int64_t workspace_values(const Lstm& op, const OpCall& call);
KernelArguments kernel_of(const Lstm& op, const OpCall& call, const Operands& operands);
KernelArguments kernel_of(const Recurrent& op, const OpCall& call, const Operands& operands);
/// Plain GRUs whose reset gate is applied after the matrix product.
bool has_kernel(const Recurrent& op);
/// x seen as the op's result: the same memory in another order.
Tensor rearranged(const Transpose& op, const Tensor& x);
Tensor rearranged(const TensorSlice& op, const Tensor& x);

Strides to_strides(const Shape& strides);
Extents to_extents(const Shape& shape);
/// Strides with which x repeats over `shape` by numpy's rule.
Shape broadcast(const Tensor& x, const Shape& shape);
/// Puts dimensions in the order of y's memory, the closest last, leaves out those of one entry and joins neighbours
/// that follow each other without a gap in every tensor. The first of `all` is y's.
Extents simplify(const std::vector<Strides*>& all, const Shape& shape);
/// Those of tensors with a result's dimensions that its post-ops add, by the same index as `others`, behind these.
std::vector<Strides*> with_post_ops(std::vector<Strides*> others, PostOps& post);

/// How many threads, one, a warp or a block, share a lane of `length` elements.
std::int32_t team_for(std::int64_t length);
/// A tensor of zeros.
KernelArguments zeros(void* to, const Shape& shape, const Shape& strides);

/// Position of values in memory order: entry i says which logical element of a sample lies i-th. Empty where
/// samples of the view (all dimensions from `first` on) do not lie dense in memory.
std::vector<std::int64_t> memory_order(const View& view, std::size_t first);

}  // namespace cohort::cuda::own
