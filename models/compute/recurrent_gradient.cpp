#include <algorithm>
#include <cmath>
#include <span>
#include <utility>
#include <vector>

#include "models/compute/packed.hpp"
#include "models/compute/recurrent.hpp"

namespace cohort::reference {
namespace {

double slope_of(const Gate& gate, double x) {
  const auto alpha = static_cast<double>(gate.alpha);
  const auto beta = static_cast<double>(gate.beta);
  const auto tanh_slope = [](double at) { return 1 - std::tanh(at) * std::tanh(at); };
  switch (gate.function) {
    case GateFunction::kSigmoid:
      return sigmoid(x) * (1 - sigmoid(x));
    case GateFunction::kTanh:
      return tanh_slope(x);
    case GateFunction::kRelu:
      return x > 0 ? 1 : 0;
    case GateFunction::kLeakyRelu:
      return x > 0 ? 1 : alpha;
    case GateFunction::kThresholdedRelu:
      return x > alpha ? 1 : 0;
    case GateFunction::kElu:
      return x > 0 ? 1 : alpha * std::exp(x);
    case GateFunction::kHardSigmoid:
      return alpha * x + beta > 0 && alpha * x + beta < 1 ? alpha : 0;
    case GateFunction::kSoftsign:
      return 1 / ((1 + std::abs(x)) * (1 + std::abs(x)));
    case GateFunction::kSoftplus:
      return sigmoid(x);
    case GateFunction::kAffine:
      return alpha;
    case GateFunction::kScaledTanh:
      return alpha * beta * tanh_slope(beta * x);
  }
  return 0;
}

/// Something for each input of floating point: its values, or the gradient by it. Row-major, as the inputs.
struct Parts {
  Values x, w, r, b, state, cell, peepholes;
};

struct Extents {
  std::size_t steps = 0, samples = 0, inputs = 0, hidden = 0, gates = 0;
};

/// One sample in one direction: the layer again, with all that it computes kept, then back through time.
class Unrolled {
 public:
  Unrolled(const Recurrent& op, const Extents& extents, const Parts& values, Parts& gradients, std::size_t direction,
           std::size_t sample)
      : op_(op),
        extents_(extents),
        values_(values),
        gradients_(gradients),
        gates_(gates_of(op, static_cast<std::int64_t>(direction))),
        direction_(direction),
        sample_(sample),
        hidden_(extents.hidden) {}

  void forward(std::size_t length) {
    const bool backward = op_.direction == Direction::kReverse || direction_ == 1;
    Values state = initial(values_.state);
    Values cell = initial(values_.cell);
    for (std::size_t i = 0; i < length; ++i) {
      Step step;
      step.t = backward ? length - 1 - i : i;
      step.state = std::move(state);
      step.cell = std::move(cell);
      advance(step);
      state = step.next_state;
      cell = step.next_cell;
      steps_.push_back(std::move(step));
    }
  }

  /// `dy` [T + last states, D, N, H].
  void backward(const Values& dy) {
    if (steps_.empty()) return;  // its last states are zeros, whatever the first were
    Values state(hidden_, 0.0), cell(hidden_, 0.0);
    if (op_.final_state) {
      add_output(dy, extents_.steps, state);
      if (op_.cell == RecurrentCell::kLstm) add_output(dy, extents_.steps + 1, cell);
    }
    for (std::size_t i = steps_.size(); i-- > 0;) {
      add_output(dy, steps_[i].t, state);
      state = retreat(steps_[i], state, cell);
    }
    add_initial(state, gradients_.state);
    add_initial(cell, gradients_.cell);
  }

 private:
  struct Step {
    std::size_t t = 0;
    Values state, cell;            ///< before it
    Values sums;                   ///< what the gates' functions get, before they are clipped
    Values held_back;              ///< GRU: reset gate times state
    Values recurrent;              ///< GRU: the hidden gate's product with the state
    Values next_state, next_cell;  ///< behind it
  };

  [[nodiscard]] std::size_t initial_place() const { return (direction_ * extents_.samples + sample_) * hidden_; }
  [[nodiscard]] Values initial(const Values& given) const {
    if (given.empty()) return Values(hidden_, 0.0);
    const auto first = given.begin() + static_cast<std::ptrdiff_t>(initial_place());
    return {first, first + static_cast<std::ptrdiff_t>(hidden_)};
  }
  void add_initial(const Values& from, Values& gradient) const {
    if (gradient.empty()) return;
    for (std::size_t h = 0; h < hidden_; ++h) gradient[initial_place() + h] += from[h];
  }
  void add_output(const Values& dy, std::size_t t, Values& to) const {
    const auto directions = static_cast<std::size_t>(direction_count(op_.direction));
    const std::size_t first = ((t * directions + direction_) * extents_.samples + sample_) * hidden_;
    for (std::size_t h = 0; h < hidden_; ++h) to[h] += dy[first + h];
  }

  [[nodiscard]] std::size_t rows() const { return extents_.gates * hidden_; }
  [[nodiscard]] std::size_t x_place(std::size_t t) const { return (t * extents_.samples + sample_) * extents_.inputs; }
  [[nodiscard]] std::size_t w_place(std::size_t row) const { return (direction_ * rows() + row) * extents_.inputs; }
  [[nodiscard]] std::size_t r_place(std::size_t row) const { return (direction_ * rows() + row) * hidden_; }
  [[nodiscard]] std::size_t b_place(std::size_t row) const { return direction_ * 2 * rows() + row; }
  [[nodiscard]] std::size_t peephole_place(std::size_t gate, std::size_t h) const {
    return direction_ * 3 * hidden_ + gate * hidden_ + h;
  }

  [[nodiscard]] double from_input(std::size_t row, std::size_t t) const {
    double sum = values_.b[b_place(row)];
    for (std::size_t i = 0; i < extents_.inputs; ++i) sum += values_.x[x_place(t) + i] * values_.w[w_place(row) + i];
    return sum;
  }
  [[nodiscard]] double from_state(std::size_t row, const Values& state) const {
    double sum = values_.b[b_place(rows() + row)];
    for (std::size_t h = 0; h < hidden_; ++h) sum += state[h] * values_.r[r_place(row) + h];
    return sum;
  }
  /// The gradients where that of from_input() is `delta`.
  void back_to_input(std::size_t row, std::size_t t, double delta) {
    gradients_.b[b_place(row)] += delta;
    for (std::size_t i = 0; i < extents_.inputs; ++i) {
      gradients_.x[x_place(t) + i] += delta * values_.w[w_place(row) + i];
      gradients_.w[w_place(row) + i] += delta * values_.x[x_place(t) + i];
    }
  }
  /// The gradients where that of from_state() is `delta`; `by_state` gets the one by `state`.
  void back_to_state(std::size_t row, const Values& state, double delta, Values& by_state) {
    gradients_.b[b_place(rows() + row)] += delta;
    for (std::size_t h = 0; h < hidden_; ++h) {
      by_state[h] += delta * values_.r[r_place(row) + h];
      gradients_.r[r_place(row) + h] += delta * state[h];
    }
  }

  [[nodiscard]] double function(std::size_t gate, double x) const {
    const auto clip = static_cast<double>(op_.clip);
    return apply(gates_[gate], clip > 0 ? std::clamp(x, -clip, clip) : x);
  }
  [[nodiscard]] double slope(std::size_t gate, double x) const {
    const auto clip = static_cast<double>(op_.clip);
    return clip > 0 && std::abs(x) > clip ? 0 : slope_of(gates_[gate], x);
  }
  [[nodiscard]] double peephole(std::size_t gate, std::size_t h) const {
    return values_.peepholes.empty() ? 0 : values_.peepholes[peephole_place(gate, h)];
  }
  /// The gradients where that of peephole(gate, h) * `cell` is `delta`; returns the one by `cell`.
  double back_to_cell(std::size_t gate, std::size_t h, double cell, double delta) {
    if (values_.peepholes.empty()) return 0;
    gradients_.peepholes[peephole_place(gate, h)] += delta * cell;
    return delta * values_.peepholes[peephole_place(gate, h)];
  }

  void advance(Step& step) const {
    step.sums.resize(rows());
    step.next_state.resize(hidden_);
    const bool is_gru = op_.cell == RecurrentCell::kGru;
    for (std::size_t row = 0; row < (is_gru ? 2 * hidden_ : rows()); ++row)
      step.sums[row] = from_input(row, step.t) + from_state(row, step.state);
    switch (op_.cell) {
      case RecurrentCell::kRnn:
        for (std::size_t h = 0; h < hidden_; ++h) step.next_state[h] = function(0, step.sums[h]);
        break;
      case RecurrentCell::kGru:
        advance_gru(step);
        break;
      case RecurrentCell::kLstm:
        advance_lstm(step);
        break;
    }
  }

  void advance_gru(Step& step) const {
    step.held_back.resize(hidden_);
    step.recurrent.resize(hidden_);
    for (std::size_t h = 0; h < hidden_; ++h) step.held_back[h] = function(0, step.sums[hidden_ + h]) * step.state[h];
    for (std::size_t h = 0; h < hidden_; ++h) {
      const std::size_t row = 2 * hidden_ + h;
      step.recurrent[h] = from_state(row, op_.linear_before_reset ? step.state : step.held_back);
      const double reset = op_.linear_before_reset ? function(0, step.sums[hidden_ + h]) : 1;
      step.sums[row] = from_input(row, step.t) + reset * step.recurrent[h];
      const double update = function(0, step.sums[h]);
      step.next_state[h] = (1 - update) * function(1, step.sums[row]) + update * step.state[h];
    }
  }

  void advance_lstm(Step& step) const {
    step.next_cell.resize(hidden_);
    double* const sums = step.sums.data();
    for (std::size_t h = 0; h < hidden_; ++h) {
      sums[h] += peephole(0, h) * step.cell[h];
      sums[2 * hidden_ + h] += peephole(2, h) * step.cell[h];
      const double input = function(0, sums[h]);
      const double forget = op_.couple_gates ? 1 - input : function(0, sums[2 * hidden_ + h]);
      const double cell = forget * step.cell[h] + input * function(1, sums[3 * hidden_ + h]);
      sums[hidden_ + h] += peephole(1, h) * cell;
      step.next_cell[h] = cell;
      step.next_state[h] = function(0, sums[hidden_ + h]) * apply(gates_[2], cell);
    }
  }

  /// The gradient by the state before a step, from those by the state and the cell behind it; `cell` becomes that by
  /// the cell before it.
  Values retreat(const Step& step, const Values& state, Values& cell) {
    switch (op_.cell) {
      case RecurrentCell::kRnn: {
        Values deltas(hidden_);
        for (std::size_t h = 0; h < hidden_; ++h) deltas[h] = state[h] * slope(0, step.sums[h]);
        Values before(hidden_, 0.0);
        back_to_both(step, deltas, before);
        return before;
      }
      case RecurrentCell::kGru:
        return retreat_gru(step, state);
      case RecurrentCell::kLstm:
        return retreat_lstm(step, state, cell);
    }
    return state;
  }

  /// The gradients where those of the sums of the first gates, which take x and the state alike, are `deltas`.
  void back_to_both(const Step& step, std::span<const double> deltas, Values& before) {
    for (std::size_t row = 0; row < deltas.size(); ++row) {
      back_to_input(row, step.t, deltas[row]);
      back_to_state(row, step.state, deltas[row], before);
    }
  }

  Values retreat_gru(const Step& step, const Values& state) {
    Values before(hidden_, 0.0), held_back(hidden_, 0.0), hidden(hidden_), deltas(2 * hidden_);
    const auto reset = [&](std::size_t h) { return function(0, step.sums[hidden_ + h]); };
    for (std::size_t h = 0; h < hidden_; ++h) {
      const double update = function(0, step.sums[h]);
      const double candidate = step.sums[2 * hidden_ + h];
      before[h] += state[h] * update;
      deltas[h] = state[h] * (step.state[h] - function(1, candidate)) * slope(0, step.sums[h]);
      hidden[h] = state[h] * (1 - update) * slope(1, candidate);
    }
    for (std::size_t h = 0; h < hidden_; ++h) {
      const std::size_t row = 2 * hidden_ + h;
      back_to_input(row, step.t, hidden[h]);
      if (op_.linear_before_reset) {
        back_to_state(row, step.state, hidden[h] * reset(h), before);
      } else {
        back_to_state(row, step.held_back, hidden[h], held_back);
      }
    }
    for (std::size_t h = 0; h < hidden_; ++h) {
      const double by_reset = op_.linear_before_reset ? hidden[h] * step.recurrent[h] : held_back[h] * step.state[h];
      before[h] += held_back[h] * reset(h);
      deltas[hidden_ + h] = by_reset * slope(0, step.sums[hidden_ + h]);
    }
    back_to_both(step, deltas, before);
    return before;
  }

  Values retreat_lstm(const Step& step, const Values& state, Values& cell) {
    Values before(hidden_, 0.0), deltas(rows(), 0.0);
    const double* const sums = step.sums.data();
    for (std::size_t h = 0; h < hidden_; ++h) {
      const std::size_t output_row = hidden_ + h, forget_row = 2 * hidden_ + h, candidate_row = 3 * hidden_ + h;
      const double next_cell = step.next_cell[h];
      const double output = function(0, sums[output_row]);
      deltas[output_row] = state[h] * apply(gates_[2], next_cell) * slope(0, sums[output_row]);
      double by_cell = cell[h] + state[h] * output * slope_of(gates_[2], next_cell);
      by_cell += back_to_cell(1, h, next_cell, deltas[output_row]);

      const double input = function(0, sums[h]);
      const double forget = op_.couple_gates ? 1 - input : function(0, sums[forget_row]);
      const double by_forget = by_cell * step.cell[h];
      deltas[candidate_row] = by_cell * input * slope(1, sums[candidate_row]);
      double by_input = by_cell * function(1, sums[candidate_row]);
      if (op_.couple_gates) {
        by_input -= by_forget;
      } else {
        deltas[forget_row] = by_forget * slope(0, sums[forget_row]);
      }
      deltas[h] = by_input * slope(0, sums[h]);
      cell[h] = by_cell * forget + back_to_cell(0, h, step.cell[h], deltas[h]) +
                back_to_cell(2, h, step.cell[h], deltas[forget_row]);
    }
    back_to_both(step, deltas, before);
    return before;
  }

  const Recurrent& op_;
  const Extents& extents_;
  const Parts& values_;
  Parts& gradients_;
  std::vector<Gate> gates_;
  std::size_t direction_, sample_, hidden_;
  std::vector<Step> steps_;
};

Values zeros_like(const Values& values) { return Values(values.size(), 0.0); }

/// The gradients of a layer by its inputs, of which those of `inputs` that are given.
Parts gradients_of(const Recurrent& op, Inputs inputs, const Values& dy) {
  const Optionals optionals = optionals_of(op, inputs);
  const auto given = [](const ConstTensor* tensor) { return tensor == nullptr ? Values{} : dense(*tensor); };
  const Parts values{dense(inputs[0]),       dense(inputs[1]),      dense(inputs[2]),          dense(inputs[3]),
                     given(optionals.state), given(optionals.cell), given(optionals.peepholes)};
  Parts gradients{zeros_like(values.x),     zeros_like(values.w),    zeros_like(values.r),        zeros_like(values.b),
                  zeros_like(values.state), zeros_like(values.cell), zeros_like(values.peepholes)};
  const Shape& x = inputs[0].shape;
  const auto size = [](std::int64_t extent) { return static_cast<std::size_t>(extent); };
  const Extents extents{size(x[0]), size(x[1]), size(x[2]), size(op.hidden), size(gate_count(op.cell))};
  for (std::size_t direction = 0; direction < size(direction_count(op.direction)); ++direction) {
    for (std::size_t n = 0; n < extents.samples; ++n) {
      Unrolled sample(op, extents, values, gradients, direction, n);
      sample.forward(size(length_of(optionals, static_cast<std::int64_t>(n), x[0])));
      sample.backward(dy);
    }
  }
  return gradients;
}

/// Writes the parts that are there behind one another.
void put_parts(const std::vector<const Values*>& parts, const Tensor& pack) {
  fill(pack, 0);
  std::int64_t place = 0;
  for (const Values* const part : parts) {
    place = pack_place(place);
    put(pack, place, *part);
    place += static_cast<std::int64_t>(part->size());
  }
}

/// Entry 0 of a new leading axis.
ConstTensor as_direction(ConstTensor tensor) {
  tensor.shape.insert(tensor.shape.begin(), 1);
  tensor.strides.insert(tensor.strides.begin(), 0);
  return tensor;
}

}  // namespace

void compute(const RecurrentGradient& op, Inputs inputs, const Tensor& y) {
  const Parts parts = gradients_of(op.layer, inputs, dense(inputs.back()));
  std::vector<const Values*> given{&parts.x, &parts.w, &parts.r, &parts.b};
  if (op.layer.has_state) given.push_back(&parts.state);
  if (op.layer.has_cell_state) given.push_back(&parts.cell);
  if (op.layer.has_peepholes) given.push_back(&parts.peepholes);
  put_parts(given, y);
}

void compute(const LstmGradient& op, Inputs inputs, const Tensor& y) {
  Recurrent layer;
  layer.hidden = op.hidden;
  // The layer's one bias, and none of the state's part.
  const std::int64_t rows = 4 * op.hidden;
  std::vector<float> bias(static_cast<std::size_t>(2 * rows), 0.0F);
  copy(inputs[3], {bias.data(), {rows}, {1}});
  const std::vector<ConstTensor> own{
      inputs[0], as_direction(inputs[1]), as_direction(inputs[2]), {bias.data(), {1, 2 * rows}, {2 * rows, 1}}};
  Parts parts = gradients_of(layer, own, dense(inputs[5]));
  parts.b.resize(static_cast<std::size_t>(rows));
  put_parts({&parts.x, &parts.w, &parts.r, &parts.b}, y);
}

}  // namespace cohort::reference
