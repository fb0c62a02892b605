#include "models/recognize.hpp"

#include <gmock/gmock.h>

#include <map>

#include "models/builder.hpp"
#include "tests/models/evaluate.hpp"

/// Functions that exporters write as several ops become one, which computes the same; what only looks alike stays.
namespace cohort {
namespace {

using testing::ElementsAre;

/// A network of one input, op by op, with constants of one value.
class SmallNetwork {
 public:
  explicit SmallNetwork(Shape shape) { x = b_.input("x", std::move(shape)); }

  TensorId constant(float value) {
    const TensorId id = b_.weight("c" + std::to_string(values_.size()), {});
    values_[id] = value;
    return id;
  }
  TensorId weight(const std::string& name, Shape shape) { return b_.weight(name, std::move(shape)); }
  TensorId binary(BinaryKind kind, TensorId a, TensorId b) { return b_.add(next(), Binary{kind}, {a, b}); }
  TensorId add(TensorId a, TensorId b) { return binary(BinaryKind::kAdd, a, b); }
  TensorId add(TensorId a, float value) { return add(a, constant(value)); }
  TensorId multiply(TensorId a, TensorId b) { return binary(BinaryKind::kMul, a, b); }
  TensorId multiply(TensorId a, float value) { return multiply(a, constant(value)); }
  TensorId divide(TensorId a, float value) { return binary(BinaryKind::kDiv, a, constant(value)); }
  TensorId power(TensorId a, float value) { return binary(BinaryKind::kPow, a, constant(value)); }
  TensorId apply(ActivationKind kind, TensorId a, float alpha = 0, float beta = 0) {
    return b_.add(next(), Activation{kind, alpha, beta}, {a});
  }
  TensorId op(OpAttributes attributes, TensorId a) { return b_.add(next(), std::move(attributes), {a}); }
  TensorId reshape(TensorId a, Shape shape) { return b_.reshape(next(), a, std::move(shape)); }
  TensorId mean(TensorId a, std::vector<std::int64_t> axes) {
    return b_.add(next(), Reduce{ReduceKind::kMean, std::move(axes), true}, {a});
  }

  LoadedModel finish(const std::vector<TensorId>& outputs) {
    for (const TensorId y : outputs) b_.output(y);
    Result<Model> model = b_.finish();
    EXPECT_TRUE(model) << model.error().message;
    LoadedModel loaded{*model, random_weights(*model, 1)};
    for (const auto& [id, value] : values_)
      loaded.weights.by_tensor[to_index(id)] = std::make_shared<const std::vector<float>>(1, value);
    return loaded;
  }

  TensorId x{};

 private:
  std::string next() { return "op" + std::to_string(++ops_); }

  ModelBuilder b_{"net"};
  std::map<TensorId, float> values_;
  int ops_ = 0;
};

/// Types of the ops and functions that are left; fails where outputs change.
std::vector<std::string> left_of(SmallNetwork& network, const std::vector<TensorId>& outputs) {
  const LoadedModel loaded = network.finish(outputs);
  const LoadedModel simple = simplify(loaded);
  EXPECT_TRUE(validate(simple.model));
  const auto inputs = random_inputs(loaded.model, 5);
  const auto expected = evaluate(loaded, inputs), actual = evaluate(simple, inputs);
  EXPECT_TRUE(expected && actual);
  for (std::size_t i = 0; expected && actual && i < expected->size(); ++i)
    EXPECT_LT(excess((*actual)[i], (*expected)[i], 1e-5), 1e-5);
  std::vector<std::string> types;
  for (const Op& op : simple.model.ops) {
    types.emplace_back(op_type(op.attributes));
    for (const PostOp& post_op : op.post_ops) types.emplace_back(op_type(std::get<Activation>(post_op)));
  }
  return types;
}

TEST(Recognize, GeluByErrorFunctionInAnyOrder) {
  for (const int form : {0, 1, 2, 3}) {
    SmallNetwork n({3, 8});
    const TensorId inside = form % 2 == 0 ? n.divide(n.x, 1.41421356F) : n.multiply(n.x, 0.70710678F);
    const TensorId gate = n.add(n.apply(ActivationKind::kErf, inside), 1);
    const TensorId y = form == 0   ? n.multiply(n.multiply(n.x, gate), 0.5F)
                       : form == 1 ? n.multiply(n.multiply(n.x, 0.5F), gate)
                       : form == 2 ? n.multiply(n.x, n.multiply(gate, 0.5F))
                                   : n.divide(n.multiply(gate, n.x), 2);
    EXPECT_THAT(left_of(n, {y}), ElementsAre("Gelu")) << form;
  }
}

TEST(Recognize, GeluOfAProduct) {
  SmallNetwork n({3, 8});
  const TensorId x = n.multiply(n.x, n.weight("w", {8}));
  const TensorId gate = n.add(n.apply(ActivationKind::kErf, n.divide(x, 1.41421356F)), 1);
  EXPECT_THAT(left_of(n, {n.multiply(n.multiply(x, 0.5F), gate)}), ElementsAre("Mul", "Gelu"));
}

TEST(Recognize, GeluByHyperbolicTangent) {
  for (const bool power : {false, true}) {
    SmallNetwork n({3, 8});
    const TensorId cube = power ? n.power(n.x, 3) : n.multiply(n.multiply(n.x, n.x), n.x);
    const TensorId inside = n.multiply(n.add(n.x, n.multiply(cube, 0.044715F)), 0.79788456F);
    const TensorId gate = n.add(n.apply(ActivationKind::kTanh, inside), 1);
    EXPECT_THAT(left_of(n, {n.multiply(n.multiply(n.x, 0.5F), gate)}), ElementsAre("GeluTanh")) << power;
  }
}

TEST(Recognize, SwishAndMish) {
  SmallNetwork swish({3, 8});
  EXPECT_THAT(left_of(swish, {swish.multiply(swish.x, swish.apply(ActivationKind::kSigmoid, swish.x))}),
              ElementsAre("Swish"));
  SmallNetwork quick({3, 8});
  const TensorId gate = quick.apply(ActivationKind::kSigmoid, quick.multiply(quick.x, 1.702F));
  EXPECT_THAT(left_of(quick, {quick.multiply(gate, quick.x)}), ElementsAre("Swish"));
  SmallNetwork mish({3, 8});
  const TensorId soft = mish.apply(ActivationKind::kSoftplus, mish.x);
  EXPECT_THAT(left_of(mish, {mish.multiply(mish.x, mish.apply(ActivationKind::kTanh, soft))}), ElementsAre("Mish"));
}

TEST(Recognize, HardSwishAndHardSigmoidOfClips) {
  SmallNetwork after({3, 8});
  const TensorId a = after.apply(ActivationKind::kClip, after.add(after.x, 3), 0, 6);
  EXPECT_THAT(left_of(after, {after.divide(after.multiply(after.x, a), 6)}), ElementsAre("HardSwish"));
  SmallNetwork before({3, 8});
  const TensorId b = before.apply(ActivationKind::kClip, before.add(before.x, 3), 0, 6);
  EXPECT_THAT(left_of(before, {before.multiply(before.x, before.multiply(b, 1.0F / 6))}), ElementsAre("HardSwish"));
  SmallNetwork named({3, 8});
  const TensorId c = named.apply(ActivationKind::kHardSigmoid, named.x, 1.0F / 6, 0.5F);
  EXPECT_THAT(left_of(named, {named.multiply(c, named.x)}), ElementsAre("HardSwish"));
  SmallNetwork alone({3, 8});
  const TensorId d = alone.apply(ActivationKind::kClip, alone.add(alone.x, 3), 0, 6);
  EXPECT_THAT(left_of(alone, {alone.divide(d, 6)}), ElementsAre("HardSigmoid"));
}

TEST(Recognize, LeavesWhatOnlyLooksAlike) {
  SmallNetwork other({3, 8});  // the gate is of something else
  const TensorId y = other.weight("w", {3, 8});
  EXPECT_THAT(left_of(other, {other.multiply(y, other.apply(ActivationKind::kSigmoid, other.x))}),
              ElementsAre("Sigmoid", "Mul"));
  SmallNetwork bound({3, 8});
  const TensorId clip = bound.apply(ActivationKind::kClip, bound.add(bound.x, 3), 0, 5);
  EXPECT_THAT(left_of(bound, {bound.divide(bound.multiply(bound.x, clip), 6)}),
              ElementsAre("Add", "Clip", "Mul", "Div"));
  SmallNetwork scale({3, 8});
  const TensorId gate = scale.add(scale.apply(ActivationKind::kErf, scale.divide(scale.x, 1.5F)), 1);
  EXPECT_THAT(left_of(scale, {scale.multiply(scale.multiply(scale.x, 0.5F), gate)}).size(), 5U);
}

TEST(Recognize, KeepsWhatOthersRead) {
  SmallNetwork n({3, 8});
  const TensorId gate = n.apply(ActivationKind::kSigmoid, n.x);
  EXPECT_THAT(left_of(n, {n.multiply(n.x, gate), gate}), ElementsAre("Sigmoid", "Swish"));
}

/// (x - mean) / sqrt(mean of the squares + epsilon)
TensorId normalized_over(SmallNetwork& n, TensorId x, const std::vector<std::int64_t>& axes, bool power) {
  const auto centred = [&] { return n.binary(BinaryKind::kSub, x, n.mean(x, axes)); };
  const TensorId d = centred(), again = centred();
  const TensorId variance = n.mean(power ? n.power(again, 2) : n.multiply(again, again), axes);
  return n.binary(BinaryKind::kDiv, d, n.apply(ActivationKind::kSqrt, n.add(variance, 1e-5F)));
}

TEST(Recognize, LayerNormalization) {
  for (const bool power : {false, true}) {
    SmallNetwork n({2, 5, 8});
    const TensorId scaled = n.multiply(normalized_over(n, n.x, {2}, power), n.weight("scale", {8}));
    EXPECT_THAT(left_of(n, {n.add(n.weight("shift", {8}), scaled)}), ElementsAre("LayerNormalization"));
  }
  SmallNetwork two({2, 5, 8});
  EXPECT_THAT(left_of(two, {two.multiply(normalized_over(two, two.x, {1, 2}, true), two.weight("scale", {5, 8}))}),
              ElementsAre("LayerNormalization"));
  SmallNetwork first({2, 5, 8});  // not the last axes
  EXPECT_THAT(left_of(first, {first.multiply(normalized_over(first, first.x, {1}, true), first.weight("scale", {8}))}),
              testing::Not(ElementsAre("LayerNormalization")));
}

/// x over its root mean square.
TensorId over_root_mean_square(SmallNetwork& n, TensorId x, const std::vector<std::int64_t>& axes, bool reciprocal) {
  const TensorId squares = reciprocal ? n.power(x, 2) : n.multiply(x, x);
  const TensorId root = n.apply(ActivationKind::kSqrt, n.add(n.mean(squares, axes), 1e-5F));
  return reciprocal ? n.multiply(x, n.apply(ActivationKind::kReciprocal, root)) : n.binary(BinaryKind::kDiv, x, root);
}

TEST(Recognize, NormalizationByTheRootMeanSquare) {
  for (const bool reciprocal : {false, true}) {
    SmallNetwork n({2, 5, 8});
    const TensorId y = over_root_mean_square(n, n.x, {2}, reciprocal);
    EXPECT_THAT(left_of(n, {n.multiply(n.weight("scale", {8}), y)}), ElementsAre("LayerNormalization"));
    SmallNetwork first({2, 5, 8});  // not the last axes
    const TensorId by_row = over_root_mean_square(first, first.x, {1}, reciprocal);
    EXPECT_THAT(left_of(first, {first.multiply(by_row, first.weight("scale", {5, 8}))}),
                testing::Not(testing::Contains("LayerNormalization")));
    SmallNetwork other({2, 5, 8});  // the root of something else
    const TensorId tanh = other.apply(ActivationKind::kTanh, other.x);
    const TensorId mean = other.mean(other.multiply(tanh, tanh), {2});
    const TensorId root = other.apply(ActivationKind::kSqrt, other.add(mean, 1e-5F));
    const TensorId mixed = reciprocal ? other.multiply(other.x, other.apply(ActivationKind::kReciprocal, root))
                                      : other.binary(BinaryKind::kDiv, other.x, root);
    EXPECT_THAT(left_of(other, {other.multiply(mixed, other.weight("scale", {8}))}),
                testing::Not(testing::Contains("LayerNormalization")));
    SmallNetwork wider({2, 5, 8});  // a constant with more dimensions than x
    const TensorId raised =
        wider.add(wider.mean(wider.multiply(wider.x, wider.x), {2}), wider.weight("eps", {1, 1, 1, 1}));
    const TensorId longer = wider.binary(BinaryKind::kDiv, wider.x, wider.apply(ActivationKind::kSqrt, raised));
    EXPECT_THAT(left_of(wider, {wider.multiply(longer, wider.weight("scale", {5, 8}))}),
                testing::Not(testing::Contains("LayerNormalization")));
  }
}

TEST(Recognize, QuantizingAndDequantizing) {
  for (const float zero : {0.0F, 3.0F}) {
    SmallNetwork n({3, 8});
    TensorId y = n.apply(ActivationKind::kRound, n.divide(n.x, 0.02F));
    if (zero != 0) y = n.add(y, zero);
    y = n.apply(ActivationKind::kClip, y, 0, 255);
    if (zero != 0) y = n.binary(BinaryKind::kSub, y, n.constant(zero));
    EXPECT_THAT(left_of(n, {n.multiply(y, 0.02F)}), ElementsAre("FakeQuantize")) << zero;
  }
}

/// Levels of x from 0 to 255 in steps of 0.02, and numbers from levels.
TensorId levels(SmallNetwork& n, TensorId x) {
  const TensorId rounded = n.apply(ActivationKind::kRound, n.divide(x, 0.02F));
  return n.apply(ActivationKind::kClip, n.add(rounded, 3), 0, 255);
}
TensorId dequantized(SmallNetwork& n, TensorId y) {
  return n.multiply(n.binary(BinaryKind::kSub, y, n.constant(3)), 0.02F);
}

const Window kHalves{{2, 2}, {2, 2}, {0, 0}, {0, 0}, {1, 1}};

TEST(Recognize, QuantizingBeforeWhatMovesLevelsAndDequantizingBehindIt) {
  SmallNetwork n({1, 4, 6, 6});
  TensorId y = n.op(Pool{PoolKind::kMax, kHalves}, levels(n, n.x));
  y = n.op(TensorSlice{{0, 1, 0, 0}, {1, 1, 1, 1}, {1, 2, 3, 3}}, n.op(Transpose{{0, 1, 3, 2}}, y));
  EXPECT_THAT(left_of(n, {dequantized(n, y)}), ElementsAre("FakeQuantize", "MaxPool", "Transpose", "Slice"));
}

/// A number with more axes than the levels had would give them as many.
TEST(Recognize, DequantizingStaysBehindAReshapeToMoreAxes) {
  SmallNetwork n({2, 6});
  const TensorId y = n.reshape(levels(n, n.x), {1, 2, 3, 2});
  const TensorId moved = n.binary(BinaryKind::kSub, y, n.weight("zero", {1, 1, 1, 1}));
  EXPECT_EQ(left_of(n, {n.multiply(moved, n.weight("step", {1, 1, 1, 1}))}).back(), "Mul");
  SmallNetwork scalar({2, 6});
  EXPECT_THAT(left_of(scalar, {dequantized(scalar, scalar.reshape(levels(scalar, scalar.x), {1, 2, 3, 2}))}),
              ElementsAre("FakeQuantize", "Reshape"));
}

TEST(Recognize, LevelsThatTwoReadAreQuantizedOnce) {
  SmallNetwork n({2, 6});
  const TensorId y = levels(n, n.x);
  const TensorId left = n.op(TensorSlice{{0, 0}, {1, 1}, {2, 3}}, y),
                 right = n.op(TensorSlice{{0, 3}, {1, 1}, {2, 3}}, y);
  EXPECT_THAT(
      left_of(n, {n.apply(ActivationKind::kNeg, dequantized(n, y)), dequantized(n, left), dequantized(n, right)}),
      ElementsAre("FakeQuantize", "Neg", "Slice", "Slice"));
}

TEST(Recognize, DequantizingStaysBehindWhatSomethingElseReadsOrChangesLevels) {
  SmallNetwork read({2, 6});
  const TensorId moved = read.op(Transpose{{1, 0}}, levels(read, read.x));
  EXPECT_EQ(left_of(read, {read.apply(ActivationKind::kNeg, moved), dequantized(read, moved)}).back(), "Mul");
  SmallNetwork average({1, 4, 6, 6});
  const Pool pool{PoolKind::kAverage, kHalves};
  EXPECT_EQ(left_of(average, {dequantized(average, average.op(pool, levels(average, average.x)))}).back(), "Mul");
  SmallNetwork negative({1, 4, 6, 6});  // makes the largest the smallest
  const TensorId largest = negative.op(Pool{PoolKind::kMax, pool.window}, levels(negative, negative.x));
  EXPECT_EQ(left_of(negative, {negative.multiply(largest, -0.02F)}).back(), "Mul");
  SmallNetwork few({2, 6});  // levels, which stay as many ops as they are
  const TensorId bits = few.apply(ActivationKind::kClip, few.apply(ActivationKind::kRound, few.x), 0, 15);
  EXPECT_EQ(left_of(few, {few.multiply(few.op(Transpose{{1, 0}}, bits), 0.5F)}).back(), "Mul");
  SmallNetwork no_levels({2, 6});  // a Clip of what was not rounded
  const TensorId clip = no_levels.apply(ActivationKind::kClip, no_levels.x, 0, 6);
  EXPECT_THAT(left_of(no_levels, {no_levels.multiply(no_levels.op(Transpose{{1, 0}}, clip), 0.5F)}),
              ElementsAre("Clip", "Transpose", "Mul"));
}

TEST(Recognize, QuantizingWithAnotherZeroPointThanDequantizingStays) {
  for (const float added : {0.0F, 9.0F}) {
    SmallNetwork n({3, 8});
    TensorId y = n.apply(ActivationKind::kRound, n.divide(n.x, 0.02F));
    if (added != 0) y = n.add(y, added);
    y = n.binary(BinaryKind::kSub, n.apply(ActivationKind::kClip, y, 0, 255), n.constant(3));
    EXPECT_EQ(left_of(n, {n.multiply(y, 0.02F)}).back(), "Mul") << added;
  }
  SmallNetwork n({3, 8});
  const TensorId y = n.add(n.apply(ActivationKind::kRound, n.divide(n.x, 0.02F)), 9);
  EXPECT_EQ(left_of(n, {n.multiply(n.apply(ActivationKind::kClip, y, 0, 255), 0.02F)}).back(), "Mul");
}

TEST(Recognize, QuantizingByAnotherStepOrWidthStays) {
  const auto left = [](float step, float most) {
    SmallNetwork n({3, 8});
    const TensorId y = n.apply(ActivationKind::kRound, n.divide(n.x, 0.02F));
    return left_of(n, {n.multiply(n.apply(ActivationKind::kClip, y, 0, most), step)}).back();
  };
  EXPECT_EQ(left(0.02F, 255), "FakeQuantize");
  EXPECT_EQ(left(0.0200001F, 255), "Mul");
  EXPECT_EQ(left(0.02F, 127), "Mul");
}

TEST(Recognize, AMaximumOrMinimumWithANumberIsAClip) {
  SmallNetwork above({2, 3}), below({2, 3}), both({2, 3});
  EXPECT_THAT(left_of(above, {above.binary(BinaryKind::kMax, above.x, above.constant(0.25F))}), ElementsAre("Clip"));
  EXPECT_THAT(left_of(below, {below.binary(BinaryKind::kMin, below.constant(-0.5F), below.x)}), ElementsAre("Clip"));
  // Of two tensors it stays what it is.
  const TensorId y = both.apply(ActivationKind::kNeg, both.x);
  EXPECT_THAT(left_of(both, {both.binary(BinaryKind::kMax, both.x, y)}), ElementsAre("Neg", "Max"));
}

TEST(Recognize, AMaximumThatWidensTheTensorStays) {
  SmallNetwork network({});
  const TensorId limit = network.weight("limit", {1});
  EXPECT_THAT(left_of(network, {network.binary(BinaryKind::kMax, network.x, limit)}), ElementsAre("Max"));
}

}  // namespace
}  // namespace cohort
