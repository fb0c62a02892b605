#pragma once

#include <cstdint>
#include <filesystem>
#include <span>

#include "base/result.hpp"
#include "executor/input/decode.hpp"
#include "executor/input/observer.hpp"
#include "executor/input/transform.hpp"

namespace cohort {

/// File to normalised values: read, decode, resize with crop, flip and normalisation. One per thread.
class ImageLoader {
 public:
  /// Writes target.size() values into `out`; the crop and flip follow from `seed` alone. On an error
  /// `out` is untouched. A null `observer` costs nothing.
  ///
  /// Errors: kInvalidInput naming the file and what is wrong with it; kDoesNotFit without memory for it.
  Result<void> load(const std::filesystem::path& path, std::uint64_t seed, const ImageTarget& target,
                    std::span<float> out);

  /// Whom load() tells of its stages, as work on `work`; null: nobody.
  void observe(InputObserver* observer, const InputWork& work) {
    observer_ = observer;
    work_ = work;
  }

 private:
  class Stage;

  JpegDecoder decoder_;
  ImageTransform transform_;
  InputObserver* observer_ = nullptr;
  InputWork work_;
};

}  // namespace cohort
