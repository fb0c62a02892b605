#pragma once

#include "executor/cuda/own/normalization_arguments.hpp"
#include "executor/cuda/own/training_bodies.hpp"

/// What one thread of the kernels of normalisations in training computes, for device and host alike.
namespace cohort::cuda::own {

/// Calls visit(index) for each thread's part of the inner elements of a lane.
template <class Team, class Visit>
COHORT_BODY void for_part(const Extents& inner, const Team& team, Visit visit) {
  for (std::int32_t i = team.thread(); i < inner.count; i += team.threads()) visit(split(inner, i));
}

/// Mean and variance of the elements that `inner` reaches from `x` on.
struct Moments {
  float mean = 0, variance = 0;
};
template <class Team>
COHORT_BODY Moments moments(const float* x, const Extents& inner, const Strides& strides, const Team& team) {
  const auto count = static_cast<float>(inner.count);
  float part = 0;
  for_part(inner, team, [&](const Index& at) { part += x[offset(strides, at, inner.rank)]; });
  const float mean = team.sum(part) / count;
  part = 0;
  for_part(inner, team, [&](const Index& at) {
    const float centred = x[offset(strides, at, inner.rank)] - mean;
    part += centred * centred;
  });
  return {mean, team.sum(part) / count};
}

COHORT_BODY std::int64_t lanes_of(const StatisticsArguments& k) { return k.lanes.count; }
template <class Team>
COHORT_BODY void lane(const StatisticsArguments& k, std::int64_t number, const Team& team) {
  const Index at = split(k.lanes, static_cast<std::int32_t>(number));
  const Moments found = moments(k.x + offset(k.x_lanes, at, k.lanes.rank), k.inner, k.x_inner, team);
  if (team.thread() != 0) return;
  k.mean[offset(k.mean_lanes, at, k.lanes.rank)] = found.mean;
  k.variance[offset(k.variance_lanes, at, k.lanes.rank)] = found.variance;
}

COHORT_BODY std::int64_t lanes_of(const NormalizationSumsArguments& k) { return k.lanes.count; }
template <class Team>
COHORT_BODY void lane(const NormalizationSumsArguments& k, std::int64_t number, const Team& team) {
  const Index at = split(k.lanes, static_cast<std::int32_t>(number));
  const int rank = k.inner.rank;
  const auto first = [&](const float* of, const Strides& lanes) { return of + offset(lanes, at, k.lanes.rank); };
  const float* const x = first(k.x, k.x_lanes);
  const float* const dy = first(k.dy, k.dy_lanes);
  const float* const mean = first(k.mean, k.mean_lanes);
  const float* const variance = first(k.variance, k.variance_lanes);
  float scale = 0, shift = 0;
  for_part(k.inner, team, [&](const Index& i) {
    const float delta = dy[offset(k.dy_inner, i, rank)];
    const float centred = x[offset(k.x_inner, i, rank)] - mean[offset(k.mean_inner, i, rank)];
    scale += delta * centred / sqrtf(variance[offset(k.variance_inner, i, rank)] + k.epsilon);
    shift += delta;
  });
  scale = team.sum(scale);
  shift = team.sum(shift);
  if (team.thread() != 0) return;
  const auto entry = static_cast<std::int32_t>(number);
  k.pack[entry * k.pack_step] = scale;
  k.pack[(k.place + entry) * k.pack_step] = shift;
  if (entry + 1 < k.lanes.count) return;
  for (std::int32_t i = k.lanes.count; i < k.place; ++i) k.pack[i * k.pack_step] = 0;
  for (std::int32_t i = k.place + k.lanes.count; i < k.size; ++i) k.pack[i * k.pack_step] = 0;
}

COHORT_BODY std::int64_t lanes_of(const NormalizationGradientArguments& k) { return k.rows.count; }
template <class Team>
COHORT_BODY void lane(const NormalizationGradientArguments& k, std::int64_t number, const Team& team) {
  const Index row = split(k.rows, static_cast<std::int32_t>(number));
  const int rank = k.inner.rank;
  const float* const x = k.x + offset(k.x_rows, row, k.rows.rank);
  const float* const scale = k.scale + offset(k.scale_rows, row, k.rows.rank);
  const float* const dy = k.dy + offset(k.dy_rows, row, k.rows.rank);
  float* const dx = k.dx + offset(k.dx_rows, row, k.rows.rank);
  const Moments found = moments(x, k.inner, k.x_inner, team);
  const float factor = 1 / sqrtf(found.variance + k.epsilon);
  const auto delta = [&](const Index& i) {
    return dy[offset(k.dy_inner, i, rank)] * scale[offset(k.scale_inner, i, rank)];
  };
  const auto normalised = [&](const Index& i) { return (x[offset(k.x_inner, i, rank)] - found.mean) * factor; };
  float sum = 0, product = 0;
  for_part(k.inner, team, [&](const Index& i) {
    sum += delta(i);
    product += delta(i) * normalised(i);
  });
  const auto count = static_cast<float>(k.inner.count);
  sum = team.sum(sum) / count;
  product = team.sum(product) / count;
  for_part(k.inner, team, [&](const Index& i) {
    dx[offset(k.dx_inner, i, rank)] = factor * (delta(i) - sum - normalised(i) * product);
  });
}

COHORT_BODY float at_element(const PerElement& of, const Index& at, int rank) {
  return of.values[offset(of.strides, at, rank)];
}

COHORT_BODY std::int64_t elements_of(const NormalizeArguments& k) { return k.shape.count; }
COHORT_BODY void element(const NormalizeArguments& k, std::int64_t linear) {
  const Index at = split(k.shape, static_cast<std::int32_t>(linear));
  const int rank = k.shape.rank;
  const float centred = k.x[offset(k.x_strides, at, rank)] - at_element(k.mean, at, rank);
  const float scale = at_element(k.scale, at, rank) / sqrtf(at_element(k.variance, at, rank) + k.epsilon);
  k.y[offset(k.y_strides, at, rank)] = scale * centred + at_element(k.shift, at, rank);
}

COHORT_BODY std::int64_t elements_of(const NormalizeGradientArguments& k) { return k.shape.count; }
COHORT_BODY void element(const NormalizeGradientArguments& k, std::int64_t linear) {
  const Index at = split(k.shape, static_cast<std::int32_t>(linear));
  const int rank = k.shape.rank;
  const float factor = 1 / sqrtf(at_element(k.variance, at, rank) + k.epsilon);
  const float normalised = (k.x[offset(k.x_strides, at, rank)] - at_element(k.mean, at, rank)) * factor;
  const float by_shift = at_element(k.dshift, at, rank) * k.share;
  const float by_scale = at_element(k.dscale, at, rank) * k.share;
  const float delta = k.dy[offset(k.dy_strides, at, rank)];
  k.dx[offset(k.dx_strides, at, rank)] =
      at_element(k.scale, at, rank) * factor * (delta - by_shift - normalised * by_scale);
}

/// Number `channel`'s term bias + alpha/size * sum of squares.
COHORT_BODY float lrn_scale(const LrnGradientArguments& k, const float* x, std::int32_t channel) {
  const std::int32_t before = (k.size - 1) / 2;
  float squares = 0;
  for (std::int32_t i = channel - before; i < channel - before + k.size; ++i) {
    if (i < 0 || i >= k.shape.of[1]) continue;
    const float value = x[i * k.x_strides.of[1]];
    squares += value * value;
  }
  return k.bias + k.alpha / static_cast<float>(k.size) * squares;
}

COHORT_BODY std::int64_t elements_of(const LrnGradientArguments& k) { return k.shape.count; }
COHORT_BODY void element(const LrnGradientArguments& k, std::int64_t linear) {
  Index at = split(k.shape, static_cast<std::int32_t>(linear));
  const int rank = k.shape.rank;
  const std::int32_t channel = at.of[1];
  float* const to = k.dx + offset(k.dx_strides, at, rank);
  at.of[1] = 0;
  const float* const x = k.x + offset(k.x_strides, at, rank);
  const float* const dy = k.dy + offset(k.dy_strides, at, rank);
  const std::int32_t after = k.size - 1 - (k.size - 1) / 2;
  float shares = 0;  // of the channels whose sums this one is part of
  for (std::int32_t i = channel - after; i < channel - after + k.size; ++i) {
    if (i < 0 || i >= k.shape.of[1]) continue;
    shares += dy[i * k.dy_strides.of[1]] * x[i * k.x_strides.of[1]] * powf(lrn_scale(k, x, i), -k.beta - 1);
  }
  const float direct = dy[channel * k.dy_strides.of[1]] * powf(lrn_scale(k, x, channel), -k.beta);
  *to = direct - 2 * k.alpha / static_cast<float>(k.size) * k.beta * x[channel * k.x_strides.of[1]] * shares;
}

}  // namespace cohort::cuda::own
