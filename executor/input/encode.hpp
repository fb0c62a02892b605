#pragma once

#include <string>

#include "base/result.hpp"
#include "executor/input/decode.hpp"

namespace cohort {

/// Baseline JPEG of `pixels` (1 channel: grayscale; 3: YCbCr with 4:2:0 chroma), quality 1 to 100.
///
/// Errors: kInvalidInput if an extent is outside 1 to 65,500; kDoesNotFit without memory.
Result<std::string> encode_jpeg(const PixelView& pixels, int quality);

}  // namespace cohort
