#pragma once

#include <string_view>
#include <vector>

#include "models/onnx/importer.hpp"

/// Whole numbers with steps and zero points, as quantised ops have them.
namespace cohort::onnx {

bool is_zero(const std::vector<float>& values);

/// Whether an input is left out, or one number.
bool is_number(const NodeImport& node, std::size_t input);

Result<void> expect_matrices(const Shape& a, const Shape& b);

/// The shape in which one value, or one for each entry of an axis, broadcasts over `shape`.
Result<Shape> along_axis(const Shape& values, std::string_view what, const Shape& shape, std::size_t axis);

/// Input `input`, a scale or zero points, so that it broadcasts over `shape`.
Result<TensorId> parameter_over(NodeImport& node, std::size_t input, std::string_view what, const Shape& shape,
                                std::size_t axis);

/// Constant whole numbers less their zero points: one, or one for each entry of `axis`.
std::vector<float> distances(const Constant& levels, const std::vector<float>& zero_points, std::size_t axis);

/// Numbers of shape `shape` times their steps: one, or one for each entry of `axis`.
std::vector<float> times_steps(std::vector<float> values, const Shape& shape, const std::vector<float>& steps,
                               std::size_t axis);

/// Numbers times their steps, as a weight of the shape of input `input`, a constant.
Result<TensorId> scaled_constant(NodeImport& node, std::size_t input, std::vector<float> values,
                                 const std::vector<float>& steps, std::size_t axis);

/// Input `input` less its zero points, input `zero_point`: one, or one for each entry of `axis`.
Result<TensorId> centred(NodeImport& node, std::size_t input, std::size_t zero_point, std::size_t axis);

}  // namespace cohort::onnx
