#include <algorithm>
#include <cmath>
#include <vector>

#include "models/compute/ops.hpp"
#include "models/compute/recurrent.hpp"

namespace cohort::reference {

double apply(const Gate& gate, double x) {
  const auto alpha = static_cast<double>(gate.alpha);
  const auto beta = static_cast<double>(gate.beta);
  switch (gate.function) {
    case GateFunction::kSigmoid:
      return sigmoid(x);
    case GateFunction::kTanh:
      return std::tanh(x);
    case GateFunction::kRelu:
      return std::max(x, 0.0);
    case GateFunction::kLeakyRelu:
      return x >= 0 ? x : alpha * x;
    case GateFunction::kThresholdedRelu:
      return x <= alpha ? 0.0 : x;
    case GateFunction::kElu:
      return x >= 0 ? x : alpha * std::expm1(x);
    case GateFunction::kHardSigmoid:
      return std::min(std::max(alpha * x + beta, 0.0), 1.0);
    case GateFunction::kSoftsign:
      return x / (1 + std::abs(x));
    case GateFunction::kSoftplus:
      return std::max(x, 0.0) + std::log1p(std::exp(-std::abs(x)));
    case GateFunction::kAffine:
      return alpha * x + beta;
    case GateFunction::kScaledTanh:
      return alpha * std::tanh(beta * x);
  }
  return x;
}

std::vector<Gate> gates_of(const Recurrent& op, std::int64_t direction) {
  const Gate sigmoid_gate{GateFunction::kSigmoid, 0, 0};
  const Gate tanh_gate{GateFunction::kTanh, 0, 0};
  if (op.gates.empty()) {
    if (op.cell == RecurrentCell::kRnn) return {tanh_gate};
    if (op.cell == RecurrentCell::kGru) return {sigmoid_gate, tanh_gate};
    return {sigmoid_gate, tanh_gate, tanh_gate};
  }
  const auto each = static_cast<std::ptrdiff_t>(op.gates.size()) / direction_count(op.direction);
  const auto first = op.gates.begin() + direction * each;
  return {first, first + each};
}

Optionals optionals_of(const Recurrent& op, Inputs inputs) {
  std::size_t next = 4;
  const auto take = [&](bool has) { return has ? &inputs[next++] : nullptr; };
  Optionals optionals;
  optionals.lengths = take(op.has_lengths);
  optionals.state = take(op.has_state);
  optionals.cell = take(op.has_cell_state);
  optionals.peepholes = take(op.has_peepholes);
  return optionals;
}

std::int64_t length_of(const Optionals& optionals, std::int64_t sample, std::int64_t steps) {
  if (optionals.lengths == nullptr) return steps;
  const std::int64_t length = whole(optionals.lengths->data[sample * optionals.lengths->strides[0]]);
  return std::clamp<std::int64_t>(length, 0, steps);
}

namespace {

/// One sample of an LSTM over all time steps.
class LstmSample {
 public:
  LstmSample(Inputs inputs, const Tensor& y, std::int64_t n)
      : x_(inputs[0]), w_(inputs[1]), r_(inputs[2]), b_(inputs.size() > 3 ? &inputs[3] : nullptr), y_(y), n_(n) {}

  void run() {
    const std::int64_t hidden = y_.shape[2];
    std::vector<double> state(static_cast<std::size_t>(hidden), 0.0), cell = state;
    for (std::int64_t t = 0; t < x_.shape[0]; ++t) {
      std::vector<double> next(state.size());
      for (std::int64_t h = 0; h < hidden; ++h) {
        const auto at = static_cast<std::size_t>(h);
        const double input = sigmoid(gate(0 * hidden + h, t, state));
        const double output = sigmoid(gate(1 * hidden + h, t, state));
        const double forget = sigmoid(gate(2 * hidden + h, t, state));
        const double candidate = std::tanh(gate(3 * hidden + h, t, state));
        cell[at] = forget * cell[at] + input * candidate;
        next[at] = output * std::tanh(cell[at]);
        y_.data[t * y_.strides[0] + n_ * y_.strides[1] + h * y_.strides[2]] = static_cast<float>(next[at]);
      }
      state = next;
    }
  }

 private:
  /// Row `row` of the four stacked gates before its nonlinearity.
  [[nodiscard]] double gate(std::int64_t row, std::int64_t t, const std::vector<double>& state) const {
    double sum = b_ != nullptr ? static_cast<double>(b_->data[row * b_->strides[0]]) : 0.0;
    const float* const x = x_.data + t * x_.strides[0] + n_ * x_.strides[1];
    for (std::int64_t i = 0; i < x_.shape[2]; ++i) {
      sum += static_cast<double>(x[i * x_.strides[2]]) *
             static_cast<double>(w_.data[row * w_.strides[0] + i * w_.strides[1]]);
    }
    for (std::size_t h = 0; h < state.size(); ++h) {
      sum +=
          state[h] * static_cast<double>(r_.data[row * r_.strides[0] + static_cast<std::int64_t>(h) * r_.strides[1]]);
    }
    return sum;
  }

  const ConstTensor& x_;
  const ConstTensor& w_;
  const ConstTensor& r_;
  const ConstTensor* b_;
  const Tensor& y_;
  std::int64_t n_;
};

/// One sample in one direction over all time steps.
class RecurrentSample {
 public:
  RecurrentSample(const Recurrent& op, Inputs inputs, std::int64_t direction, std::int64_t sample)
      : op_(op),
        inputs_(inputs),
        optionals_(optionals_of(op, inputs)),
        gates_(gates_of(op, direction)),
        direction_(direction),
        sample_(sample),
        hidden_(static_cast<std::size_t>(op.hidden)),
        state_(initial(optionals_.state)),
        cell_(initial(optionals_.cell)) {}

  void run(const Tensor& y) {
    const std::int64_t steps = inputs_[0].shape[0];
    const std::int64_t length = length_of(optionals_, sample_, steps);
    const bool backward = op_.direction == Direction::kReverse || direction_ == 1;
    for (std::int64_t i = 0; i < steps; ++i) {
      const std::int64_t t = backward && i < length ? length - 1 - i : i;
      if (i < length) advance(t);
      store(y, t, i < length ? state_ : Values(hidden_, 0.0));
    }
    if (!op_.final_state) return;
    const Values none(hidden_, 0.0);
    store(y, steps, length > 0 ? state_ : none);
    if (op_.cell == RecurrentCell::kLstm) store(y, steps + 1, length > 0 ? cell_ : none);
  }

 private:
  [[nodiscard]] Values initial(const ConstTensor* given) const {
    Values values(hidden_, 0.0);
    if (given == nullptr) return values;
    const float* const from = given->data + direction_ * given->strides[0] + sample_ * given->strides[1];
    for (std::size_t h = 0; h < hidden_; ++h)
      values[h] = static_cast<double>(from[static_cast<std::int64_t>(h) * given->strides[2]]);
    return values;
  }

  void store(const Tensor& y, std::int64_t t, const Values& values) const {
    float* const to = y.data + t * y.strides[0] + direction_ * y.strides[1] + sample_ * y.strides[2];
    for (std::size_t h = 0; h < hidden_; ++h)
      to[static_cast<std::int64_t>(h) * y.strides[3]] = static_cast<float>(values[h]);
  }

  [[nodiscard]] double bias(std::size_t row) const {
    const ConstTensor& b = inputs_[3];
    return static_cast<double>(b.data[direction_ * b.strides[0] + static_cast<std::int64_t>(row) * b.strides[1]]);
  }

  /// Row `row` of the input's part of gate `gate`, bias included.
  [[nodiscard]] double from_input(std::size_t gate, std::size_t h, std::int64_t t) const {
    const ConstTensor& x = inputs_[0];
    const ConstTensor& w = inputs_[1];
    const std::size_t row = gate * hidden_ + h;
    const float* const values = x.data + t * x.strides[0] + sample_ * x.strides[1];
    const float* const weights = w.data + direction_ * w.strides[0] + static_cast<std::int64_t>(row) * w.strides[1];
    double sum = bias(row);
    for (std::int64_t i = 0; i < x.shape[2]; ++i)
      sum += static_cast<double>(values[i * x.strides[2]]) * static_cast<double>(weights[i * w.strides[2]]);
    return sum;
  }

  /// The same of the recurrent part, for a state of `state`.
  [[nodiscard]] double from_state(std::size_t gate, std::size_t h, const Values& state) const {
    const ConstTensor& r = inputs_[2];
    const std::size_t row = gate * hidden_ + h;
    const float* const weights = r.data + direction_ * r.strides[0] + static_cast<std::int64_t>(row) * r.strides[1];
    double sum = bias(static_cast<std::size_t>(gate_count(op_.cell)) * hidden_ + row);
    for (std::size_t i = 0; i < hidden_; ++i)
      sum += state[i] * static_cast<double>(weights[static_cast<std::int64_t>(i) * r.strides[2]]);
    return sum;
  }

  [[nodiscard]] double function(std::size_t gate, double x) const {
    const auto clip = static_cast<double>(op_.clip);
    return apply(gates_[gate], clip > 0 ? std::clamp(x, -clip, clip) : x);
  }

  [[nodiscard]] double both(std::size_t gate, std::size_t h, std::int64_t t) const {
    return from_input(gate, h, t) + from_state(gate, h, state_);
  }

  void advance(std::int64_t t) {
    switch (op_.cell) {
      case RecurrentCell::kRnn: {
        Values next(hidden_);
        for (std::size_t h = 0; h < hidden_; ++h) next[h] = function(0, both(0, h, t));
        state_ = std::move(next);
        break;
      }
      case RecurrentCell::kGru:
        advance_gru(t);
        break;
      case RecurrentCell::kLstm:
        advance_lstm(t);
        break;
    }
  }

  void advance_gru(std::int64_t t) {
    Values update(hidden_), reset(hidden_), held_back(hidden_), next(hidden_);
    for (std::size_t h = 0; h < hidden_; ++h) {
      update[h] = function(0, both(0, h, t));
      reset[h] = function(0, both(1, h, t));
      held_back[h] = reset[h] * state_[h];
    }
    for (std::size_t h = 0; h < hidden_; ++h) {
      const double recurrent =
          op_.linear_before_reset ? reset[h] * from_state(2, h, state_) : from_state(2, h, held_back);
      const double candidate = function(1, from_input(2, h, t) + recurrent);
      next[h] = (1 - update[h]) * candidate + update[h] * state_[h];
    }
    state_ = std::move(next);
  }

  /// Weight of the cell's own state in gate `gate` of the peepholes.
  [[nodiscard]] double peephole(std::size_t gate, std::size_t h) const {
    if (optionals_.peepholes == nullptr) return 0;
    const ConstTensor& p = *optionals_.peepholes;
    return static_cast<double>(
        p.data[direction_ * p.strides[0] + static_cast<std::int64_t>(gate * hidden_ + h) * p.strides[1]]);
  }

  void advance_lstm(std::int64_t t) {
    Values next(hidden_), cell(hidden_);
    for (std::size_t h = 0; h < hidden_; ++h) {
      const double input = function(0, both(0, h, t) + peephole(0, h) * cell_[h]);
      const double forget = op_.couple_gates ? 1 - input : function(0, both(2, h, t) + peephole(2, h) * cell_[h]);
      const double candidate = function(1, both(3, h, t));
      cell[h] = forget * cell_[h] + input * candidate;
      const double output = function(0, both(1, h, t) + peephole(1, h) * cell[h]);
      next[h] = output * apply(gates_[2], cell[h]);
    }
    state_ = std::move(next);
    cell_ = std::move(cell);
  }

  const Recurrent& op_;
  Inputs inputs_;
  Optionals optionals_;
  std::vector<Gate> gates_;
  std::int64_t direction_;
  std::int64_t sample_;
  std::size_t hidden_;
  Values state_, cell_;
};

}  // namespace

void compute(const Lstm&, Inputs inputs, const Tensor& y) {
  for (std::int64_t n = 0; n < y.shape[1]; ++n) LstmSample(inputs, y, n).run();
}

void compute(const Recurrent& op, Inputs inputs, const Tensor& y) {
  for (std::int64_t direction = 0; direction < y.shape[1]; ++direction) {
    for (std::int64_t n = 0; n < y.shape[2]; ++n) RecurrentSample(op, inputs, direction, n).run(y);
  }
}

}  // namespace cohort::reference
