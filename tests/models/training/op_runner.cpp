#include "tests/models/training/op_runner.hpp"

#include <algorithm>
#include <cmath>
#include <limits>
#include <stdexcept>

#include "base/random.hpp"
#include "models/compute/ops.hpp"

namespace cohort {
namespace {

std::size_t size_of(const Shape& shape) { return static_cast<std::size_t>(element_count(shape)); }

reference::ConstTensor view_of(const Array& array) {
  return {array.values.data(), array.shape, reference::row_major_strides(array.shape)};
}

double weighted_sum(const Array& y, const Array& dy) {
  double sum = 0;
  for (std::size_t i = 0; i < y.values.size(); ++i)
    sum += static_cast<double>(y.values[i]) * static_cast<double>(dy.values.at(i));
  return sum;
}

}  // namespace

Array random_array(Shape shape, std::uint64_t seed, float low, float high) {
  Random random(seed);
  Array array{std::move(shape), {}};
  array.values.resize(size_of(array.shape));
  for (float& value : array.values) value = random.uniform(low, high);
  return array;
}

Array whole_array(Shape shape, const std::vector<std::int32_t>& values) {
  Array array{std::move(shape), {}};
  for (const std::int32_t value : values) array.values.push_back(reference::stored(value));
  if (array.values.size() != size_of(array.shape)) throw std::logic_error("values do not fill the shape");
  return array;
}

Array spread_array(Shape shape, std::uint64_t seed) {
  Array array{std::move(shape), {}};
  const std::size_t count = size_of(array.shape);
  for (std::size_t i = 0; i < count; ++i)
    array.values.push_back(0.1F * (static_cast<float>(i) - static_cast<float>(count) / 2));
  Random(seed).shuffle(array.values);
  return array;
}

Array run_op(const OpAttributes& op, const std::vector<Array>& inputs) {
  std::vector<Shape> shapes;
  std::vector<reference::ConstTensor> views;
  for (const Array& input : inputs) {
    shapes.push_back(input.shape);
    views.push_back(view_of(input));
  }
  const Result<Shape> shape = infer_shape(op, shapes);
  if (!shape) throw std::logic_error(shape.error().message);
  // What an op leaves alone is seen.
  Array y{*shape, std::vector<float>(size_of(*shape), 1e9F)};
  const reference::Tensor result{y.values.data(), y.shape, reference::row_major_strides(y.shape)};
  std::visit([&](const auto& known) { reference::compute(known, views, result); }, op);
  return y;
}

Array part_of(const Array& pack, std::int64_t first, Shape shape) {
  Array part{std::move(shape), {}};
  const auto begin = pack.values.begin() + static_cast<std::ptrdiff_t>(first);
  part.values.assign(begin, begin + static_cast<std::ptrdiff_t>(element_count(part.shape)));
  return part;
}

Array entry_of(const Array& stacked, std::int64_t index) {
  Shape shape(stacked.shape.begin() + 1, stacked.shape.end());
  const std::int64_t first = index * element_count(shape);
  return part_of(stacked, first, std::move(shape));
}

Array stacked(const std::vector<Array>& entries) {
  Array all{entries.at(0).shape, {}};
  all.shape.insert(all.shape.begin(), static_cast<std::int64_t>(entries.size()));
  for (const Array& entry : entries) all.values.insert(all.values.end(), entry.values.begin(), entry.values.end());
  return all;
}

Array joined(const std::vector<Array>& parts, std::int64_t axis) { return run_op(Concat{axis}, parts); }

Function function_of(const OpAttributes& op) {
  return [op](const std::vector<Array>& inputs) { return run_op(op, inputs); };
}

Array measured_gradient(const Function& function, const std::vector<Array>& inputs, std::size_t input,
                        const Array& dy) {
  std::vector<Array> moved = inputs;
  Array gradient{inputs.at(input).shape, {}};
  for (std::size_t i = 0; i < inputs[input].values.size(); ++i) {
    const float x = inputs[input].values[i];
    const float h = 1e-2F * std::max(1.0F, std::abs(x));
    const auto slope = [&](float step) {
      const float above = x + step;
      const float below = x - step;
      moved[input].values[i] = above;
      const double more = weighted_sum(function(moved), dy);
      moved[input].values[i] = below;
      const double less = weighted_sum(function(moved), dy);
      moved[input].values[i] = x;
      return (more - less) / (static_cast<double>(above) - static_cast<double>(below));
    };
    gradient.values.push_back(static_cast<float>((4 * slope(h) - slope(2 * h)) / 3));
  }
  return gradient;
}

double relative_distance(const Array& a, const Array& b) {
  if (a.values.size() != b.values.size()) return std::numeric_limits<double>::infinity();
  double distance = 0;
  double norm = 0;
  for (std::size_t i = 0; i < a.values.size(); ++i) {
    const auto expected = static_cast<double>(b.values[i]);
    const double difference = static_cast<double>(a.values[i]) - expected;
    distance += difference * difference;
    norm += expected * expected;
  }
  return std::sqrt(norm > 0 ? distance / norm : distance);
}

}  // namespace cohort
