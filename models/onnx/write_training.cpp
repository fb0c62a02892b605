#include "models/onnx/graph_writer.hpp"

namespace cohort::onnx {

/// Readers for inference leave it out; the key of its random numbers is no part of a file.
Result<void> GraphWriter::write_node(const Op& op, const Dropout& /*dropout*/, const std::string& y) {
  COHORT_TRY(const std::string x, input_name(op, 0));
  const WeightValues& rate = weights_.of(op.inputs[1]);
  if (rate == nullptr)
    return fail(ErrorCode::kInvalidInput, "its rate {} is no constant", model_.tensor(op.inputs[1]).name);
  Node& node = add_node(op.name, "Dropout");
  node.add_input(x);
  node.add_input(write_floats(unique(op.name + "/ratio"), {}, *rate));
  node.add_output(y);
  return {};
}

/// ONNX's loss is a scalar.
Result<void> GraphWriter::write_node(const Op& op, const SoftmaxCrossEntropy& loss, const std::string& y) {
  if (loss.stacked) return fail(ErrorCode::kInvalidInput, "the loss of a model batch is not one node");
  const std::string scalar = unique(op.name + "/scalar");
  COHORT_TRY(Node* const node, add_plain_node(op, "SoftmaxCrossEntropyLoss", scalar));
  set(*node, "reduction", loss.reduction == LossReduction::kMean ? "mean" : "sum");
  if (loss.ignored) set(*node, "ignore_index", std::int64_t{*loss.ignored});
  Node& reshape = add_node(unique(op.name + "/shape"), "Reshape");
  reshape.add_input(scalar);
  reshape.add_input(write_integers(op.name + ".shape", {1}));
  reshape.add_output(y);
  return {};
}

}  // namespace cohort::onnx
