#pragma once

#include <optional>

#include "executor/onednn/implementation.hpp"

/// Samples of any shape as rows of a matrix.
namespace cohort::onednn {

/// Where a row's elements lie in memory one after another.
struct Rows {
  Shape order;          ///< extents of the sample's dimensions, outermost in memory first
  Shape from;           ///< their strides in logical order
  bool logical = true;  ///< memory order is logical order
};

/// The rows of a view whose samples have the dimensions from `first` on; empty where there are gaps.
std::optional<Rows> rows_of(const View& view, std::size_t first);

/// Argument `argument`, input `operand`, brought into logical order in the workspace, for primitives that see it in
/// another shape.
Binding bind_reordered(int argument, std::size_t operand, const View& view);

/// Elements of each list in turn.
Implementations in_turn(const Implementations& a, const Implementations& b);

}  // namespace cohort::onednn
