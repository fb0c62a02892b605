#pragma once

#include <span>
#include <string_view>

#include "models/onnx/importer.hpp"

/// Ops on positions in tensors, which are whole numbers that are computed like any others.
namespace cohort::onnx {

/// What holds positions.
constexpr auto kWhole = ElementType::kInt32;

/// Errors: kInvalidInput where float32, which weights are given in, does not hold every position in a tensor of that
/// shape exactly.
Result<void> check_positions(const Shape& shape);

/// An op on two tensors of whole numbers.
Result<TensorId> whole(NodeImport& node, std::string_view suffix, BinaryKind kind, TensorId a, TensorId b);

/// Positions from -extent to extent - 1, counted from the front.
Result<TensorId> from_front(NodeImport& node, TensorId indices, std::int64_t extent);

/// 0, `step`, 2 `step`, ... along `axis` of a tensor with `rank` axes whose others have one entry.
Result<TensorId> counting(NodeImport& node, std::int64_t count, std::size_t axis, std::size_t rank, ElementType element,
                          float step = 1);

/// Of `x` the elements at `places` along an axis, whose other positions are their own.
Result<TensorId> elements_at(NodeImport& node, std::string_view suffix, TensorId x, TensorId places, std::size_t axis);

/// Of `indices` [..., n] the positions, [...], of what their last axis picks along n axes that have these extents and
/// strides.
Result<TensorId> linear_positions(NodeImport& node, TensorId indices, std::span<const std::int64_t> extents,
                                  std::span<const std::int64_t> strides);

}  // namespace cohort::onnx
