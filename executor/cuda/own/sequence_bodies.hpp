#pragma once

#include "executor/cuda/own/bodies.hpp"
#include "executor/cuda/own/sequence_arguments.hpp"

/// What one thread of the kernels of language models computes, for device and host alike.
namespace cohort::cuda::own {

/// Unit `h` of sample `n` at step `t`. All units of step t - 1 must have been written.
template <class T>
COHORT_BODY void lstm_unit(const LstmArguments& k, std::int32_t n, std::int32_t t, std::int32_t h) {
  const std::int32_t hidden = k.hidden;
  float gates[4];  // input, output, forget, cell
  for (int g = 0; g < 4; ++g) gates[g] = k.bias != nullptr ? load<T>(k.bias, g * hidden + h) : 0.0F;
  const std::int64_t x = t * k.x_step + n * k.x_sample;
  for (std::int32_t i = 0; i < k.inputs; ++i) {
    const T* const row = static_cast<const T*>(k.w) + i * k.w_input + h * k.w_row;
    const float value = load<T>(k.x, x + i * k.x_input);
    for (int g = 0; g < 4; ++g) gates[g] += value * to_float(row[g * hidden * k.w_row]);
  }
  T* const y = static_cast<T*>(k.y) + t * k.y_step + n * k.y_sample;
  if (t > 0) {
    const T* const before = y - k.y_step;
    for (std::int32_t i = 0; i < hidden; ++i) {
      const T* const row = static_cast<const T*>(k.r) + i * k.r_input + h * k.r_row;
      const float value = to_float(before[i * k.y_hidden]);
      for (int g = 0; g < 4; ++g) gates[g] += value * to_float(row[g * hidden * k.r_row]);
    }
  }
  float* const cell = k.cell + static_cast<std::int64_t>(n) * hidden + h;
  const float kept = t > 0 ? sigmoid(gates[2]) * *cell : 0.0F;
  const float state = kept + sigmoid(gates[0]) * tanhf(gates[3]);
  *cell = state;
  from_float(sigmoid(gates[1]) * tanhf(state), y[h * k.y_hidden]);
}

/// Unit `h` of sample `n` at step `t`. All units of step t - 1 must have been written.
template <class T>
COHORT_BODY void gru_unit(const GruArguments& k, std::int32_t n, std::int32_t t, std::int32_t h) {
  const std::int32_t hidden = k.hidden;
  float from_input[3];  // update, reset, hidden
  float from_state[3];
  for (int g = 0; g < 3; ++g) {
    from_input[g] = k.bias != nullptr ? load<T>(k.bias, g * hidden + h) : 0.0F;
    from_state[g] = k.bias != nullptr ? load<T>(k.bias, (3 + g) * hidden + h) : 0.0F;
  }
  const std::int64_t x = t * k.x_step + n * k.x_sample;
  for (std::int32_t i = 0; i < k.inputs; ++i) {
    const T* const row = static_cast<const T*>(k.w) + i * k.w_input + h * k.w_row;
    const float value = load<T>(k.x, x + i * k.x_input);
    for (int g = 0; g < 3; ++g) from_input[g] += value * to_float(row[g * hidden * k.w_row]);
  }
  T* const y = static_cast<T*>(k.y) + t * k.y_step + n * k.y_sample;
  float state = 0;
  if (t > 0) {
    const T* const before = y - k.y_step;
    state = to_float(before[h * k.y_hidden]);
    for (std::int32_t i = 0; i < hidden; ++i) {
      const T* const row = static_cast<const T*>(k.r) + i * k.r_input + h * k.r_row;
      const float value = to_float(before[i * k.y_hidden]);
      for (int g = 0; g < 3; ++g) from_state[g] += value * to_float(row[g * hidden * k.r_row]);
    }
  }
  const float update = sigmoid(from_input[0] + from_state[0]);
  const float reset = sigmoid(from_input[1] + from_state[1]);
  const float candidate = tanhf(from_input[2] + reset * from_state[2]);
  from_float((1.0F - update) * candidate + update * state, y[h * k.y_hidden]);
}

/// Number `linear` of the units of all samples.
template <class T>
COHORT_BODY void lstm_cell_element(const LstmCellArguments& k, std::int32_t linear) {
  const std::int32_t n = linear / k.hidden;
  const std::int32_t h = linear % k.hidden;
  const float* const gates = k.gates + std::int64_t{n} * 4 * k.hidden + h;  // input, output, forget, cell
  const float kept = k.first ? 0.0F : sigmoid(gates[2 * k.hidden]) * k.cell[linear];
  const float cell = kept + sigmoid(gates[0]) * tanhf(gates[3 * k.hidden]);
  const float state = sigmoid(gates[k.hidden]) * tanhf(cell);
  k.cell[linear] = cell;
  k.state[linear] = state;
  store<T>(k.y, n * k.y_sample + h * k.y_hidden, state);
}

/// Number `linear` of the units of all samples.
template <class T>
COHORT_BODY void gru_cell_element(const GruCellArguments& k, std::int32_t linear) {
  const std::int32_t n = linear / k.hidden;
  const std::int32_t h = linear % k.hidden;
  const std::int64_t at = std::int64_t{n} * 3 * k.hidden + h;  // update, reset, hidden
  float from_state[3];
  for (int g = 0; g < 3; ++g) {
    from_state[g] = k.state_bias != nullptr ? k.state_bias[g * k.hidden + h] : 0.0F;
    if (!k.first) from_state[g] += k.from_state[at + g * k.hidden];
  }
  const float update = sigmoid(k.from_input[at] + from_state[0]);
  const float reset = sigmoid(k.from_input[at + k.hidden] + from_state[1]);
  const float candidate = tanhf(k.from_input[at + 2 * k.hidden] + reset * from_state[2]);
  const float state = (1.0F - update) * candidate + (k.first ? 0.0F : update * k.state[linear]);
  k.state[linear] = state;
  store<T>(k.y, n * k.y_sample + h * k.y_hidden, state);
}

template <class T>
COHORT_BODY void matmul_element(const MatMulArguments& k, std::int32_t linear) {
  const int rank = k.y_shape.rank;
  const Index at = split(k.y_shape, linear);
  const T* const a = static_cast<const T*>(k.a) + offset(k.a_strides, at, rank);
  const T* const b = static_cast<const T*>(k.b) + offset(k.b_strides, at, rank);
  float sum = 0;
  for (std::int32_t i = 0; i < k.inner; ++i) sum += to_float(a[i * k.a_inner]) * to_float(b[i * k.b_inner]);
  store<T>(k.y, offset(k.y_strides, at, rank), finish<T>(k.post, sum, at, rank));
}

/// One thread's part of the sum over a row of x, or with `centred` of the squares of x - mean.
template <class T>
COHORT_BODY float layer_norm_partial(const LayerNormArguments& k, const Index& row, bool centred, float mean,
                                     std::int32_t thread, std::int32_t threads) {
  const T* const x = static_cast<const T*>(k.x) + offset(k.x_rows, row, k.rows.rank);
  float sum = 0;
  for (std::int32_t i = thread; i < k.inner.count; i += threads) {
    const float value = to_float(x[offset(k.x_inner, split(k.inner, i), k.inner.rank)]) - (centred ? mean : 0.0F);
    sum += centred ? value * value : value;
  }
  return sum;
}

template <class T>
COHORT_BODY void layer_norm_store(const LayerNormArguments& k, const Index& row, float mean, float variance,
                                  std::int32_t thread, std::int32_t threads) {
  const std::int64_t x = offset(k.x_rows, row, k.rows.rank);
  const std::int64_t y = offset(k.y_rows, row, k.rows.rank);
  const std::int64_t scales = offset(k.scale_rows, row, k.rows.rank);
  const std::int64_t shifts = offset(k.shift_rows, row, k.rows.rank);
  const float factor = 1.0F / sqrtf(variance + k.epsilon);
  for (std::int32_t i = thread; i < k.inner.count; i += threads) {
    const Index at = split(k.inner, i);
    const int rank = k.inner.rank;
    const float normalised = (load<T>(k.x, x + offset(k.x_inner, at, rank)) - mean) * factor;
    const float shift = k.shift != nullptr ? load<T>(k.shift, shifts + offset(k.shift_inner, at, rank)) : 0.0F;
    const float scale = load<T>(k.scale, scales + offset(k.scale_inner, at, rank));
    store<T>(k.y, y + offset(k.y_inner, at, rank), scale * normalised + shift);
  }
}

}  // namespace cohort::cuda::own
