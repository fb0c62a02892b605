#include "models/onnx/scatter_computed.hpp"

#include "models/onnx/converters.hpp"
#include "models/onnx/positions.hpp"

namespace cohort::onnx {

namespace {

constexpr std::int64_t kMostComparisons = 1 << 25;

ReduceKind reduce_kind(BinaryKind reduction) {
  if (reduction == BinaryKind::kMul) return ReduceKind::kProduct;
  if (reduction == BinaryKind::kMax) return ReduceKind::kMax;
  return reduction == BinaryKind::kMin ? ReduceKind::kMin : ReduceKind::kSum;
}

Result<TensorId> over_updates(NodeImport& node, ReduceKind kind, TensorId x) {
  return node.emit("of_updates", Reduce{kind, {2}, false}, {x});
}

/// `hits` [outer, entries, n, inner or 1]: whether the update goes to the entry.
Result<TensorId> combined(NodeImport& node, TensorId x, TensorId hits, TensorId updates, BinaryKind reduction) {
  const Shape shape = node.shape_of(updates);
  COHORT_TRY(const TensorId widened, node.emit_reshape("widened", updates, {shape[0], 1, shape[1], shape[2]}));
  const TensorId otherwise = node.scalar("neutral", of_nothing(reduce_kind(reduction)));
  COHORT_TRY(const TensorId kept, node.emit("kept", Select{}, {hits, widened, otherwise}));
  COHORT_TRY(const TensorId sum, over_updates(node, reduce_kind(reduction), kept));
  return binary(node, "scattered", reduction, x, sum);
}

/// The last update that goes to an entry replaces it.
Result<TensorId> replaced(NodeImport& node, TensorId x, TensorId hits, TensorId updates) {
  const Shape shape = node.shape_of(x);
  const ElementType element = node.element_of(x);
  const std::int64_t count = node.shape_of(updates)[1];
  std::vector<float> numbers;
  for (std::int64_t i = 1; i <= count; ++i) numbers.push_back(static_cast<float>(i));
  COHORT_TRY(const TensorId number, node.made_weight("numbers", {1, 1, count, 1}, std::move(numbers)));
  COHORT_TRY(const TensorId numbered, node.emit("numbered", Select{}, {hits, number, node.scalar("none", 0)}));
  COHORT_TRY(TensorId last, over_updates(node, ReduceKind::kMax, numbered));
  COHORT_TRY(last, node.emit("last", Cast{ElementType::kFloat32, kWhole}, {last}));
  COHORT_TRY(const TensorId is_hit, whole(node, "is_hit", BinaryKind::kGreater, last, node.scalar("none", 0, kWhole)));
  COHORT_TRY(TensorId from, whole(node, "from", BinaryKind::kSub, last, node.scalar("one", 1, kWhole)));
  COHORT_TRY(from, whole(node, "from", BinaryKind::kMax, from, node.scalar("none", 0, kWhole)));
  if (node.shape_of(from) != shape) {
    COHORT_TRY(from, node.emit("from", Expand{shape}, {from}));
  }
  COHORT_TRY(from, scaled(node, from, node.shape_of(updates)[2]));
  COHORT_TRY(const TensorId taken, elements_at(node, "taken", updates, from, 1));
  return node.emit("scattered", Select{element}, {is_hit, taken, x});
}

}  // namespace

Result<TensorId> scatter_computed(NodeImport& node, TensorId x, TensorId places, TensorId updates,
                                  std::optional<BinaryKind> reduction) {
  const Shape shape = node.shape_of(x), at = node.shape_of(places);
  if (reduction && node.element_of(x) != ElementType::kFloat32)
    return fail(ErrorCode::kInvalidInput,
                "of whole numbers with a reduction and indices that are not constant is not supported");
  const std::int64_t entries = shape[1];
  const std::int64_t inner = reduction ? shape[2] : at[2];
  if (shape[0] * entries > kMostComparisons / (at[1] * inner))
    return fail(
        ErrorCode::kInvalidInput,
        "compares {} entries with {} indices that are not constant; more than 2^25 comparisons are not supported",
        shape[0] * entries * inner, at[1]);
  COHORT_TRY(const TensorId entry, counting(node, entries, 1, 4, kWhole));
  COHORT_TRY(const TensorId place, node.emit_reshape("places", places, {at[0], 1, at[1], at[2]}));
  COHORT_TRY(const TensorId hits, whole(node, "hits", BinaryKind::kEqual, entry, place));
  return reduction ? combined(node, x, hits, updates, *reduction) : replaced(node, x, hits, updates);
}

}  // namespace cohort::onnx
