#pragma once

#include <map>
#include <string>
#include <vector>

#include "models/onnx/importer.hpp"
#include "models/onnx/rename.hpp"

namespace cohort::onnx {

/// Nodes of ONNX's own ops, of the newest opset unless said, that stand for a node of ONNX Runtime.
class OwnOps {
 public:
  using Attributes = std::map<std::string, AttributeValue>;
  static constexpr std::int64_t kOpset = 24;

  OwnOps(NodeImport& import, const Node& node, const Fresh& fresh) : import_(import), node_(node), fresh_(fresh) {}

  /// The node's shapes and attributes.
  [[nodiscard]] NodeImport& import() { return import_; }
  [[nodiscard]] const Attributes& attributes() const { return node_.attributes; }
  /// Name of its input; empty where it is left out.
  [[nodiscard]] std::string input(std::size_t i) const { return i < node_.inputs.size() ? node_.inputs[i] : ""; }
  [[nodiscard]] const std::vector<std::string>& inputs() const { return node_.inputs; }

  /// Adds a node with one output. Returns the output's name.
  std::string add(const std::string& op_type, std::vector<std::string> inputs, Attributes attributes = {},
                  std::int64_t opset = kOpset);
  /// Adds a node with several outputs. Returns their names.
  std::vector<std::string> add_several(const std::string& op_type, std::size_t outputs, std::vector<std::string> inputs,
                                       Attributes attributes = {});
  /// x, or x plus what `more` names, which may be left out.
  std::string plus(const std::string& x, const std::string& more) { return more.empty() ? x : add("Add", {x, more}); }
  /// Parts of x along an axis.
  std::vector<std::string> split(const std::string& x, std::int64_t axis, const std::vector<std::int64_t>& sizes);
  std::string integers(std::vector<std::int64_t> values);
  std::string number(float value);
  /// 0, 1, ..., `count` - 1. Errors: kInvalidInput where these are more than a file may ask for.
  Result<std::string> counting(std::int64_t count);

  /// Output `output` of the node is `name`, which add() has returned.
  void give(const std::string& name, std::size_t output = 0);

  [[nodiscard]] std::vector<Node> take() { return std::move(nodes_); }

 private:
  [[nodiscard]] std::string named(const std::string& what) const;

  NodeImport& import_;
  const Node& node_;
  const Fresh& fresh_;
  std::vector<Node> nodes_;
};

/// How to make own ops of one type.
using MakeOwnOps = Result<void> (*)(OwnOps& ops);

// runtime_fused.cpp: what the optimiser makes of several ops
Result<void> make_same(OwnOps& ops);
Result<void> make_gelu(OwnOps& ops);
Result<void> make_quick_gelu(OwnOps& ops);
Result<void> make_bias_split_gelu(OwnOps& ops);
Result<void> make_bias_add(OwnOps& ops);
Result<void> make_fused_matmul(OwnOps& ops);
Result<void> make_fused_conv(OwnOps& ops);
Result<void> make_fused_gemm(OwnOps& ops);
Result<void> make_rms_normalization(OwnOps& ops);
Result<void> make_skip_normalization(OwnOps& ops);
Result<void> make_embedding(OwnOps& ops);
Result<void> make_group_normalization(OwnOps& ops);

// runtime_attention.cpp
Result<void> make_attention(OwnOps& ops);
Result<void> make_quantized_attention(OwnOps& ops);
Result<void> make_multi_head_attention(OwnOps& ops);
Result<void> make_rotary_embedding(OwnOps& ops);

// runtime_group_query.cpp
Result<void> make_group_query_attention(OwnOps& ops);

// runtime_quantized.cpp
Result<void> make_dynamic_matmul(OwnOps& ops);
Result<void> make_integer_matmul(OwnOps& ops);
Result<void> make_dynamic_lstm(OwnOps& ops);
Result<void> make_quantized_binary(OwnOps& ops);
Result<void> make_quantized_unary(OwnOps& ops);
Result<void> make_quantized_where(OwnOps& ops);
Result<void> make_quantized_concat(OwnOps& ops);
Result<void> make_quantized_gemm(OwnOps& ops);

// runtime_block_weights.cpp
Result<void> make_block_gather(OwnOps& ops);

// masked_updates.cpp
Result<void> make_masked_update(OwnOps& ops);

/// A product of whole numbers in float32: of `a` and `b`, whose zero points may be left out, times `scale`.
std::string scaled_product(OwnOps& ops, const std::vector<std::string>& a_b_zero_points, const std::string& scale);

}  // namespace cohort::onnx
