#include <gtest/gtest.h>

#include <cmath>
#include <limits>
#include <random>

#include "comparison.hpp"
#include "executor/reference/call.hpp"

/// Ops of sequence models, generators and detectors: the forms that oneDNN takes are fast, and all forms
/// compute what the reference computes.
namespace cohort::testing {
namespace {

void expect_fast_and_equal(const OpCall& call) {
  EXPECT_TRUE(is_fast(call)) << canonical(call.attributes, call.post_ops);
  expect_equals_reference(CallRunner(call));
}

TEST(OnednnMatMul, EqualsTheReferenceOnBatchesAndWithTransposedOperands) {
  expect_fast_and_equal(with_output(MatMul{}, {dense(0, {5, 7}), dense(1, {7, 9})}, 2));
  expect_fast_and_equal(with_output(MatMul{}, {dense(0, {6, 16, 32}), dense(1, {6, 32, 16})}, 2));
  expect_fast_and_equal(with_output(MatMul{false, true}, {dense(0, {6, 16, 32}), dense(1, {6, 24, 32})}, 2));
  expect_fast_and_equal(with_output(MatMul{true, false}, {dense(0, {6, 32, 16}), dense(1, {6, 32, 24})}, 2));
}

TEST(OnednnMatMul, MultipliesAllRowsByOneConstantMatrixAtOnce) {
  expect_fast_and_equal(with_output(MatMul{}, {dense(0, {3, 5, 32}), weight({32, 48})}, 1));
  expect_fast_and_equal(with_output(MatMul{false, true}, {dense(0, {2, 3, 5, 1, 1, 32}), weight({48, 32})}, 1));
  expect_fast_and_equal(with_output(MatMul{}, {dense(0, {3, 5, 32}), weight({32, 48}), dense(2, {3, 5, 48})}, 1,
                                    {AddOperand{2}, Activation{}}));
}

TEST(OnednnMatMul, TakesExtentsOfOneWhateverTheirStrides) {
  expect_equals_reference(CallRunner(with_output(MatMul{true, true}, {dense(0, {10, 1, 1, 4}), weight({4, 1})}, 1)));
  expect_equals_reference(CallRunner(with_output(MatMul{true, false}, {dense(0, {4, 1}), dense(1, {4, 5})}, 2)));
  expect_equals_reference(CallRunner(with_output(MatMul{false, true}, {dense(0, {3, 4, 1}), dense(1, {3, 1, 1})}, 2)));
}

TEST(OnednnMatMul, RepeatsBatchesAsBroadcastingSays) {
  expect_equals_reference(CallRunner(with_output(MatMul{}, {dense(0, {1, 4, 8}), dense(1, {3, 8, 5})}, 2)));
  expect_equals_reference(CallRunner(with_output(MatMul{}, {dense(0, {4, 8}), dense(1, {3, 8, 5})}, 2)));
  expect_equals_reference(CallRunner(with_output(MatMul{}, {dense(0, {2, 1, 4, 8}), dense(1, {3, 8, 5})}, 2)));
  expect_equals_reference(CallRunner(with_output(MatMul{}, {weight({4, 8}), dense(0, {3, 8, 5})}, 1)));
}

TEST(OnednnLayerNormalization, EqualsTheReference) {
  expect_fast_and_equal(
      with_output(LayerNormalization{1, 1e-5F}, {dense(0, {20, 128}), weight({128}), weight({128})}, 1));
  expect_fast_and_equal(
      with_output(LayerNormalization{2, 1e-5F}, {dense(0, {3, 7, 33}), weight({33}), weight({33})}, 1));
  expect_fast_and_equal(with_output(LayerNormalization{2, 1e-5F}, {dense(0, {3, 7, 32}), weight({32})}, 1));
  expect_fast_and_equal(
      with_output(LayerNormalization{1, 1e-5F}, {dense(0, {3, 4, 32}), weight({4, 32}), weight({4, 32})}, 1));
}

TEST(OnednnLayerNormalization, DividesByTheRootMeanSquareAlone) {
  constexpr bool kCentred = false;
  for (const std::int64_t columns : {3, 32, 257}) {
    const LayerNormalization op{2, 1e-5F, kCentred};
    expect_fast_and_equal(with_output(op, {dense(0, {3, 7, columns}), weight({columns})}, 1));
    expect_fast_and_equal(with_output(op, {dense(0, {3, 7, columns}), weight({columns}), weight({columns})}, 1));
  }
}

TEST(OnednnLayerNormalization, TellsAScaleOfRowsFromOneOfColumns) {
  for (const bool centred : {false, true}) {
    const LayerNormalization op{1, 1e-5F, centred};
    expect_equals_reference(CallRunner(with_output(op, {dense(0, {6, 6}), weight({6, 1}), weight({6})}, 1)));
    expect_equals_reference(CallRunner(with_output(op, {dense(0, {6, 6}), weight({6}), weight({6, 1})}, 1)));
    expect_fast_and_equal(with_output(op, {dense(0, {6, 6}), weight({1, 6}), weight({6})}, 1));
  }
}

TEST(OnednnLayerNormalization, LeavesFormsTheLibraryLacksToTheReference) {
  // In NHWC the normalised elements of a sample do not lie in logical order; a value that broadcasting repeats.
  expect_equals_reference(
      CallRunner(with_output(LayerNormalization{2, 1e-5F}, {dense(0, {2, 3, 4, 5}), weight({4, 5})}, 1)));
  expect_equals_reference(CallRunner(with_output(LayerNormalization{1, 1e-5F}, {dense(0, {3, 8}), weight({1})}, 1)));
}

TEST(OnednnGroupNormalization, EqualsTheReferenceInBothLayoutsAndOnSlices) {
  const Shape x = {3, 12, 7, 20};  // more positions than are summed at once
  for (const std::int64_t groups : {1, 4, 12}) {
    for (const Layout layout : {Layout::kNhwc, Layout::kNchw}) {
      for (const std::int64_t entries : {groups, std::int64_t{12}}) {
        const OpCall call = make_call(GroupNormalization{groups, 1e-5F},
                                      {dense(0, x, layout), weight({entries}), weight({entries})}, dense(1, x, layout));
        EXPECT_EQ(onednn().alternatives(call, 2)->front().algorithm, "loops");
        expect_equals_reference(CallRunner(call));
        // A mean far from zero: squares of values, or sums of many, would lose all digits.
        CallRunner far(call);
        std::vector<float> values(static_cast<std::size_t>(element_count(x)));
        for (std::size_t i = 0; i < values.size(); ++i) values[i] = 1000 + static_cast<float>(i * 37 % 101) / 64;
        far.set_input(0, values);
        expect_equals_reference(far);
      }
    }
    const OpCall slice = with_output(GroupNormalization{groups, 1e-5F},
                                     {channel_slice(0, x, 30, 8), weight({groups}), weight({groups})}, 1);
    EXPECT_EQ(onednn().alternatives(slice, 1)->front().algorithm, "loops");
    expect_equals_reference(CallRunner(slice));
  }
  const OpCall rows = with_output(GroupNormalization{2, 1e-5F}, {dense(0, {1, 6, 500}), weight({6}), weight({6})}, 1);
  expect_equals_reference(CallRunner(rows));
}

TEST(OnednnGroupNormalization, LeavesWhatHasNoAdjoiningElementsToTheReference) {
  const Shape x = {2, 4, 3, 5};
  const OpCall call =
      make_call(GroupNormalization{2, 1e-5F}, {dense(0, x), weight({4}), weight({4})}, dense(1, x, Layout::kNchw));
  EXPECT_EQ(onednn().alternatives(call, 1)->front().algorithm, "reference");
  expect_equals_reference(CallRunner(call));
}

Recurrent layer(RecurrentCell cell, std::int64_t hidden, bool linear_before_reset = false) {
  Recurrent op;
  op.cell = cell;
  op.hidden = hidden;
  op.linear_before_reset = linear_before_reset;
  return op;
}

/// Of 10 steps, from 20 features.
OpCall recurrent_call(const Recurrent& op, std::int64_t samples = 3, bool computed_weights = false) {
  const std::int64_t directions = direction_count(op.direction), rows = gate_count(op.cell) * op.hidden;
  const auto parameter = [&](std::uint32_t buffer, const Shape& shape) {
    return computed_weights ? Operand(packed(buffer, 0, shape)) : Operand(weight(shape));
  };
  std::vector<Operand> inputs = {dense(0, {10, samples, 20}), parameter(6, {directions, rows, 20}),
                                 parameter(7, {directions, rows, op.hidden}), parameter(8, {directions, 2 * rows})};
  if (op.has_lengths) inputs.emplace_back(dense(5, {samples}));
  if (op.has_state) inputs.emplace_back(dense(2, {directions, samples, op.hidden}));
  if (op.has_cell_state) inputs.emplace_back(dense(3, {directions, samples, op.hidden}));
  if (op.has_peepholes) inputs.emplace_back(parameter(4, {directions, 3 * op.hidden}));
  return with_output(op, std::move(inputs), 1);
}

TEST(OnednnRecurrent, EqualsTheReferenceForEveryCellAndDirection) {
  for (const Recurrent& cell : {layer(RecurrentCell::kRnn, 16), layer(RecurrentCell::kGru, 16),
                                layer(RecurrentCell::kGru, 16, true), layer(RecurrentCell::kLstm, 16)}) {
    for (const Direction direction : {Direction::kForward, Direction::kReverse, Direction::kBidirectional}) {
      for (const bool has_state : {false, true}) {
        Recurrent op = cell;
        op.direction = direction;
        op.has_state = has_state;
        op.has_cell_state = has_state && op.cell == RecurrentCell::kLstm;
        const OpCall call = recurrent_call(op);
        if (direction != Direction::kBidirectional) {
          EXPECT_TRUE(is_fast(call)) << canonical(op, {});
        }
        expect_equals_reference(CallRunner(call, 1, -0.3F, 0.3F));
      }
    }
  }
}

/// Few samples: each direction on a thread of its own; many: all threads on one after the other.
TEST(OnednnRecurrent, EqualsTheReferenceInBothDirectionsOnAnyNumberOfThreads) {
  for (const RecurrentCell cell : {RecurrentCell::kGru, RecurrentCell::kLstm}) {
    Recurrent op = layer(cell, 40);
    op.direction = Direction::kBidirectional;
    for (const std::int64_t samples : {1, 6, 80})
      expect_equals_reference(CallRunner(recurrent_call(op, samples), 1, -0.3F, 0.3F), {2, 3, 4});
  }
}

/// What a transpose of the input leaves: strides of extents of one that say nothing, samples before steps, values
/// apart.
TEST(OnednnRecurrent, EqualsTheReferenceHoweverTheInputIsStrided) {
  struct Strided {
    Shape shape, strides;
  };
  for (const Strided& x : {Strided{{1, 1, 5}, {1, 1, 1}}, Strided{{1, 3, 5}, {1, 5, 1}}, Strided{{4, 1, 5}, {5, 1, 1}},
                           Strided{{4, 3, 5}, {5, 20, 1}}, Strided{{4, 3, 5}, {1, 4, 12}}}) {
    const View input{BufferId(0), 0, x.shape, x.strides};
    const OpCall lstm = with_output(Lstm{6}, {input, weight({24, 5}), weight({24, 6}), weight({24})}, 1);
    expect_equals_reference(CallRunner(lstm, 1, -0.3F, 0.3F));
    for (const Recurrent& cell : {layer(RecurrentCell::kRnn, 6), layer(RecurrentCell::kGru, 6),
                                  layer(RecurrentCell::kGru, 6, true), layer(RecurrentCell::kLstm, 6)}) {
      const std::int64_t rows = gate_count(cell.cell) * cell.hidden;
      const OpCall call =
          with_output(cell, {input, weight({1, rows, 5}), weight({1, rows, cell.hidden}), weight({1, 2 * rows})}, 1);
      expect_equals_reference(CallRunner(call, 1, -0.3F, 0.3F));
    }
  }
}

/// A layer with a few of all that ONNX allows, as `bits` says.
Recurrent layer_of_bits(RecurrentCell cell, unsigned bits) {
  const auto bit = [&](unsigned at) { return (bits >> at & 1U) != 0; };
  Recurrent op = layer(cell, bit(11) ? 7 : 40, bit(0));
  const bool lstm = cell == RecurrentCell::kLstm;
  op.direction = bit(1) ? Direction::kBidirectional : bit(2) ? Direction::kReverse : Direction::kForward;
  op.has_lengths = bit(3);
  op.has_state = bit(4);
  op.has_cell_state = lstm && bit(5);
  op.has_peepholes = lstm && bit(6);
  op.couple_gates = lstm && bit(7);
  op.clip = bit(8) ? 0.2F : 0.0F;
  op.final_state = bit(9);
  if (bit(10)) {
    const std::vector<Gate> gates = {{GateFunction::kHardSigmoid, 0.2F, 0.5F},
                                     {GateFunction::kSoftsign, 0, 0},
                                     {GateFunction::kScaledTanh, 0.7F, 1.5F}};
    const auto count = static_cast<std::ptrdiff_t>(cell == RecurrentCell::kRnn ? 1 : lstm ? 3 : 2);
    for (std::int64_t d = 0; d < direction_count(op.direction); ++d)
      op.gates.insert(op.gates.end(), gates.begin(), gates.begin() + count);
  }
  return op;
}

TEST(OnednnRecurrent, HasFastLoopsForAllThatTheLibraryLacks) {
  std::mt19937 random(1);
  for (const RecurrentCell cell : {RecurrentCell::kRnn, RecurrentCell::kGru, RecurrentCell::kLstm}) {
    for (int i = 0; i < 60; ++i) {
      const auto bits = static_cast<unsigned>(random());
      const Recurrent op = layer_of_bits(cell, bits);
      const OpCall call = recurrent_call(op, (bits >> 12 & 1U) != 0 ? 1 : 6, (bits >> 13 & 1U) != 0);
      EXPECT_NE(onednn().alternatives(call, 1)->front().algorithm, "reference") << canonical(op, {});
      CallRunner runner(call, 1, -0.3F, 0.3F);
      if (op.has_lengths) {
        std::vector<std::int32_t> lengths = {4, 0, 10, 1, 12, -1};
        lengths.resize(static_cast<std::size_t>(shape_of(call.inputs[0])[1]));
        runner.set_input(4, whole_numbers(lengths));
      }
      expect_equals_reference(runner);
    }
  }
}

/// A NaN in one sample stays there, and in that sample spreads to all later steps.
TEST(OnednnRecurrent, PropagatesNanWithinItsSample) {
  for (const bool clips : {false, true}) {
    Recurrent op = layer(RecurrentCell::kLstm, 4);
    op.clip = clips ? 3.0F : 0.0F;
    op.final_state = true;
    const OpCall call = recurrent_call(op, 2);
    CallRunner runner(call);
    std::vector<float> x(10 * 2 * 20, 0.5F);
    x[5 * 2 * 20] = std::numeric_limits<float>::quiet_NaN();  // step 5 of sample 0
    runner.set_input(0, x);
    const std::vector<float> y = runner.run(onednn());
    ASSERT_EQ(y.size(), 12U * 2 * 4);
    for (std::size_t t = 0; t < 12; ++t) {
      EXPECT_EQ(std::isnan(y[t * 8]), t >= 5) << t;
      EXPECT_FALSE(std::isnan(y[t * 8 + 4])) << t;
    }
  }
}

TEST(OnednnTranspose, EqualsTheReference) {
  expect_fast_and_equal(with_output(Transpose{{1, 0}}, {dense(0, {5, 7})}, 1));
  expect_fast_and_equal(with_output(Transpose{{0, 2, 1, 3, 4}}, {dense(0, {2, 3, 4, 8, 1})}, 1));
  expect_fast_and_equal(with_output(Transpose{{0, 2, 3, 1}}, {dense(0, {2, 3, 4, 5})}, 1));
}

TEST(OnednnSlice, EqualsTheReferenceForwardsAndBackwards) {
  expect_fast_and_equal(with_output(TensorSlice{{1, 2}, {1, 1}, {3, 4}}, {dense(0, {5, 7})}, 1));
  expect_fast_and_equal(
      with_output(TensorSlice{{0, 1, 1, 0}, {1, 1, 2, 3}, {2, 2, 2, 2}}, {dense(0, {2, 3, 4, 5})}, 1));
  expect_equals_reference(CallRunner(with_output(TensorSlice{{4, 0}, {-2, 1}, {3, 7}}, {dense(0, {5, 7})}, 1)));
}

TEST(OnednnReduce, EqualsTheReferenceForEveryKind) {
  for (const ReduceKind kind :
       {ReduceKind::kSum, ReduceKind::kMean, ReduceKind::kMax, ReduceKind::kMin, ReduceKind::kProduct, ReduceKind::kL1,
        ReduceKind::kL2, ReduceKind::kSumOfSquares, ReduceKind::kLogSumExp}) {
    for (const bool keep : {true, false}) {
      expect_equals_reference(CallRunner(with_output(Reduce{kind, {1}, keep}, {dense(0, {3, 7})}, 1)));
      expect_equals_reference(CallRunner(with_output(Reduce{kind, {2, 3}, keep}, {dense(0, {2, 3, 4, 5})}, 1)));
      expect_equals_reference(CallRunner(with_output(Reduce{kind, {0, 2}, keep}, {dense(0, {4, 3, 6})}, 1)));
    }
  }
}

Resize resize(ResizeMode mode, Shape shape, std::vector<double> scale) {
  Resize op;
  op.mode = mode;
  op.shape = std::move(shape);
  op.scale = std::move(scale);
  return op;
}

TEST(OnednnResize, EqualsTheReference) {
  const View x = dense(0, {2, 3, 4, 5});
  expect_fast_and_equal(with_output(resize(ResizeMode::kNearest, {2, 3, 8, 15}, {1, 1, 2, 3}), {x}, 1));
  expect_fast_and_equal(with_output(resize(ResizeMode::kLinear, {2, 3, 8, 15}, {1, 1, 2, 3}), {x}, 1));
  expect_fast_and_equal(with_output(resize(ResizeMode::kLinear, {2, 3, 2, 8}, {1, 1, 0.5, 1.6}), {x}, 1));
  Resize floored = resize(ResizeMode::kNearest, {2, 3, 12, 5}, {1, 1, 3, 1});
  floored.positions = ResizePositions::kAsymmetric;
  floored.rounding = ResizeRounding::kFloor;
  expect_fast_and_equal(with_output(floored, {x}, 1));
  expect_equals_reference(
      CallRunner(with_output(resize(ResizeMode::kNearest, {2, 3, 2, 3}, {1, 1, 0.5, 0.6}), {x}, 1)));
}

TEST(OnednnConvTranspose, EqualsTheReference) {
  const auto transposed = [](const Window& window, std::int64_t groups, std::int64_t pad) {
    return ConvTranspose{window, std::vector<std::int64_t>(window.kernel.size(), pad), groups};
  };
  const View x = dense(0, {2, 16, 5, 6});
  expect_fast_and_equal(with_output(transposed(square_window(3, 2, 1), 1, 0), {x, weight({16, 32, 3, 3}), weight({32})},
                                    1, {Activation{}}));
  expect_equals_reference(
      CallRunner(with_output(transposed(square_window(3, 2, 1), 1, 1), {x, weight({16, 8, 3, 3})}, 1)));
  expect_equals_reference(
      CallRunner(with_output(transposed(square_window(4, 2, 1), 4, 0), {x, weight({16, 2, 4, 4})}, 1)));
  expect_equals_reference(
      CallRunner(with_output(transposed(square_window(2, 1, 0, 2), 1, 0), {x, weight({16, 8, 2, 2})}, 1)));
}

TEST(OnednnConvTranspose, EqualsTheReferenceInGroupsOfFewChannels) {
  for (const std::int64_t groups : {2, 3}) {
    for (const std::int64_t in : {1, 4, 8, 16, 20}) {
      for (const std::int64_t out : {1, 4, 16, 20}) {
        for (const std::int64_t extent : {1, 5}) {
          const ConvTranspose op{{{1, 1}, {1, 2}, {0, 0}, {0, 0}, {1, 1}}, {0, 0}, groups};
          const OpCall call =
              with_output(op, {dense(0, {2, groups * in, extent, extent}), weight({groups * in, out, 1, 1})}, 1);
          expect_equals_reference(CallRunner(call));
        }
      }
    }
  }
}

TEST(OnednnConvolution, OfOneAndThreeDimensionsEqualsTheReference) {
  const Window line{{3}, {2}, {1}, {1}, {1}};
  expect_equals_reference(
      CallRunner(with_output(Convolution{line, 1}, {dense(0, {2, 8, 20}), weight({16, 8, 3}), weight({16})}, 1)));
  const Window box{{3, 3, 3}, {1, 2, 1}, {1, 1, 1}, {1, 1, 1}, {1, 1, 1}};
  expect_equals_reference(CallRunner(
      with_output(Convolution{box, 1}, {dense(0, {1, 4, 5, 6, 7}), weight({8, 4, 3, 3, 3})}, 1, {Activation{}})));
}

TEST(OnednnPool, OfOneAndThreeDimensionsEqualsTheReference) {
  const Window line{{3}, {2}, {1}, {1}, {1}};
  const Window box{{2, 2, 2}, {2, 2, 2}, {0, 0, 0}, {0, 0, 0}, {1, 1, 1}};
  for (const PoolKind kind : {PoolKind::kMax, PoolKind::kAverage}) {
    expect_equals_reference(CallRunner(with_output(Pool{kind, line, false, false}, {dense(0, {2, 8, 20})}, 1)));
    expect_equals_reference(CallRunner(with_output(Pool{kind, box, false, false}, {dense(0, {2, 8, 4, 6, 4})}, 1)));
  }
  const Window slow{{3, 5, 5}, {1, 1, 1}, {1, 2, 2}, {1, 2, 2}, {1, 1, 1}};
  View x = dense(0, {2, 20, 4, 6, 7});
  x.strides = {3360, 1, 840, 140, 20};
  OpCall call = with_output(Pool{PoolKind::kMax, slow, false, false}, {x}, 1);
  call.outputs[0].strides = x.strides;
  EXPECT_EQ(call.outputs[0].shape, x.shape);
  expect_equals_reference(CallRunner(call));
}

TEST(OnednnSoftmax, AlongOneElementEqualsTheReferenceBetweenLayouts) {
  for (const bool logarithm : {false, true}) {
    expect_equals_reference(CallRunner(with_output(Softmax{3, logarithm}, {dense(0, {2, 8, 1, 1}, Layout::kNchw)}, 1)));
    expect_equals_reference(CallRunner(with_output(Softmax{1, logarithm}, {dense(0, {2, 8, 3, 5}, Layout::kNchw)}, 1)));
  }
}

TEST(OnednnSoftmax, OfLogarithmsKeepsDigitsOfLargeNumbers) {
  CallRunner runner(with_output(Softmax{1, true}, {dense(0, {2, 2})}, 1));
  runner.set_input(0, {100000, 99995, -3000, -3001});
  expect_equals_reference(runner);
}

TEST(OnednnSoftmax, OfLogarithmsEqualsTheReference) {
  expect_fast_and_equal(with_output(Softmax{1, true}, {dense(0, {5, 33})}, 1));
}

TEST(OnednnBinary, MinimumMaximumAndSlopesEqualTheReference) {
  for (const BinaryKind kind : {BinaryKind::kMin, BinaryKind::kMax}) {
    expect_fast_and_equal(with_output(Binary{kind}, {dense(0, {4, 16}), dense(1, {4, 16})}, 2));
    expect_equals_reference(CallRunner(with_output(Binary{kind}, {dense(0, {4, 16}), weight({16})}, 1)));
  }
  expect_fast_and_equal(with_output(Binary{BinaryKind::kPRelu}, {dense(0, {2, 16, 5, 6}), weight({16, 1, 1})}, 1));
}

TEST(OnednnActivation, FunctionsOfOneElementEqualTheReference) {
  const auto check = [](ActivationKind kind, float alpha, float low) {
    const OpCall call = with_output(Activation{kind, alpha, 0}, {dense(0, {2, 16, 5, 6})}, 1);
    EXPECT_TRUE(is_fast(call)) << op_type(call.attributes);
    expect_equals_reference(CallRunner(call, 1, low, 2));
  };
  for (const ActivationKind kind :
       {ActivationKind::kGelu, ActivationKind::kGeluTanh, ActivationKind::kAbs, ActivationKind::kHardSwish,
        ActivationKind::kMish, ActivationKind::kNeg, ActivationKind::kExp})
    check(kind, 0, -2);
  check(ActivationKind::kSoftplus, 0, -2);
  check(ActivationKind::kSwish, 1.5F, -2);
  check(ActivationKind::kSqrt, 0, 0.1F);
}

TEST(OnednnActivation, MishHasItsSmallResultsRight) {
  CallRunner runner(with_output(Activation{ActivationKind::kMish, 0, 0}, {dense(0, {4})}, 1));
  runner.set_input(0, {-13.5F, -36, -90, 50});
  const std::vector<float> y = runner.run(onednn());
  ASSERT_EQ(y.size(), 4U);
  EXPECT_NEAR(y[0] / (-13.5 * std::exp(-13.5)), 1, 1e-5);
  EXPECT_NEAR(y[1] / (-36 * std::exp(-36.0)), 1, 1e-5);
  EXPECT_NEAR(y[2], 0, 1e-36);
  EXPECT_EQ(y[3], 50);
}

}  // namespace
}  // namespace cohort::testing
