#include <gtest/gtest.h>

#include "comparison.hpp"

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

/// Of 10 steps, minibatch 3, from 20 features.
OpCall recurrent_call(const Recurrent& op) {
  const std::int64_t directions = direction_count(op.direction), rows = gate_count(op.cell) * op.hidden;
  std::vector<Operand> inputs = {dense(0, {10, 3, 20}), weight({directions, rows, 20}),
                                 weight({directions, rows, op.hidden}), weight({directions, 2 * rows})};
  if (op.has_state) inputs.emplace_back(dense(2, {directions, 3, op.hidden}));
  if (op.has_cell_state) inputs.emplace_back(dense(3, {directions, 3, op.hidden}));
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

TEST(OnednnRecurrent, LeavesWhatTheLibraryLacksToTheReference) {
  Recurrent clipped = layer(RecurrentCell::kGru, 8);
  clipped.clip = 0.1F;
  Recurrent final_state = layer(RecurrentCell::kLstm, 8);
  final_state.final_state = true;
  Recurrent rectified = layer(RecurrentCell::kRnn, 8);
  rectified.gates = {{GateFunction::kRelu, 0, 0}};
  for (const Recurrent& op : {clipped, final_state, rectified})
    expect_equals_reference(CallRunner(recurrent_call(op), 1, -0.3F, 0.3F));
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
  for (const ReduceKind kind : {ReduceKind::kSum, ReduceKind::kMean, ReduceKind::kMax, ReduceKind::kMin,
                                ReduceKind::kProduct, ReduceKind::kL1, ReduceKind::kL2, ReduceKind::kSumOfSquares}) {
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
}

TEST(OnednnSoftmax, AlongOneElementEqualsTheReferenceBetweenLayouts) {
  for (const bool logarithm : {false, true}) {
    expect_equals_reference(CallRunner(with_output(Softmax{3, logarithm}, {dense(0, {2, 8, 1, 1}, Layout::kNchw)}, 1)));
    expect_equals_reference(CallRunner(with_output(Softmax{1, logarithm}, {dense(0, {2, 8, 3, 5}, Layout::kNchw)}, 1)));
  }
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
  const auto check = [](ActivationKind kind, float alpha, float low, bool fast = true) {
    const OpCall call = with_output(Activation{kind, alpha, 0}, {dense(0, {2, 16, 5, 6})}, 1);
    EXPECT_EQ(is_fast(call), fast) << op_type(call.attributes);
    expect_equals_reference(CallRunner(call, 1, low, 2));
  };
  for (const ActivationKind kind :
       {ActivationKind::kGelu, ActivationKind::kGeluTanh, ActivationKind::kAbs, ActivationKind::kHardSwish,
        ActivationKind::kMish, ActivationKind::kNeg, ActivationKind::kExp})
    check(kind, 0, -2);
  check(ActivationKind::kSoftplus, 0, -2, false);  // plain loops: the library's is off by 1% where it is small
  check(ActivationKind::kSwish, 1.5F, -2);
  check(ActivationKind::kSqrt, 0, 0.1F);
}

}  // namespace
}  // namespace cohort::testing
