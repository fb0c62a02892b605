#pragma once

#include <algorithm>
#include <iterator>
#include <utility>

#include "models/onnx/importer.hpp"

// One function per type of ONNX op, or per family of them, listed in op_table.cpp. Semantics: the ONNX
// operator specification, github.com/onnx/onnx/blob/main/docs/Operators.md and Changelog.md for older
// opsets.

namespace cohort::onnx {

/// An op on two tensors of one element type, named as the node with `suffix`.
inline Result<TensorId> binary(NodeImport& node, std::string_view suffix, BinaryKind kind, TensorId a, TensorId b,
                               ElementType element = ElementType::kFloat32) {
  return node.emit(suffix, Binary{kind, element}, {a, b});
}

/// What an attribute that is one of several words chooses.
template <class Enum, std::size_t kCount>
Result<Enum> choice(NodeImport& node, const std::string& attribute, const std::string& otherwise,
                    const std::pair<std::string_view, Enum> (&choices)[kCount]) {
  COHORT_TRY(const std::string text, node.text(attribute, otherwise));
  const auto* const found =
      std::find_if(std::begin(choices), std::end(choices), [&](const auto& each) { return each.first == text; });
  if (found != std::end(choices)) return found->second;
  return fail(ErrorCode::kInvalidInput, "attribute {} is {}, which is not supported", attribute, text);
}

// convert_window.cpp
Result<void> convert_conv(NodeImport& node);
Result<void> convert_col2im(NodeImport& node);
Result<void> convert_conv_transpose(NodeImport& node);
Result<void> convert_max_pool(NodeImport& node);
Result<void> convert_average_pool(NodeImport& node);
Result<void> convert_global_max_pool(NodeImport& node);
Result<void> convert_global_average_pool(NodeImport& node);

// convert_lp_pool.cpp
Result<void> convert_lp_pool(NodeImport& node);
Result<void> convert_global_lp_pool(NodeImport& node);

// convert_matrix.cpp
Result<void> convert_gemm(NodeImport& node);
Result<void> convert_matmul(NodeImport& node);
Result<void> convert_block_matmul(NodeImport& node);  // of ONNX Runtime, in runtime_block_weights.cpp
/// `values` for input `input`, a constant matrix [I, O], as the weights [O, I] of a product of rows.
Result<TensorId> matrix_of_rows(NodeImport& node, std::size_t input, const std::vector<float>& values);
/// The last axis of x [..., I] times `weights`: w [O, I] and, optional, a bias [O]; all rows at once. [..., O].
Result<TensorId> product_of_rows(NodeImport& node, const std::string& suffix, TensorId x,
                                 std::vector<TensorId> weights);

// convert_einsum.cpp
Result<void> convert_einsum(NodeImport& node);

// convert_random.cpp
Result<void> convert_random(NodeImport& node);
Result<void> convert_random_like(NodeImport& node);

// convert_spectral.cpp
Result<void> convert_dft(NodeImport& node);
Result<void> convert_stft(NodeImport& node);
Result<Constant> fold_window(NodeImport& node);

// convert_integer_products.cpp
Result<void> convert_conv_integer(NodeImport& node);
Result<void> convert_matmul_integer(NodeImport& node);

// convert_quantized.cpp
Result<void> convert_quantize(NodeImport& node);
Result<void> convert_dynamic_quantize(NodeImport& node);
Result<void> convert_dequantize(NodeImport& node);
Result<void> convert_qlinear_conv(NodeImport& node);
Result<void> convert_qlinear_matmul(NodeImport& node);

// convert_recurrent.cpp
Result<void> convert_recurrent(NodeImport& node);

// convert_activation.cpp
Result<void> convert_unary(NodeImport& node);
Result<void> convert_gelu(NodeImport& node);
Result<void> convert_shrink(NodeImport& node);
Result<void> convert_tan(NodeImport& node);
Result<void> convert_is_nan(NodeImport& node);
Result<void> convert_is_inf(NodeImport& node);
Result<void> convert_clip(NodeImport& node);

// convert_attention.cpp
Result<void> convert_attention(NodeImport& node);
Result<void> convert_rotary_embedding(NodeImport& node);

// convert_indexed.cpp
Result<void> convert_gather_elements(NodeImport& node);
Result<void> convert_gather_nd(NodeImport& node);
Result<void> convert_compress(NodeImport& node);
Result<void> convert_one_hot(NodeImport& node);
Result<void> convert_hardmax(NodeImport& node);
Result<void> convert_trilu(NodeImport& node);
Result<void> convert_eye_like(NodeImport& node);
Result<void> convert_top_k(NodeImport& node);

// convert_scatter.cpp
Result<void> convert_scatter_elements(NodeImport& node);
Result<void> convert_scatter_nd(NodeImport& node);
Result<void> convert_max_unpool(NodeImport& node);
Result<void> convert_tensor_scatter(NodeImport& node);

// convert_elementwise.cpp
Result<void> convert_binary(NodeImport& node);
Result<void> convert_variadic(NodeImport& node);
Result<void> convert_prelu(NodeImport& node);
Result<void> convert_pow(NodeImport& node);
Result<void> convert_mod(NodeImport& node);
Result<void> convert_not(NodeImport& node);
Result<void> convert_where(NodeImport& node);

// convert_bitwise.cpp
Result<void> convert_bitwise(NodeImport& node);
Result<void> convert_bitwise_not(NodeImport& node);
Result<void> convert_bit_shift(NodeImport& node);

// convert_cast.cpp
Result<void> convert_cast(NodeImport& node);

// convert_normalization.cpp
Result<void> convert_batch_normalization(NodeImport& node);
Result<void> convert_instance_normalization(NodeImport& node);
Result<void> convert_group_normalization(NodeImport& node);
Result<void> convert_layer_normalization(NodeImport& node);
Result<void> convert_rms_normalization(NodeImport& node);
Result<void> convert_lp_normalization(NodeImport& node);
Result<void> convert_mean_variance_normalization(NodeImport& node);
Result<void> convert_lrn(NodeImport& node);
Result<void> convert_softmax(NodeImport& node);

// convert_loss.cpp
Result<void> convert_cross_entropy_loss(NodeImport& node);
Result<void> convert_likelihood_loss(NodeImport& node);

// convert_reduce.cpp
Result<void> convert_cumulative(NodeImport& node);
Result<void> convert_reduce(NodeImport& node);
Result<void> convert_arg_max(NodeImport& node);

// convert_affine_grid.cpp
Result<void> convert_affine_grid(NodeImport& node);

// convert_grid_sample.cpp
Result<void> convert_grid_sample(NodeImport& node);

// convert_resize.cpp
Result<void> convert_resize(NodeImport& node);

// convert_layout.cpp
Result<void> convert_transpose(NodeImport& node);
Result<void> convert_concat(NodeImport& node);
Result<void> convert_slice(NodeImport& node);
Result<void> convert_split(NodeImport& node);
Result<void> convert_gather(NodeImport& node);
Result<void> convert_expand(NodeImport& node);
Result<void> convert_tile(NodeImport& node);
Result<void> convert_pad(NodeImport& node);
Result<void> convert_center_crop_pad(NodeImport& node);
Result<void> convert_reverse_sequence(NodeImport& node);
Result<void> convert_depth_to_space(NodeImport& node);
Result<void> convert_space_to_depth(NodeImport& node);

// convert_shape.cpp
Result<void> convert_shape(NodeImport& node);
Result<void> convert_size(NodeImport& node);
Result<void> convert_identity(NodeImport& node);
Result<void> convert_dropout(NodeImport& node);
Result<void> convert_reshape(NodeImport& node);
Result<void> convert_flatten(NodeImport& node);
Result<void> convert_squeeze(NodeImport& node);
Result<void> convert_unsqueeze(NodeImport& node);

// fold.cpp: exact on whole numbers of 64 bits, as shapes are
Result<Constant> fold_constant(NodeImport& node);
Result<Constant> fold_constant_of_shape(NodeImport& node);
Result<Constant> fold_gather(NodeImport& node);
Result<Constant> fold_slice(NodeImport& node);
Result<Constant> fold_concat(NodeImport& node);
Result<Constant> fold_transpose(NodeImport& node);
Result<Constant> fold_range(NodeImport& node);
Result<Constant> fold_add(NodeImport& node);
Result<Constant> fold_sub(NodeImport& node);
Result<Constant> fold_mul(NodeImport& node);
Result<Constant> fold_div(NodeImport& node);
Result<Constant> fold_bitwise_and(NodeImport& node);
Result<Constant> fold_bitwise_or(NodeImport& node);
Result<Constant> fold_bitwise_xor(NodeImport& node);

// fold_cast.cpp
Result<Constant> fold_cast(NodeImport& node);
Result<Constant> fold_dequantize(NodeImport& node);

// Shared.
/// One axis of a Slice: where it begins, its step, and how many entries it keeps, maybe none.
struct AxisSlice {
  std::size_t axis = 0;
  std::int64_t start = 0, step = 1, count = 0;
};
/// What a Slice node asks for of a tensor of `shape`.
Result<std::vector<AxisSlice>> slice_ranges(NodeImport& node, const Shape& shape);
/// The window attributes that convolution and pooling share. `kernel` is the default, empty for none.
Result<Window> window_of(NodeImport& node, const Shape& x, std::vector<std::int64_t> kernel);
/// What a node that convolves `x` with its input `w` asks for.
Result<Convolution> convolution_of(NodeImport& node, const Shape& x, std::size_t w = 1);
/// The permutation of a Transpose node, checked. Default: reversed axes.
Result<std::vector<std::size_t>> permutation_of(NodeImport& node, std::size_t rank);
/// Shape in which the second operand of an elementwise node broadcasts as numpy does: opset 6 aligns
/// it with `axis` instead of the last dimension.
Result<Shape> aligned_operand(NodeImport& node, const Shape& a, const Shape& b);
/// What a reduction over no elements gives.
float of_nothing(ReduceKind kind);
/// |x| of whole numbers.
Result<TensorId> whole_size(NodeImport& node, std::string_view suffix, TensorId x);
/// Input `i` as a float32 tensor, also of whole numbers.
Result<TensorId> as_float(NodeImport& node, std::size_t i);
/// The node's first output is its first input in another shape.
Result<void> reshape_to(NodeImport& node, const Shape& shape);
/// Values [rows, columns] as [columns, rows].
std::vector<float> transposed(const std::vector<float>& values, std::size_t rows, std::size_t columns);

}  // namespace cohort::onnx
