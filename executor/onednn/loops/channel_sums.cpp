#include "executor/onednn/loops/channel_sums.hpp"

#include <algorithm>
#include <array>

namespace cohort::onednn {
namespace {

/// Lines that are read twice while they are in the nearest cache.
constexpr std::int64_t kLines = 64;
/// Positions of one channel that are.
constexpr std::int64_t kRun = 1024;

/// Joins the spread of `count` elements to that of `before` others. `distances`: sum of distances from `mean`, which is
/// about their mean, and tells by how much it is off; `squares`: sum of the squares of these distances.
COHORT_INLINE void join_sums(double count, float mean, float distances, float squares, double before, double& mean_of,
                             double& squares_of) {
  const auto off = static_cast<double>(distances) / count;
  join_spread(count, static_cast<double>(mean) + off, static_cast<double>(squares) - off * off * count, before, mean_of,
              squares_of);
}

/// Joins the spread of some lines to that of `width` channels from `first` on.
COHORT_INLINE void join_channels(const float* const* lines, std::int64_t count, std::int64_t first, std::int64_t width,
                                 double before, double* mean, double* squares) {
  float means[kLanes] = {}, distances[kLanes] = {}, squared[kLanes] = {};
  for (std::int64_t i = 0; i < count; ++i) {
    const float* const line = lines[i] + first;
#pragma omp simd
    for (std::int64_t c = 0; c < width; ++c) means[c] += line[c];
  }
#pragma omp simd
  for (std::int64_t c = 0; c < width; ++c) means[c] /= static_cast<float>(count);
  for (std::int64_t i = 0; i < count; ++i) {
    const float* const line = lines[i] + first;
#pragma omp simd
    for (std::int64_t c = 0; c < width; ++c) {
      const float distance = line[c] - means[c];
      distances[c] += distance;
      squared[c] += distance * distance;
    }
  }
  for (std::int64_t c = 0; c < width; ++c)
    join_sums(static_cast<double>(count), means[c], distances[c], squared[c], before, mean[first + c],
              squares[first + c]);
}

/// The same of all channels. A width that the compiler knows keeps the sums in registers.
COHORT_VECTORS void join_lines(const float* const* lines, std::int64_t count, std::int64_t channels, double before,
                               double* mean, double* squares) {
  std::int64_t first = 0;
  for (; first + kLanes <= channels; first += kLanes) join_channels(lines, count, first, kLanes, before, mean, squares);
  if (first < channels) join_channels(lines, count, first, channels - first, before, mean, squares);
}

/// Joins a run of one channel's positions.
COHORT_VECTORS void join_run(const float* x, std::int64_t count, double before, double* mean, double* squares) {
  float sum = 0, distances = 0, squared = 0;
#pragma omp simd reduction(+ : sum)
  for (std::int64_t i = 0; i < count; ++i) sum += x[i];
  const float about = sum / static_cast<float>(count);
#pragma omp simd reduction(+ : distances, squared)
  for (std::int64_t i = 0; i < count; ++i) {
    const float distance = x[i] - about;
    distances += distance;
    squared += distance * distance;
  }
  join_sums(static_cast<double>(count), about, distances, squared, before, *mean, *squares);
}

/// Adds the products and dy of some lines to the sums of `width` channels from `first` on.
COHORT_INLINE void add_channels(const float* const* x, const float* const* dy, std::int64_t count, std::int64_t first,
                                std::int64_t width, const float* mean, double* sums) {
  float sum[kLanes] = {}, product[kLanes] = {};
  for (std::int64_t i = 0; i < count; ++i) {
    const float *const line = x[i] + first, *const given = dy[i] + first;
#pragma omp simd
    for (std::int64_t c = 0; c < width; ++c) {
      sum[c] += given[c];
      product[c] += given[c] * (line[c] - mean[first + c]);
    }
  }
  for (std::int64_t c = 0; c < width; ++c) {
    sums[2 * (first + c)] += static_cast<double>(product[c]);
    sums[2 * (first + c) + 1] += static_cast<double>(sum[c]);
  }
}

/// The same of all channels.
COHORT_VECTORS void add_products(const float* const* x, const float* const* dy, std::int64_t count,
                                 std::int64_t channels, const float* mean, double* sums) {
  std::int64_t first = 0;
  for (; first + kLanes <= channels; first += kLanes) add_channels(x, dy, count, first, kLanes, mean, sums);
  if (first < channels) add_channels(x, dy, count, first, channels - first, mean, sums);
}

COHORT_VECTORS void add_run_products(const float* x, const float* dy, std::int64_t count, float mean, double* sums) {
  float sum = 0, product = 0;
#pragma omp simd reduction(+ : sum, product)
  for (std::int64_t i = 0; i < count; ++i) {
    sum += dy[i];
    product += dy[i] * (x[i] - mean);
  }
  sums[0] += static_cast<double>(product);
  sums[1] += static_cast<double>(sum);
}

}  // namespace

void lines_statistics(const ChannelWalk& walk, const float* x, Range all, double* result) {
  std::fill_n(result, 2 * walk.channels, 0.0);
  std::array<const float*, kLines> lines{};
  for (std::int64_t at = all.begin; at < all.end; at += kLines) {
    const std::int64_t count = std::min(kLines, all.end - at);
    for (std::int64_t i = 0; i < count; ++i) lines[static_cast<std::size_t>(i)] = x + walk.line(0, at + i);
    join_lines(lines.data(), count, walk.channels, static_cast<double>(at - all.begin), result, result + walk.channels);
  }
}

Spread plane_statistics(const ChannelWalk& walk, const float* x, std::int64_t c, Range samples) {
  Spread spread;
  double seen = 0;
  for (std::int64_t n = samples.begin; n < samples.end; ++n) {
    const float* const line = x + walk.line(0, n * walk.channels + c);
    for (std::int64_t at = 0; at < walk.positions; at += kRun) {
      const std::int64_t count = std::min(kRun, walk.positions - at);
      join_run(line + at, count, seen, &spread.mean, &spread.squares);
      seen += static_cast<double>(count);
    }
  }
  return spread;
}

void sample_statistics(const ChannelWalk& walk, const float* x, Range samples, double* result) {
  if (walk.by_position)
    return lines_statistics(walk, x, {samples.begin * walk.positions, samples.end * walk.positions}, result);
  for (std::int64_t c = 0; c < walk.channels; ++c) {
    const Spread spread = plane_statistics(walk, x, c, samples);
    result[c] = spread.mean;
    result[walk.channels + c] = spread.squares;
  }
}

void lines_products(const ChannelWalk& walk, const Gradient& from, const float* mean, Range all, double* sums) {
  std::fill_n(sums, 2 * walk.channels, 0.0);
  std::array<const float*, kLines> x{}, dy{};
  for (std::int64_t at = all.begin; at < all.end; at += kLines) {
    const std::int64_t count = std::min(kLines, all.end - at);
    for (std::int64_t i = 0; i < count; ++i) {
      x[static_cast<std::size_t>(i)] = from.x + walk.line(0, at + i);
      dy[static_cast<std::size_t>(i)] = from.dy + walk.line(1, at + i);
    }
    add_products(x.data(), dy.data(), count, walk.channels, mean, sums);
  }
}

void plane_products(const ChannelWalk& walk, const Gradient& from, float mean, std::int64_t c, Range samples,
                    double* sums) {
  sums[0] = sums[1] = 0;
  for (std::int64_t n = samples.begin; n < samples.end; ++n) {
    const std::int64_t line = n * walk.channels + c;
    for (std::int64_t at = 0; at < walk.positions; at += kRun)
      add_run_products(from.x + walk.line(0, line) + at, from.dy + walk.line(1, line) + at,
                       std::min(kRun, walk.positions - at), mean, sums);
  }
}

void sample_products(const ChannelWalk& walk, const Gradient& from, const float* mean, Range samples, double* sums) {
  if (walk.by_position)
    return lines_products(walk, from, mean, {samples.begin * walk.positions, samples.end * walk.positions}, sums);
  for (std::int64_t c = 0; c < walk.channels; ++c) plane_products(walk, from, mean[c], c, samples, sums + 2 * c);
}

}  // namespace cohort::onednn
