#pragma once

#include <algorithm>
#include <cstdint>
#include <optional>
#include <thread>

#include "executor/input/transform.hpp"
#include "models/shape.hpp"
#include "training/sweep.hpp"

namespace cohort {

/// Images of [C, H, W] in that order, the middle cut out, values in [0, 1].
inline ImageTarget plain_image_target(const Shape& shape, std::optional<std::int64_t> resize) {
  ImageTarget target;
  target.channels = static_cast<int>(shape[0]);
  target.height = static_cast<int>(shape[1]);
  target.width = static_cast<int>(shape[2]);
  target.layout = ImageLayout::kNchw;
  if (resize) target.resize = static_cast<int>(*resize);
  target.mean = {0, 0, 0};
  target.stddev = {1, 1, 1};
  return target;
}

/// ImageNet's, of values in [0, 1].
inline Normalization imagenet_normalization(std::int64_t channels) {
  const ImageTarget usual;
  const auto count = static_cast<std::ptrdiff_t>(channels);
  return {{usual.mean.begin(), usual.mean.begin() + count}, {usual.stddev.begin(), usual.stddev.begin() + count}};
}

/// Threads that decode.
inline int worker_count(const DataOptions& options) {
  if (options.workers > 0) return options.workers;
  return static_cast<int>(std::max(1U, std::thread::hardware_concurrency()));
}

}  // namespace cohort
