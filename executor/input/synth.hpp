#pragma once

#include <cstdint>
#include <filesystem>
#include <functional>
#include <vector>

#include "base/cancel.hpp"
#include "base/result.hpp"
#include "base/units.hpp"

namespace cohort {

inline constexpr int kMostSynthClasses = 10'000;
inline constexpr int kMostSynthImages = 1'000'000;  ///< of a class
inline constexpr int kLeastSynthSide = 16;
inline constexpr int kMostSynthSide = 8192;

struct SynthOptions {
  int classes = 10;
  int images_per_class = 100;
  int long_side = 500;  ///< pixels; the short side follows from an aspect drawn per image
  int quality = 90;     ///< of the JPEG, 1 to 100
  std::uint64_t seed = 0;
  bool force = false;  ///< also into a folder that is not empty; other files there are left alone
  const CancelToken* cancel = nullptr;
  std::function<void(int done, int total)> progress;  ///< after each image; may be empty
};

struct SynthSummary {
  int images = 0;
  Bytes bytes;
};

/// Pixels [height, width, 3] of one made-up photograph.
struct SynthImage {
  int width = 0;
  int height = 0;
  std::vector<std::uint8_t> values;
};

/// The `number`-th image of a class: its dominant colours, a grating of its own direction and period, and
/// a shape of its own, under light, place, size, texture and sensor noise that vary from image to image.
SynthImage draw_synth_image(const SynthOptions& options, int class_index, int number);

/// Writes `folder`/class_00/00000.jpg, ...: mostly 4:3 and 3:2, a quarter of them upright, with as much
/// texture and noise as makes files and decoding times like those of photographs (about 85 KB at 500 x 375).
/// The same options give the same bytes.
///
/// Errors: kInvalidInput for a bad option, a folder that is not empty without `force`, or one that cannot
/// be written; kInterrupted once cancelled. Files written until then are whole,
/// and no folder that was made stays empty.
Result<SynthSummary> write_synth_dataset(const std::filesystem::path& folder, const SynthOptions& options);

}  // namespace cohort
