#include "simulator/plan/image_preparation.hpp"

namespace cohort {
namespace {

// Beyond these nothing is left of an image in float32.
constexpr double kLargest = 1e6;
constexpr double kLeastStd = 1e-6;

Result<void> check_range(std::string_view prefix, std::string_view field, const std::array<double, 3>& values,
                         double least) {
  for (std::size_t i = 0; i < values.size(); ++i) {
    if (values[i] >= least && values[i] <= kLargest) continue;
    return fail(ErrorCode::kInvalidInput, "{}{}[{}] must be from {} to {}, not {}", prefix, field, i, least, kLargest,
                values[i]);
  }
  return {};
}

}  // namespace

std::string_view unusual_field(const ImagePreparation& images) {
  const ImagePreparation usual;
  if (images.resize != usual.resize) return "resize";
  if (images.random_crop != usual.random_crop) return "random_crop";
  if (images.random_flip != usual.random_flip) return "random_flip";
  if (images.mean != usual.mean) return "mean";
  if (images.std != usual.std) return "std";
  return {};
}

Result<void> validate(const ImagePreparation& images, std::string_view prefix) {
  if (images.resize && (*images.resize < 1 || *images.resize > kMostResize))
    return fail(ErrorCode::kInvalidInput, "{}resize must be from 1 to {} pixels, not {}", prefix, kMostResize,
                *images.resize);
  COHORT_CHECK(check_range(prefix, "mean", images.mean, -kLargest));
  return check_range(prefix, "std", images.std, kLeastStd);
}

}  // namespace cohort
