#pragma once

#include <cstdint>
#include <vector>

#include "models/shape.hpp"

namespace cohort {

/// One-layer forward LSTM, initial state zero.
/// Inputs: x [T, N, I]; w [4H, I]; r [4H, H]; b [4H] (the sum of input and recurrent bias), with
/// gates in ONNX's order: input, output, forget, cell. Output: y [T, N, H].
/// Source: Hochreiter & Schmidhuber 1997, without peepholes.
struct Lstm {
  std::int64_t hidden = 0;
  bool quantized_weights = false;  ///< each row of w and of r is one number times whole numbers of 8 bits

  friend bool operator==(const Lstm&, const Lstm&) = default;
};

enum class RecurrentCell { kRnn, kGru, kLstm };
enum class Direction { kForward, kReverse, kBidirectional };

enum class GateFunction {
  kSigmoid,
  kTanh,
  kRelu,
  kLeakyRelu,        ///< alpha
  kThresholdedRelu,  ///< alpha
  kElu,              ///< alpha
  kHardSigmoid,      ///< alpha, beta
  kSoftsign,
  kSoftplus,
  kAffine,      ///< alpha x + beta
  kScaledTanh,  ///< alpha tanh(beta x)
};

struct Gate {
  GateFunction function = GateFunction::kSigmoid;
  float alpha = 0;
  float beta = 0;

  friend bool operator==(const Gate&, const Gate&) = default;
};

/// Any one-layer recurrent network of ONNX: RNN, GRU or LSTM, in one or both directions D.
/// Inputs: x [T, N, I]; w [D, G*H, I]; r [D, G*H, H]; b [D, 2*G*H] (input biases, then recurrent ones);
/// then, each only where its flag is set, lengths [N] (int32), initial state [D, N, H], initial cell
/// state [D, N, H] (LSTM), peepholes [D, 3*H] (LSTM). G and the gates' order are ONNX's: RNN 1; GRU 3:
/// update, reset, hidden; LSTM 4: input, output, forget, cell; peepholes input, output, forget.
/// Output: [T, D, N, H], all states; with `final_state` [T + 1, ...], the last state behind them, of an
/// LSTM [T + 2, ...], then also the last cell state. After a sample's length states are zero, without steps all are.
/// Source: ONNX operators RNN-14, GRU-14, LSTM-14; the clip and samples without steps as ONNX Runtime has them.
struct Recurrent {
  RecurrentCell cell = RecurrentCell::kLstm;
  std::int64_t hidden = 0;
  Direction direction = Direction::kForward;
  std::vector<Gate> gates;           ///< RNN 1, GRU 2, LSTM 3 a direction, in ONNX's order; empty: the usual ones
  float clip = 0;                    ///< of the gates' sums, not of an LSTM's cell; 0: none
  bool linear_before_reset = false;  ///< GRU: the reset gate is applied after the matrix product
  bool couple_gates = false;         ///< LSTM: the forget gate is 1 - input gate
  bool has_lengths = false;
  bool has_state = false;
  bool has_cell_state = false;
  bool has_peepholes = false;
  bool final_state = false;
  bool quantized_weights = false;  ///< each row of w and of r is one number times whole numbers of 8 bits

  friend bool operator==(const Recurrent&, const Recurrent&) = default;
};

/// Rows of the weight matrices for each hidden unit: 1, 3 or 4.
std::int64_t gate_count(RecurrentCell cell);
/// 1 or 2.
std::int64_t direction_count(Direction direction);

}  // namespace cohort
