#pragma once

#include "executor/cuda/own/gradient_arguments.hpp"
#include "executor/cuda/own/training_bodies.hpp"

/// What one thread of the kernels of the gradients of convolutions, products, pooling and indexing computes, for
/// device and host alike.
namespace cohort::cuda::own {

/// Which element of which model's pack a number names.
struct PackPlace {
  std::int64_t model = 0;
  std::int32_t at = 0;
  bool is_weight = false, is_bias = false;
};
COHORT_BODY PackPlace pack_place_of(const PackPlaces& k, std::int64_t number) {
  const std::int32_t written = k.size - k.first;
  PackPlace place;
  place.model = number / written;
  place.at = k.first + static_cast<std::int32_t>(number % written);
  place.is_weight = place.at < k.weights;
  place.is_bias = place.at >= k.bias && place.at < k.bias_end;
  return place;
}
COHORT_BODY void put(const PackPlaces& k, const PackPlace& place, float value) {
  if (place.is_bias && k.bias_is_there) return;
  k.data[place.model * k.model + place.at * k.step] = value;
}

COHORT_BODY std::int64_t lanes_of(const FilterGradientArguments& k) {
  return std::int64_t{k.models} * (k.pack.size - k.pack.first);
}

/// One thread's part of an entry of a filter.
template <class Team>
COHORT_BODY float filter_part(const FilterGradientArguments& k, const PackPlace& place, const Team& team) {
  const std::int32_t area = k.window.kernel[0] * k.window.kernel[1];
  const std::int32_t output = place.at / (k.channels * area);
  const std::int32_t r = place.at % area / k.window.kernel[1];
  const std::int32_t s = place.at % k.window.kernel[1];
  const std::int64_t channel =
      place.model * k.model_inputs + output / k.group_outputs * k.channels + place.at / area % k.channels;
  const float* const x = k.x + channel * k.x_strides.of[1];
  const float* const dy = k.dy + (place.model * k.outputs + output) * k.dy_strides.of[1];
  float sum = 0;
  for (std::int32_t position = team.thread(); position < k.positions.count; position += team.threads()) {
    const Index at = split(k.positions, position);  // [n, p, q]
    const std::int32_t i = at.of[1] * k.window.stride[0] - k.window.pad[0] + r * k.window.dilation[0];
    const std::int32_t j = at.of[2] * k.window.stride[1] - k.window.pad[1] + s * k.window.dilation[1];
    if (i < 0 || i >= k.height || j < 0 || j >= k.width) continue;
    sum += x[at.of[0] * k.x_strides.of[0] + i * k.x_strides.of[2] + j * k.x_strides.of[3]] *
           dy[at.of[0] * k.dy_strides.of[0] + at.of[1] * k.dy_strides.of[2] + at.of[2] * k.dy_strides.of[3]];
  }
  return sum;
}

/// One thread's part of an entry of the bias.
template <class Team>
COHORT_BODY float filter_bias_part(const FilterGradientArguments& k, const PackPlace& place, const Team& team) {
  const std::int64_t output = place.model * k.outputs + (place.at - k.pack.bias);
  const float* const dy = k.dy + output * k.dy_strides.of[1];
  float sum = 0;
  for (std::int32_t position = team.thread(); position < k.positions.count; position += team.threads()) {
    const Index at = split(k.positions, position);
    sum += dy[at.of[0] * k.dy_strides.of[0] + at.of[1] * k.dy_strides.of[2] + at.of[2] * k.dy_strides.of[3]];
  }
  return sum;
}

template <class Team>
COHORT_BODY void lane(const FilterGradientArguments& k, std::int64_t number, const Team& team) {
  const PackPlace place = pack_place_of(k.pack, number);
  float part = 0;
  if (place.is_weight) {
    part = filter_part(k, place, team);
  } else if (place.is_bias && !k.pack.bias_is_there) {
    part = filter_bias_part(k, place, team);
  }
  const float sum = team.sum(part);
  if (team.thread() == 0) put(k.pack, place, sum);
}

COHORT_BODY std::int64_t elements_of(const ProductGradientArguments& k) {
  return std::int64_t{k.models} * (k.pack.size - k.pack.first);
}
COHORT_BODY void element(const ProductGradientArguments& k, std::int64_t number) {
  const PackPlace place = pack_place_of(k.pack, number);
  const float* const dy = k.dy + place.model * k.dy_model;
  float sum = 0;
  if (place.is_weight) {
    const float* const x = k.x + place.model * k.x_model + place.at % k.inputs;
    const float* const of_output = dy + place.at / k.inputs * k.dy_output;
    for (std::int32_t n = 0; n < k.samples; ++n) sum += x[n * k.x_sample] * of_output[n * k.dy_sample];
  } else if (place.is_bias && !k.pack.bias_is_there) {
    const float* const of_output = dy + (place.at - k.pack.bias) * k.dy_output;
    for (std::int32_t n = 0; n < k.samples; ++n) sum += of_output[n * k.dy_sample];
  }
  put(k.pack, place, sum);
}

/// The first and last position of a result along a dimension whose window may reach place `at` of x.
struct Reach {
  std::int32_t first = 0, last = 0;
};
COHORT_BODY Reach reaching(const PoolGradientArguments& k, int dimension, std::int32_t at) {
  const std::int32_t stride = k.window.stride[dimension];
  const std::int32_t padded = at + k.window.pad[dimension];
  const std::int32_t span = (k.window.kernel[dimension] - 1) * k.window.dilation[dimension];
  const std::int32_t most = (dimension == 0 ? k.rows : k.columns) - 1;
  Reach reach;
  reach.first = padded > span ? (padded - span + stride - 1) / stride : 0;
  reach.last = padded / stride < most ? padded / stride : most;
  return reach;
}

/// Entries of the window at position `at` of a result along a dimension that lie inside x, or with `padded` inside x
/// and its padding.
COHORT_BODY std::int32_t covered(const PoolGradientArguments& k, int dimension, std::int32_t at, bool padded) {
  const std::int32_t first = at * k.window.stride[dimension] - k.window.pad[dimension];
  const std::int32_t end = k.shape.of[2 + dimension] + (padded ? k.pad_end[dimension] : 0);
  std::int32_t count = 0;
  for (std::int32_t i = 0; i < k.window.kernel[dimension]; ++i) {
    const std::int32_t place = first + i * k.window.dilation[dimension];
    count += (padded || place >= 0) && place < end ? 1 : 0;
  }
  return count;
}

/// Whether place (i, j) of a plane is the first of the largest in the window at (p, q).
COHORT_BODY bool is_largest(const PoolGradientArguments& k, const float* plane, std::int32_t p, std::int32_t q,
                            std::int32_t i, std::int32_t j) {
  std::int32_t found_i = -1, found_j = -1;
  float largest = 0;
  for (std::int32_t r = 0; r < k.window.kernel[0]; ++r) {
    const std::int32_t row = p * k.window.stride[0] - k.window.pad[0] + r * k.window.dilation[0];
    if (row < 0 || row >= k.shape.of[2]) continue;
    for (std::int32_t s = 0; s < k.window.kernel[1]; ++s) {
      const std::int32_t column = q * k.window.stride[1] - k.window.pad[1] + s * k.window.dilation[1];
      if (column < 0 || column >= k.shape.of[3]) continue;
      const float value = plane[row * k.x_strides.of[2] + column * k.x_strides.of[3]];
      if (found_i >= 0 && !(value > largest)) continue;
      largest = value;
      found_i = row;
      found_j = column;
    }
  }
  return found_i == i && found_j == j;
}

/// Whether the window at position `at` of a result has an entry at place `place` of x.
COHORT_BODY bool touches(const PoolGradientArguments& k, int dimension, std::int32_t at, std::int32_t place) {
  const std::int32_t from = place + k.window.pad[dimension] - at * k.window.stride[dimension];
  return from >= 0 && from % k.window.dilation[dimension] == 0 &&
         from / k.window.dilation[dimension] < k.window.kernel[dimension];
}

COHORT_BODY std::int64_t elements_of(const PoolGradientArguments& k) { return k.shape.count; }
COHORT_BODY void element(const PoolGradientArguments& k, std::int64_t linear) {
  const Index at = split_image(k.shape, k.channels_last, static_cast<std::int32_t>(linear));
  const float* const dy = k.dy + at.of[0] * k.dy_strides.of[0] + at.of[1] * k.dy_strides.of[1];
  const float* const plane = k.average ? nullptr : k.x + at.of[0] * k.x_strides.of[0] + at.of[1] * k.x_strides.of[1];
  const Reach down = reaching(k, 0, at.of[2]);
  const Reach across = reaching(k, 1, at.of[3]);
  float sum = 0;
  for (std::int32_t p = down.first; p <= down.last; ++p) {
    if (!touches(k, 0, p, at.of[2])) continue;
    for (std::int32_t q = across.first; q <= across.last; ++q) {
      if (!touches(k, 1, q, at.of[3])) continue;
      const float delta = dy[p * k.dy_strides.of[2] + q * k.dy_strides.of[3]];
      if (k.average) {
        const std::int32_t count = covered(k, 0, p, k.count_include_pad) * covered(k, 1, q, k.count_include_pad);
        sum += delta / static_cast<float>(count > 0 ? count : 1);
      } else if (is_largest(k, plane, p, q, at.of[2], at.of[3])) {
        sum += delta;
      }
    }
  }
  k.dx[offset(k.dx_strides, at, 4)] = sum;
}

/// The entry that index number `number` names; negative: none.
COHORT_BODY std::int32_t entry_at(const GatherGradientArguments& k, std::int32_t number) {
  const Index at = split(k.indices_shape, number);
  const std::int32_t index = whole_at(k.indices, offset(k.index_strides, at, k.indices_shape.rank));
  if (index < -k.extent || index >= k.extent) return -1;
  return index < 0 ? index + k.extent : index;
}

COHORT_BODY std::int64_t lanes_of(const GatherGradientArguments& k) { return k.indices_shape.count; }
template <class Team>
COHORT_BODY void lane(const GatherGradientArguments& k, std::int64_t number, const Team& team) {
  const auto own = static_cast<std::int32_t>(number);
  const std::int32_t entry = entry_at(k, own);
  if (entry < 0) return;  // the whole team
  for (std::int32_t i = 0; i < own; ++i) {
    if (entry_at(k, i) == entry) return;
  }
  for (std::int32_t i = own; i < k.indices_shape.count; ++i) {
    if (entry_at(k, i) != entry) continue;
    const float* const dy = k.dy + offset(k.dy_index, split(k.indices_shape, i), k.indices_shape.rank);
    for (std::int32_t e = team.thread(); e < k.rest.count; e += team.threads()) {
      const Index at = split(k.rest, e);
      k.dx[entry * k.dx_axis + offset(k.dx_rest, at, k.rest.rank)] += dy[offset(k.dy_rest, at, k.rest.rank)];
    }
  }
}

}  // namespace cohort::cuda::own
