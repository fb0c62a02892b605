#include "models/onnx/runtime_ops.hpp"

#include <algorithm>
#include <iterator>
#include <numeric>

#include "models/onnx/masked_updates.hpp"
#include "models/onnx/own_ops.hpp"

namespace cohort::onnx {

namespace {

struct RuntimeOp {
  std::string_view op_type;
  MakeOwnOps make = nullptr;
};

constexpr RuntimeOp kRuntimeOps[] = {
    {"Attention", make_attention},
    {"BiasAdd", make_bias_add},
    {"BiasGelu", make_gelu},
    {"BiasSplitGelu", make_bias_split_gelu},
    {"DequantizeLinear", make_same},
    {"DynamicQuantizeLSTM", make_dynamic_lstm},
    {"DynamicQuantizeMatMul", make_dynamic_matmul},
    {"EmbedLayerNormalization", make_embedding},
    {"FastGelu", make_gelu},
    {"FusedConv", make_fused_conv},
    {"FusedGemm", make_fused_gemm},
    {"FusedMatMul", make_fused_matmul},
    {"GatherBlockQuantized", make_block_gather},
    {"GatherND", make_same},
    {"Gelu", make_gelu},
    {"GroupNorm", make_group_normalization},
    {"GroupQueryAttention", make_group_query_attention},
    {"MatMulIntegerToFloat", make_integer_matmul},
    {"MultiHeadAttention", make_multi_head_attention},
    {"QAttention", make_quantized_attention},
    {"QEmbedLayerNormalization", make_embedding},
    {"QGemm", make_quantized_gemm},
    {"QLinearAdd", make_quantized_binary},
    {"QLinearAveragePool", make_quantized_unary},
    {"QLinearConcat", make_quantized_concat},
    {"QLinearGlobalAveragePool", make_quantized_unary},
    {"QLinearLeakyRelu", make_quantized_unary},
    {"QLinearMul", make_quantized_binary},
    {"QLinearSigmoid", make_quantized_unary},
    {"QLinearSoftmax", make_quantized_unary},
    {"QLinearWhere", make_quantized_where},
    {"QuantizeLinear", make_same},
    {"QuickGelu", make_quick_gelu},
    {"RotaryEmbedding", make_rotary_embedding},
    {"SkipLayerNormalization", make_skip_normalization},
    {"SkipSimplifiedLayerNormalization", make_skip_normalization},
    {"TransposeMatMul", make_fused_matmul},
    {"Trilu", make_same},
};
/// Stands in ONNX's own domain, though ONNX does not have it.
constexpr RuntimeOp kSimplified = {"SimplifiedLayerNormalization", make_rms_normalization};
/// What recognise_masked_updates() makes of several nodes.
constexpr RuntimeOp kMasked = {kMaskedUpdate, make_masked_update};

const RuntimeOp* find(const Node& node) {
  if (node.domain == kOwnDomain) return node.op_type == kMasked.op_type ? &kMasked : nullptr;
  if (node.domain.empty()) return node.op_type == kSimplified.op_type ? &kSimplified : nullptr;
  if (node.domain != "com.microsoft") return nullptr;
  const auto* const found = std::find_if(std::begin(kRuntimeOps), std::end(kRuntimeOps),
                                         [&](const RuntimeOp& op) { return op.op_type == node.op_type; });
  return found != std::end(kRuntimeOps) ? found : nullptr;
}

}  // namespace

bool is_runtime_op(const Node& node) { return find(node) != nullptr; }

Result<std::vector<Node>> as_own_ops(NodeImport& import, const Node& node, const Fresh& fresh) {
  if (node.outputs.empty()) return fail(ErrorCode::kInvalidInput, "has no outputs");
  OwnOps ops(import, node, fresh);
  COHORT_CHECK(find(node)->make(ops));
  COHORT_CHECK(import.all_attributes_seen());
  return ops.take();
}

std::string OwnOps::named(const std::string& what) const {
  return (node_.name.empty() ? node_.outputs.front() : node_.name) + "/" + what;
}

std::string OwnOps::add(const std::string& op_type, std::vector<std::string> inputs, Attributes attributes,
                        std::int64_t opset) {
  const std::string name = named(op_type), output = fresh_(name);
  nodes_.push_back({name, op_type, "", std::move(inputs), {output}, std::move(attributes), opset});
  return output;
}

std::vector<std::string> OwnOps::add_several(const std::string& op_type, std::size_t outputs,
                                             std::vector<std::string> inputs, Attributes attributes) {
  add(op_type, std::move(inputs), std::move(attributes));
  std::vector<std::string>& names = nodes_.back().outputs;
  while (names.size() < outputs) names.push_back(fresh_(named(op_type)));
  return names;
}

std::vector<std::string> OwnOps::split(const std::string& x, std::int64_t axis,
                                       const std::vector<std::int64_t>& sizes) {
  return add_several("Split", sizes.size(), {x, integers(sizes)}, {{"axis", axis}});
}

std::string OwnOps::integers(std::vector<std::int64_t> values) {
  return add("Constant", {}, {{"value_ints", std::move(values)}});
}

std::string OwnOps::number(float value) { return add("Constant", {}, {{"value_float", value}}); }

Result<std::string> OwnOps::counting(std::int64_t count) {
  COHORT_CHECK(import_.claim(count));
  std::vector<std::int64_t> values(static_cast<std::size_t>(count));
  std::iota(values.begin(), values.end(), 0);
  return integers(std::move(values));
}

void OwnOps::give(const std::string& name, std::size_t output) {
  if (output >= node_.outputs.size() || node_.outputs[output].empty()) return;
  const std::string& given = node_.outputs[output];
  const auto writes = [&](const Node& node) {
    return std::find(node.outputs.begin(), node.outputs.end(), name) != node.outputs.end();
  };
  const auto writer = std::find_if(nodes_.begin(), nodes_.end(), writes);
  if (writer == nodes_.end()) {  // an input as it is
    nodes_.push_back({node_.name, "Identity", "", {name}, {given}, {}, kOpset});
    return;
  }
  if (output == 0) writer->name = node_.name;
  for (Node& node : nodes_) {
    std::replace(node.inputs.begin(), node.inputs.end(), name, given);
    std::replace(node.outputs.begin(), node.outputs.end(), name, given);
  }
}

}  // namespace cohort::onnx
