#pragma once

#include <cstdint>
#include <filesystem>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "base/result.hpp"

namespace cohort {

/// Pixels [height, width, channels], 8 bits each, rows dense; 3 channels are red, green, blue.
struct PixelView {
  int width = 0;
  int height = 0;
  int channels = 0;
  std::span<const std::uint8_t> values;
};

/// What decoding has to yield.
struct DecodeRequest {
  int channels = 3;      ///< 3: RGB; 1: luminance
  int least_width = 1;   ///< may be decoded smaller than it is, by 1/2, 1/4 or 1/8 in the inverse DCT, ...
  int least_height = 1;  ///< ... but not below these, unless it is smaller itself
};

/// A header may claim this many pixels, so that a broken one cannot exhaust memory.
inline constexpr std::int64_t kMostPixels = 100'000'000;
/// The same for the file itself.
inline constexpr std::int64_t kMostFileBytes = 256 << 20;

/// Decodes JPEGs into memory of its own that it keeps for the next one. One per thread.
class JpegDecoder {
 public:
  /// The pixels are valid until the next call. EXIF orientation is not applied.
  ///
  /// Errors: kInvalidInput for what is not a JPEG, is cut off or damaged ("broken JPEG: ..."), has CMYK
  /// colours, or claims more than kMostPixels; kDoesNotFit without memory for it.
  Result<PixelView> decode(std::string_view jpeg, const DecodeRequest& request);

 private:
  std::vector<std::uint8_t> pixels_;
};

/// The bytes of an image file. Errors: kInvalidInput naming the file: unreadable, empty or above kMostFileBytes.
Result<std::string> read_image(const std::filesystem::path& path);

}  // namespace cohort
