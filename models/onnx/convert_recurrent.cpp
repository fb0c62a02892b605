#include <algorithm>
#include <iterator>

#include "models/onnx/converters.hpp"

namespace cohort::onnx {

namespace {

struct GateName {
  std::string_view name;
  GateFunction function;
  float alpha = 0, beta = 0;  ///< defaults
  int parameters = 0;
};

constexpr GateName kGates[] = {
    {"Affine", GateFunction::kAffine, 1, 0, 2},
    {"Elu", GateFunction::kElu, 1, 0, 1},
    {"HardSigmoid", GateFunction::kHardSigmoid, 0.2F, 0.5F, 2},
    {"LeakyRelu", GateFunction::kLeakyRelu, 0.01F, 0, 1},
    {"Relu", GateFunction::kRelu},
    {"ScaledTanh", GateFunction::kScaledTanh, 1, 1, 2},
    {"Sigmoid", GateFunction::kSigmoid},
    {"Softplus", GateFunction::kSoftplus},
    {"Softsign", GateFunction::kSoftsign},
    {"Tanh", GateFunction::kTanh},
    {"ThresholdedRelu", GateFunction::kThresholdedRelu, 1, 0, 1},
};

bool equal_names(std::string_view a, std::string_view b) {
  return std::equal(a.begin(), a.end(), b.begin(), b.end(), [](char x, char y) {
    return std::tolower(static_cast<unsigned char>(x)) == std::tolower(static_cast<unsigned char>(y));
  });
}

/// The functions a node names; alphas and betas go to those that have such parameters, in order.
Result<std::vector<Gate>> gates_of(NodeImport& node) {
  COHORT_TRY(const auto names, node.text_list("activations"));
  COHORT_TRY(const auto alphas, node.number_list("activation_alpha"));
  COHORT_TRY(const auto betas, node.number_list("activation_beta"));
  std::vector<Gate> gates;
  std::size_t next_alpha = 0, next_beta = 0;
  for (const std::string& name : names) {
    const auto* const found = std::find_if(std::begin(kGates), std::end(kGates),
                                           [&](const GateName& gate) { return equal_names(gate.name, name); });
    if (found == std::end(kGates)) return fail(ErrorCode::kInvalidInput, "function {} is not supported", name);
    Gate gate{found->function, found->alpha, found->beta};
    if (found->parameters > 0 && next_alpha < alphas.size()) gate.alpha = alphas[next_alpha++];
    if (found->parameters > 1 && next_beta < betas.size()) gate.beta = betas[next_beta++];
    gates.push_back(gate);
  }
  return gates;
}

Result<Direction> direction_of(NodeImport& node) {
  COHORT_TRY(const std::string direction, node.text("direction", "forward"));
  if (direction == "forward") return Direction::kForward;
  if (direction == "reverse") return Direction::kReverse;
  if (direction == "bidirectional") return Direction::kBidirectional;
  return fail(ErrorCode::kInvalidInput, "attribute direction must be forward, reverse or bidirectional, not {}",
              direction);
}

Result<Recurrent> attributes_of(NodeImport& node, const Shape& r) {
  Recurrent op;
  op.cell = node.op_type() == "RNN"   ? RecurrentCell::kRnn
            : node.op_type() == "GRU" ? RecurrentCell::kGru
                                      : RecurrentCell::kLstm;
  COHORT_TRY(op.hidden, node.integer("hidden_size", r.empty() ? 0 : r.back()));
  COHORT_TRY(op.direction, direction_of(node));
  COHORT_TRY(op.gates, gates_of(node));
  COHORT_TRY(op.clip, node.number("clip", 0));
  COHORT_TRY(const std::int64_t linear, node.integer("linear_before_reset", 0));
  COHORT_TRY(const std::int64_t couple, node.integer("input_forget", 0));
  op.linear_before_reset = linear != 0;
  op.couple_gates = couple != 0;
  op.has_lengths = node.has_input(4);
  op.has_state = node.has_input(5);
  op.has_cell_state = node.has_input(6);
  op.has_peepholes = node.has_input(7);
  op.final_state = node.is_read(1) || node.is_read(2);
  node.ignore("output_sequence");  // opset 6: says what the outputs show
  return op;
}

/// Swaps the two axes before the last, `from` and `from` + 1.
Result<TensorId> swapped(NodeImport& node, std::string_view suffix, TensorId x, std::vector<std::int64_t> permutation) {
  return node.emit(suffix, Transpose{std::move(permutation)}, {x});
}

/// The op's inputs in its order; samples before time steps (layout 1) are swapped first.
Result<std::vector<TensorId>> inputs_of(NodeImport& node, const Recurrent& op, bool samples_first) {
  std::vector<TensorId> inputs;
  for (std::size_t i = 0; i < 8; ++i) {
    if (i == 3 && !node.has_input(3)) {
      const std::int64_t directions = direction_count(op.direction);
      const std::int64_t rows = 2 * gate_count(op.cell) * op.hidden;
      COHORT_CHECK(check_shape({directions, rows}));
      COHORT_CHECK(node.claim(directions * rows));
      std::vector<float> zeros(static_cast<std::size_t>(directions * rows), 0.0F);
      COHORT_TRY(const TensorId bias, node.made_weight("bias", {directions, rows}, std::move(zeros)));
      inputs.push_back(bias);
      continue;
    }
    if (i > 3 && !node.has_input(i)) continue;
    COHORT_TRY(TensorId input, node.tensor(i));
    if (samples_first && (i == 0 || i == 5 || i == 6)) {
      COHORT_TRY(input, swapped(node, fmt::format("input{}", i), input, {1, 0, 2}));
    }
    inputs.push_back(input);
  }
  return inputs;
}

/// Rows [begin, begin + count) of the op's result, as the node's output `output`.
Result<void> set_rows(NodeImport& node, TensorId all, std::int64_t begin, std::int64_t count, std::size_t output,
                      bool samples_first) {
  if (!node.is_read(output)) return {};
  Shape shape = node.shape_of(all);
  const bool is_last = output > 0;
  TensorId y = all;
  if (count != shape[0]) {
    TensorSlice slice{Shape(4, 0), Shape(4, 1), shape};
    slice.start[0] = begin;
    slice.count[0] = shape[0] = count;
    COHORT_TRY(y, node.emit(fmt::format("output{}", output), std::move(slice), {all}));
  }
  if (samples_first) {
    COHORT_TRY(y, swapped(node, fmt::format("swapped{}", output), y, {2, 0, 1, 3}));
    shape = {shape[2], shape[0], shape[1], shape[3]};
  }
  if (is_last) {
    shape.erase(shape.begin() + (samples_first ? 1 : 0));
    COHORT_TRY(y, node.emit_reshape(fmt::format("state{}", output), y, shape));
  }
  node.set_result(y, output);
  return {};
}

/// The plain LSTM that libraries are quick at: one direction, constant weights, all states and no more.
bool is_plain_lstm(const NodeImport& node, const Recurrent& op, bool samples_first) {
  const bool extras = op.has_lengths || op.has_state || op.has_cell_state || op.has_peepholes || op.final_state;
  const bool constant =
      node.constant(1) != nullptr && node.constant(2) != nullptr && (!node.has_input(3) || node.constant(3) != nullptr);
  return op.cell == RecurrentCell::kLstm && op.direction == Direction::kForward && op.gates.empty() && op.clip == 0 &&
         !op.couple_gates && !extras && !samples_first && constant;
}

/// Input `i` [1, rows, columns] as a weight [rows, columns].
Result<TensorId> plain_weight(NodeImport& node, std::size_t i, const Shape& shape, std::string_view name) {
  COHORT_TRY(const Constant* const matrix, node.floats(i, name));
  const Shape expected{1, shape[0], shape[1]};
  if (matrix->shape != expected)
    return fail(ErrorCode::kInvalidInput, "{} must be {}, not {}", name, to_string(expected), to_string(matrix->shape));
  COHORT_CHECK(node.claim(element_count(shape)));
  return node.weight(i, shape, *matrix->floats());
}

/// Input and recurrent bias, [1, 8H], as their sum where they are trained: each of the two is changed by its gradient.
Result<TensorId> sum_of_halves(NodeImport& node, std::int64_t hidden) {
  COHORT_TRY(const TensorId both, node.tensor(3));
  const auto half = [&](std::string_view suffix, std::int64_t begin) {
    return node.emit(suffix, TensorSlice{{0, begin}, {1, 1}, {1, 4 * hidden}}, {both});
  };
  COHORT_TRY(const TensorId of_input, half("input_bias", 0));
  COHORT_TRY(const TensorId of_state, half("state_bias", 4 * hidden));
  COHORT_TRY(const TensorId sum, node.emit("bias_sum", Binary{BinaryKind::kAdd}, {of_input, of_state}));
  return node.emit_reshape("bias", sum, {4 * hidden});
}

/// Input and recurrent bias, [1, 8H], as their sum.
Result<TensorId> plain_bias(NodeImport& node, std::int64_t hidden) {
  const auto rows = static_cast<std::size_t>(4 * hidden);
  COHORT_CHECK(node.claim(4 * hidden));
  std::vector<float> sum(rows, 0.0F);
  if (!node.has_input(3)) return node.made_weight("bias", {4 * hidden}, std::move(sum));
  COHORT_TRY(const Constant* const bias, node.floats(3, "B"));
  const Shape expected{1, 8 * hidden};
  if (bias->shape != expected)
    return fail(ErrorCode::kInvalidInput, "B must be {}, not {}", to_string(expected), to_string(bias->shape));
  if (node.is_trained(3)) return sum_of_halves(node, hidden);
  const std::vector<float>& values = *bias->floats();
  for (std::size_t i = 0; i < rows; ++i) sum[i] = values[i] + values[rows + i];
  return node.weight(3, {4 * hidden}, std::move(sum));
}

Result<void> convert_plain_lstm(NodeImport& node, const Shape& x, std::int64_t hidden) {
  COHORT_TRY(const TensorId from, node.tensor(0));
  COHORT_TRY(const TensorId w, plain_weight(node, 1, {4 * hidden, x[2]}, "W"));
  COHORT_TRY(const TensorId r, plain_weight(node, 2, {4 * hidden, hidden}, "R"));
  COHORT_TRY(const TensorId b, plain_bias(node, hidden));
  COHORT_TRY(const TensorId y, node.emit("", Lstm{hidden}, {from, w, r, b}));
  // ONNX's Y has an axis for directions. Most files squeeze it away at once.
  node.set_alias(TensorValue{y, Shape{x[0], 1, x[1], hidden}});
  return {};
}

}  // namespace

Result<void> convert_recurrent(NodeImport& node) {
  COHORT_TRY(const Shape x, node.shape(0));
  COHORT_TRY(const Shape r, node.shape(2));
  if (x.size() != 3) return fail(ErrorCode::kInvalidInput, "x must be [T, N, I], not {}", to_string(x));
  COHORT_TRY(Recurrent op, attributes_of(node, r));
  constexpr std::int64_t kMostHidden = std::int64_t{1} << 24;
  if (op.hidden < 1 || op.hidden > kMostHidden)
    return fail(ErrorCode::kInvalidInput, "hidden_size must be from 1 to {}, not {}", kMostHidden, op.hidden);
  COHORT_TRY(const std::int64_t layout, node.integer("layout", 0));
  const bool samples_first = layout != 0;
  if (is_plain_lstm(node, op, samples_first)) return convert_plain_lstm(node, x, op.hidden);
  const std::int64_t steps = samples_first ? x[1] : x[0];
  COHORT_TRY(std::vector<TensorId> inputs, inputs_of(node, op, samples_first));
  COHORT_TRY(const TensorId all, node.emit("", std::move(op), std::move(inputs)));
  COHORT_CHECK(set_rows(node, all, 0, steps, 0, samples_first));
  COHORT_CHECK(set_rows(node, all, steps, 1, 1, samples_first));
  return set_rows(node, all, steps + 1, 1, 2, samples_first);
}

}  // namespace cohort::onnx
