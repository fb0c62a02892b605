#include <algorithm>
#include <cmath>
#include <iterator>
#include <numeric>

#include "models/onnx/converters.hpp"
#include "models/onnx/resized_extent.hpp"

namespace cohort::onnx {

namespace {

constexpr std::pair<std::string_view, ResizeMode> kModes[] = {{"nearest", ResizeMode::kNearest},
                                                              {"linear", ResizeMode::kLinear},
                                                              {"bilinear", ResizeMode::kLinear},
                                                              {"cubic", ResizeMode::kCubic}};
constexpr std::pair<std::string_view, ResizePositions> kPositions[] = {
    {"half_pixel", ResizePositions::kHalfPixel},
    {"half_pixel_symmetric", ResizePositions::kHalfPixelSymmetric},
    {"pytorch_half_pixel", ResizePositions::kPytorchHalfPixel},
    {"tf_half_pixel_for_nn", ResizePositions::kHalfPixelNearest},
    {"align_corners", ResizePositions::kAlignCorners},
    {"asymmetric", ResizePositions::kAsymmetric},
    {"tf_crop_and_resize", ResizePositions::kCrop}};
constexpr std::pair<std::string_view, ResizeRounding> kRoundings[] = {
    {"round_prefer_floor", ResizeRounding::kPreferFloor},
    {"round_prefer_ceil", ResizeRounding::kPreferCeil},
    {"floor", ResizeRounding::kFloor},
    {"ceil", ResizeRounding::kCeil}};

/// Values for the axes that a node names, the others as they are.
template <class Number, class Given>
Result<std::vector<Number>> for_axes(std::vector<Number> all, const std::vector<Given>& given,
                                     const std::vector<std::size_t>& axes, std::string_view what) {
  if (given.size() != axes.size())
    return fail(ErrorCode::kInvalidInput, "{} must have {} entries, not {}", what, axes.size(), given.size());
  for (std::size_t i = 0; i < axes.size(); ++i) all[axes[i]] = static_cast<Number>(given[i]);
  return all;
}

Result<std::vector<std::size_t>> resized_axes(NodeImport& node, std::size_t rank) {
  std::vector<std::int64_t> all(rank);
  std::iota(all.begin(), all.end(), 0);
  COHORT_TRY(const auto given, node.integer_list("axes", std::move(all)));
  std::vector<std::size_t> axes;
  for (const std::int64_t axis : given) {
    COHORT_TRY(const std::size_t from_front, normalize_axis(axis, rank));
    axes.push_back(from_front);
  }
  return axes;
}

Result<void> set_sizes(NodeImport& node, const Shape& x, const std::vector<std::size_t>& axes,
                       const std::vector<std::int64_t>& sizes, Resize& resize) {
  COHORT_TRY(resize.shape, for_axes<std::int64_t>(x, sizes, axes, "sizes"));
  for (std::size_t d = 0; d < x.size(); ++d)
    resize.scale[d] = static_cast<double>(resize.shape[d]) / static_cast<double>(x[d]);
  COHORT_TRY(const std::string policy, node.text("keep_aspect_ratio_policy", "stretch"));
  if (policy == "stretch" || axes.empty()) return {};
  if (policy != "not_larger" && policy != "not_smaller")
    return fail(ErrorCode::kInvalidInput, "attribute keep_aspect_ratio_policy is {}, which is not supported", policy);
  const auto scale_of = [&](std::size_t axis) {
    return static_cast<float>(resize.shape[axis]) / static_cast<float>(x[axis]);
  };
  float scale = scale_of(axes[0]);
  for (const std::size_t axis : axes)
    scale = policy == "not_larger" ? std::min(scale, scale_of(axis)) : std::max(scale, scale_of(axis));
  for (const std::size_t axis : axes) {
    resize.scale[axis] = static_cast<double>(scale);
    resize.shape[axis] = static_cast<std::int64_t>(std::round(scale * static_cast<float>(x[axis])));
  }
  return {};
}

Result<void> set_scales(const Shape& x, const std::vector<std::size_t>& axes, const std::vector<float>& scales,
                        Resize& resize) {
  COHORT_TRY(resize.scale, for_axes<double>(resize.scale, scales, axes, "scales"));
  constexpr double kMost = 1 << 30;
  for (std::size_t d = 0; d < x.size(); ++d) {
    if (!(resize.scale[d] > 0 && resize.scale[d] < kMost))
      return fail(ErrorCode::kInvalidInput, "scale must be above 0, not {}", resize.scale[d]);
    resize.shape[d] = resized_extent(x[d], static_cast<float>(resize.scale[d]));
  }
  return {};
}

Result<void> set_crop(NodeImport& node, std::size_t rank, const std::vector<std::size_t>& axes, Resize& resize) {
  COHORT_TRY(const Constant* const roi, node.floats(1, "roi"));
  const std::vector<float>& values = *roi->floats();
  const std::vector<float> begin(values.begin(), values.begin() + static_cast<std::ptrdiff_t>(values.size() / 2));
  const std::vector<float> end(values.begin() + static_cast<std::ptrdiff_t>(values.size() / 2), values.end());
  COHORT_TRY(resize.crop_begin, for_axes<float>(std::vector<float>(rank, 0), begin, axes, "half of roi"));
  COHORT_TRY(resize.crop_end, for_axes<float>(std::vector<float>(rank, 1), end, axes, "half of roi"));
  COHORT_TRY(resize.outside, node.number("extrapolation_value", 0));
  return {};
}

Result<void> emit_resize(NodeImport& node, Resize resize) {
  COHORT_TRY(const TensorId x, node.tensor(0));
  COHORT_TRY(const TensorId y, node.emit("", std::move(resize), {x}));
  node.set_result(y);
  return {};
}

/// The nearest element is that above where an axis shrinks, else that below. What ONNX says leaves it open; this is
/// what its test case and ONNX Runtime do. One axis does not change the other: those that shrink go first.
Result<TensorId> emit_old(NodeImport& node, TensorId x, Resize resize) {
  if (resize.mode != ResizeMode::kNearest) return node.emit("", std::move(resize), {x});
  const Shape from = node.shape_of(x);
  Resize shrunk = resize;
  shrunk.rounding = ResizeRounding::kCeil;
  bool shrinks = false, grows = false;
  for (std::size_t d = 0; d < from.size(); ++d) {
    if (resize.scale[d] < 1) {
      shrinks = true;
      resize.scale[d] = 1;
    } else {
      grows = grows || resize.scale[d] > 1;
      shrunk.scale[d] = 1;
      shrunk.shape[d] = from[d];
    }
  }
  if (!shrinks) return node.emit("", std::move(resize), {x});
  if (!grows) return node.emit("", std::move(shrunk), {x});
  COHORT_TRY(const TensorId y, node.emit("shrunk", std::move(shrunk), {x}));
  return node.emit("", std::move(resize), {y});
}

/// Upsample, and Resize as it was in opset 10: scales only, positions x / scale.
Result<void> convert_old(NodeImport& node) {
  COHORT_TRY(const Shape x, node.shape(0));
  Resize resize;
  resize.shape = x;
  resize.scale = std::vector<double>(x.size(), 1);
  resize.positions = ResizePositions::kAsymmetric;
  resize.rounding = ResizeRounding::kFloor;
  COHORT_TRY(resize.mode, choice(node, "mode", "nearest", kModes));
  std::vector<std::size_t> axes(x.size());
  std::iota(axes.begin(), axes.end(), std::size_t{0});
  std::vector<float> scales;
  if (node.input_count() > 1) {
    COHORT_TRY(const Constant* const given, node.floats(1, "scales"));
    scales = *given->floats();
  } else {
    COHORT_TRY(scales, node.number_list("scales"));
  }
  COHORT_CHECK(set_scales(x, axes, scales, resize));
  COHORT_TRY(const TensorId from, node.tensor(0));
  COHORT_TRY(const TensorId y, emit_old(node, from, resize));
  node.set_result(y);
  return {};
}

}  // namespace

Result<void> convert_resize(NodeImport& node) {
  if (node.op_type() == "Upsample" || node.opset() < 11) return convert_old(node);
  COHORT_TRY(const Shape x, node.shape(0));
  if (element_count(x) == 0) return fail(ErrorCode::kInvalidInput, "cannot be made of {}", to_string(x));
  Resize resize;
  resize.shape = x;
  resize.scale = std::vector<double>(x.size(), 1);
  COHORT_TRY(resize.mode, choice(node, "mode", "nearest", kModes));
  COHORT_TRY(resize.positions, choice(node, "coordinate_transformation_mode", "half_pixel", kPositions));
  COHORT_TRY(resize.rounding, choice(node, "nearest_mode", "round_prefer_floor", kRoundings));
  COHORT_TRY(resize.cubic_coefficient, node.number("cubic_coeff_a", -0.75F));
  COHORT_TRY(const std::int64_t exclude_outside, node.integer("exclude_outside", 0));
  COHORT_TRY(const std::int64_t antialias, node.integer("antialias", 0));
  resize.exclude_outside = exclude_outside != 0;
  resize.antialias = antialias != 0;
  node.ignore("extrapolation_value");  // of positions outside, which only cropping has
  COHORT_TRY(const auto axes, resized_axes(node, x.size()));
  if (resize.positions == ResizePositions::kCrop) COHORT_CHECK(set_crop(node, x.size(), axes, resize));
  if (node.has_input(3)) {
    COHORT_TRY(const auto sizes, node.integers(3, "sizes"));
    COHORT_CHECK(set_sizes(node, x, axes, sizes, resize));
  } else {
    node.ignore("keep_aspect_ratio_policy");
    COHORT_TRY(const Constant* const scales, node.floats(2, "scales"));
    COHORT_CHECK(set_scales(x, axes, *scales->floats(), resize));
  }
  return emit_resize(node, std::move(resize));
}

}  // namespace cohort::onnx
