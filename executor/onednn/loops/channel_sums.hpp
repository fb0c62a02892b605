#pragma once

#include <cmath>

#include "executor/onednn/loops/channels.hpp"
#include "executor/onednn/loops/vector.hpp"

/// Sums over the elements of each channel, in one pass over memory. "Lines" are those of a walk by position, "planes" a
/// channel's in one that is not.
namespace cohort::onednn {

/// From begin up to, but not with, end.
struct Range {
  std::int64_t begin, end;
};

/// Mean, and sum of squared distances from it.
struct Spread {
  double mean = 0, squares = 0;
};

/// Joins the spread of `count` elements to that of `before` others.
/// Source: Chan, Golub, LeVeque, "Updating formulae and a pairwise algorithm for computing sample variances", 1979.
COHORT_INLINE void join_spread(double count, double mean, double squares, double before, double& mean_of,
                               double& squares_of) {
  const double distance = mean - mean_of, all = before + count;
  mean_of += distance * count / all;
  squares_of += squares + distance * distance * before * count / all;
}

inline float inverse_deviation(float variance, float epsilon) {
  return static_cast<float>(1 / std::sqrt(static_cast<double>(variance) + static_cast<double>(epsilon)));
}

/// Of every channel over some lines: C means, then C sums of squared distances. x is the walk's tensor 0.
void lines_statistics(const ChannelWalk& walk, const float* x, Range lines, double* result);
/// Of channel c over some samples.
Spread plane_statistics(const ChannelWalk& walk, const float* x, std::int64_t c, Range samples);
/// Of every channel over some samples, as lines_statistics().
void sample_statistics(const ChannelWalk& walk, const float* x, Range samples, double* result);

/// The walk's tensors 0 and 1.
struct Gradient {
  const float *x, *dy;
};
/// Of every channel over some lines: the sums of dy * (x - mean) and of dy, side by side.
void lines_products(const ChannelWalk& walk, const Gradient& from, const float* mean, Range lines, double* sums);
void plane_products(const ChannelWalk& walk, const Gradient& from, float mean, std::int64_t c, Range samples,
                    double* sums);
void sample_products(const ChannelWalk& walk, const Gradient& from, const float* mean, Range samples, double* sums);

}  // namespace cohort::onednn
