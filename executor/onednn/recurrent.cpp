#include <optional>
#include <utility>

#include "executor/onednn/implementation.hpp"
#include "executor/onednn/operands.hpp"
#include "executor/reference/call.hpp"

namespace cohort::onednn {
namespace {

/// Gates of `values` ([gates, ...] in ONNX's order) in the order `order`, one after another.
std::vector<float> pick_gates(const std::vector<float>& values, std::size_t gates, const std::vector<int>& order) {
  const auto gate = static_cast<std::ptrdiff_t>(values.size() / gates);
  std::vector<float> result;
  result.reserve(values.size());
  for (const int from : order)
    result.insert(result.end(), values.begin() + from * gate, values.begin() + (from + 1) * gate);
  return result;
}

/// ONNX's gates in the library's order. ONNX: LSTM input, output, forget, cell; GRU update, reset, hidden.
std::vector<int> gate_order(RecurrentCell cell) {
  switch (cell) {
    case RecurrentCell::kRnn:
      return {0};
    case RecurrentCell::kGru:
      return {0, 1, 2};
    case RecurrentCell::kLstm:
      return {0, 2, 3, 1};
  }
  return {};
}

/// Both biases summed; with `split_last`, the last gate's recurrent bias apart, behind the others.
Rearrange rearrange_bias(RecurrentCell cell, bool split_last) {
  return [cell, split_last](const std::vector<float>& values) {
    const std::size_t half = values.size() / 2;
    const std::size_t rows = half / static_cast<std::size_t>(gate_count(cell));
    std::vector<float> sum(values.begin(), values.begin() + static_cast<std::ptrdiff_t>(half));
    const std::size_t summed = split_last ? half - rows : half;
    for (std::size_t i = 0; i < summed; ++i) sum[i] += values[half + i];
    sum = pick_gates(sum, static_cast<std::size_t>(gate_count(cell)), gate_order(cell));
    if (split_last) sum.insert(sum.end(), values.end() - static_cast<std::ptrdiff_t>(rows), values.end());
    return sum;
  };
}

/// Whether the gates' functions are those that the library has for the cell.
bool has_usual_gates(const Recurrent& op) {
  if (op.gates.empty()) return true;
  for (std::size_t i = 0; i < op.gates.size(); ++i) {
    const bool first = i == 0 && op.cell != RecurrentCell::kRnn;
    const GateFunction usual = first ? GateFunction::kSigmoid : GateFunction::kTanh;
    if (op.gates[i].function != usual) return false;
  }
  return true;
}

Shape strides_of(const Operand& operand) {
  if (const auto* const view = std::get_if<View>(&operand)) return view->strides;
  return dense_strides(shape_of(operand), Layout::kNchw);
}

/// A layer's input, output or state, the values of one sample last. What strides of a single step or sample are says
/// nothing, but the library's fast products take them for the length of a row all the same: they become dense ones.
/// Absent where the values do not lie one behind the other, or rows over each other.
std::optional<Descriptor> describe_rows(const Shape& shape, Shape strides) {
  for (std::size_t d = shape.size(); d-- > 0;) {
    if (shape[d] == 1) strides[d] = d + 1 == shape.size() ? 1 : shape[d + 1] * strides[d + 1];
  }
  if (strides.back() != 1 || strides[strides.size() - 2] < shape.back()) return std::nullopt;
  return describe(shape, strides);
}

/// Descriptors of all operands of a layer in one direction.
struct Layer {
  dnnl::rnn_direction direction;
  Descriptor x, y, state, cell, w, r, bias;
};

template <class Primitive>
void append(const typename Primitive::desc& description, const std::vector<Binding>& bindings,
            const dnnl::engine& engine, Implementations& list) {
  append_implementations(typename Primitive::primitive_desc(description, scratchpad_only(), engine, true), "", bindings,
                         list);
}

Implementations run_layer(const Recurrent& op, const Layer& l, const std::vector<Binding>& bindings,
                          const dnnl::engine& engine) {
  constexpr auto kInference = dnnl::prop_kind::forward_inference;
  const Descriptor none;
  Implementations list;
  if (op.cell == RecurrentCell::kLstm) {
    append<dnnl::lstm_forward>({kInference, l.direction, l.x, l.state, l.cell, l.w, l.r, l.bias, l.y, none, none},
                               bindings, engine, list);
  } else if (op.cell == RecurrentCell::kRnn) {
    append<dnnl::vanilla_rnn_forward>(
        {kInference, dnnl::algorithm::eltwise_tanh, l.direction, l.x, l.state, l.w, l.r, l.bias, l.y, none}, bindings,
        engine, list);
  } else if (op.linear_before_reset) {
    append<dnnl::lbr_gru_forward>({kInference, l.direction, l.x, l.state, l.w, l.r, l.bias, l.y, none}, bindings,
                                  engine, list);
  } else {
    append<dnnl::gru_forward>({kInference, l.direction, l.x, l.state, l.w, l.r, l.bias, l.y, none}, bindings, engine,
                              list);
  }
  for (Implementation& way : list) {
    // What the library calls its reference here is made of its fast matrix products.
    if (way.algorithm.rfind("ref", 0) == 0) way.algorithm = "gemm";
  }
  return list;
}

Rearrange rearrange_gates(RecurrentCell cell) {
  return [cell](const std::vector<float>& values) {
    return pick_gates(values, static_cast<std::size_t>(gate_count(cell)), gate_order(cell));
  };
}

/// Weights of all gates. Layer, direction, input, gate, output; each gate's matrix [H, I] row by row.
Binding bind_weights(int argument, std::size_t operand, RecurrentCell cell, std::int64_t inputs, std::int64_t hidden) {
  const std::int64_t gates = gate_count(cell), all = gates * hidden * inputs;
  Binding binding =
      bind_input(argument, operand, describe({1, 1, inputs, gates, hidden}, {all, all, 1, hidden * inputs, inputs}));
  binding.rearrange = rearrange_gates(cell);
  return binding;
}

Binding bind_layer_output(const Descriptor& y) {
  Binding to = bind_output(y);
  to.argument = DNNL_ARG_DST_LAYER;
  return to;
}

/// Whether the library has the layer: one direction, its own functions, every sample of full length.
bool is_plain(const Recurrent& op, const OpCall& call) {
  const bool constant = is_constant(call, 1) && is_constant(call, 2) && is_constant(call, 3);
  const bool bare = !op.couple_gates && !op.has_lengths && !op.has_peepholes && !op.final_state && op.clip == 0;
  return constant && bare && op.direction != Direction::kBidirectional && has_usual_gates(op) && call.post_ops.empty();
}

}  // namespace

Implementations implementations(const Recurrent& op, const OpCall& call, const dnnl::engine& engine) {
  // A cell's initial state without the layer's would need another binding; exporters give both or none.
  if (!is_plain(op, call) || (op.cell == RecurrentCell::kLstm && op.has_state != op.has_cell_state)) return {};
  const Shape& shape = shape_of(call.inputs[0]);
  const View& out = call.outputs[0];
  const std::int64_t inputs = shape[2], hidden = op.hidden, gates = gate_count(op.cell);
  const bool split_bias = op.cell == RecurrentCell::kGru && op.linear_before_reset;

  Layer l;
  l.direction = op.direction == Direction::kReverse ? dnnl::rnn_direction::unidirectional_right2left
                                                    : dnnl::rnn_direction::unidirectional_left2right;
  const auto x = describe_rows(shape, strides_of(call.inputs[0]));
  const auto y = describe_rows({out.shape[0], out.shape[2], hidden}, {out.strides[0], out.strides[2], out.strides[3]});
  if (!x || !y) return {};
  l.x = *x;
  l.y = *y;
  l.w = describe_any({1, 1, inputs, gates, hidden});
  l.r = describe_any({1, 1, hidden, gates, hidden});
  l.bias = describe_dense({1, 1, split_bias ? gates + 1 : gates, hidden});

  Binding bias = bind_input(DNNL_ARG_BIAS, 3, l.bias);
  bias.rearrange = rearrange_bias(op.cell, split_bias);
  std::vector<Binding> bindings = {
      bind_input(DNNL_ARG_SRC_LAYER, 0, l.x), bind_weights(DNNL_ARG_WEIGHTS_LAYER, 1, op.cell, inputs, hidden),
      bind_weights(DNNL_ARG_WEIGHTS_ITER, 2, op.cell, hidden, hidden), bias, bind_layer_output(l.y)};
  const auto add_state = [&](int argument, std::size_t operand, Descriptor& state) {
    Shape strides = strides_of(call.inputs[operand]);
    strides.insert(strides.begin(), strides[0]);
    const auto rows = describe_rows({1, 1, shape[1], hidden}, strides);
    if (!rows) return false;
    state = *rows;
    bindings.push_back(bind_input(argument, operand, state));
    return true;
  };
  if (op.has_state && !add_state(DNNL_ARG_SRC_ITER, 4, l.state)) return {};
  if (op.has_cell_state && !add_state(DNNL_ARG_SRC_ITER_C, 5, l.cell)) return {};
  return run_layer(op, l, bindings, engine);
}

Implementations implementations(const Lstm& op, const OpCall& call, const dnnl::engine& engine) {
  if (!call.post_ops.empty() || !is_constant(call, 1) || !is_constant(call, 2) || !is_constant(call, 3)) return {};
  constexpr RecurrentCell kCell = RecurrentCell::kLstm;
  const Shape& shape = shape_of(call.inputs[0]);
  const std::int64_t inputs = shape[2], hidden = op.hidden, gates = gate_count(kCell);
  const auto x = describe_rows(shape, strides_of(call.inputs[0]));
  const auto y = describe_rows(call.outputs[0].shape, call.outputs[0].strides);
  if (!x || !y) return {};
  Layer l;
  l.direction = dnnl::rnn_direction::unidirectional_left2right;
  l.x = *x;
  l.y = *y;
  l.w = describe_any({1, 1, inputs, gates, hidden});
  l.r = describe_any({1, 1, hidden, gates, hidden});
  l.bias = describe_dense({1, 1, gates, hidden});
  Binding bias = bind_input(DNNL_ARG_BIAS, 3, l.bias);
  bias.rearrange = rearrange_gates(kCell);
  Recurrent layer;
  layer.cell = kCell;
  return run_layer(
      layer, l,
      {bind_input(DNNL_ARG_SRC_LAYER, 0, l.x), bind_weights(DNNL_ARG_WEIGHTS_LAYER, 1, kCell, inputs, hidden),
       bind_weights(DNNL_ARG_WEIGHTS_ITER, 2, kCell, hidden, hidden), bias, bind_layer_output(l.y)},
      engine);
}

}  // namespace cohort::onednn
