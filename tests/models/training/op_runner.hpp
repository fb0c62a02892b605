#pragma once

#include <cstdint>
#include <functional>
#include <vector>

#include "models/op.hpp"

namespace cohort {

/// A dense tensor, row-major; whole numbers by their bits.
struct Array {
  Shape shape;
  std::vector<float> values;
};

/// Values from -1 to 1, or from `low` to `high`.
Array random_array(Shape shape, std::uint64_t seed, float low = -1, float high = 1);
Array whole_array(Shape shape, const std::vector<std::int32_t>& values);
/// Distinct values, at least 0.1 apart, in random order.
Array spread_array(Shape shape, std::uint64_t seed);

/// The result of an op by plain loops. What is wrong with the shapes throws.
Array run_op(const OpAttributes& op, const std::vector<Array>& inputs);

/// Elements `first` to `first + count` of a pack's row.
Array part_of(const Array& pack, std::int64_t first, Shape shape);
/// Entry `index` of the leading axis.
Array entry_of(const Array& stacked, std::int64_t index);
/// Arrays of one shape, in a new leading axis.
Array stacked(const std::vector<Array>& entries);
/// Arrays along `axis`.
Array joined(const std::vector<Array>& parts, std::int64_t axis);

using Function = std::function<Array(const std::vector<Array>&)>;
Function function_of(const OpAttributes& op);
/// Central differences, of fourth order, of the sum of dy times the result, by each element of input `input`.
Array measured_gradient(const Function& function, const std::vector<Array>& inputs, std::size_t input, const Array& dy);

/// |a - b| / |b|, both as vectors; |a| where b is zero.
double relative_distance(const Array& a, const Array& b);
/// What gradients must stay below.
inline constexpr double kTolerance = 1e-3;

}  // namespace cohort
