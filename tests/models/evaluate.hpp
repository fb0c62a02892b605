#pragma once

#include <vector>

#include "models/model.hpp"

namespace cohort {

/// Values of a model's outputs, dense in logical order, computed op by op by the reference kernels.
/// `inputs` in the order of Model::inputs.
Result<std::vector<std::vector<float>>> evaluate(const LoadedModel& loaded,
                                                 const std::vector<std::vector<float>>& inputs);

/// Elements of a tensor as numbers, whichever type it holds.
std::vector<float> decoded_numbers(ElementType element, std::vector<float> elements);

/// Values between -1 and 1 for each of the model's inputs.
std::vector<std::vector<float>> random_inputs(const Model& model, std::uint64_t seed);

/// A convolutional network on a smaller square image, so that plain loops are quick. Flattening
/// reshapes and global pools follow.
Model with_smaller_image(Model model, std::int64_t extent);

/// Largest |a - b| - rtol * |b|; what it must not exceed is the absolute tolerance. Infinite where
/// the sizes differ or a value is not a number.
double excess(const std::vector<float>& a, const std::vector<float>& b, double rtol);

}  // namespace cohort
