#pragma once

#include "executor/cuda/own/bodies.hpp"
#include "executor/cuda/own/sequence_arguments.hpp"

/// What one thread of the kernels of language models computes, for device and host alike.
namespace cohort::cuda::own {

/// Unit `h` of sample `n` at step `t`. All units of step t - 1 must have been written.
COHORT_BODY void lstm_unit(const LstmArguments& k, std::int32_t n, std::int32_t t, std::int32_t h) {
  const std::int32_t hidden = k.hidden;
  float gates[4];  // input, output, forget, cell
  for (int g = 0; g < 4; ++g) gates[g] = k.bias != nullptr ? k.bias[g * hidden + h] : 0.0F;
  const float* const x = k.x + t * k.x_step + n * k.x_sample;
  for (std::int32_t i = 0; i < k.inputs; ++i) {
    const float* const row = k.w + static_cast<std::int64_t>(i) * 4 * hidden + h;
    const float value = x[i * k.x_input];
    for (int g = 0; g < 4; ++g) gates[g] += value * row[g * hidden];
  }
  float* const y = k.y + t * k.y_step + n * k.y_sample;
  if (t > 0) {
    const float* const before = y - k.y_step;
    for (std::int32_t i = 0; i < hidden; ++i) {
      const float* const row = k.r + static_cast<std::int64_t>(i) * 4 * hidden + h;
      const float value = before[i * k.y_hidden];
      for (int g = 0; g < 4; ++g) gates[g] += value * row[g * hidden];
    }
  }
  float* const cell = k.cell + static_cast<std::int64_t>(n) * hidden + h;
  const float kept = t > 0 ? sigmoid(gates[2]) * *cell : 0.0F;
  const float state = kept + sigmoid(gates[0]) * tanhf(gates[3]);
  *cell = state;
  y[h * k.y_hidden] = sigmoid(gates[1]) * tanhf(state);
}

/// Unit `h` of sample `n` at step `t`. All units of step t - 1 must have been written.
COHORT_BODY void gru_unit(const GruArguments& k, std::int32_t n, std::int32_t t, std::int32_t h) {
  const std::int32_t hidden = k.hidden;
  float from_input[3];  // update, reset, hidden
  float from_state[3];
  for (int g = 0; g < 3; ++g) {
    from_input[g] = k.bias != nullptr ? k.bias[g * hidden + h] : 0.0F;
    from_state[g] = k.bias != nullptr ? k.bias[(3 + g) * hidden + h] : 0.0F;
  }
  const float* const x = k.x + t * k.x_step + n * k.x_sample;
  for (std::int32_t i = 0; i < k.inputs; ++i) {
    const float* const row = k.w + static_cast<std::int64_t>(i) * 3 * hidden + h;
    const float value = x[i * k.x_input];
    for (int g = 0; g < 3; ++g) from_input[g] += value * row[g * hidden];
  }
  float* const y = k.y + t * k.y_step + n * k.y_sample;
  float state = 0;
  if (t > 0) {
    const float* const before = y - k.y_step;
    state = before[h * k.y_hidden];
    for (std::int32_t i = 0; i < hidden; ++i) {
      const float* const row = k.r + static_cast<std::int64_t>(i) * 3 * hidden + h;
      const float value = before[i * k.y_hidden];
      for (int g = 0; g < 3; ++g) from_state[g] += value * row[g * hidden];
    }
  }
  const float update = sigmoid(from_input[0] + from_state[0]);
  const float reset = sigmoid(from_input[1] + from_state[1]);
  const float candidate = tanhf(from_input[2] + reset * from_state[2]);
  y[h * k.y_hidden] = (1.0F - update) * candidate + update * state;
}

COHORT_BODY void matmul_element(const MatMulArguments& k, std::int32_t linear) {
  const int rank = k.y_shape.rank;
  const Index at = split(k.y_shape, linear);
  const float* const a = k.a + offset(k.a_strides, at, rank);
  const float* const b = k.b + offset(k.b_strides, at, rank);
  float sum = 0;
  for (std::int32_t i = 0; i < k.inner; ++i) sum += a[i * k.a_inner] * b[i * k.b_inner];
  k.y[offset(k.y_strides, at, rank)] = finish(k.post, sum, at, rank);
}

/// One thread's part of the sum over a row of x, or with `centred` of the squares of x - mean.
COHORT_BODY float layer_norm_partial(const LayerNormArguments& k, const float* x, bool centred, float mean,
                                     std::int32_t thread, std::int32_t threads) {
  float sum = 0;
  for (std::int32_t i = thread; i < k.inner.count; i += threads) {
    const float value = x[offset(k.x_inner, split(k.inner, i), k.inner.rank)] - (centred ? mean : 0.0F);
    sum += centred ? value * value : value;
  }
  return sum;
}

COHORT_BODY void layer_norm_store(const LayerNormArguments& k, const float* x, float* y, float mean, float variance,
                                  std::int32_t thread, std::int32_t threads) {
  const float factor = 1.0F / sqrtf(variance + k.epsilon);
  for (std::int32_t i = thread; i < k.inner.count; i += threads) {
    const Index at = split(k.inner, i);
    const float normalised = (x[offset(k.x_inner, at, k.inner.rank)] - mean) * factor;
    const float shift = k.shift != nullptr ? k.shift[offset(k.shift_inner, at, k.inner.rank)] : 0.0F;
    y[offset(k.y_inner, at, k.inner.rank)] = k.scale[offset(k.scale_inner, at, k.inner.rank)] * normalised + shift;
  }
}

}  // namespace cohort::cuda::own
