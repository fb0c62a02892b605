#include "models/compute/fold_constants.hpp"

#include <gmock/gmock.h>

#include "models/builder.hpp"
#include "tests/models/evaluate.hpp"

namespace cohort {
namespace {

using testing::ElementsAre;

LoadedModel finished(ModelBuilder& b) {
  Model model = b.finish().value();
  Weights weights = random_weights(model, 1);
  return {std::move(model), std::move(weights)};
}

std::vector<std::string> op_names(const Model& model) {
  std::vector<std::string> names;
  for (const Op& op : model.ops) names.push_back(op.name);
  return names;
}

/// Folded, valid, and with the same outputs.
LoadedModel checked_fold(const LoadedModel& loaded) {
  LoadedModel folded = fold_constants(loaded);
  const Result<void> valid = validate(folded.model);
  EXPECT_TRUE(valid) << valid.error().message;
  const auto inputs = random_inputs(loaded.model, 5);
  const auto expected = evaluate(loaded, inputs);
  const auto actual = evaluate(folded, inputs);
  EXPECT_TRUE(expected) << expected.error().message;
  EXPECT_EQ(actual.value(), expected.value());
  return folded;
}

TEST(FoldConstants, ComputesWhatWeightsAloneMake) {
  ModelBuilder b("folds");
  const TensorId x = b.input("x", {2, 4});
  const TensorId table = b.reshape("flat", b.weight("table", {2, 2, 4}), {4, 4});
  const TensorId rows = b.add("product", MatMul{}, {table, b.weight("w", {4, 4})});
  const TensorId shifted = b.add("relu", Activation{}, {rows});
  b.output(b.add("read", MatMul{}, {x, shifted}));
  const LoadedModel folded = checked_fold(finished(b));
  EXPECT_THAT(op_names(folded.model), ElementsAre("read"));
  EXPECT_EQ(folded.model.tensor(folded.model.ops[0].inputs[1]).role, TensorRole::kWeight);
  const LoadedModel optimized = optimize_for_inference(folded);
  EXPECT_EQ(optimized.model.tensors.size(), 3U) << "what nothing reads any more is gone";
}

TEST(FoldConstants, KeepsOutputsAndWhatInputsChange) {
  ModelBuilder b("keeps");
  const TensorId x = b.input("x", {1, 3});
  b.output(b.add("changed", Binary{BinaryKind::kAdd}, {x, b.weight("w", {3})}));
  b.output(b.add("told", Activation{}, {b.weight("v", {3})}));
  EXPECT_THAT(op_names(checked_fold(finished(b)).model), ElementsAre("changed", "told"));
}

TEST(FoldConstants, LeavesWhatWouldTakeMuchMemoryOrTime) {
  ModelBuilder b("leaves");
  const TensorId x = b.input("x", {400, 400});
  const TensorId wide = b.add("wide", Expand{{400, 400}}, {b.weight("row", {400})});
  b.output(b.add("sum", Binary{BinaryKind::kAdd}, {x, wide}));
  const TensorId large = b.weight("large", {1400, 1400});
  const TensorId product = b.add("product", MatMul{}, {large, large});  // 2 * 1400^3 flops
  b.output(b.add("half", TensorSlice{{0, 0}, {1, 1}, {300, 1400}}, {product}));
  const LoadedModel loaded = finished(b);
  EXPECT_THAT(op_names(fold_constants(loaded).model), ElementsAre("wide", "sum", "product", "half"));
}

TEST(FoldConstants, MakesNotManyCopiesOfALargeTable) {
  ModelBuilder b("copies");
  const TensorId table = b.weight("table", {1000, 1000});
  for (int i = 0; i < 8; ++i) {
    const TensorId turned = b.add(fmt::format("turned{}", i), Transpose{{1, 0}}, {table});
    b.output(b.add(fmt::format("sum{}", i), Binary{BinaryKind::kAdd},
                   {b.input(fmt::format("x{}", i), {1000, 1000}), turned}));
  }
  const LoadedModel folded = fold_constants(finished(b));
  EXPECT_EQ(folded.model.ops.size(), 8U + 8U - 2U) << "two of them are as many elements as are allowed";
}

TEST(FoldConstants, CountsWhatIsLeftOfALongChainOnly) {
  ModelBuilder b("chain");
  TensorId turned = b.weight("table", {1000, 1000});
  for (int i = 0; i < 9; ++i) turned = b.add(fmt::format("turned{}", i), Transpose{{1, 0}}, {turned});
  b.output(b.add("sum", Binary{BinaryKind::kAdd}, {b.input("x", {1000, 1000}), turned}));
  EXPECT_THAT(op_names(checked_fold(finished(b)).model), ElementsAre("sum"));
}

}  // namespace
}  // namespace cohort
