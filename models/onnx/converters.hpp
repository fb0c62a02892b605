#pragma once

#include "models/onnx/importer.hpp"

// One function per type of ONNX op, listed in op_table.cpp. Semantics: the ONNX operator
// specification, github.com/onnx/onnx/blob/main/docs/Operators.md and Changelog.md for older opsets.

namespace cohort::onnx {

// convert_window.cpp
Result<void> convert_conv(NodeImport& node);
Result<void> convert_max_pool(NodeImport& node);
Result<void> convert_average_pool(NodeImport& node);
Result<void> convert_global_max_pool(NodeImport& node);
Result<void> convert_global_average_pool(NodeImport& node);

// convert_matrix.cpp
Result<void> convert_gemm(NodeImport& node);
Result<void> convert_matmul(NodeImport& node);
Result<void> convert_lstm(NodeImport& node);

// convert_elementwise.cpp
Result<void> convert_relu(NodeImport& node);
Result<void> convert_leaky_relu(NodeImport& node);
Result<void> convert_elu(NodeImport& node);
Result<void> convert_sigmoid(NodeImport& node);
Result<void> convert_tanh(NodeImport& node);
Result<void> convert_clip(NodeImport& node);
Result<void> convert_add(NodeImport& node);
Result<void> convert_sub(NodeImport& node);
Result<void> convert_mul(NodeImport& node);
Result<void> convert_div(NodeImport& node);
Result<void> convert_sum(NodeImport& node);

// convert_normalization.cpp
Result<void> convert_batch_normalization(NodeImport& node);
Result<void> convert_lrn(NodeImport& node);
Result<void> convert_softmax(NodeImport& node);

// convert_shape.cpp
Result<void> convert_shape(NodeImport& node);
Result<void> convert_size(NodeImport& node);
Result<void> convert_identity(NodeImport& node);
Result<void> convert_dropout(NodeImport& node);
Result<void> convert_reshape(NodeImport& node);
Result<void> convert_flatten(NodeImport& node);
Result<void> convert_squeeze(NodeImport& node);
Result<void> convert_unsqueeze(NodeImport& node);
Result<void> convert_transpose(NodeImport& node);
Result<void> convert_concat(NodeImport& node);

// fold.cpp
Result<Constant> fold_constant(NodeImport& node);
Result<Constant> fold_constant_of_shape(NodeImport& node);
Result<Constant> fold_cast(NodeImport& node);
Result<Constant> fold_gather(NodeImport& node);
Result<Constant> fold_slice(NodeImport& node);
Result<Constant> fold_concat(NodeImport& node);
Result<Constant> fold_transpose(NodeImport& node);
Result<Constant> fold_add(NodeImport& node);
Result<Constant> fold_sub(NodeImport& node);
Result<Constant> fold_mul(NodeImport& node);
Result<Constant> fold_div(NodeImport& node);

// Shared.
/// The permutation of a Transpose node, checked. Default: reversed axes.
Result<std::vector<std::size_t>> permutation_of(NodeImport& node, std::size_t rank);
/// Shape in which the second operand of an elementwise node broadcasts as numpy does: opset 6 aligns
/// it with `axis` instead of the last dimension.
Result<Shape> aligned_operand(NodeImport& node, const Shape& a, const Shape& b);
/// The node's first output is its first input in another shape.
Result<void> reshape_to(NodeImport& node, const Shape& shape);
/// Values [rows, columns] as [columns, rows].
std::vector<float> transposed(const std::vector<float>& values, std::size_t rows, std::size_t columns);

}  // namespace cohort::onnx
