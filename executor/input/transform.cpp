#include "executor/input/transform.hpp"

#include <algorithm>
#include <cassert>
#include <cmath>

namespace cohort {

Result<void> validate(const ImageTarget& target) {
  constexpr int kMostExtent = 16384;
  if (target.channels != 1 && target.channels != 3)
    return fail(ErrorCode::kInvalidInput, "images have 1 or 3 channels; the input wants {}", target.channels);
  if (target.height < 1 || target.width < 1 || target.height > kMostExtent || target.width > kMostExtent)
    return fail(ErrorCode::kInvalidInput, "the input wants images of {} x {} (height x width); each must be 1 to {}",
                target.height, target.width, kMostExtent);
  const int least = std::max(target.height, target.width);
  if (target.resize && (*target.resize < least || *target.resize > kMostExtent))
    return fail(ErrorCode::kInvalidInput, "resize is {}; must be {} to {} for images of {} x {} (height x width)",
                *target.resize, least, kMostExtent, target.height, target.width);
  for (const float stddev : target.stddev)
    if (!(stddev > 0.0F)) return fail(ErrorCode::kInvalidInput, "stddev is {}; must be above 0", stddev);
  return {};
}

Crop covering_size(int width, int height, const ImageTarget& target) {
  const double scale =
      target.resize ? static_cast<double>(*target.resize) / std::min(width, height)
                    : std::max(static_cast<double>(target.width) / width, static_cast<double>(target.height) / height);
  Crop crop;
  crop.resized_width = std::max(target.width, static_cast<int>(std::lround(width * scale)));
  crop.resized_height = std::max(target.height, static_cast<int>(std::lround(height * scale)));
  crop.x = (crop.resized_width - target.width) / 2;
  crop.y = (crop.resized_height - target.height) / 2;
  return crop;
}

Crop choose_crop(int width, int height, const ImageTarget& target, Random& random) {
  Crop crop = covering_size(width, height, target);
  const std::uint64_t x = random.below(static_cast<std::uint64_t>(crop.resized_width - target.width) + 1);
  const std::uint64_t y = random.below(static_cast<std::uint64_t>(crop.resized_height - target.height) + 1);
  const bool flip = random.below(2) == 1;
  if (target.random_crop) {
    crop.x = static_cast<int>(x);
    crop.y = static_cast<int>(y);
  }
  crop.flip = target.random_flip && flip;
  return crop;
}

void ImageTransform::fill_taps(const Axis& axis, std::vector<Tap>& taps) {
  taps.resize(static_cast<std::size_t>(axis.count));
  const float ratio = static_cast<float>(axis.source) / static_cast<float>(axis.resized);
  const auto last = static_cast<float>(axis.source - 1);
  for (int i = 0; i < axis.count; ++i) {
    const float position = std::clamp((static_cast<float>(i + axis.offset) + 0.5F) * ratio - 0.5F, 0.0F, last);
    const auto first = static_cast<std::uint32_t>(position);
    taps[static_cast<std::size_t>(i)] = {first, std::min(first + 1, static_cast<std::uint32_t>(axis.source - 1)),
                                         position - static_cast<float>(first)};
  }
}

template <std::size_t kChannels>
void ImageTransform::write_rows(const PixelView& pixels, const ImageTarget& target, std::span<float> out) {
  std::array<float, kChannels> scale{};
  std::array<float, kChannels> bias{};
  for (std::size_t c = 0; c < kChannels; ++c) {
    scale[c] = 1.0F / (255.0F * target.stddev[c]);
    bias[c] = -target.mean[c] / target.stddev[c];
  }
  const bool nhwc = target.layout == ImageLayout::kNhwc;
  const auto width = static_cast<std::size_t>(target.width);
  const auto height = static_cast<std::size_t>(target.height);
  const std::size_t column_stride = nhwc ? kChannels : 1;
  const std::size_t channel_stride = nhwc ? 1 : width * height;
  const std::size_t row_stride = nhwc ? width * kChannels : width;

  // Only the source columns that the crop shows are mixed.
  const auto [low, high] = std::minmax(columns_.front().first, columns_.back().first);
  const std::size_t begin = static_cast<std::size_t>(low) * kChannels;
  const std::size_t end =
      std::min(static_cast<std::size_t>(high) + 2, static_cast<std::size_t>(pixels.width)) * kChannels;
  const std::size_t source_stride = static_cast<std::size_t>(pixels.width) * kChannels;
  blended_.resize(source_stride);
  float* const blended = blended_.data();
  for (std::size_t y = 0; y < height; ++y) {
    const std::uint8_t* const above = pixels.values.data() + rows_[y].first * source_stride;
    const std::uint8_t* const below = pixels.values.data() + rows_[y].second * source_stride;
    const float mix = rows_[y].weight;
    for (std::size_t i = begin; i < end; ++i) {
      const auto a = static_cast<float>(above[i]);
      blended[i] = a + mix * (static_cast<float>(below[i]) - a);
    }
    float* const row = out.data() + y * row_stride;
    for (std::size_t x = 0; x < width; ++x) {
      const Tap tap = columns_[x];
      const float* const left = blended + std::size_t{tap.first} * kChannels;
      const float* const right = blended + std::size_t{tap.second} * kChannels;
      for (std::size_t c = 0; c < kChannels; ++c)
        row[x * column_stride + c * channel_stride] =
            (left[c] + tap.weight * (right[c] - left[c])) * scale[c] + bias[c];
    }
  }
}

void ImageTransform::apply(const PixelView& pixels, const Crop& crop, const ImageTarget& target, std::span<float> out) {
  assert(out.size() == target.size() && pixels.channels == target.channels);
  fill_taps({pixels.width, crop.resized_width, crop.x, target.width}, columns_);
  fill_taps({pixels.height, crop.resized_height, crop.y, target.height}, rows_);
  if (crop.flip) std::reverse(columns_.begin(), columns_.end());
  if (target.channels == 1) return write_rows<1>(pixels, target, out);
  write_rows<3>(pixels, target, out);
}

}  // namespace cohort
