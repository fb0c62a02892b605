#pragma once

#include "executor/cuda/own/gradient_arguments.hpp"
#include "executor/cuda/own/training_bodies.hpp"

/// What one thread of the kernels of recurrent layers' gradients computes, for device and host alike: what the gates
/// got, which follows from x and y at all steps at once; the cells; the gradients by the gates, step by step from the
/// last; and the sums over steps and samples that are the gradients by x and the parameters.
namespace cohort::cuda::own {

/// Blocks of H sums for each step and sample.
inline constexpr std::int32_t kGateBlocks = 4;

/// The row of w, r and b behind number `row` of the 4H sums.
COHORT_BODY std::int32_t parameter_row(const RecurrentWork& k, std::int32_t row) {
  return k.gru && row >= 3 * k.hidden ? row - k.hidden : row;
}
/// Whether number `row` of the sums takes x, or the state.
COHORT_BODY bool takes_input(const RecurrentWork& k, std::int32_t row) { return !k.gru || row < 3 * k.hidden; }
COHORT_BODY bool takes_state(const RecurrentWork& k, std::int32_t row) {
  return !k.gru || row < 2 * k.hidden || row >= 3 * k.hidden;
}

COHORT_BODY std::int64_t lanes_of(const GateSumsArguments& k) {
  return std::int64_t{k.steps} * k.samples * kGateBlocks * k.hidden;
}
template <class Team>
COHORT_BODY void lane(const GateSumsArguments& k, std::int64_t number, const Team& team) {
  const auto row = static_cast<std::int32_t>(number % (kGateBlocks * k.hidden));
  const std::int64_t sample = number / (kGateBlocks * k.hidden);
  const std::int64_t n = sample % k.samples;
  const std::int64_t t = sample / k.samples;
  const std::int64_t of = parameter_row(k, row);
  float part = 0;
  if (takes_input(k, row)) {
    const float* const x = k.x + t * k.x_step + n * k.x_sample;
    const float* const w = k.w + of * k.w_row;
    for (std::int32_t i = team.thread(); i < k.inputs; i += team.threads())
      part += x[i * k.x_input] * w[i * k.w_column];
  }
  if (takes_state(k, row) && t > 0) {
    const float* const state = k.y + (t - 1) * k.y_step + n * k.y_sample;
    const float* const r = k.r + of * k.r_row;
    for (std::int32_t h = team.thread(); h < k.hidden; h += team.threads())
      part += state[h * k.y_hidden] * r[h * k.r_column];
  }
  float sum = team.sum(part);
  if (team.thread() != 0) return;
  // A GRU's bias is that of the input, then that of the state; an LSTM here has one for both.
  if (takes_input(k, row)) sum += k.b[of * k.b_step];
  if (k.gru && takes_state(k, row)) sum += k.b[(3 * k.hidden + of) * k.b_step];
  k.sums[number] = sum;
}

COHORT_BODY std::int64_t elements_of(const LstmCellsArguments& k) { return std::int64_t{k.samples} * k.hidden; }
COHORT_BODY void element(const LstmCellsArguments& k, std::int64_t linear) {
  const std::int64_t all = std::int64_t{k.samples} * k.hidden;
  const std::int64_t first = linear / k.hidden * kGateBlocks * k.hidden + linear % k.hidden;
  float cell = 0;
  for (std::int32_t t = 0; t < k.steps; ++t) {
    const float* const sums = k.sums + t * all * kGateBlocks + first;  // input, output, forget, cell
    cell = sigmoid(sums[2 * k.hidden]) * cell + sigmoid(sums[0]) * tanhf(sums[3 * k.hidden]);
    k.cells[t * all + linear] = cell;
  }
}

/// The gradients by one unit's sums where `by_state` is that by its state, and what is carried to the step before.
COHORT_BODY void lstm_deltas(const GateDeltasArguments& k, const float* sums, std::int64_t cell_at, bool first,
                             float by_state, float* deltas, float* carried) {
  const std::int32_t hidden = k.hidden;
  const std::int64_t all = std::int64_t{k.samples} * hidden;
  const float bounded = tanhf(k.cells[cell_at]);
  const float before = first ? 0 : k.cells[cell_at - all];
  const float input = sigmoid(sums[0]);
  const float output = sigmoid(sums[hidden]);
  const float forget = sigmoid(sums[2 * hidden]);
  const float candidate = tanhf(sums[3 * hidden]);
  const float by_cell = *carried + by_state * output * (1 - bounded * bounded);
  deltas[0] = by_cell * candidate * input * (1 - input);
  deltas[hidden] = by_state * bounded * output * (1 - output);
  deltas[2 * hidden] = by_cell * before * forget * (1 - forget);
  deltas[3 * hidden] = by_cell * input * (1 - candidate * candidate);
  *carried = by_cell * forget;
}

COHORT_BODY void gru_deltas(const GateDeltasArguments& k, const float* sums, float before, float by_state,
                            float* deltas, float* carried) {
  const std::int32_t hidden = k.hidden;
  const float update = sigmoid(sums[0]);
  const float reset = sigmoid(sums[hidden]);
  const float recurrent = sums[3 * hidden];
  const float candidate = tanhf(sums[2 * hidden] + reset * recurrent);
  const float by_hidden = by_state * (1 - update) * (1 - candidate * candidate);
  deltas[0] = by_state * (before - candidate) * update * (1 - update);
  deltas[hidden] = by_hidden * recurrent * reset * (1 - reset);
  deltas[2 * hidden] = by_hidden;
  deltas[3 * hidden] = by_hidden * reset;
  *carried = by_state * update;
}

COHORT_BODY std::int64_t lanes_of(const GateDeltasArguments& k) { return k.samples; }
template <class Team>
COHORT_BODY void lane(const GateDeltasArguments& k, std::int64_t n, const Team& team) {
  const std::int32_t hidden = k.hidden;
  const std::int64_t rows = std::int64_t{kGateBlocks} * hidden;
  for (std::int32_t t = k.steps - 1; t >= 0; --t) {
    const std::int64_t at = t * std::int64_t{k.samples} + n;
    for (std::int32_t h = team.thread(); h < hidden; h += team.threads()) {
      float by_state = k.dy[t * k.dy_step + n * k.dy_sample + h * k.dy_hidden];
      float* const carried = k.carried + n * hidden + h;
      if (t + 1 == k.steps) {
        *carried = 0;
      } else {
        const float* const after = k.deltas + (at + k.samples) * rows;
        for (std::int32_t row = 0; row < rows; ++row) {
          if (takes_state(k, row)) by_state += after[row] * k.r[parameter_row(k, row) * k.r_row + h * k.r_column];
        }
        if (k.gru) by_state += *carried;
      }
      const float* const sums = k.sums + at * rows + h;
      float* const deltas = k.deltas + at * rows + h;
      if (k.gru) {
        const float before = t > 0 ? k.y[(t - 1) * k.y_step + n * k.y_sample + h * k.y_hidden] : 0.0F;
        gru_deltas(k, sums, before, by_state, deltas, carried);
      } else {
        lstm_deltas(k, sums, at * hidden + h, t == 0, by_state, deltas, carried);
      }
    }
    team.meet();  // the step before reads the deltas of all units
  }
}

/// One thread's part of dx[t, n, i].
template <class Team>
COHORT_BODY float input_part(const RecurrentPackArguments& k, std::int32_t at, const Team& team) {
  const float* const deltas = k.deltas + static_cast<std::int64_t>(at / k.inputs) * kGateBlocks * k.hidden;
  float sum = 0;
  for (std::int32_t row = team.thread(); row < kGateBlocks * k.hidden; row += team.threads()) {
    if (takes_input(k, row)) sum += deltas[row] * k.w[parameter_row(k, row) * k.w_row + at % k.inputs * k.w_column];
  }
  return sum;
}

/// Number of the sums behind row `row` of w and of the first part of b, and of r and of the second part.
COHORT_BODY std::int32_t state_row(const RecurrentWork& k, std::int32_t row) {
  return k.gru && row >= 2 * k.hidden ? row + k.hidden : row;
}

/// One thread's part of the sum over steps and samples of the gradients of sum `row` times value(t, n).
template <class Team, class Value>
COHORT_BODY float delta_part(const RecurrentPackArguments& k, std::int32_t row, const Team& team, Value value) {
  float sum = 0;
  for (std::int32_t i = team.thread(); i < k.steps * k.samples; i += team.threads())
    sum += k.deltas[static_cast<std::int64_t>(i) * kGateBlocks * k.hidden + row] *
           value(static_cast<std::int64_t>(i / k.samples), static_cast<std::int64_t>(i % k.samples));
  return sum;
}

COHORT_BODY std::int64_t lanes_of(const RecurrentPackArguments& k) { return k.size; }
template <class Team>
COHORT_BODY void lane(const RecurrentPackArguments& k, std::int64_t number, const Team& team) {
  const auto at = static_cast<std::int32_t>(number);
  const std::int32_t rows = (k.gru ? 3 : 4) * k.hidden;
  float part = 0;
  if (at >= k.b_place) {
    const std::int32_t row = at - k.b_place;
    const auto one = [](std::int64_t, std::int64_t) { return 1.0F; };
    if (row < rows) {
      part = delta_part(k, row, team, one);
    } else if (k.gru && row < 2 * rows) {
      part = delta_part(k, state_row(k, row - rows), team, one);
    }
  } else if (at >= k.r_place) {
    const std::int32_t i = at - k.r_place;
    if (i < rows * k.hidden) {
      const std::int64_t h = i % k.hidden;
      part = delta_part(k, state_row(k, i / k.hidden), team, [&](std::int64_t t, std::int64_t n) {
        return t > 0 ? k.y[(t - 1) * k.y_step + n * k.y_sample + h * k.y_hidden] : 0.0F;
      });
    }
  } else if (at >= k.w_place) {
    const std::int32_t i = at - k.w_place;
    if (i < rows * k.inputs) {
      const std::int64_t column = i % k.inputs;
      part = delta_part(k, i / k.inputs, team, [&](std::int64_t t, std::int64_t n) {
        return k.x[t * k.x_step + n * k.x_sample + column * k.x_input];
      });
    }
  } else if (at < k.steps * k.samples * k.inputs) {
    part = input_part(k, at, team);
  }
  const float sum = team.sum(part);
  if (team.thread() == 0) k.pack[number * k.pack_step] = sum;
}

}  // namespace cohort::cuda::own
