#pragma once

#include <vector>

#include "models/op_dense.hpp"

namespace cohort::onnx {

/// What one more in every element of x [N, C, H, W] adds to its convolution with `weights` [O, C / groups, h, w]: of
/// each output and place the sum of the weights that meet an element, as pads add nothing. [1, O, H', W'], of a result
/// with so many rows and columns; [1, O, 1, 1] without pads, as all places have the same. Of signals [N, C, L] alike.
struct WindowSums {
  Shape shape;
  std::vector<float> values;
};
WindowSums window_sums(const std::vector<float>& weights, const Shape& weights_shape, const Window& window,
                       const Shape& x, const Shape& y);

}  // namespace cohort::onnx
