#pragma once

#include <array>
#include <optional>
#include <string_view>

#include "base/result.hpp"

namespace cohort {

/// How decoded images become a network's input: resized, cropped, mirrored, and (value - mean) / std per channel.
struct ImagePreparation {
  std::optional<int>
      resize;                ///< pixels of the shorter side, aspect ratio kept; absent: the least that covers the input
  bool random_crop = false;  ///< else at the centre
  bool random_flip = false;  ///< left to right, half of the images
  std::array<double, 3> mean{0.485, 0.456, 0.406};  ///< of red, green and blue from 0 to 1; ImageNet's
  std::array<double, 3> std{0.229, 0.224, 0.225};   ///< a single channel uses the first of both

  friend bool operator==(const ImagePreparation&, const ImagePreparation&) = default;
};

inline constexpr int kMostResize = 16384;

/// The plan's name of the first field that differs from its default; empty if none does.
std::string_view unusual_field(const ImagePreparation& images);

/// Errors: kInvalidInput naming the field, with `prefix` before it ("input.").
Result<void> validate(const ImagePreparation& images, std::string_view prefix);

}  // namespace cohort
