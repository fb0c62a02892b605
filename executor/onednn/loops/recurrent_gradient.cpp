// Gradients of LSTM and GRU layers. All states are known: gates are computed anew, for all steps at once as far as they
// are products, and only the gradients of the states go step by step.

#include <algorithm>
#include <optional>

#include "executor/onednn/loops/columns.hpp"
#include "executor/onednn/loops/own_way.hpp"
#include "executor/onednn/loops/parallel.hpp"
#include "executor/onednn/loops/product.hpp"
#include "executor/onednn/loops/vector.hpp"

namespace cohort::onednn {
namespace {

/// One layer, forward in time, from an initial state of zero.
struct Layer {
  RecurrentCell cell = RecurrentCell::kLstm;
  std::int64_t steps = 0, samples = 0, inputs = 0, hidden = 0;
  bool two_biases = false;  ///< of input and of state, one behind the other

  [[nodiscard]] std::int64_t gates() const { return gate_count(cell); }
  [[nodiscard]] std::int64_t width() const { return gates() * hidden; }
  [[nodiscard]] std::int64_t rows() const { return steps * samples; }
  /// A GRU's products of input and of state are met by its reset gate apart.
  [[nodiscard]] bool apart() const { return cell == RecurrentCell::kGru; }
};

/// The parts of a pack of dx, dw, dr, db.
struct Gradients {
  float *x, *w, *r, *b;
};

/// Parts of the workspace.
struct Scratch {
  float *gates, *state_gates, *cells, *dh, *dc;
};
Scratch scratch_of(const Layer& l, std::byte* workspace) {
  Scratch s{};
  s.gates = reinterpret_cast<float*>(workspace);
  s.state_gates = s.gates + l.rows() * l.width();
  s.cells = s.state_gates + (l.apart() ? l.rows() * l.width() : 0);
  s.dh = s.cells + (l.apart() ? 0 : l.rows() * l.hidden);
  s.dc = s.dh + l.samples * l.hidden;
  return s;
}
Bytes scratch_size(const Layer& l) {
  const std::int64_t kept = l.apart() ? l.rows() * l.width() : l.rows() * l.hidden;
  return Bytes{(l.rows() * l.width() + kept + 2 * l.samples * l.hidden) * std::int64_t{sizeof(float)}};
}

void repeat(const float* row, const float* second, std::int64_t rows, std::int64_t width, float* to) {
  for (std::int64_t i = 0; i < rows; ++i) {
    for (std::int64_t c = 0; c < width; ++c) to[i * width + c] = row[c] + (second == nullptr ? 0.0F : second[c]);
  }
}

/// Gates of one sample, before and then behind their functions; its cell before (null: zero) and then.
COHORT_VECTORS void lstm_cell(float* gates, std::int64_t hidden, const float* before, float* cell) {
  float *const in = gates, *const out = gates + hidden, *const forget = gates + 2 * hidden,
               *const value = gates + 3 * hidden;
#pragma omp simd
  for (std::int64_t i = 0; i < hidden; ++i) {
    in[i] = vector_sigmoid(in[i]);
    out[i] = vector_sigmoid(out[i]);
    forget[i] = vector_sigmoid(forget[i]);
    value[i] = vector_tanh(value[i]);
    cell[i] = (before == nullptr ? 0.0F : forget[i] * before[i]) + in[i] * value[i];
  }
}

/// The gradient by what the gates' functions get, in place of the gates. dc is that by the cell, then by the one
/// before.
COHORT_VECTORS void lstm_cell_gradient(float* gates, std::int64_t hidden, const float* before, const float* cell,
                                       const float* dh, float* dc) {
  float *const in = gates, *const out = gates + hidden, *const forget = gates + 2 * hidden,
               *const value = gates + 3 * hidden;
#pragma omp simd
  for (std::int64_t i = 0; i < hidden; ++i) {
    const float squashed = vector_tanh(cell[i]);
    const float given = dc[i] + dh[i] * out[i] * (1.0F - squashed * squashed);
    const float i_gate = in[i], o_gate = out[i], f_gate = forget[i], v_gate = value[i];
    in[i] = given * v_gate * i_gate * (1.0F - i_gate);
    out[i] = dh[i] * squashed * o_gate * (1.0F - o_gate);
    forget[i] = (before == nullptr ? 0.0F : given * before[i]) * f_gate * (1.0F - f_gate);
    value[i] = given * i_gate * (1.0F - v_gate * v_gate);
    dc[i] = given * f_gate;
  }
}

/// Update, reset and candidate in place of their products with the input.
COHORT_VECTORS void gru_cell(float* gates, const float* state_gates, std::int64_t hidden) {
  float *const update = gates, *const reset = gates + hidden, *const value = gates + 2 * hidden;
#pragma omp simd
  for (std::int64_t i = 0; i < hidden; ++i) {
    update[i] = vector_sigmoid(update[i] + state_gates[i]);
    reset[i] = vector_sigmoid(reset[i] + state_gates[hidden + i]);
    value[i] = vector_tanh(value[i] + reset[i] * state_gates[2 * hidden + i]);
  }
}

/// The gradients by both products, in place of them. dh is that by the state, then the part of it that the state before
/// gets directly.
COHORT_VECTORS void gru_cell_gradient(float* gates, float* state_gates, std::int64_t hidden, const float* before,
                                      float* dh) {
  float *const update = gates, *const reset = gates + hidden, *const value = gates + 2 * hidden;
#pragma omp simd
  for (std::int64_t i = 0; i < hidden; ++i) {
    const float z = update[i], r = reset[i], n = value[i], h = before == nullptr ? 0.0F : before[i];
    const float by_value = dh[i] * (1.0F - z) * (1.0F - n * n);
    const float by_update = dh[i] * (h - n) * z * (1.0F - z);
    const float by_reset = by_value * state_gates[2 * hidden + i] * r * (1.0F - r);
    update[i] = state_gates[i] = by_update;
    reset[i] = state_gates[hidden + i] = by_reset;
    value[i] = by_value;
    state_gates[2 * hidden + i] = by_value * r;
    dh[i] *= z;
  }
}

/// Calls body(row) for the samples of step `t`, threads sharing them.
template <class Body>
void for_each_sample(const Layer& l, int threads, std::int64_t t, const Body& body) {
  // Functions of a gate cost as much as moving many elements.
  in_parallel(threads, l.samples, 8 * l.width(), [&](std::int64_t begin, std::int64_t end) {
    for (std::int64_t n = begin; n < end; ++n) body(t * l.samples + n);
  });
}

/// Products of the inputs with all gates' weights, and biases.
void multiply_inputs(const Layer& l, int threads, const HostArguments& arguments, const Scratch& s) {
  const float *const x = arguments.inputs[0], *const w = arguments.inputs[1], *const b = arguments.inputs[3];
  const bool summed = l.two_biases && !l.apart();
  repeat(b, summed ? b + l.width() : nullptr, l.rows(), l.width(), s.gates);
  if (l.apart()) repeat(b + l.width(), nullptr, l.rows(), l.width(), s.state_gates);
  multiply({l.rows(), l.width(), l.inputs}, {x, l.inputs}, {w, l.inputs, true}, true, s.gates, threads);
}

/// Products of the states before all steps but the first.
void multiply_states(const Layer& l, int threads, const float* r, const float* y, const Scratch& s) {
  float* const to = (l.apart() ? s.state_gates : s.gates) + l.samples * l.width();
  multiply({l.rows() - l.samples, l.width(), l.hidden}, {y, l.hidden}, {r, l.hidden, true}, true, to, threads);
}

const float* row_before(const Layer& l, const float* rows, std::int64_t row) {
  return row < l.samples ? nullptr : rows + (row - l.samples) * l.hidden;
}

/// Gates, and the cell, of every sample at step t.
void step(const Layer& l, int threads, std::int64_t t, const Scratch& s) {
  for_each_sample(l, threads, t, [&](std::int64_t row) {
    float* const gates = s.gates + row * l.width();
    if (l.apart()) {
      gru_cell(gates, s.state_gates + row * l.width(), l.hidden);
    } else {
      lstm_cell(gates, l.hidden, row_before(l, s.cells, row), s.cells + row * l.hidden);
    }
  });
}

/// Gradients by the gates' products, from the last step to the first.
void run_backward_in_time(const Layer& l, int threads, const HostArguments& arguments, const Scratch& s) {
  const float *const r = arguments.inputs[2], *const y = arguments.inputs[4], *const dy = arguments.inputs[5];
  const std::int64_t states = l.samples * l.hidden;
  std::fill_n(s.dh, states, 0.0F);
  std::fill_n(s.dc, states, 0.0F);
  for (std::int64_t t = l.steps; t-- > 0;) {
    add_to(dy + t * states, states, s.dh);
    for_each_sample(l, threads, t, [&](std::int64_t row) {
      const std::int64_t n = (row - t * l.samples) * l.hidden;
      float* const gates = s.gates + row * l.width();
      if (l.apart()) {
        gru_cell_gradient(gates, s.state_gates + row * l.width(), l.hidden, row_before(l, y, row), s.dh + n);
      } else {
        lstm_cell_gradient(gates, l.hidden, row_before(l, s.cells, row), s.cells + row * l.hidden, s.dh + n, s.dc + n);
      }
    });
    if (t == 0) break;
    const float* const by_state = (l.apart() ? s.state_gates : s.gates) + t * l.samples * l.width();
    multiply({l.samples, l.hidden, l.width()}, {by_state, l.width()}, {r, l.hidden}, l.apart(), s.dh, threads);
  }
}

void run_gradient(const Layer& l, int threads, const HostArguments& arguments, const Gradients& to) {
  const float *const x = arguments.inputs[0], *const w = arguments.inputs[1], *const r = arguments.inputs[2];
  const float* const y = arguments.inputs[4];
  const Scratch s = scratch_of(l, arguments.workspace);
  multiply_inputs(l, threads, arguments, s);
  multiply_states(l, threads, r, y, s);
  for (std::int64_t t = 0; t < l.steps; ++t) step(l, threads, t, s);
  run_backward_in_time(l, threads, arguments, s);

  const float* const by_state = l.apart() ? s.state_gates : s.gates;
  const std::int64_t later = l.rows() - l.samples;
  multiply({l.rows(), l.inputs, l.width()}, {s.gates, l.width()}, {w, l.inputs}, false, to.x, threads);
  multiply({l.width(), l.inputs, l.rows()}, {s.gates, l.width(), true}, {x, l.inputs}, false, to.w, threads);
  if (later == 0) std::fill_n(to.r, l.width() * l.hidden, 0.0F);
  multiply({l.width(), l.hidden, later}, {by_state + l.samples * l.width(), l.width(), true}, {y, l.hidden}, false,
           to.r, threads);
  std::fill_n(to.b, (l.two_biases ? 2 : 1) * l.width(), 0.0F);
  add_columns(s.gates, l.rows(), l.width(), l.width(), to.b);
  if (l.two_biases) add_columns(by_state, l.rows(), l.width(), l.width(), to.b + l.width());
}

Layer layer_of(const Shape& x, std::int64_t hidden) { return {RecurrentCell::kLstm, x[0], x[1], x[2], hidden, false}; }

/// Empty for a layer that these loops have not.
std::optional<Layer> layer_of(const Recurrent& op, const Shape& x) {
  const bool bare = op.gates.empty() && op.clip == 0 && !op.couple_gates && !op.has_lengths && !op.has_state &&
                    !op.has_cell_state && !op.has_peepholes && !op.final_state;
  const bool known = op.cell == RecurrentCell::kLstm || (op.cell == RecurrentCell::kGru && op.linear_before_reset);
  if (!bare || !known || op.direction != Direction::kForward) return std::nullopt;
  return Layer{op.cell, x[0], x[1], x[2], op.hidden, true};
}

OwnWays gradient_ways(const Layer& l, const OpCall& call, int threads) {
  if (!call.post_ops.empty() || !all_row_major(call)) return {};
  const std::int64_t w = pack_place(l.rows() * l.inputs), r = w + pack_place(l.width() * l.inputs);
  const std::int64_t b = r + pack_place(l.width() * l.hidden);
  const auto loop = [=](const HostArguments& arguments) {
    float* const pack = arguments.outputs[0];
    clear_behind(pack, l.rows() * l.inputs);
    clear_behind(pack, w + l.width() * l.inputs);
    clear_behind(pack, r + l.width() * l.hidden);
    clear_behind(pack, b + (l.two_biases ? 2 : 1) * l.width());
    run_gradient(l, threads, arguments, {pack, pack + w, pack + r, pack + b});
  };
  return {{loop, scratch_size(l)}};
}

}  // namespace

OwnWays own_ways(const LstmGradient& op, const OpCall& call, int threads) {
  return gradient_ways(layer_of(view_of(call, 0).shape, op.hidden), call, threads);
}

OwnWays own_ways(const RecurrentGradient& op, const OpCall& call, int threads) {
  const std::optional<Layer> layer = layer_of(op.layer, view_of(call, 0).shape);
  return layer ? gradient_ways(*layer, call, threads) : OwnWays{};
}

}  // namespace cohort::onednn
