#include <bit>
#include <numeric>
#include <optional>

#include "models/onnx/converters.hpp"

namespace cohort::onnx {

namespace {

/// What both loss nodes say.
struct LossNode {
  std::string reduction;
  std::optional<std::int64_t> ignored;
  bool weighted = false;
};

Result<LossNode> read_loss(NodeImport& node) {
  LossNode loss;
  COHORT_TRY(loss.reduction, node.text("reduction", "mean"));
  if (loss.reduction != "mean" && loss.reduction != "sum" && loss.reduction != "none")
    return fail(ErrorCode::kInvalidInput, "attribute reduction must be mean, sum or none, not {}", loss.reduction);
  if (node.has_attribute("ignore_index")) {
    COHORT_TRY(const std::int64_t ignored, node.integer("ignore_index", 0));
    if (ignored < INT32_MIN || ignored > INT32_MAX)
      return fail(ErrorCode::kInvalidInput, "attribute ignore_index does not fit 32 bits: {}", ignored);
    loss.ignored = ignored;
  }
  loss.weighted = node.has_input(2);
  COHORT_TRY(const Shape x, node.shape(0));
  COHORT_TRY(Shape labels, node.shape(1));
  if (x.size() < 2) return fail(ErrorCode::kInvalidInput, "input 0 must be [N, C, ...], not {}", to_string(x));
  labels.insert(labels.begin() + 1, x[1]);
  if (labels != x)
    return fail(ErrorCode::kInvalidInput, "labels must have the shape of input 0 {} without its classes", to_string(x));
  return loss;
}

/// -log of the right class's probability, weighted, and reduced as `loss` says, from logarithms [N, C, ...]: labels as
/// masks, so that those ignored need not be classes.
class LikelihoodLoss {
 public:
  LikelihoodLoss(NodeImport& node, LossNode loss) : node_(node), loss_(std::move(loss)) {}

  Result<TensorId> make(TensorId logarithms) {
    COHORT_TRY(const TensorId is_right, mask(logarithms));
    COHORT_TRY(const TensorId right, picked("right", is_right, logarithms));
    COHORT_TRY(TensorId losses, node_.emit("losses", Activation{ActivationKind::kNeg, 0, 0}, {right}));
    if (loss_.reduction != "mean" && !loss_.weighted) return reduce(losses);
    COHORT_TRY(const TensorId weights, weights_of(is_right));
    if (loss_.weighted) {
      COHORT_TRY(losses, binary(node_, "weighted", BinaryKind::kMul, losses, weights));
    }
    COHORT_TRY(const TensorId total, reduce(losses));
    if (loss_.reduction != "mean") return total;
    COHORT_TRY(const TensorId share, reduce(weights, "weight"));
    return binary(node_, "mean", BinaryKind::kDiv, total, share);
  }

 private:
  /// Whether a class is a sample's right one and not ignored, of the logarithms' shape.
  Result<TensorId> mask(TensorId logarithms) {
    const Shape shape = node_.shape_of(logarithms);
    COHORT_TRY(const TensorId labels, node_.tensor(1));
    Shape column = shape;
    column[1] = 1;
    COHORT_TRY(const TensorId columns, node_.emit_reshape("labels", labels, column));
    Shape row(shape.size(), 1);
    row[1] = shape[1];
    std::vector<float> classes(static_cast<std::size_t>(shape[1]));
    std::iota(classes.begin(), classes.end(), 0.0F);
    COHORT_TRY(const TensorId rows, node_.made_weight("classes", row, std::move(classes), ElementType::kInt32));
    COHORT_TRY(const TensorId is_right,
               binary(node_, "is_right", BinaryKind::kEqual, columns, rows, ElementType::kInt32));
    if (!loss_.ignored) return is_right;
    COHORT_TRY(const TensorId ignored,
               node_.made_weight("ignored", {1}, {static_cast<float>(*loss_.ignored)}, ElementType::kInt32));
    COHORT_TRY(const TensorId is_ignored,
               binary(node_, "is_ignored", BinaryKind::kEqual, columns, ignored, ElementType::kInt32));
    COHORT_TRY(const TensorId nothing, node_.made_weight("none", {1}, {0.0F}, ElementType::kInt32));
    return node_.emit("is_counted", Select{ElementType::kInt32}, {is_ignored, nothing, is_right});
  }

  /// Of each sample the value where `is_right` is set, else zero: [N, ...].
  Result<TensorId> picked(std::string_view suffix, TensorId is_right, TensorId values) {
    COHORT_TRY(const TensorId only,
               node_.emit(fmt::format("{}.only", suffix), Select{}, {is_right, values, node_.scalar("zero", 0)}));
    return node_.emit(suffix, Reduce{ReduceKind::kSum, {1}, false}, {only});
  }

  /// What each sample counts: its class's weight, or one.
  Result<TensorId> weights_of(TensorId is_right) {
    const Shape shape = node_.shape_of(is_right);
    if (!loss_.weighted) return picked("counted", is_right, node_.scalar("one", 1));
    COHORT_TRY(const TensorId given, node_.tensor(2));
    node_.fix(given);
    Shape row(shape.size() - 1, 1);
    row[0] = shape[1];
    COHORT_TRY(const TensorId weights, node_.emit_reshape("weights", given, row));
    return picked("weight", is_right, weights);
  }

  Result<TensorId> reduce(TensorId losses, std::string_view what = "loss") {
    if (loss_.reduction == "none") return losses;
    Reduce sum{ReduceKind::kSum, {}, false};
    for (std::size_t d = 0; d < node_.shape_of(losses).size(); ++d) sum.axes.push_back(static_cast<std::int64_t>(d));
    return node_.emit(fmt::format("{}.sum", what), std::move(sum), {losses});
  }

  NodeImport& node_;
  LossNode loss_;
};

}  // namespace

Result<void> convert_likelihood_loss(NodeImport& node) {
  COHORT_TRY(LossNode loss, read_loss(node));
  COHORT_TRY(const TensorId logarithms, node.tensor(0));
  COHORT_TRY(const TensorId y, LikelihoodLoss(node, std::move(loss)).make(logarithms));
  node.set_result(y);
  return {};
}

/// One op where it is the plain loss; else the logarithm of a softmax and the loss of that.
Result<void> convert_cross_entropy_loss(NodeImport& node) {
  COHORT_TRY(const LossNode loss, read_loss(node));
  COHORT_TRY(const TensorId x, node.tensor(0));
  const bool is_plain = !loss.weighted && loss.reduction != "none";
  if (is_plain) {
    SoftmaxCrossEntropy op;
    op.reduction = loss.reduction == "mean" ? LossReduction::kMean : LossReduction::kSum;
    if (loss.ignored) op.ignored = static_cast<std::int32_t>(*loss.ignored);
    COHORT_TRY(const TensorId labels, node.tensor(1));
    COHORT_TRY(const TensorId y, node.emit("loss", op, {x, labels}));
    COHORT_TRY(const TensorId scalar, node.emit_reshape("", y, {}));
    node.set_result(scalar);
    if (!node.is_read(1)) return {};
  }
  COHORT_TRY(const TensorId logarithms, node.emit("logarithms", Softmax{1, true}, {x}));
  node.set_result(logarithms, 1);
  if (is_plain) return {};
  COHORT_TRY(const TensorId y, LikelihoodLoss(node, loss).make(logarithms));
  node.set_result(y);
  return {};
}

}  // namespace cohort::onnx
