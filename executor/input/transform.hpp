#pragma once

#include <array>
#include <cstdint>
#include <optional>
#include <span>
#include <vector>

#include "base/random.hpp"
#include "base/result.hpp"
#include "executor/input/decode.hpp"

namespace cohort {

/// Memory order of an image in a minibatch.
enum class ImageLayout { kNchw, kNhwc };

/// The form in which a network wants its images, and how they are varied.
struct ImageTarget {
  int channels = 3;  ///< 3: RGB; 1: luminance
  int height = 224;
  int width = 224;
  ImageLayout layout = ImageLayout::kNhwc;
  std::optional<int> resize = {};  ///< pixels of the shorter side; absent: the smallest size that covers height x
                                   ///< width. ImageNet networks of 224 x 224 are used to 256
  bool random_crop = false;        ///< else the middle
  bool random_flip = false;        ///< left to right, every other image
  std::array<float, 3> mean{0.485F, 0.456F, 0.406F};    ///< per channel, of values in [0, 1]; ImageNet's
  std::array<float, 3> stddev{0.229F, 0.224F, 0.225F};  ///< a single channel uses the first entry

  /// float32 values of one image.
  [[nodiscard]] std::size_t size() const {
    return static_cast<std::size_t>(channels) * static_cast<std::size_t>(height) * static_cast<std::size_t>(width);
  }
};

/// Errors: kInvalidInput naming the field.
Result<void> validate(const ImageTarget& target);

/// Where the resized image lies around its crop.
struct Crop {
  int resized_width = 0;
  int resized_height = 0;
  int x = 0;
  int y = 0;
  bool flip = false;
};

/// Size after resizing pixels of width x height as the target says, aspect kept to a pixel.
Crop covering_size(int width, int height, const ImageTarget& target);
/// covering_size with the place of the crop and the flip drawn from `random` (always the same number of
/// draws).
Crop choose_crop(int width, int height, const ImageTarget& target, Random& random);

/// Resizes (bilinear, pixel centres at half integers, edges repeated), crops, flips and normalises.
/// Keeps its scratch memory for the next image; one per thread.
class ImageTransform {
 public:
  /// Writes (value / 255 - mean) / stddev for each of the target's values into `out`, dense in its
  /// layout; out.size() == target.size() and pixels.channels == target.channels.
  void apply(const PixelView& pixels, const Crop& crop, const ImageTarget& target, std::span<float> out);

 private:
  /// Bilinear position of one output index along an axis.
  struct Tap {
    std::uint32_t first = 0;
    std::uint32_t second = 0;
    float weight = 0.0F;  ///< of `second`
  };
  struct Axis {
    int source = 0;
    int resized = 0;
    int offset = 0;
    int count = 0;
  };
  static void fill_taps(const Axis& axis, std::vector<Tap>& taps);
  template <std::size_t kChannels>
  void write_rows(const PixelView& pixels, const ImageTarget& target, std::span<float> out);

  std::vector<Tap> columns_;
  std::vector<Tap> rows_;
  std::vector<float> blended_;  ///< two source rows mixed, one value per source column and channel
};

}  // namespace cohort
