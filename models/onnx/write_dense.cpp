#include <algorithm>
#include <iterator>
#include <numeric>

#include "models/onnx/graph_writer.hpp"

namespace cohort::onnx {

namespace {

constexpr std::string_view kGateNames[] = {"Sigmoid",     "Tanh",     "Relu",     "LeakyRelu", "ThresholdedRelu", "Elu",
                                           "HardSigmoid", "Softsign", "Softplus", "Affine",    "ScaledTanh"};

bool has_alpha(GateFunction function) {
  return function >= GateFunction::kLeakyRelu && function != GateFunction::kSoftsign &&
         function != GateFunction::kSoftplus;
}
bool has_beta(GateFunction function) {
  return function == GateFunction::kHardSigmoid || function >= GateFunction::kAffine;
}

void set_gates(::onnx::NodeProto& node, const std::vector<Gate>& gates) {
  if (gates.empty()) return;
  auto& names = *node.add_attribute();
  names.set_name("activations");
  names.set_type(::onnx::AttributeProto::STRINGS);
  std::vector<float> alphas, betas;
  for (const Gate& gate : gates) {
    names.add_strings(std::string(kGateNames[static_cast<std::size_t>(gate.function)]));
    if (has_alpha(gate.function)) alphas.push_back(gate.alpha);
    if (has_beta(gate.function)) betas.push_back(gate.beta);
  }
  if (!alphas.empty()) set(node, "activation_alpha", alphas);
  if (!betas.empty()) set(node, "activation_beta", betas);
}

void set_attributes(::onnx::NodeProto& node, const Recurrent& op) {
  constexpr const char* kDirections[] = {"forward", "reverse", "bidirectional"};
  set(node, "hidden_size", op.hidden);
  set(node, "direction", kDirections[static_cast<std::size_t>(op.direction)]);
  set_gates(node, op.gates);
  if (op.clip != 0) set(node, "clip", op.clip);
  if (op.linear_before_reset) set(node, "linear_before_reset", std::int64_t{1});
  if (op.couple_gates) set(node, "input_forget", std::int64_t{1});
}

/// Window and rounding from which every reader finds the extents of y. A last window behind all of x and its first
/// pad is none here, but was one in ONNX before opset 22: such a pool rounds down, with pads for the windows it has.
struct WrittenWindow {
  Window window;
  bool rounds_up = false;
  bool has_other_pads = false;
};
WrittenWindow written_window(const Window& window, bool ceil_mode, const Shape& x, const Shape& y,
                             bool counts_pads = false) {
  WrittenWindow result{window, ceil_mode, false};
  WrittenWindow down = result;
  for (std::size_t d = 0; ceil_mode && d < window.kernel.size(); ++d) {
    const std::int64_t reach = window.dilation[d] * (window.kernel[d] - 1) + 1;
    const std::int64_t room = x[d + 2] + window.pad_begin[d] + window.pad_end[d] - reach;
    if ((room + window.stride[d] - 1) / window.stride[d] + 1 != y[d + 2]) result.rounds_up = false;
    const std::int64_t missing = (y[d + 2] - 1) * window.stride[d] - room;
    if (missing <= 0) continue;
    down.window.pad_end[d] += missing;
    down.has_other_pads = true;
  }
  // Before opset 19 runtimes do not agree on what an average counts behind its own pads.
  if (counts_pads && down.has_other_pads) result.rounds_up = false;
  if (result.rounds_up || !ceil_mode) return result;
  down.rounds_up = false;
  return down;
}

}  // namespace

void set_window(::onnx::NodeProto& node, const Window& window) {
  set(node, "kernel_shape", window.kernel);
  set(node, "strides", window.stride);
  std::vector<std::int64_t> pads = window.pad_begin;
  pads.insert(pads.end(), window.pad_end.begin(), window.pad_end.end());
  set(node, "pads", pads);
  const bool is_dilated =
      std::any_of(window.dilation.begin(), window.dilation.end(), [](std::int64_t dilation) { return dilation != 1; });
  if (is_dilated) set(node, "dilations", window.dilation);
}

Result<void> GraphWriter::write_node(const Op& op, const Convolution& convolution, const std::string& y) {
  COHORT_TRY(Node* const node, add_plain_node(op, "Conv", y));
  set_window(*node, convolution.window);
  set(*node, "group", convolution.groups);
  return {};
}

Result<void> GraphWriter::write_node(const Op& op, const ConvTranspose& convolution, const std::string& y) {
  ConvTranspose written = convolution;
  for (std::size_t d = 0; d < written.output_pad.size(); ++d) {
    if (written.window.pad_begin[d] < 0)
      return fail(ErrorCode::kInvalidInput, "rows before the first, pads below 0, cannot be written");
    if (written.window.pad_end[d] >= 0) continue;
    written.output_pad[d] -= written.window.pad_end[d];
    written.window.pad_end[d] = 0;
  }
  COHORT_TRY(Node* const node, add_plain_node(op, "ConvTranspose", y));
  set_window(*node, written.window);
  set(*node, "output_padding", written.output_pad);
  set(*node, "group", written.groups);
  return {};
}

Result<void> GraphWriter::write_node(const Op& op, const Pool& pool, const std::string& y) {
  const bool is_max = pool.kind == PoolKind::kMax;
  const bool counts_pads = pool.count_include_pad && !is_max;
  const WrittenWindow written =
      written_window(pool.window, pool.ceil_mode, shape_of(op, 0), model_.tensor(op.outputs[0]).shape, counts_pads);
  if (written.has_other_pads && counts_pads) {
    return write_padded_average(op, pool.window, written.window, y);
  }
  COHORT_TRY(Node* const node, add_plain_node(op, is_max ? "MaxPool" : "AveragePool", y));
  set_window(*node, written.window);
  if (written.rounds_up) set(*node, "ceil_mode", std::int64_t{1});
  if (counts_pads) set(*node, "count_include_pad", std::int64_t{1});
  return {};
}

/// An average that counts its own pads, but not those that `written` has for windows which rounding up adds: zeros in
/// front of an average that counts none.
Result<void> GraphWriter::write_padded_average(const Op& op, const Window& own, Window written, const std::string& y) {
  const std::string padded = unique(y + "/padded");
  COHORT_TRY(Node* const pad, add_plain_node(op, "Pad", padded));
  std::vector<std::int64_t> pads = {0, 0};
  pads.insert(pads.end(), own.pad_begin.begin(), own.pad_begin.end());
  pads.insert(pads.end(), {0, 0});
  pads.insert(pads.end(), own.pad_end.begin(), own.pad_end.end());
  pad->add_input(write_integers(op.name + ".pads", pads));
  for (std::size_t d = 0; d < own.pad_end.size(); ++d) {
    written.pad_begin[d] = 0;
    written.pad_end[d] -= own.pad_end[d];
  }
  Node& average = add_node(unique(op.name + "/average"), "AveragePool");
  average.add_input(padded);
  average.add_output(y);
  set_window(average, written);
  return {};
}

Result<void> GraphWriter::write_node(const Op& op, const MaxPoolIndices& pool, const std::string& y) {
  const WrittenWindow written =
      written_window(pool.window, pool.ceil_mode, shape_of(op, 0), model_.tensor(op.outputs[0]).shape);
  COHORT_TRY(Node* const node, add_plain_node(op, "MaxPool", unique(y + "/values")));
  const std::string indices = unique(y + "/indices");
  node->add_output(indices);
  set_window(*node, written.window);
  if (written.rounds_up) set(*node, "ceil_mode", std::int64_t{1});
  if (pool.column_major) set(*node, "storage_order", std::int64_t{1});
  cast_to(op, indices, ::onnx::TensorProto::INT32, y);
  return {};
}

Result<void> GraphWriter::write_node(const Op& op, const Gemm& gemm, const std::string& y) {
  if (gemm.stacked) return write_stacked_gemm(op, y);
  COHORT_TRY(std::string x, input_name(op, 0));
  if (shape_of(op, 0).size() != 2) {
    x = chain(op, "Flatten", x);
    set(*graph_.mutable_node(graph_.node_size() - 1), "axis", std::int64_t{1});
  }
  Node& node = add_node(op.name, "Gemm");
  node.add_input(x);
  COHORT_CHECK(add_inputs(node, op, 1));
  node.add_output(y);
  set(node, "transB", std::int64_t{1});
  return {};
}

/// Weight i [B, O, I] as [B, I, O]; a constant's values are written in that order.
Result<std::string> GraphWriter::transposed_matrices(const Op& op, std::size_t i) {
  const Shape& shape = shape_of(op, i);
  const WeightValues& values = weights_.of(op.inputs[i]);
  if (values == nullptr) {
    COHORT_TRY(const std::string w, input_name(op, i));
    const std::string result = chain(op, "Transpose", w);
    set(*graph_.mutable_node(graph_.node_size() - 1), "perm", std::vector<std::int64_t>{0, 2, 1});
    return result;
  }
  const auto rows = static_cast<std::size_t>(shape[1]), columns = static_cast<std::size_t>(shape[2]);
  std::vector<float> transposed(values->size());
  for (std::size_t at = 0; at < values->size(); at += rows * columns) {
    for (std::size_t row = 0; row < rows; ++row) {
      for (std::size_t column = 0; column < columns; ++column)
        transposed[at + column * rows + row] = (*values)[at + row * columns + column];
    }
  }
  return write_floats(model_.tensor(op.inputs[i]).name, {shape[0], shape[2], shape[1]}, transposed);
}

/// A product of matrices for each model, as ONNX has no Gemm with a model axis.
Result<void> GraphWriter::write_stacked_gemm(const Op& op, const std::string& y) {
  COHORT_TRY(std::string x, input_name(op, 0));
  const Shape& x_shape = shape_of(op, 0);
  const Shape& w_shape = shape_of(op, 1);
  if (x_shape.size() != 3) x = reshape(op, x, {x_shape[0], x_shape[1], w_shape[2]});
  COHORT_TRY(const std::string w, transposed_matrices(op, 1));
  const bool has_bias = own_input_count(op) > 2;
  const std::string product = has_bias ? unique(y + "/product") : y;
  Node& node = add_node(op.name, "MatMul");
  node.add_input(x);
  node.add_input(w);
  node.add_output(product);
  if (!has_bias) return {};
  const Shape bias_shape = {w_shape[0], 1, w_shape[1]};
  std::string bias;
  if (weights_.of(op.inputs[2]) != nullptr) {
    COHORT_TRY(bias, write_weight(op.inputs[2], bias_shape));
  } else {
    COHORT_TRY(const std::string own, input_name(op, 2));
    bias = reshape(op, own, bias_shape);
  }
  Node& sum = add_node(unique(op.name + "/bias"), "Add");
  sum.add_input(product);
  sum.add_input(bias);
  sum.add_output(y);
  return {};
}

/// ONNX multiplies matrices as they are: Transpose goes before.
Result<void> GraphWriter::write_node(const Op& op, const MatMul& product, const std::string& y) {
  std::vector<std::string> operands;
  for (std::size_t i = 0; i < 2; ++i) {
    COHORT_TRY(std::string operand, input_name(op, i));
    if (i == 0 ? product.transpose_a : product.transpose_b) {
      std::vector<std::int64_t> permutation;
      for (std::size_t d = 0; d < shape_of(op, i).size(); ++d) permutation.push_back(static_cast<std::int64_t>(d));
      std::swap(permutation[permutation.size() - 1], permutation[permutation.size() - 2]);
      operand = chain(op, "Transpose", operand);
      set(*graph_.mutable_node(graph_.node_size() - 1), "perm", permutation);
    }
    operands.push_back(operand);
  }
  Node& node = add_node(op.name, "MatMul");
  for (const std::string& operand : operands) node.add_input(operand);
  node.add_output(y);
  return {};
}

Result<void> GraphWriter::write_node(const Op& op, const BatchNormalization& normalization, const std::string& y) {
  COHORT_TRY(Node* const node, add_plain_node(op, "BatchNormalization", y));
  set(*node, "epsilon", normalization.epsilon);
  if (normalization.momentum != BatchNormalization{}.momentum) set(*node, "momentum", 1 - normalization.momentum);
  return {};
}

/// As instance normalisation of the groups, which every reader has.
Result<void> GraphWriter::write_node(const Op& op, const GroupNormalization& normalization, const std::string& y) {
  const Shape x_shape = shape_of(op, 0);
  const std::int64_t groups = normalization.groups;
  if (x_shape.size() > 2 && groups == x_shape[1]) {
    COHORT_TRY(Node* const node, add_plain_node(op, "InstanceNormalization", y));
    set(*node, "epsilon", normalization.epsilon);
    return {};
  }
  COHORT_TRY(const std::string x, input_name(op, 0));
  const bool per_group = shape_of(op, 1) == Shape{groups};
  const std::string grouped = reshape(op, x, {x_shape[0], groups, element_count(x_shape) / x_shape[0] / groups});
  const auto count = static_cast<std::size_t>(groups);
  std::vector<std::string> inputs{grouped};
  for (std::size_t i = 1; i < 3; ++i) {
    if (per_group) {
      COHORT_TRY(const std::string own, input_name(op, i));
      inputs.push_back(own);
    } else {
      inputs.push_back(
          write_floats(unique(op.name + "/plain"), {groups}, std::vector<float>(count, i == 1 ? 1.0F : 0.0F)));
    }
  }
  Node& node = add_node(op.name, "InstanceNormalization");
  for (const std::string& input : inputs) node.add_input(input);
  const std::string normalised = unique(op.name + "/normalised");
  node.add_output(normalised);
  set(node, "epsilon", normalization.epsilon);
  std::string result = reshape(op, normalised, x_shape);
  if (per_group) {
    Node& last = add_node(unique(op.name + "/last"), "Identity");
    last.add_input(result);
    last.add_output(y);
    return {};
  }
  Shape channels(x_shape.size() - 1, 1);
  channels[0] = x_shape[1];
  for (std::size_t i = 1; i < 3; ++i) {
    COHORT_TRY(const std::string own, input_name(op, i));
    const std::string operand = reshape(op, own, channels);
    Node& part = add_node(unique(op.name + (i == 1 ? "/scale" : "/shift")), i == 1 ? "Mul" : "Add");
    part.add_input(result);
    part.add_input(operand);
    result = i == 1 ? unique(op.name + "/scaled") : y;
    part.add_output(result);
  }
  return {};
}

/// As language models are exported; opset 23 has a node for it that few runtimes know.
Result<void> GraphWriter::write_root_mean_square(const Op& op, const LayerNormalization& normalization,
                                                 const std::string& y) {
  std::vector<std::int64_t> axes(shape_of(op, 0).size() - static_cast<std::size_t>(normalization.axis));
  std::iota(axes.begin(), axes.end(), normalization.axis);
  COHORT_TRY(const std::string x, input_name(op, 0));
  COHORT_TRY(const std::string scale, input_name(op, 1));
  const auto add = [&](std::string_view type, std::string_view suffix, const std::vector<std::string>& inputs) {
    Node& node = add_node(unique(fmt::format("{}/{}", op.name, suffix)), type);
    for (const std::string& input : inputs) node.add_input(input);
    std::string result = unique(fmt::format("{}/{}", op.name, suffix));
    node.add_output(result);
    return std::pair(&node, std::move(result));
  };
  const std::string squares = add("Mul", "squares", {x, x}).second;
  const auto [mean_node, mean] = add("ReduceMean", "mean", {squares});
  if (opset_ >= 18) {
    mean_node->add_input(write_integers(op.name + ".axes", axes));
  } else {
    set(*mean_node, "axes", axes);
  }
  const std::string epsilon = write_floats(unique(op.name + "/epsilon"), {}, {normalization.epsilon});
  const std::string raised = add("Add", "raised", {mean, epsilon}).second;
  const std::string root = add("Sqrt", "root", {raised}).second;
  std::string result = add("Div", "normalised", {x, root}).second;
  const bool is_shifted = op.inputs.size() > 2;
  if (is_shifted) result = add("Mul", "scaled", {result, scale}).second;
  COHORT_TRY(const std::string last, is_shifted ? input_name(op, 2) : Result<std::string>(scale));
  Node& node = add_node(op.name, is_shifted ? "Add" : "Mul");
  node.add_input(result);
  node.add_input(last);
  node.add_output(y);
  return {};
}

Result<void> GraphWriter::write_node(const Op& op, const LayerNormalization& normalization, const std::string& y) {
  if (!normalization.centred) return write_root_mean_square(op, normalization, y);
  COHORT_TRY(Node* const node, add_plain_node(op, "LayerNormalization", y));
  set(*node, "axis", normalization.axis);
  set(*node, "epsilon", normalization.epsilon);
  return {};
}

Result<void> GraphWriter::write_node(const Op& op, const LocalResponseNormalization& normalization,
                                     const std::string& y) {
  COHORT_TRY(Node* const node, add_plain_node(op, "LRN", y));
  set(*node, "size", normalization.size);
  set(*node, "alpha", normalization.alpha);
  set(*node, "beta", normalization.beta);
  set(*node, "bias", normalization.bias);
  return {};
}

Result<void> GraphWriter::write_node(const Op& op, const Softmax& softmax, const std::string& y) {
  COHORT_TRY(Node* const node, add_plain_node(op, softmax.logarithm ? "LogSoftmax" : "Softmax", y));
  set(*node, "axis", softmax.axis);
  return {};
}

/// ONNX wants an axis for directions in the weights, and has one in the result.
Result<void> GraphWriter::write_node(const Op& op, const Lstm& lstm, const std::string& y) {
  for (std::size_t i = 1; i < 4; ++i) {
    if (model_.tensor(op.inputs[i]).role != TensorRole::kWeight || weights_.of(op.inputs[i]) == nullptr)
      return fail(ErrorCode::kInvalidInput, "weight {} has no values", model_.tensor(op.inputs[i]).name);
  }
  COHORT_TRY(const std::string x, input_name(op, 0));
  const std::int64_t rows = 4 * lstm.hidden;
  COHORT_TRY(const std::string w, write_weight(op.inputs[1], {1, rows, shape_of(op, 0)[2]}));
  COHORT_TRY(const std::string r, write_weight(op.inputs[2], {1, rows, lstm.hidden}));
  std::string& b = weight_names_[{op.inputs[3], {1, 2 * rows}}];
  if (b.empty()) {
    std::vector<float> bias = *weights_.of(op.inputs[3]);
    bias.resize(bias.size() * 2, 0.0F);
    b = write_floats(model_.tensor(op.inputs[3]).name, {1, 2 * rows}, bias);
  }
  Node& node = add_node(op.name, "LSTM");
  for (const std::string& input : {x, w, r, b}) node.add_input(input);
  const std::string directions = unique(y + "/directions");
  node.add_output(directions);
  set(node, "hidden_size", lstm.hidden);
  Node& squeeze = add_node(unique(op.name + "/squeeze"), "Squeeze");
  squeeze.add_input(directions);
  squeeze.add_input(write_integers(op.name + ".direction_axis", {1}));
  squeeze.add_output(y);
  return {};
}

Result<void> GraphWriter::write_node(const Op& op, const Recurrent& recurrent, const std::string& y) {
  constexpr const char* kTypes[] = {"RNN", "GRU", "LSTM"};
  Node& node = add_node(op.name, kTypes[static_cast<std::size_t>(recurrent.cell)]);
  std::size_t next = 0;
  const bool given[] = {true,
                        true,
                        true,
                        true,
                        recurrent.has_lengths,
                        recurrent.has_state,
                        recurrent.has_cell_state,
                        recurrent.has_peepholes};
  for (const bool is_given : given) {
    if (next == own_input_count(op)) break;
    std::string name;  // empty where it is left out
    if (is_given) {
      COHORT_TRY(name, input_name(op, next++));
    }
    node.add_input(name);
  }
  set_attributes(node, recurrent);
  if (!recurrent.final_state) {
    node.add_output(y);
    return {};
  }
  // The last states stand behind all states, along time.
  std::vector<std::string> parts;
  const std::size_t states = recurrent.cell == RecurrentCell::kLstm ? 2 : 1;
  for (std::size_t i = 0; i <= states; ++i) {
    parts.push_back(unique(fmt::format("{}/state{}", y, i)));
    node.add_output(parts.back());
  }
  for (std::size_t i = 1; i < parts.size(); ++i) {
    parts[i] = chain(op, "Unsqueeze", parts[i]);
    const std::string axis = write_integers(op.name + ".time_axis", {0});
    graph_.mutable_node(graph_.node_size() - 1)->add_input(axis);
  }
  Node& all = add_node(unique(op.name + "/all"), "Concat");
  for (const std::string& part : parts) all.add_input(part);
  all.add_output(y);
  set(all, "axis", std::int64_t{0});
  return {};
}

}  // namespace cohort::onnx
