// Recurrent layers of every kind: products of all steps' inputs at once, then step by step the products of the states
// and what the gates make of both. The library has layers of constant weights, the usual gates and full length only.

#include <algorithm>
#include <array>
#include <optional>
#include <utility>
#include <vector>

#include "executor/onednn/loops/activation.hpp"
#include "executor/onednn/loops/columns.hpp"
#include "executor/onednn/loops/own_way.hpp"
#include "executor/onednn/loops/packed_product.hpp"
#include "executor/onednn/loops/parallel.hpp"
#include "executor/onednn/loops/product.hpp"
#include "executor/onednn/loops/vector.hpp"
#include "executor/onednn/operands.hpp"
#include "executor/reference/call.hpp"
#include "executor/reference/tensor_ref.hpp"
#include "models/compute/recurrent.hpp"

namespace cohort::onednn {
namespace {

/// Rows of inputs up to which their products are those of packed weights.
constexpr std::int64_t kFewInputRows = 64;

/// Weights of the gates of one direction, [width, inner]. Packed ones lie in two parts where the products of the last
/// gate are taken apart.
struct GateWeights {
  std::int64_t width = 0, inner = 0;
  std::int64_t apart = 0;  ///< rows of the last gate where its products are taken apart
  bool packed = false;
  bool quantized = false;

  [[nodiscard]] Packing packing() const {
    return {inner, quantized ? std::optional(QuantizedWeights{inner}) : std::nullopt};
  }
  /// Where the rows from `first` on begin, which is 0 or the beginning of the part apart.
  [[nodiscard]] std::int64_t begin(std::int64_t first) const { return packed ? packing().size(first) : first * inner; }
  [[nodiscard]] std::int64_t size() const { return packed ? begin(width - apart) + begin(apart) : width * inner; }
  [[nodiscard]] Bytes padding() const {
    return packed ? Bytes{(size() - width * inner) * std::int64_t{sizeof(float)}} : Bytes{};
  }
  /// Of all directions.
  [[nodiscard]] std::vector<float> pack(const std::vector<float>& values) const {
    const std::int64_t directions = static_cast<std::int64_t>(values.size()) / (width * inner);
    std::vector<float> result(static_cast<std::size_t>(directions * size()));
    for (std::int64_t d = 0; d < directions; ++d) {
      const float* const from = values.data() + d * width * inner;
      float* const to = result.data() + d * size();
      packing().pack(from, width - apart, to);
      packing().pack(from + (width - apart) * inner, apart, to + begin(width - apart));
    }
    return result;
  }

  /// Adds the products of x with `count` rows of w from `first` on to y.
  void multiply_by(const float* w, std::int64_t first, std::int64_t count, std::int64_t rows, const Matrix& x, float* y,
                   std::int64_t distance, int threads) const {
    if (packed) return multiply_packed(rows, count, packing(), x, w + begin(first), y, distance, threads);
    multiply({rows, count, inner}, x, {w + begin(first), inner, true}, /*add=*/true, y, threads, distance);
  }
};

/// What is known when a kernel is made.
struct Layer {
  Recurrent op;
  std::int64_t steps = 0, samples = 0, inputs = 0;
  bool one_bias = false;                        ///< b holds the sum of both biases, as Lstm's does
  int threads = 1;                              ///< of each direction
  bool directions_apart = false;                ///< each has a thread of its own
  std::int64_t x_step = 0, x_sample = 0;        ///< elements from one to the next; values of a sample adjoin
  Shape y_strides = {};                         ///< of [T, D, N, H]
  std::array<std::vector<Gate>, 2> gates = {};  ///< of each direction
  GateWeights w, r;
  bool is_usual = false;  ///< an LSTM of the usual functions and nothing beside them

  [[nodiscard]] std::int64_t hidden() const { return op.hidden; }
  [[nodiscard]] std::int64_t width() const { return gate_count(op.cell) * op.hidden; }
  [[nodiscard]] std::int64_t directions() const { return direction_count(op.direction); }
  [[nodiscard]] bool is_gru() const { return op.cell == RecurrentCell::kGru; }
  /// Whether the states are multiplied with the last gate's weights only when its reset gate is known.
  [[nodiscard]] bool resets_first() const { return is_gru() && !op.linear_before_reset; }
  /// Floats of the workspace: gates of all steps; then of one step a GRU's products of the states, states, cells, and
  /// what a reset gate leaves of the states.
  [[nodiscard]] std::int64_t scratch_of_direction() const {
    return samples * (steps * width() + (is_gru() ? width() : 0) + 3 * hidden());
  }
  [[nodiscard]] std::int64_t scratch() const { return scratch_of_direction() * (directions_apart ? directions() : 1); }
};

/// Operands of a call; null: not given.
struct Given {
  const float *x, *w, *r, *b, *lengths, *state, *cell, *peepholes;
};
Given given_to(const Recurrent& op, const HostArguments& arguments) {
  std::size_t next = 4;
  const auto take = [&](bool has) { return has ? arguments.inputs[next++] : nullptr; };
  Given given{arguments.inputs[0], arguments.inputs[1], arguments.inputs[2], arguments.inputs[3], {}, {}, {}, {}};
  given.lengths = take(op.has_lengths);
  given.state = take(op.has_state);
  given.cell = take(op.has_cell_state);
  given.peepholes = take(op.has_peepholes);
  return given;
}

/// The activation that a gate's function is; absent for those that only recurrent layers have.
std::optional<Activation> activation_of(const Gate& gate) {
  switch (gate.function) {
    case GateFunction::kSigmoid:
      return Activation{ActivationKind::kSigmoid};
    case GateFunction::kTanh:
      return Activation{ActivationKind::kTanh};
    case GateFunction::kRelu:
      return Activation{ActivationKind::kRelu};
    case GateFunction::kLeakyRelu:
      return Activation{ActivationKind::kLeakyRelu, gate.alpha, 0};
    case GateFunction::kThresholdedRelu:
      return Activation{ActivationKind::kThresholdedRelu, gate.alpha, 0};
    case GateFunction::kHardSigmoid:
      return Activation{ActivationKind::kHardSigmoid, gate.alpha, gate.beta};
    case GateFunction::kSoftsign:
      return Activation{ActivationKind::kSoftsign};
    case GateFunction::kSoftplus:
      return Activation{ActivationKind::kSoftplus};
    default:
      return std::nullopt;
  }
}

/// y = f(x), of adjoining elements.
void apply_loops(const Activation& activation, const float* x, std::int64_t count, float* y) {
  activation_loops(activation)({x, 1, count, activation.alpha, activation.beta, y, 1});
}

/// y += a x
COHORT_VECTORS void add_product(const float* a, const float* x, std::int64_t count, float* y) {
#pragma omp simd
  for (std::int64_t i = 0; i < count; ++i) y[i] += a[i] * x[i];
}
/// y = a y + (1 - a) x
COHORT_VECTORS void blend(const float* a, const float* x, std::int64_t count, float* y) {
#pragma omp simd
  for (std::int64_t i = 0; i < count; ++i) y[i] = a[i] * y[i] + (1.0F - a[i]) * x[i];
}
/// y = a y + b x
COHORT_VECTORS void combine(const float* a, const float* b, const float* x, std::int64_t count, float* y) {
#pragma omp simd
  for (std::int64_t i = 0; i < count; ++i) y[i] = a[i] * y[i] + b[i] * x[i];
}
COHORT_VECTORS void multiply_elements(const float* a, const float* x, std::int64_t count, float* y) {
#pragma omp simd
  for (std::int64_t i = 0; i < count; ++i) y[i] = a[i] * x[i];
}

/// The step of one sample of an LSTM whose gates are all sigmoid and tanh.
COHORT_VECTORS void advance_usual_lstm(const float* gates, std::int64_t hidden, float* cell, float* state) {
  const float *const input = gates, *const output = gates + hidden, *const forget = gates + 2 * hidden,
                     *const value = gates + 3 * hidden;
#pragma omp simd
  for (std::int64_t i = 0; i < hidden; ++i) {
    cell[i] = vector_sigmoid(forget[i]) * cell[i] + vector_sigmoid(input[i]) * vector_tanh(value[i]);
    state[i] = vector_sigmoid(output[i]) * vector_tanh(cell[i]);
  }
}

/// One direction of a layer, for samples that all have `length` steps.
class Run {
 public:
  struct Samples {
    std::int64_t first, count, length;
  };

  Run(const Layer& layer, const Given& given, std::int64_t direction, Samples samples, float* scratch, float* y)
      : l_(layer),
        given_(given),
        functions_(layer.gates[static_cast<std::size_t>(direction)]),
        direction_(direction),
        samples_(samples),
        hidden_(layer.hidden()),
        width_(layer.width()),
        w_(given.w + direction * layer.w.size()),
        r_(given.r + direction * layer.r.size()),
        b_(given.b + direction * (layer.one_bias ? 1 : 2) * width_),
        gates_(scratch),
        by_state_(gates_ + samples.length * samples.count * width_),
        states_(by_state_ + (layer.is_gru() ? samples.count * width_ : 0)),
        cells_(states_ + samples.count * hidden_),
        held_back_(cells_ + samples.count * hidden_),
        y_(y) {}

  void run() {
    start(samples_.length > 0 ? given_.state : nullptr, states_);
    start(samples_.length > 0 ? given_.cell : nullptr, cells_);
    multiply_inputs();
    const bool backward = l_.op.direction == Direction::kReverse || direction_ == 1;
    for (std::int64_t i = 0; i < samples_.length; ++i) {
      const std::int64_t t = backward ? samples_.length - 1 - i : i;
      advance(gates_ + t * samples_.count * width_, i > 0 || given_.state != nullptr);
      store(states_, t);
    }
    for (std::int64_t t = samples_.length; t < l_.steps; ++t) store(nullptr, t);
    if (!l_.op.final_state) return;
    store(states_, l_.steps);
    if (l_.op.cell == RecurrentCell::kLstm) store(cells_, l_.steps + 1);
  }

 private:
  /// Entry t of y; null: zeros.
  void store(const float* rows, std::int64_t t) const {
    const Shape& strides = l_.y_strides;
    for (std::int64_t n = 0; n < samples_.count; ++n) {
      float* const to = y_ + t * strides[0] + direction_ * strides[1] + (samples_.first + n) * strides[2];
      const float* const from = rows == nullptr ? nullptr : rows + n * hidden_;
      if (strides[3] == 1 && from != nullptr) {
        std::copy_n(from, hidden_, to);
      } else {
        for (std::int64_t i = 0; i < hidden_; ++i) to[i * strides[3]] = from == nullptr ? 0.0F : from[i];
      }
    }
  }

  void start(const float* from, float* to) const {
    const std::int64_t count = samples_.count * hidden_;
    if (from == nullptr) {
      std::fill_n(to, count, 0.0F);
    } else {
      std::copy_n(from + (direction_ * l_.samples + samples_.first) * hidden_, count, to);
    }
  }

  /// With both biases; a GRU's second one belongs to the products of the states.
  void multiply_inputs() const {
    const std::int64_t rows = samples_.length * samples_.count;
    if (rows == 0) return;
    std::copy_n(b_, width_, gates_);
    if (!l_.one_bias && !l_.is_gru()) add_to(b_ + width_, width_, gates_);
    for (std::int64_t row = 1; row < rows; ++row) std::copy_n(gates_, width_, gates_ + row * width_);
    const float* const x = given_.x + samples_.first * l_.x_sample;
    if (samples_.count == 1 || l_.x_step == samples_.count * l_.x_sample) {
      const std::int64_t distance = samples_.count == 1 ? l_.x_step : l_.x_sample;
      return l_.w.multiply_by(w_, 0, width_, rows, {x, distance}, gates_, width_, l_.threads);
    }
    for (std::int64_t n = 0; n < samples_.count; ++n)
      l_.w.multiply_by(w_, 0, width_, samples_.length, {x + n * l_.x_sample, l_.x_step}, gates_ + n * width_,
                       samples_.count * width_, l_.threads);
  }

  /// Adds the products of `states` with the weights of `count` gates from `first` on to theirs in `gates`.
  void multiply_states(const float* states, std::int64_t first, std::int64_t count, float* gates) const {
    l_.r.multiply_by(r_, first * hidden_, count * hidden_, samples_.count, {states, hidden_}, gates + first * hidden_,
                     width_, l_.threads);
  }

  /// `gates`: products of the inputs at one step. Leaves its states.
  void advance(float* gates, bool has_states) {
    if (!l_.is_gru()) {
      if (has_states) multiply_states(states_, 0, gate_count(l_.op.cell), gates);
      for_each_sample([&](std::int64_t n) {
        l_.op.cell == RecurrentCell::kRnn ? advance_rnn(gates, n) : advance_lstm(gates + n * width_, n);
      });
      return;
    }
    for (std::int64_t n = 0; n < samples_.count; ++n) std::copy_n(b_ + width_, width_, by_state_ + n * width_);
    if (has_states) multiply_states(states_, 0, l_.resets_first() ? 2 : 3, by_state_);
    for_each_sample([&](std::int64_t n) { open_gru(gates + n * width_, n); });
    if (l_.resets_first() && has_states) multiply_states(held_back_, 2, 1, by_state_);
    for_each_sample([&](std::int64_t n) { advance_gru(gates + n * width_, n); });
  }

  template <class Body>
  void for_each_sample(const Body& body) const {
    // Functions of a gate cost as much as moving many elements.
    in_parallel(l_.threads, samples_.count, 8 * width_, [&](std::int64_t begin, std::int64_t end) {
      for (std::int64_t n = begin; n < end; ++n) body(n);
    });
  }

  /// Function `gate` of a gate's sums, which are clipped before, to `to`, which may be the same.
  void apply(std::size_t gate, float* sums, float* to) const {
    if (l_.op.clip > 0) apply_loops({ActivationKind::kClip, -l_.op.clip, l_.op.clip}, sums, hidden_, sums);
    apply(functions_[gate], sums, to);
  }

  /// `function` of `from` to `to`, which may be the same.
  void apply(const Gate& function, const float* from, float* to) const {
    if (const auto activation = activation_of(function)) return apply_loops(*activation, from, hidden_, to);
    for (std::int64_t i = 0; i < hidden_; ++i)
      to[i] = static_cast<float>(reference::apply(function, static_cast<double>(from[i])));
  }

  void advance_rnn(float* gates, std::int64_t n) const { apply(0, gates + n * width_, states_ + n * hidden_); }

  void advance_lstm(float* gates, std::int64_t n) const {
    float *const input = gates, *const output = gates + hidden_, *const forget = gates + 2 * hidden_,
                 *const value = gates + 3 * hidden_;
    float *const state = states_ + n * hidden_, *const cell = cells_ + n * hidden_;
    if (l_.is_usual) return advance_usual_lstm(gates, hidden_, cell, state);
    const float* const peepholes = given_.peepholes == nullptr ? nullptr : given_.peepholes + direction_ * 3 * hidden_;
    if (peepholes != nullptr) {
      add_product(peepholes, cell, hidden_, input);
      add_product(peepholes + 2 * hidden_, cell, hidden_, forget);
    }
    apply(0, input, input);
    apply(1, value, value);
    if (l_.op.couple_gates) {
      blend_coupled(input, value, cell);
    } else {
      apply(0, forget, forget);
      combine(forget, input, value, hidden_, cell);
    }
    if (peepholes != nullptr) add_product(peepholes + hidden_, cell, hidden_, output);
    apply(0, output, output);
    apply(functions_[2], cell, value);
    multiply_elements(output, value, hidden_, state);
  }

  /// cell = (1 - input) cell + input value, where no forget gate says how much of it stays.
  void blend_coupled(float* input, const float* value, float* cell) const {
    for (std::int64_t i = 0; i < hidden_; ++i) cell[i] += input[i] * (value[i] - cell[i]);
  }

  /// Update and reset gates, and what the reset gate leaves of the states or of their products.
  void open_gru(float* gates, std::int64_t n) const {
    float *const update = gates, *const reset = gates + hidden_;
    float* const by_state = by_state_ + n * width_;
    add_to(by_state, 2 * hidden_, gates);
    apply(0, update, update);
    apply(0, reset, reset);
    if (l_.op.linear_before_reset) {
      multiply_elements(reset, by_state + 2 * hidden_, hidden_, by_state + 2 * hidden_);
    } else {
      multiply_elements(reset, states_ + n * hidden_, hidden_, held_back_ + n * hidden_);
    }
  }

  void advance_gru(float* gates, std::int64_t n) const {
    float* const value = gates + 2 * hidden_;
    add_to(by_state_ + n * width_ + 2 * hidden_, hidden_, value);
    apply(1, value, value);
    blend(gates, value, hidden_, states_ + n * hidden_);
  }

  const Layer& l_;
  const Given& given_;
  const std::vector<Gate>& functions_;
  std::int64_t direction_;
  Samples samples_;
  std::int64_t hidden_, width_;
  const float *w_, *r_, *b_;
  float *gates_, *by_state_, *states_, *cells_, *held_back_;
  float* y_;
};

/// Of an LSTM.
bool has_usual_functions(const std::vector<Gate>& gates) {
  return gates[0].function == GateFunction::kSigmoid && gates[1].function == GateFunction::kTanh &&
         gates[2].function == GateFunction::kTanh;
}

void run_direction(const Layer& l, const Given& given, std::int64_t direction, float* scratch, float* y) {
  if (given.lengths == nullptr) return Run(l, given, direction, {0, l.samples, l.steps}, scratch, y).run();
  for (std::int64_t n = 0; n < l.samples; ++n) {
    const std::int64_t length = std::clamp<std::int64_t>(reference::whole(given.lengths[n]), 0, l.steps);
    Run(l, given, direction, {n, 1, length}, scratch, y).run();
  }
}

void run_layer(const Layer& l, const HostArguments& arguments) {
  const Given given = given_to(l.op, arguments);
  auto* const scratch = reinterpret_cast<float*>(arguments.workspace);
  float* const y = arguments.outputs[0];
  if (l.directions_apart) {
    for_each_part(static_cast<int>(l.directions()), l.directions(), [&](std::int64_t direction) {
      run_direction(l, given, direction, scratch + direction * l.scratch_of_direction(), y);
    });
  } else {
    for (std::int64_t direction = 0; direction < l.directions(); ++direction)
      run_direction(l, given, direction, scratch, y);
  }
}

/// The library's ways, where there are any, stand first.
OwnWays ways(Layer l, const OpCall& call) {
  const View x = view_of(call, 0), &y = call.outputs[0];
  l.steps = x.shape[0];
  l.samples = x.shape[1];
  l.inputs = x.shape[2];
  // What strides of a single step or sample are says nothing.
  l.x_sample = l.samples == 1 ? l.inputs : x.strides[1];
  l.x_step = l.steps == 1 ? l.samples * l.x_sample : x.strides[0];
  l.y_strides = y.strides;
  if (y.shape.size() == 3) l.y_strides.insert(l.y_strides.begin() + 1, 0);  // Lstm: one direction
  const bool adjoin = l.inputs == 1 || x.strides[2] == 1;
  const bool apart = l.x_sample >= l.inputs && l.x_step >= l.inputs;
  if (!call.post_ops.empty() || !adjoin || !apart || !inputs_row_major(call, 1)) return {};
  l.is_usual = l.op.cell == RecurrentCell::kLstm && !l.op.has_peepholes && !l.op.couple_gates && l.op.clip == 0;
  for (std::int64_t d = 0; d < l.directions(); ++d) {
    l.gates[static_cast<std::size_t>(d)] = reference::gates_of(l.op, d);
    l.is_usual = l.is_usual && has_usual_functions(l.gates[static_cast<std::size_t>(d)]);
  }
  const bool quantized = l.op.quantized_weights;
  l.w = {l.width(), l.inputs, 0, is_constant(call, 1) && l.steps * l.samples <= kFewInputRows, quantized};
  l.r = {l.width(), l.hidden(), l.resets_first() ? l.hidden() : 0, is_constant(call, 2) && l.samples <= kFewInputRows,
         quantized};
  // Threads that share the steps meet at each step, the two directions only at the end.
  l.directions_apart = l.directions() > 1 && (l.threads == 2 || (l.threads > 2 && l.samples * l.width() <= kGrain));
  if (l.directions_apart) l.threads = 1;
  OwnWay way{[l](const HostArguments& arguments) { run_layer(l, arguments); },
             Bytes{l.scratch() * std::int64_t{sizeof(float)}}, /*leads=*/false};
  way.pack = [w = l.w, r = l.r](std::size_t input, const std::vector<float>& values) {
    if (input == 1 && w.packed) return w.pack(values);
    return input == 2 && r.packed ? r.pack(values) : values;
  };
  way.padding = Bytes{l.directions() * (l.w.padding() + l.r.padding()).value};
  return {way};
}

}  // namespace

OwnWays own_ways(const Lstm& op, const OpCall& call, int threads) {
  Layer layer;
  layer.op.hidden = op.hidden;
  layer.op.quantized_weights = op.quantized_weights;
  layer.one_bias = true;
  layer.threads = threads;
  return ways(std::move(layer), call);
}

OwnWays own_ways(const Recurrent& op, const OpCall& call, int threads) {
  Layer layer;
  layer.op = op;
  layer.threads = threads;
  return ways(std::move(layer), call);
}

}  // namespace cohort::onednn
