#include <algorithm>
#include <numeric>

#include "models/onnx/own_ops.hpp"

// What ONNX Runtime's optimiser makes of several ops.

namespace cohort::onnx {

namespace {

constexpr float kSmallEpsilon = 1e-12F;  // of what ONNX Runtime adds before it normalises; ONNX has 1e-5

/// An activation by its name, with up to two parameters.
Result<std::string> activated(OwnOps& ops, const std::string& type, const std::string& x,
                              const std::vector<float>& parameters) {
  struct Named {
    std::string_view type;
    std::vector<std::string> parameters;  ///< attributes
  };
  static const std::vector<Named> known = {
      {"Relu", {}},       {"Sigmoid", {}},
      {"Tanh", {}},       {"LeakyRelu", {"alpha"}},
      {"Elu", {"alpha"}}, {"HardSigmoid", {"alpha", "beta"}},
      {"Softplus", {}},   {"Softsign", {}},
      {"HardSwish", {}},
  };
  if (type.empty()) return x;
  if (type == "Clip" && parameters.size() == 2)
    return ops.add("Clip", {x, ops.number(parameters[0]), ops.number(parameters[1])});
  const auto found = std::find_if(known.begin(), known.end(), [&](const Named& each) { return each.type == type; });
  if (found == known.end())
    return fail(ErrorCode::kInvalidInput, "activation {} with {} parameters is not supported", type, parameters.size());
  OwnOps::Attributes attributes;
  for (std::size_t i = 0; i < found->parameters.size() && i < parameters.size(); ++i)
    attributes[found->parameters[i]] = parameters[i];
  return ops.add(type, {x}, std::move(attributes));
}

/// The node's attributes but for those that `names` has; all of them count as read.
OwnOps::Attributes attributes_without(OwnOps& ops, std::initializer_list<std::string> names) {
  OwnOps::Attributes rest = ops.attributes();
  for (const auto& [name, value] : ops.attributes()) ops.import().ignore(name);
  for (const std::string& name : names) rest.erase(name);
  return rest;
}

/// Input `input` as the product reads it. `side`: "A" or "B", the end of the attributes that say how it lies: with its
/// first axis, rows, ahead of those of the batch, or with its last two the other way round.
Result<std::string> factor(OwnOps& ops, std::size_t input, const std::string& side) {
  COHORT_TRY(const std::int64_t is_behind, ops.import().integer("transBatch" + side, 0));
  COHORT_TRY(const std::int64_t is_transposed, ops.import().integer("trans" + side, 0));
  COHORT_TRY(const Shape shape, ops.import().shape(input));
  std::vector<std::int64_t> axes(shape.size());
  std::iota(axes.begin(), axes.end(), 0);
  if (is_behind != 0 && axes.size() > 2) std::rotate(axes.begin(), axes.begin() + 1, axes.end() - 1);
  if (is_transposed != 0 && axes.size() > 1) std::swap(axes[axes.size() - 1], axes[axes.size() - 2]);
  if (std::is_sorted(axes.begin(), axes.end())) return ops.input(input);
  return ops.add("Transpose", {ops.input(input)}, {{"perm", axes}});
}

}  // namespace

Result<void> make_same(OwnOps& ops) {
  constexpr std::int64_t kOpset = 21;
  ops.give(ops.add(ops.import().op_type(), ops.inputs(), attributes_without(ops, {}), kOpset));
  return {};
}

Result<void> make_gelu(OwnOps& ops) {
  const std::string x = ops.plus(ops.input(0), ops.input(1));
  const std::string approximate = ops.import().op_type() == "FastGelu" ? "tanh" : "none";
  ops.give(ops.add("Gelu", {x}, {{"approximate", approximate}}));
  return {};
}

Result<void> make_quick_gelu(OwnOps& ops) {
  COHORT_TRY(const float alpha, ops.import().number("alpha", 1.702F));
  ops.give(ops.add("Swish", {ops.input(0)}, {{"alpha", alpha}}));
  return {};
}

Result<void> make_bias_split_gelu(OwnOps& ops) {
  COHORT_TRY(const Shape shape, ops.import().shape(0));
  if (shape.empty() || shape.back() % 2 != 0)
    return fail(ErrorCode::kInvalidInput, "{} does not divide into halves", to_string(shape));
  const std::vector<std::string> halves =
      ops.split(ops.plus(ops.input(0), ops.input(1)), -1, {shape.back() / 2, shape.back() / 2});
  ops.give(ops.add("Mul", {halves[0], ops.add("Gelu", {halves[1]})}));
  return {};
}

Result<void> make_bias_add(OwnOps& ops) {
  ops.give(ops.plus(ops.plus(ops.input(0), ops.input(1)), ops.input(2)));
  return {};
}

Result<void> make_fused_matmul(OwnOps& ops) {
  NodeImport& import = ops.import();
  COHORT_TRY(const float alpha, import.number("alpha", 1));
  COHORT_TRY(const std::string a, factor(ops, 0, "A"));
  COHORT_TRY(const std::string b, factor(ops, 1, "B"));
  const std::string product = ops.add("MatMul", {a, b});
  ops.give(alpha == 1 ? product : ops.add("Mul", {product, ops.number(alpha)}));
  return {};
}

Result<void> make_fused_conv(OwnOps& ops) {
  COHORT_TRY(const std::string activation, ops.import().text("activation", ""));
  std::vector<float> parameters;
  if (ops.import().has_attribute("activation_params")) {
    COHORT_TRY(parameters, ops.import().number_list("activation_params"));
  }
  OwnOps::Attributes attributes = attributes_without(ops, {"activation", "activation_params"});
  const std::string y = ops.add("Conv", {ops.input(0), ops.input(1), ops.input(2)}, std::move(attributes));
  COHORT_TRY(const std::string result, activated(ops, activation, ops.plus(y, ops.input(3)), parameters));
  ops.give(result);
  return {};
}

Result<void> make_fused_gemm(OwnOps& ops) {
  COHORT_TRY(const std::string activation, ops.import().text("activation", ""));
  std::vector<float> parameters;
  const bool has_alpha = ops.import().has_attribute("activation_alpha");
  if (has_alpha) {
    COHORT_TRY(const float alpha, ops.import().number("activation_alpha", 0));
    parameters.push_back(alpha);
  }
  if (ops.import().has_attribute("activation_beta")) {
    if (!has_alpha) return fail(ErrorCode::kInvalidInput, "attribute activation_beta stands without activation_alpha");
    COHORT_TRY(const float beta, ops.import().number("activation_beta", 0));
    parameters.push_back(beta);
  }
  if (ops.import().has_attribute("activation_gamma"))
    return fail(ErrorCode::kInvalidInput, "attribute activation_gamma is not supported");
  OwnOps::Attributes attributes = attributes_without(ops, {"activation", "activation_alpha", "activation_beta"});
  const std::string y = ops.add("Gemm", ops.inputs(), std::move(attributes));
  COHORT_TRY(const std::string result, activated(ops, activation, y, parameters));
  ops.give(result);
  return {};
}

Result<void> make_rms_normalization(OwnOps& ops) {
  ops.give(ops.add("RMSNormalization", {ops.input(0), ops.input(1)}, attributes_without(ops, {})));
  return {};
}

/// Of the sum of two tensors, and maybe a bias: that by its root mean square has no offset.
Result<void> make_skip_normalization(OwnOps& ops) {
  constexpr std::size_t kSum = 3;  // the output
  COHORT_TRY(const float epsilon, ops.import().number("epsilon", kSmallEpsilon));
  const bool is_simple = ops.import().op_type() == "SkipSimplifiedLayerNormalization";
  const std::string sum = ops.plus(ops.add("Add", {ops.input(0), ops.input(1)}), ops.input(is_simple ? 3 : 4));
  const OwnOps::Attributes attributes = {{"epsilon", epsilon}, {"axis", std::int64_t{-1}}};
  if (is_simple) {
    ops.give(ops.add("RMSNormalization", {sum, ops.input(2)}, attributes));
  } else {
    const std::vector<std::string> y =
        ops.add_several("LayerNormalization", 3, {sum, ops.input(2), ops.input(3)}, attributes);
    for (std::size_t i = 0; i < y.size(); ++i) ops.give(y[i], i);
  }
  ops.give(sum, kSum);
  return {};
}

/// Rows of words, positions and segments, added and normalised. The quantised op has levels in all tables, whose scales
/// are six inputs behind, and their zero points eleven.
Result<void> make_embedding(OwnOps& ops) {
  NodeImport& import = ops.import();
  const bool is_quantised = import.op_type() == "QEmbedLayerNormalization";
  const auto table = [&](std::size_t i) {
    if (!is_quantised || ops.input(i).empty()) return ops.input(i);
    return ops.add("DequantizeLinear", {ops.input(i), ops.input(i + 6), ops.input(i + 11)});
  };
  COHORT_TRY(const float epsilon, import.number("epsilon", kSmallEpsilon));
  import.ignore("mask_index_type");
  COHORT_TRY(const Shape words, import.shape(0));
  if (words.size() != 2)
    return fail(ErrorCode::kInvalidInput, "words must be [minibatch, length], not {}", to_string(words));
  const std::string at = is_quantised ? "" : ops.input(8);
  COHORT_TRY(const Shape rows, import.shape(3));
  if (at.empty() && (rows.empty() || rows[0] < words[1]))
    return fail(ErrorCode::kInvalidInput, "{} positions are too few for {} words", to_string(rows), words[1]);
  const std::string positions =
      at.empty() ? ops.add("Slice", {table(3), ops.integers({0}), ops.integers({words[1]}), ops.integers({0})})
                 : ops.add("Gather", {table(3), at});
  std::string sum = ops.add("Add", {ops.add("Gather", {table(2), ops.input(0)}), positions});
  if (!ops.input(1).empty()) sum = ops.add("Add", {sum, ops.add("Gather", {table(4), ops.input(1)})});
  ops.give(
      ops.add("LayerNormalization", {sum, table(5), table(6)}, {{"epsilon", epsilon}, {"axis", std::int64_t{-1}}}));
  if (import.is_read(1)) {
    const std::string mask = ops.input(7);
    ops.give(mask.empty() ? ops.add("Expand", {ops.integers({0}), ops.integers({words[0]})})
                          : ops.add("ReduceSum", {mask, ops.integers({1})}, {{"keepdims", std::int64_t{0}}}),
             1);
  }
  ops.give(sum, 2);
  return {};
}

/// Of images with their channels last, as diffusion models have them.
Result<void> make_group_normalization(OwnOps& ops) {
  using List = std::vector<std::int64_t>;
  NodeImport& import = ops.import();
  COHORT_TRY(const std::int64_t groups, import.integer("groups", 0));
  COHORT_TRY(const float epsilon, import.number("epsilon", 1e-5F));
  COHORT_TRY(const std::int64_t activation, import.integer("activation", 0));
  COHORT_TRY(const std::int64_t channels_last, import.integer("channels_last", 1));
  const bool is_moved = channels_last != 0;
  const std::string x = is_moved ? ops.add("Transpose", {ops.input(0)}, {{"perm", List{0, 3, 1, 2}}}) : ops.input(0);
  std::string y =
      ops.add("GroupNormalization", {x, ops.input(1), ops.input(2)}, {{"num_groups", groups}, {"epsilon", epsilon}});
  if (activation != 0) y = ops.add("Swish", {y});
  ops.give(is_moved ? ops.add("Transpose", {y}, {{"perm", List{0, 2, 3, 1}}}) : y);
  return {};
}

}  // namespace cohort::onnx
