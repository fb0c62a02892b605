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

/// The entry, counted from the first, that an index means, which counts from the end where it is negative.
/// Errors: kInvalidInput where it is outside.
Result<std::int64_t> from_front(std::int64_t index, std::int64_t extent);

/// Errors: kInvalidInput where the indices of input `input` are known when the file is read, and one of them is outside
/// of the extent that stands in its place, over and over, in `extents`.
Result<void> check_indices(const NodeImport& node, std::size_t input, std::span<const std::int64_t> extents);

/// An op on two tensors of whole numbers.
Result<TensorId> whole(NodeImport& node, std::string_view suffix, BinaryKind kind, TensorId a, TensorId b);

/// The numbers by which the entries of `x`, which is input 0, are put in order, as float32. Of whole ones that are
/// computed it is their product with 128, which stops the step where it does not fit 32 bits: float32 holds every other
/// exactly.
Result<TensorId> order_of(NodeImport& node, TensorId x);

/// `places` times a stride.
Result<TensorId> scaled(NodeImport& node, TensorId places, std::int64_t stride);

/// Elements from the first of `extent` entries, `stride` apart, to those at `indices`, which count from the end where
/// they are negative. An index that is none of theirs stops the step.
Result<TensorId> offsets_of(NodeImport& node, TensorId indices, std::int64_t extent, std::int64_t stride = 1);

/// 0, `step`, 2 `step`, ... along `axis` of a tensor with `rank` axes whose others have one entry.
Result<TensorId> counting(NodeImport& node, std::int64_t count, std::size_t axis, std::size_t rank, ElementType element,
                          float step = 1);

/// `offsets` of elements from the first along `axis` of a tensor with these strides, whose other positions are their
/// own.
Result<TensorId> moved_across(NodeImport& node, TensorId offsets, const Shape& strides, std::size_t axis);

/// Of `x` the elements that are `offsets` from the first along an axis, whose other positions are their own.
Result<TensorId> elements_at(NodeImport& node, std::string_view suffix, TensorId x, TensorId offsets, std::size_t axis);

/// Of `indices` [..., n] the positions, [...], of what their last axis picks along n axes that have these extents and
/// strides, as offsets_of() has them.
Result<TensorId> linear_positions(NodeImport& node, TensorId indices, std::span<const std::int64_t> extents,
                                  std::span<const std::int64_t> strides);

}  // namespace cohort::onnx
