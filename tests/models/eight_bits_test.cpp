#include "models/eight_bits.hpp"

#include <gmock/gmock.h>

#include <algorithm>
#include <cmath>

#include "models/builder.hpp"

namespace cohort {
namespace {

using testing::ElementsAre;
using testing::FloatEq;
using testing::IsEmpty;

TEST(StepsOfRows, AreThoseThatWeightsWereQuantisedBy) {
  EXPECT_THAT(steps_of_rows(std::vector<float>{127, -3, 5, 0.5F, -32, 0.25F}, 2),
              ElementsAre(FloatEq(1), FloatEq(0.25F)));
  EXPECT_THAT(steps_of_rows(std::vector<float>{0, 0, 0}, 1), ElementsAre(1));
  EXPECT_THAT(steps_of_rows(std::vector<float>{-128, 127}, 1), ElementsAre(1));
  EXPECT_THAT(steps_of_rows(std::vector<float>{3, -1, 0}, 1), ElementsAre(1)) << "exactly";
  EXPECT_THAT(steps_of_rows(std::vector<float>{127, 128, 1}, 1), ElementsAre(-1)) << "128 is -128 times that";
}

TEST(StepsOfRows, AreThereWhateverTheStepAndTheLargestLevel) {
  for (const float step : {0.00731F, 1.0F / 3, 4.2e-12F, 3e7F}) {
    for (const int largest : {128, 127, 100, 61, 2, 1}) {
      std::vector<float> row;
      for (int level = -largest; level <= std::min(largest, 127); ++level)
        row.push_back(static_cast<float>(level) * step);
      const std::vector<float> steps = steps_of_rows(row, 1);
      ASSERT_EQ(steps.size(), 1U) << step << ' ' << largest;
      for (const float value : row) {
        const float level = std::nearbyint(value / steps[0]);
        EXPECT_TRUE(level >= -128 && level <= 127);
        EXPECT_NEAR(level * steps[0], value, 1e-6F * std::abs(value));
      }
    }
  }
}

TEST(StepsOfRows, AreNoneOfOtherWeights) {
  EXPECT_THAT(steps_of_rows(std::vector<float>{1, 0.7182F, 0.3141F}, 1), IsEmpty());
  EXPECT_THAT(steps_of_rows(std::vector<float>{1, 2, 300, 1, 2, 3}, 2), IsEmpty()) << "more than 8 bits";
  EXPECT_THAT(steps_of_rows(std::vector<float>{-128, 128, 1}, 1), IsEmpty());
  EXPECT_THAT(steps_of_rows(std::vector<float>{INFINITY, 1}, 1), IsEmpty());
  EXPECT_THAT(steps_of_rows(std::vector<float>{NAN, 1, 2}, 1), IsEmpty());
  EXPECT_THAT(steps_of_rows(std::vector<float>{NAN, NAN}, 1), IsEmpty());
}

TEST(StepsOfRows, AreNoneWhereSmallNumbersWouldBecomeZero) {
  EXPECT_THAT(steps_of_rows(std::vector<float>{1e6F, 0.5F, 0.5F}, 1), IsEmpty());
  EXPECT_THAT(steps_of_rows(std::vector<float>{127, 1e-5F}, 1), IsEmpty());
}

TEST(StepsOfBlocks, HaveOneForEachBlockOfARow) {
  const std::vector<float> weights{127, -3, 0.5F, -31.75F, 2.54F, 254, 2, 4, 0, 0};
  EXPECT_THAT(steps_of_blocks(weights, 2, 2, 8),
              ElementsAre(1, FloatEq(0.25F), FloatEq(-2.54F / 128), FloatEq(2), 1, 1))
      << "of the last, shorter one as well";
  EXPECT_THAT(steps_of_blocks(weights, 2, 3, 8), IsEmpty());
}

constexpr Activation kQuantize{ActivationKind::kFakeQuantize, 0.05F, -37};

/// What is between x and a convolution whose weights are whole numbers.
struct Net {
  ModelBuilder b{"net"};
  TensorId x = b.input("x", {1, 8, 6, 6});

  /// Of the convolution, once all is simplified.
  std::optional<EightBits> marked(TensorId y, bool strict_nan = false, float weight = 1) {
    const TensorId w = b.weight("w", {4, 8, 1, 1});
    b.output(b.add("conv", Convolution{{{1, 1}, {1, 1}, {0, 0}, {0, 0}, {1, 1}}}, {y, w}));
    const Result<Model> model = b.finish();
    EXPECT_TRUE(model) << model.error().message;
    Weights weights = random_weights(*model, 1);
    std::vector<float> levels(32, weight);
    levels[3] = 127;
    weights.by_tensor[to_index(w)] = std::make_shared<const std::vector<float>>(levels);
    const LoadedModel simple = simplify({*model, weights}, strict_nan);
    return std::get<Convolution>(simple.model.ops.back().attributes).eight_bits;
  }
};

TEST(MarkEightBits, ProductsOfWhatWasQuantised) {
  Net net;
  EXPECT_EQ(net.marked(net.b.add("q", kQuantize, {net.x})), (EightBits{0.05F, -37}));
  Net behind;
  const TensorId sum = behind.b.add("sum", Binary{BinaryKind::kAdd}, {behind.x, behind.x});
  EXPECT_EQ(behind.marked(behind.b.add("q", kQuantize, {sum})), (EightBits{0.05F, -37})) << "in the pass of the sum";
}

TEST(MarkEightBits, ThroughOpsThatMoveElements) {
  Net net;
  TensorId y = net.b.add("q", kQuantize, {net.x});
  y = net.b.add("pool", Pool{PoolKind::kMax, {{2, 2}, {1, 1}, {0, 0}, {1, 1}, {1, 1}}}, {y});
  y = net.b.add("turned", Transpose{{0, 1, 3, 2}}, {y});
  EXPECT_EQ(net.marked(y), (EightBits{0.05F, -37}));
}

TEST(MarkEightBits, OfRoundedNumbersWithinBounds) {
  Net net;
  TensorId y = net.b.add("round", Activation{ActivationKind::kRound}, {net.x});
  y = net.b.add("levels", Activation{ActivationKind::kClip, -128, 127}, {y});
  EXPECT_EQ(net.marked(y), (EightBits{1, -128}));
  Net other;
  y = other.b.add("levels", Activation{ActivationKind::kClip, -128, 127}, {other.x});
  EXPECT_EQ(other.marked(y), std::nullopt) << "not rounded";
  Net wide;
  y = wide.b.add("round", Activation{ActivationKind::kRound}, {wide.x});
  y = wide.b.add("levels", Activation{ActivationKind::kClip, -128, 128}, {y});
  EXPECT_EQ(wide.marked(y), std::nullopt) << "one level too many";
}

TEST(MarkEightBits, NothingElse) {
  Net floats;
  EXPECT_EQ(floats.marked(floats.x), std::nullopt);
  Net weights;
  EXPECT_EQ(weights.marked(weights.b.add("q", kQuantize, {weights.x}), false, 0.1234F), std::nullopt);
  Net strict;
  EXPECT_EQ(strict.marked(strict.b.add("q", kQuantize, {strict.x}), true), std::nullopt) << "NaN has no level";
  Net scaled;
  TensorId y = scaled.b.add("q", kQuantize, {scaled.x});
  y = scaled.b.add("tanh", Activation{ActivationKind::kTanh}, {y});
  EXPECT_EQ(scaled.marked(y), std::nullopt);
  Net averaged;
  y = averaged.b.add("q", kQuantize, {averaged.x});
  y = averaged.b.add("pool", Pool{PoolKind::kAverage, {{2, 2}, {1, 1}, {0, 0}, {0, 0}, {1, 1}}}, {y});
  EXPECT_EQ(averaged.marked(y), std::nullopt);
}

TEST(MarkEightBits, RandomWeightsOfSuchProductsAreLevels) {
  ModelBuilder b("net");
  const TensorId x = b.input("x", {1, 64}), w = b.weight("w", {16, 64});
  b.output(b.add("product", Gemm{false, EightBits{}}, {x, w}));
  const Result<Model> model = b.finish();
  ASSERT_TRUE(model);
  const Weights weights = random_weights(*model, 1);
  EXPECT_EQ(steps_of_rows(*weights.of(w), 16).size(), 16U);
}

/// What is found of the only op of a model whose weights from the first on are these.
template <class Op>
Op simplified(const Op& op, const Shape& x, const std::vector<Shape>& weights, const std::vector<float>& levels,
              bool strict_nan = false) {
  ModelBuilder b("net");
  std::vector<TensorId> inputs = {b.input("x", x)};
  for (const Shape& shape : weights) inputs.push_back(b.weight(fmt::format("w{}", inputs.size()), shape));
  b.output(b.add("op", op, inputs));
  const Result<Model> model = b.finish();
  EXPECT_TRUE(model) << model.error().message;
  Weights values = random_weights(*model, 1);
  for (std::size_t i = 1; i < inputs.size() && weights[i - 1].size() > 1; ++i) {
    std::vector<float> all;
    while (static_cast<std::int64_t>(all.size()) < element_count(weights[i - 1])) {
      all.insert(all.end(), levels.begin(), levels.end());
    }
    all.resize(static_cast<std::size_t>(element_count(weights[i - 1])));
    values.by_tensor[to_index(inputs[i])] = std::make_shared<const std::vector<float>>(all);
  }
  return std::get<Op>(simplify({*model, values}, strict_nan).model.ops.back().attributes);
}

/// Of so many blocks of 16, each with a step of its own.
std::vector<float> blocks_of_16(int count) {
  std::vector<float> values;
  for (int i = 0; i < 16 * count; ++i)
    values.push_back((0.013F + 0.007F * static_cast<float>(i / 16)) * static_cast<float>(i % 16 == 3 ? -127 : i % 13));
  return values;
}

TEST(MarkQuantizedWeights, GemmsByTheLongestBlocks) {
  const auto block_of = [](std::int64_t inner, int blocks, bool strict_nan = false) -> std::optional<std::int64_t> {
    const Gemm found = simplified(Gemm{}, {1, inner}, {{4, inner}}, blocks_of_16(blocks), strict_nan);
    return found.quantized_weights ? std::optional(found.quantized_weights->block) : std::nullopt;
  };
  EXPECT_EQ(block_of(64, 1), 64) << "a row is one block";
  EXPECT_EQ(block_of(64, 4), 16);
  EXPECT_EQ(block_of(64, 4, true), std::nullopt) << "sums may be infinite where the product is not";
  EXPECT_EQ(block_of(40, 5), std::nullopt) << "rows begin amid a block";
  EXPECT_EQ(block_of(8, 1), std::nullopt) << "short rows are multiples of anything";
}

TEST(MarkQuantizedWeights, OfFourBitsWhereTheyAreEnough) {
  const auto found = [](float largest, float least) {
    return simplified(Gemm{}, {1, 16}, {{4, 16}}, {largest * 0.03F, least * 0.03F, 0.09F, 0}).quantized_weights;
  };
  EXPECT_EQ(found(7, -8), (QuantizedWeights{16, 4}));
  EXPECT_EQ(found(8, -7), (QuantizedWeights{16, 4}))
      << "as ONNX Runtime quantises blocks with a largest number above 0";
  EXPECT_EQ(found(8, -8), (QuantizedWeights{16, 8}));
  EXPECT_EQ(found(127, -8), (QuantizedWeights{16, 8}));
  EXPECT_EQ(found(128, -128), std::nullopt);
}

TEST(MarkQuantizedWeights, RandomWeightsOfSuchOpsAreQuantized) {
  for (const int bits : {4, 8}) {
    ModelBuilder b("net");
    const TensorId x = b.input("x", {1, 64}), w = b.weight("w", {16, 64});
    b.output(b.add("product", Gemm{false, {}, QuantizedWeights{32, bits}}, {x, w}));
    const Weights weights = random_weights(*b.finish(), 1);
    EXPECT_EQ(steps_of_blocks(*weights.of(w), 16, 32, bits).size(), 32U);
  }
}

TEST(MarkQuantizedWeights, NoneOfOthers) {
  EXPECT_FALSE(simplified(Gemm{}, {1, 32}, {{4, 32}}, {0.1234F, 1, 3.3F}).quantized_weights);
  ModelBuilder b("net");
  const TensorId x = b.input("x", {1, 32}), w = b.input("w", {4, 32});
  b.output(b.add("op", Gemm{}, {x, w}));
  const LoadedModel computed = simplify({*b.finish(), {}}, false);
  EXPECT_FALSE(std::get<Gemm>(computed.model.ops.back().attributes).quantized_weights);
}

TEST(MarkQuantizedWeights, RecurrentLayersOfBothMatrices) {
  const std::vector<Shape> weights = {{128, 16}, {128, 32}, {128}};
  EXPECT_TRUE(simplified(Lstm{32}, {3, 1, 16}, weights, blocks_of_16(1)).quantized_weights);
  EXPECT_FALSE(simplified(Lstm{32}, {3, 1, 16}, weights, blocks_of_16(2)).quantized_weights)
      << "rows of w are, of r not";
  Recurrent gru;
  gru.cell = RecurrentCell::kGru;
  gru.hidden = 32;
  EXPECT_TRUE(simplified(gru, {3, 1, 16}, {{1, 96, 16}, {1, 96, 32}, {1, 192}}, blocks_of_16(1)).quantized_weights);
}

TEST(MarkQuantizedWeights, AreToldInAnOpsSignature) {
  EXPECT_NE(canonical(Gemm{}, {}), canonical(Gemm{false, {}, QuantizedWeights{32}}, {}));
}

}  // namespace
}  // namespace cohort
