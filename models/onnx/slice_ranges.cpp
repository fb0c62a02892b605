#include <algorithm>

#include "models/onnx/converters.hpp"

namespace cohort::onnx {

namespace {

Result<AxisSlice> axis_slice(std::int64_t extent_of_axis, std::int64_t start, std::int64_t end, std::int64_t step) {
  if (step == 0 || step == INT64_MIN) return fail(ErrorCode::kInvalidInput, "step {} is not valid", step);
  const bool forward = step > 0;
  // ONNX Runtime and the files that were tried with it: backwards to where no axis ends means to the front.
  if (!forward && (end == INT64_MAX || end == INT32_MAX)) end = INT64_MIN;
  const auto bounded = [&](std::int64_t at, std::int64_t least) {
    if (at < 0) at = at < -extent_of_axis ? -1 : at + extent_of_axis;
    return std::min(std::max(at, least), forward ? extent_of_axis : extent_of_axis - 1);
  };
  const std::int64_t from = bounded(start, 0);
  const std::int64_t to = bounded(end, forward ? 0 : -1);
  const std::int64_t distance = forward ? to - from : from - to;
  const std::int64_t stride = forward ? step : -step;
  return AxisSlice{0, from, step, distance <= 0 ? 0 : (distance - 1) / stride + 1};
}

Result<std::vector<std::int64_t>> slice_list(NodeImport& node, const std::string& attribute, std::size_t input,
                                             std::vector<std::int64_t> otherwise) {
  if (node.opset() < 10) return node.integer_list(attribute, std::move(otherwise));
  if (!node.has_input(input)) return otherwise;
  return node.integers(input, attribute);
}

}  // namespace

Result<std::vector<AxisSlice>> slice_ranges(NodeImport& node, const Shape& shape) {
  COHORT_TRY(const auto starts, slice_list(node, "starts", 1, {}));
  COHORT_TRY(const auto ends, slice_list(node, "ends", 2, {}));
  std::vector<std::int64_t> all_axes;
  for (std::size_t i = 0; i < starts.size(); ++i) all_axes.push_back(static_cast<std::int64_t>(i));
  COHORT_TRY(const auto axes, slice_list(node, "axes", 3, std::move(all_axes)));
  std::vector<std::int64_t> steps(starts.size(), 1);
  if (node.has_input(4)) {
    COHORT_TRY(steps, node.integers(4, "steps"));
  }
  if (ends.size() != starts.size() || axes.size() != starts.size() || steps.size() != starts.size())
    return fail(ErrorCode::kInvalidInput, "starts, ends, axes and steps differ in length");
  std::vector<AxisSlice> ranges;
  for (std::size_t i = 0; i < starts.size(); ++i) {
    COHORT_TRY(const std::size_t axis, normalize_axis(axes[i], shape.size()));
    const bool again =
        std::any_of(ranges.begin(), ranges.end(), [&](const AxisSlice& range) { return range.axis == axis; });
    if (again) return fail(ErrorCode::kInvalidInput, "axis {} stands twice", axes[i]);
    COHORT_TRY(AxisSlice range, axis_slice(shape[axis], starts[i], ends[i], steps[i]));
    range.axis = axis;
    ranges.push_back(range);
  }
  return ranges;
}

}  // namespace cohort::onnx
