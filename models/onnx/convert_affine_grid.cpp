#include <span>

#include "models/onnx/converters.hpp"

namespace cohort::onnx {

namespace {

/// Where entry `i` of `count` along an axis of an image lies, from -1 to 1.
float place_in_image(std::int64_t i, std::int64_t count, bool align_corners) {
  if (align_corners && count == 1) return -1;
  const auto entry = static_cast<double>(i), all = static_cast<double>(count);
  return static_cast<float>(align_corners ? 2 * entry / (all - 1) - 1 : (2 * entry + 1) / all - 1);
}

/// The places of all elements of an image of `extents`, as rows of their coordinates, the last axis first, and a 1.
std::vector<float> places_in_image(std::span<const std::int64_t> extents, bool align_corners) {
  std::vector<float> rows;
  const std::int64_t count = element_count(Shape(extents.begin(), extents.end()));
  for (std::int64_t at = 0; at < count; ++at) {
    std::int64_t rest = at;
    for (std::size_t axis = extents.size(); axis-- > 0; rest /= extents[axis])
      rows.push_back(place_in_image(rest % extents[axis], extents[axis], align_corners));
    rows.push_back(1);
  }
  return rows;
}

}  // namespace

/// Each sample's places in an image, moved by an affine map of its own.
Result<void> convert_affine_grid(NodeImport& node) {
  COHORT_TRY(const Shape theta, node.shape(0));
  COHORT_TRY(const auto size, node.integers(1, "size"));
  COHORT_TRY(const std::int64_t align_corners, node.integer("align_corners", 0));
  const auto axes = static_cast<std::int64_t>(size.size()) - 2;
  const bool fits = (axes == 2 || axes == 3) && theta == Shape{size[0], axes, axes + 1};
  if (!fits)
    return fail(
        ErrorCode::kInvalidInput,
        "is supported on theta [N, 2, 3] and size N, C, H, W, or on [N, 3, 4] and N, C, D, H, W, not on {} and {}",
        to_string(theta), to_string(size));
  const Shape image(size.begin() + 2, size.end());
  COHORT_CHECK(check_shape(image));
  Shape places{element_count(image), axes + 1}, grid{size[0]};
  constexpr std::int64_t kMostPlaces = std::int64_t{1} << 24;
  if (places[0] > kMostPlaces)
    return fail(ErrorCode::kInvalidInput, "size {} is supported up to 2^24 places", to_string(size));
  grid.insert(grid.end(), image.begin(), image.end());
  grid.push_back(axes);
  COHORT_TRY(const TensorId x, node.tensor(0));
  COHORT_TRY(const TensorId map, node.emit("map", Transpose{{0, 2, 1}}, {x}));
  COHORT_TRY(const TensorId base, node.made_weight("places", places, places_in_image(image, align_corners != 0)));
  COHORT_TRY(TensorId y, node.emit("", MatMul{}, {base, map}));
  COHORT_TRY(y, node.emit_reshape("grid", y, grid));
  node.set_result(y);
  return {};
}

}  // namespace cohort::onnx
