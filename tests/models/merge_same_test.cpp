#include "models/merge_same.hpp"

#include <gmock/gmock.h>

#include "models/builder.hpp"

namespace cohort {
namespace {

using testing::ElementsAre;
using testing::Field;

Activation relu() { return Activation{ActivationKind::kRelu}; }

LoadedModel loaded(ModelBuilder& b, const std::vector<TensorId>& outputs) {
  for (const TensorId y : outputs) b.output(y);
  Result<Model> model = b.finish();
  EXPECT_TRUE(model) << model.error().message;
  return {*model, random_weights(*model, 1)};
}

std::vector<std::string> op_names(const LoadedModel& loaded) {
  std::vector<std::string> names;
  for (const Op& op : loaded.model.ops) names.push_back(op.name);
  return names;
}

TEST(MergeSameOps, TwinsBecomeTheFirstAndSoDoTheirReaders) {
  ModelBuilder b("net");
  const TensorId x = b.input("x", {2, 3});
  const TensorId first = b.add("first", relu(), {x}), second = b.add("second", relu(), {x});
  const TensorId neg = b.add("neg", Activation{ActivationKind::kNeg}, {first});
  const TensorId neg_again = b.add("neg_again", Activation{ActivationKind::kNeg}, {second});
  const TensorId y = b.add("sum", Binary{BinaryKind::kAdd}, {neg, neg_again});
  const LoadedModel merged = merge_same_ops(loaded(b, {y}));
  EXPECT_THAT(op_names(merged), ElementsAre("first", "neg", "sum"));
  EXPECT_EQ(merged.model.ops[2].inputs[0], merged.model.ops[2].inputs[1]);
}

TEST(MergeSameOps, OtherAttributesInputsOrShapesStay) {
  ModelBuilder b("net");
  const TensorId x = b.input("x", {2, 3}), z = b.input("z", {2, 3});
  const std::vector<TensorId> different = {b.add("relu", relu(), {x}),
                                           b.add("other_input", relu(), {z}),
                                           b.add("other_kind", Activation{ActivationKind::kAbs}, {x}),
                                           b.add("a", Activation{ActivationKind::kClip, 0, 1}, {x}),
                                           b.add("b", Activation{ActivationKind::kClip, 0, 2}, {x}),
                                           b.add("less", Binary{BinaryKind::kSub}, {x, z}),
                                           b.add("more", Binary{BinaryKind::kSub}, {z, x}),
                                           b.reshape("long", x, {6}),
                                           b.reshape("high", x, {3, 2})};
  std::vector<TensorId> read;
  for (const TensorId each : different) read.push_back(b.add("r" + std::to_string(to_index(each)), relu(), {each}));
  EXPECT_EQ(merge_same_ops(loaded(b, read)).model.ops.size(), 2 * different.size());
}

TEST(MergeSameOps, AnOutputStaysWhatItIs) {
  ModelBuilder b("net");
  const TensorId x = b.input("x", {2, 3});
  const TensorId y = b.add("y", relu(), {x}), z = b.add("z", relu(), {x});
  EXPECT_THAT(op_names(merge_same_ops(loaded(b, {y, z}))), ElementsAre("y", "z"));
}

TEST(MergeSameOps, ConstantsAreTheSameByTheirValues) {
  const auto left = [](float value, bool fixed = true) {
    ModelBuilder b("net");
    const TensorId x = b.input("x", {2, 40});
    const TensorId two = b.weight("two", {40}), other = b.weight("other", {40});
    const TensorId first = b.add("first", Binary{BinaryKind::kMul}, {x, two});
    const TensorId second = b.add("second", Binary{BinaryKind::kMul}, {x, other});
    LoadedModel model = loaded(b, {b.add("sum", Binary{BinaryKind::kAdd}, {first, second})});
    std::vector<float> values(40, 2.0F);
    model.weights.by_tensor[to_index(two)] = std::make_shared<const std::vector<float>>(values);
    values[38] = value;
    model.weights.by_tensor[to_index(other)] = std::make_shared<const std::vector<float>>(values);
    for (const TensorId id : {two, other}) model.model.tensors[to_index(id)].fixed = fixed;
    return op_names(merge_same_ops(std::move(model)));
  };
  EXPECT_THAT(left(2), ElementsAre("first", "sum"));
  EXPECT_THAT(left(2.5F), ElementsAre("first", "second", "sum"));
  EXPECT_THAT(left(2, /*fixed=*/false), ElementsAre("first", "second", "sum"));
}

}  // namespace
}  // namespace cohort
