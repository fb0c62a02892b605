#pragma once

#include <cstdint>
#include <functional>
#include <vector>

#include "base/cancel.hpp"
#include "base/result.hpp"
#include "base/units.hpp"
#include "executor/input/image_folder.hpp"
#include "executor/input/transform.hpp"

namespace cohort {

struct StageSampling {
  int images = 100;  ///< measured; fewer where the folder has fewer good ones
  int warmup = 5;    ///< made before them and not counted
  std::uint64_t seed = 0;
  const CancelToken* cancel = nullptr;
  /// Monotonic time; empty: the system's steady clock.
  std::function<Nanoseconds()> clock;
};

/// What one worker alone takes for each stage; entry i of the three is the same image.
struct StageSamples {
  std::vector<Nanoseconds> read;
  std::vector<Nanoseconds> decode;
  std::vector<Nanoseconds> transform;  ///< resize, crop, flip and normalise
  int bad_images = 0;                  ///< met on the way and left out
};

/// Times the stages of the input on images drawn from `folder`, one after another on this thread.
/// Each image is drawn once, so files outside the system's cache count as such.
///
/// Errors: kInvalidInput for a bad option or if no image can be decoded; kInterrupted once cancelled.
Result<StageSamples> measure_input_stages(const ImageFolder& folder, const ImageTarget& target,
                                          const StageSampling& sampling);

}  // namespace cohort
