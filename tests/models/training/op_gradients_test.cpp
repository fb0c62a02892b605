// Every op's gradients against central differences of a loss: networks of one op whose inputs are all parameters.

#include <gtest/gtest.h>

#include <bit>
#include <cmath>
#include <functional>

#include "base/random.hpp"
#include "models/builder.hpp"
#include "tests/models/training/step.hpp"

namespace cohort {
namespace {

constexpr TrainingSpec kSquaredError{LossKind::kMeanSquaredError, {}, false};

/// Values between `low` and `high` for every weight of floating point.
LoadedModel with_values(Model model, float low, float high, std::uint64_t seed = 5) {
  Random random(seed);
  Weights weights;
  for (const Tensor& tensor : model.tensors) {
    std::vector<float> values(static_cast<std::size_t>(element_count(tensor.shape)));
    for (float& value : values) value = random.uniform(low, high);
    weights.by_tensor.push_back(
        tensor.role == TensorRole::kWeight ? std::make_shared<const std::vector<float>>(std::move(values)) : nullptr);
  }
  return {std::move(model), std::move(weights)};
}

struct Values {
  float low = -1, high = 1;
};

/// One op on parameters of these shapes, and a product with another parameter in front and behind, so that its own
/// gradient is not just the loss's.
LoadedModel network_of(const OpAttributes& attributes, const std::vector<Shape>& shapes, Values values = {}) {
  ModelBuilder b("one");
  const TensorId data = b.input("data", {1});
  std::vector<TensorId> inputs;
  for (std::size_t i = 0; i < shapes.size(); ++i) inputs.push_back(b.weight("w" + std::to_string(i), shapes[i]));
  TensorId y = b.add("op", attributes, inputs);
  y = b.add("scaled", Binary{BinaryKind::kMul}, {y, b.weight("scale", b.shape(y).empty() ? Shape{1} : b.shape(y))});
  b.output(b.add("sum", Binary{BinaryKind::kAdd}, {y, data}));
  return with_values(b.finish().value(), values.low, values.high);
}

void expect_right(const LoadedModel& inference, double tolerance = 1e-2, int directions = 3) {
  const auto training = differentiate(inference, kSquaredError);
  ASSERT_TRUE(training) << training.error().message;
  const GradientCheck check = check_gradient(ReferenceTraining(*training, 1), directions, 7);
  EXPECT_LT(check.worst, tolerance);
  EXPECT_GE(3 * check.counted, check.tried) << "too few directions without a kink";
}

Window window(Shape kernel, Shape stride, Shape begin, Shape end, Shape dilation) {
  return {std::move(kernel), std::move(stride), std::move(begin), std::move(end), std::move(dilation)};
}

TEST(Gradient, OfConvolutionsWithUnevenBorders) {
  const Window uneven = window({3, 2}, {2, 3}, {1, 0}, {0, 1}, {1, 2});
  expect_right(network_of(Convolution{uneven, 1}, {{2, 3, 8, 9}, {4, 3, 3, 2}, {4}}));
  expect_right(network_of(Convolution{uneven, 2}, {{2, 4, 8, 9}, {6, 2, 3, 2}, {6}}));
  expect_right(network_of(Convolution{window({3}, {2}, {1}, {1}, {1}), 1}, {{2, 3, 8}, {4, 3, 3}}));
  expect_right(network_of(Convolution{window({2, 1, 2}, {1, 2, 1}, {0, 0, 1}, {0, 0, 0}, {1, 1, 1}), 1},
                          {{1, 2, 3, 4, 3}, {2, 2, 2, 1, 2}, {2}}));
}

TEST(Gradient, OfTransposedConvolutions) {
  const Window plain = window({3, 2}, {2, 3}, {1, 0}, {0, 1}, {1, 2});
  expect_right(network_of(ConvTranspose{plain, {0, 0}, 1}, {{2, 3, 4, 3}, {3, 2, 3, 2}, {2}}));
  expect_right(network_of(ConvTranspose{plain, {1, 2}, 1}, {{2, 3, 4, 3}, {3, 2, 3, 2}, {2}}));
  expect_right(network_of(ConvTranspose{plain, {1, 0}, 2}, {{2, 4, 4, 3}, {4, 3, 3, 2}}));
  const Window cut = window({2, 2}, {2, 2}, {-1, 0}, {0, -2}, {1, 1});
  expect_right(network_of(ConvTranspose{cut, {0, 3}, 1}, {{1, 2, 3, 3}, {2, 2, 2, 2}, {2}}));
}

TEST(Gradient, OfPooling) {
  const Window overlapping = window({3, 2}, {2, 1}, {1, 0}, {0, 1}, {1, 1});
  for (const PoolKind kind : {PoolKind::kMax, PoolKind::kAverage}) {
    for (const bool count : {false, true})
      expect_right(network_of(Pool{kind, overlapping, true, count && kind == PoolKind::kAverage}, {{2, 2, 6, 5}}));
  }
  expect_right(network_of(Pool{PoolKind::kAverage, window({6, 5}, {1, 1}, {0, 0}, {0, 0}, {1, 1})}, {{2, 3, 6, 5}}));
}

TEST(Gradient, OfProducts) {
  expect_right(network_of(Gemm{}, {{3, 2, 4}, {5, 8}, {5}}));
  expect_right(network_of(Gemm{}, {{3, 4}, {5, 4}}));
  for (const bool transpose_a : {false, true}) {
    for (const bool transpose_b : {false, true}) {
      const Shape a = transpose_a ? Shape{4, 3} : Shape{3, 4};
      const Shape b = transpose_b ? Shape{5, 4} : Shape{4, 5};
      const auto stacked = [](Shape lead, const Shape& matrix) {
        lead.insert(lead.end(), matrix.begin(), matrix.end());
        return lead;
      };
      const MatMul op{transpose_a, transpose_b};
      expect_right(network_of(op, {a, b}));
      expect_right(network_of(op, {stacked({2, 3}, a), b}));
      expect_right(network_of(op, {a, stacked({2}, b)}));
      expect_right(network_of(op, {stacked({2, 1}, a), stacked({1, 3}, b)}));
    }
  }
}

TEST(Gradient, OfActivations) {
  using Kind = ActivationKind;
  const std::vector<Activation> all{{Kind::kRelu, 0, 0},
                                    {Kind::kLeakyRelu, 0.1F, 0},
                                    {Kind::kElu, 0.7F, 0},
                                    {Kind::kSigmoid, 0, 0},
                                    {Kind::kTanh, 0, 0},
                                    {Kind::kClip, -0.5F, 0.6F},
                                    {Kind::kSelu, 1.67F, 1.05F},
                                    {Kind::kHardSigmoid, 0.8F, 0.5F},
                                    {Kind::kHardSwish, 0, 0},
                                    {Kind::kSoftplus, 0, 0},
                                    {Kind::kSoftsign, 0, 0},
                                    {Kind::kGelu, 0, 0},
                                    {Kind::kGeluTanh, 0, 0},
                                    {Kind::kErf, 0, 0},
                                    {Kind::kMish, 0, 0},
                                    {Kind::kNeg, 0, 0},
                                    {Kind::kAbs, 0, 0},
                                    {Kind::kExp, 0, 0},
                                    {Kind::kThresholdedRelu, 0.3F, 0},
                                    {Kind::kCelu, 1.5F, 0},
                                    {Kind::kSwish, 1.2F, 0},
                                    {Kind::kSin, 0, 0},
                                    {Kind::kCos, 0, 0},
                                    {Kind::kAtan, 0, 0},
                                    {Kind::kSinh, 0, 0},
                                    {Kind::kAsinh, 0, 0}};
  for (const Activation& op : all) {
    SCOPED_TRACE(op_type(op));
    expect_right(network_of(op, {{3, 4}}), 1e-2, 9);
  }
  for (const Kind kind : {Kind::kSqrt, Kind::kLog, Kind::kReciprocal}) {
    SCOPED_TRACE(op_type(Activation{kind, 0, 0}));
    expect_right(network_of(Activation{kind, 0, 0}, {{3, 4}}, {0.5F, 1.5F}));
  }
}

TEST(Gradient, OfArithmeticThatRepeatsItsOperands) {
  using Kind = BinaryKind;
  const std::vector<std::vector<Shape>> shapes{{{3, 4}, {3, 4}}, {{2, 3, 4}, {4}}, {{3, 1}, {2, 1, 4}}};
  for (const auto& each : shapes) {
    for (const Kind kind : {Kind::kAdd, Kind::kSub, Kind::kMul, Kind::kMin, Kind::kMax, Kind::kPRelu}) {
      SCOPED_TRACE(op_type(Binary{kind}));
      if (kind == Kind::kPRelu && each[0] == Shape{3, 1}) continue;
      expect_right(network_of(Binary{kind}, each), 1e-2, 9);
    }
    for (const Kind kind : {Kind::kDiv, Kind::kPow}) {
      SCOPED_TRACE(op_type(Binary{kind}));
      expect_right(network_of(Binary{kind}, each, {0.5F, 1.5F}));
    }
  }
}

TEST(Gradient, OfPowersOfZero) {
  ModelBuilder b("features");
  const TensorId exponents = b.weight("exponents", {4});
  const TensorId powers = b.add("powers", Binary{BinaryKind::kPow}, {b.weight("a", {2, 1}), exponents});
  const TensorId scaled = b.add("scaled", Binary{BinaryKind::kMul}, {powers, b.weight("scale", {2, 4})});
  b.output(b.add("sum", Binary{BinaryKind::kAdd}, {scaled, b.input("data", {1})}));
  const Model built = b.finish().value();
  for (const bool fixed : {true, false}) {
    LoadedModel model = with_values(built, 0.5F, 1.5F);
    for (std::size_t i = 0; i < model.model.tensors.size(); ++i) {
      const auto set = [&](std::vector<float> values) {
        model.weights.by_tensor[i] = std::make_shared<const std::vector<float>>(std::move(values));
      };
      Tensor& tensor = model.model.tensors[i];
      if (tensor.name == "a") set({0, 0});
      if (tensor.name == "exponents") set({0, 1, 2, 3});
      if (tensor.name == "exponents") tensor.fixed = fixed;
    }
    if (fixed) {
      expect_right(model);
      continue;
    }
    const auto training = differentiate(model, kSquaredError);
    ASSERT_TRUE(training) << training.error().message;
    const ReferenceTraining step(*training, 1);
    for (const float each : step.evaluate(step.parameters()).gradient) EXPECT_TRUE(std::isfinite(each));
  }
}

TEST(Gradient, OfATensorWithItself) {
  ModelBuilder b("square");
  const TensorId w = b.weight("w", {3, 4});
  const TensorId data = b.input("data", {3, 4});
  const TensorId square = b.add("square", Binary{BinaryKind::kMul}, {w, w});
  const TensorId sum = b.add("sum", Binary{BinaryKind::kAdd}, {square, w});
  b.output(b.add("product", Binary{BinaryKind::kMul}, {sum, data}));
  expect_right(with_values(b.finish().value(), -1, 1));
}

TEST(Gradient, OfAChoice) {
  ModelBuilder b("choice");
  const TensorId data = b.input("data", {2, 3, 4});
  const TensorId is_positive = b.add("positive", Binary{BinaryKind::kGreater}, {data, b.weight("zero", {})});
  const TensorId chosen = b.add("choice", Select{}, {is_positive, b.weight("a", {3, 1}), b.weight("b", {2, 1, 4})});
  b.output(b.add("product", Binary{BinaryKind::kMul}, {chosen, data}));
  expect_right(with_values(b.finish().value(), -1, 1));
}

TEST(Gradient, OfMovedElements) {
  expect_right(network_of(Concat{1}, {{2, 3, 2}, {2, 1, 2}, {2, 2, 2}}));
  expect_right(network_of(Transpose{{2, 0, 1}}, {{2, 3, 4}}));
  expect_right(network_of(TensorSlice{{1, 0}, {1, 1}, {2, 3}}, {{4, 3}}));
  expect_right(network_of(TensorSlice{{3, 0}, {-2, 2}, {2, 2}}, {{4, 3}}));
  expect_right(network_of(Expand{{2, 3, 4}}, {{3, 1}}));
  expect_right(network_of(Tile{{2, 1, 3}}, {{2, 3, 2}}));
  for (const PadMode mode : {PadMode::kConstant, PadMode::kReflect, PadMode::kEdge, PadMode::kWrap}) {
    expect_right(network_of(Pad{mode, {1, 0, 2}, {2, 1, 0}, 0.5F}, {{3, 2, 4}}));
    expect_right(network_of(Pad{mode, {-1, 3}, {2, -1}, 0.5F}, {{3, 4}}));
  }
}

TEST(Gradient, OfEntriesThatWereGatheredSeveralTimes) {
  ModelBuilder b("embedding");
  const TensorId table = b.weight("table", {5, 3});
  const TensorId indices = b.weight("indices", {2, 2});
  const TensorId data = b.input("data", {2, 2, 3});
  b.output(b.add("product", Binary{BinaryKind::kMul}, {b.add("gather", Gather{0}, {table, indices}), data}));
  Result<Model> model = b.finish();
  ASSERT_FALSE(model);  // indices are whole numbers
  Model made;
  made.name = "embedding";
  made.tensors = {{"table", {5, 3}, TensorRole::kWeight},
                  {"indices", {2, 2}, TensorRole::kWeight, ElementType::kInt32},
                  {"gather", {2, 2, 3}},
                  {"data", {2, 2, 3}, TensorRole::kInput},
                  {"product", {2, 2, 3}}};
  made.ops = {{"gather", Gather{0}, {}, {TensorId(0), TensorId(1)}, {TensorId(2)}},
              {"product", Binary{BinaryKind::kMul}, {}, {TensorId(2), TensorId(3)}, {TensorId(4)}}};
  made.inputs = {TensorId(3)};
  made.outputs = {TensorId(4)};
  LoadedModel loaded = with_values(std::move(made), -1, 1);
  std::vector<float> which;
  for (const std::int32_t index : {4, 1, -1, 4}) which.push_back(std::bit_cast<float>(index));
  loaded.weights.by_tensor[1] = std::make_shared<const std::vector<float>>(std::move(which));
  expect_right(loaded);
}

/// x [2, 4, 3] with updates [2, 5, 3], some of which meet.
LoadedModel scattering(const Scatter& op, const Shape& indices_shape, const std::vector<std::int32_t>& indices) {
  Model made;
  made.name = "scatter";
  made.tensors = {
      {"x", {2, 4, 3}, TensorRole::kWeight},       {"indices", indices_shape, TensorRole::kWeight, ElementType::kInt32},
      {"updates", {2, 5, 3}, TensorRole::kWeight}, {"scatter", {2, 4, 3}},
      {"data", {2, 4, 3}, TensorRole::kInput},     {"product", {2, 4, 3}}};
  made.ops = {{"scatter", op, {}, {TensorId(0), TensorId(1), TensorId(2)}, {TensorId(3)}},
              {"product", Binary{BinaryKind::kMul}, {}, {TensorId(3), TensorId(4)}, {TensorId(5)}}};
  made.inputs = {TensorId(4)};
  made.outputs = {TensorId(5)};
  LoadedModel loaded = with_values(std::move(made), -1, 1);
  std::vector<float> bits;
  for (std::size_t i = 0; i < static_cast<std::size_t>(element_count(indices_shape)); ++i)
    bits.push_back(std::bit_cast<float>(indices[i % indices.size()]));
  loaded.weights.by_tensor[1] = std::make_shared<const std::vector<float>>(std::move(bits));
  return loaded;
}

TEST(Gradient, OfUpdatesThatWereScattered) {
  for (const Shape& indices : {Shape{2, 5, 1}, Shape{2, 5, 3}}) {
    for (const Scatter& op : {Scatter{}, Scatter{BinaryKind::kAdd}}) {
      SCOPED_TRACE(canonical(op, {}) + " of " + to_string(indices));
      expect_right(scattering(op, indices, {3, 0, -1, 2, -4, -1, 1}));
    }
  }
  const auto refused = differentiate(scattering({BinaryKind::kMax}, {2, 5, 1}, {0}), kSquaredError);
  ASSERT_FALSE(refused);
  EXPECT_NE(refused.error().message.find("op scatter (Scatter) has no gradient"), std::string::npos)
      << refused.error().message;
}

TEST(Gradient, OfReductions) {
  using Kind = ReduceKind;
  for (const bool keep : {false, true}) {
    for (const Kind kind : {Kind::kSum, Kind::kMean, Kind::kMax, Kind::kMin, Kind::kL1, Kind::kL2, Kind::kSumOfSquares,
                            Kind::kLogSumExp}) {
      SCOPED_TRACE(op_type(Reduce{kind, {}, keep}));
      expect_right(network_of(Reduce{kind, {0, 2}, keep}, {{2, 3, 4}}), 1e-2, 9);
    }
    expect_right(network_of(Reduce{Kind::kProduct, {0, 2}, keep}, {{2, 3, 4}}, {0.5F, 1.5F}));
    expect_right(network_of(Reduce{Kind::kLogSum, {0, 2}, keep}, {{2, 3, 4}}, {0.5F, 1.5F}));
  }
}

/// Also where one factor is zero, and where two are.
TEST(Gradient, OfAProductIsThatOfTheOtherFactors) {
  ModelBuilder b("product");
  const TensorId w = b.weight("w", {3, 3});
  const TensorId data = b.input("data", {1});
  b.output(b.add("sum", Binary{BinaryKind::kAdd}, {b.add("p", Reduce{ReduceKind::kProduct, {1}, false}, {w}), data}));
  LoadedModel loaded = with_values(b.finish().value(), -1, 1);
  loaded.weights.by_tensor[0] =
      std::make_shared<const std::vector<float>>(std::vector<float>{2, 3, 4, 2, 0, 4, 0, 5, 0});
  const ReferenceTraining training(differentiate(loaded, {LossKind::kMeanSquaredError, {}, false}).value(), 1);
  const auto gradient = training.evaluate(training.parameters()).gradient;
  // Of each row all elements' gradients have one factor, that of the loss, in common.
  const auto ratio = [&](std::size_t a, std::size_t c) { return gradient[a] / gradient[c]; };
  EXPECT_NEAR(ratio(0, 1), 12.0F / 8, 1e-5);
  EXPECT_NEAR(ratio(2, 1), 6.0F / 8, 1e-5);
  EXPECT_EQ(gradient[3], 0);
  EXPECT_NE(gradient[4], 0);
  EXPECT_EQ(gradient[5], 0);
  for (std::size_t i = 6; i < 9; ++i) EXPECT_EQ(gradient[i], 0);
}

TEST(Gradient, OfResizing) {
  Resize resize;
  resize.shape = {1, 2, 6, 5};
  resize.scale = {1, 1, 2, 5.0 / 3};
  for (const ResizeMode mode : {ResizeMode::kNearest, ResizeMode::kLinear, ResizeMode::kCubic}) {
    resize.mode = mode;
    expect_right(network_of(resize, {{1, 2, 3, 3}}));
  }
}

TEST(Gradient, OfNormalisations) {
  expect_right(network_of(GroupNormalization{2, 0.1F}, {{2, 4, 3, 2}, {4}, {4}}));
  expect_right(network_of(GroupNormalization{2, 0.1F}, {{2, 4, 3, 2}, {2}, {2}}));
  expect_right(network_of(LayerNormalization{1, 0.1F}, {{3, 4, 2}, {4, 2}, {4, 2}}));
  expect_right(network_of(LayerNormalization{2, 0.1F}, {{3, 4, 2}, {2}}));
  expect_right(network_of(LayerNormalization{1, 0.1F}, {{3, 4, 2}, {2}, {4, 1}}));
  expect_right(network_of(LayerNormalization{1, 0.1F}, {{3, 4, 2}, {3, 1, 2}}));
  expect_right(network_of(LocalResponseNormalization{3, 0.5F, 0.75F, 1}, {{2, 5, 2, 2}}));
  for (const bool logarithm : {false, true}) {
    expect_right(network_of(Softmax{1, logarithm}, {{2, 4, 3}}));
    expect_right(network_of(Softmax{2, logarithm}, {{2, 4, 3}}));
  }
}

/// Statistics are the minibatch's, so that running ones have no part in the loss.
TEST(Gradient, OfBatchNormalisationGoesThroughItsStatistics) {
  for (const Shape& shape : {Shape{4, 3, 2, 2}, Shape{6, 3}})
    expect_right(network_of(BatchNormalization{0.1F}, {shape, {3}, {3}, {3}, {3}}));
}

TEST(Gradient, OfRecurrentLayers) {
  expect_right(network_of(Lstm{3}, {{4, 2, 5}, {12, 5}, {12, 3}, {12}}));
  for (const RecurrentCell cell : {RecurrentCell::kRnn, RecurrentCell::kGru, RecurrentCell::kLstm}) {
    for (const Direction direction : {Direction::kForward, Direction::kReverse, Direction::kBidirectional}) {
      for (const bool before : {false, true}) {
        if (before && cell != RecurrentCell::kGru) continue;
        Recurrent op;
        op.cell = cell;
        op.hidden = 3;
        op.direction = direction;
        op.linear_before_reset = before;
        op.has_state = true;
        op.has_cell_state = op.has_peepholes = cell == RecurrentCell::kLstm;
        op.final_state = direction != Direction::kForward;
        const std::int64_t d = direction_count(direction), rows = 3 * gate_count(cell);
        std::vector<Shape> shapes{{4, 2, 5}, {d, rows, 5}, {d, rows, 3}, {d, 2 * rows}, {d, 2, 3}};
        if (op.has_cell_state) shapes.insert(shapes.end(), {{d, 2, 3}, {d, 9}});
        expect_right(network_of(op, shapes));
      }
    }
  }
}

}  // namespace
}  // namespace cohort
