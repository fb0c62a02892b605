#include <gtest/gtest.h>

#include "comparison.hpp"

namespace cohort::testing {
namespace {

constexpr ActivationKind kActivations[] = {ActivationKind::kRelu,    ActivationKind::kLeakyRelu, ActivationKind::kElu,
                                           ActivationKind::kSigmoid, ActivationKind::kTanh,      ActivationKind::kClip};

TEST(OnednnActivation, EqualsTheReference) {
  for (const ActivationKind kind : kActivations) {
    const Activation activation{kind, kind == ActivationKind::kClip ? -0.5F : 0.25F, 0.5F};
    for (const Shape& shape : {Shape{2, 20, 5, 7}, Shape{3, 17}, Shape{4, 3, 9}}) {
      const OpCall call = with_output(activation, {dense(0, shape)}, 1);
      EXPECT_TRUE(is_fast(call));
      expect_equals_reference(CallRunner(call, 1, -3, 3));
    }
  }
}

TEST(OnednnActivation, InPlaceAndStrided) {
  const View x = dense(0, {2, 20, 5, 7});
  expect_equals_reference(CallRunner(make_call(Activation{}, {x}, x)));
  const View slice = channel_slice(0, {2, 16, 5, 7}, 48, 16);
  const Activation sigmoid{ActivationKind::kSigmoid};
  const OpCall strided = make_call(sigmoid, {slice}, dense(1, slice.shape));
  EXPECT_FALSE(onednn().accepts_strides(strided));
  expect_equals_reference(CallRunner(strided));
  const OpCall by_loops = make_call(Activation{}, {slice}, dense(1, slice.shape));
  EXPECT_TRUE(onednn().accepts_strides(by_loops));
  expect_equals_reference(CallRunner(by_loops));
  expect_equals_reference(CallRunner(make_call(Activation{}, {slice}, channel_slice(1, slice.shape, 64, 0))));
}

TEST(OnednnBinary, EqualsTheReferenceForEveryWayOfRepeating) {
  const Shape y = {3, 20, 4, 5};
  for (const BinaryKind kind : {BinaryKind::kAdd, BinaryKind::kSub, BinaryKind::kMul, BinaryKind::kDiv}) {
    for (const Operand& other :
         {Operand(dense(1, y)), Operand(weight(y)), Operand(weight({20, 1, 1})), Operand(weight({1, 20, 1, 1})),
          Operand(weight({5})), Operand(weight({})), Operand(weight({1})), Operand(weight({4, 5})),
          Operand(dense(1, {3, 20, 1, 1})), Operand(dense(1, {3, 1, 4, 5})), Operand(dense(1, {1, 20, 4, 5}))}) {
      // Divisors stay away from zero.
      expect_equals_reference(CallRunner(with_output(Binary{kind}, {dense(0, y), other}, 2), 1, 0.5F, 1.5F));
      expect_equals_reference(CallRunner(with_output(Binary{kind}, {other, dense(0, y)}, 2), 1, 0.5F, 1.5F));
    }
    expect_equals_reference(CallRunner(with_output(Binary{kind}, {dense(0, {4, 1}), dense(1, {6})}, 2), 1, 0.5F, 1.5F));
  }
}

TEST(OnednnBinary, PostOpsAndStridedViews) {
  const Shape y = {3, 16, 4, 5};
  OpCall call = with_output(Binary{}, {dense(0, y), dense(1, y)}, 2, {Activation{}});
  EXPECT_TRUE(is_fast(call));
  expect_equals_reference(CallRunner(call));
  call.inputs[0] = channel_slice(0, y, 48, 16);
  expect_equals_reference(CallRunner(call));
  call.inputs[1] = channel_slice(1, y, 64, 0);
  call.outputs[0] = channel_slice(2, y, 32, 16);
  expect_equals_reference(CallRunner(call));
}

TEST(OnednnConcat, EqualsTheReference) {
  for (const std::int64_t channels : {16, 7}) {
    const View a = dense(0, {2, 16, 4, 5}), b = dense(1, {2, channels, 4, 5}), c = dense(2, {2, 30, 4, 5});
    expect_equals_reference(CallRunner(with_output(Concat{1}, {a, b, c}, 3)));
  }
  for (const std::int64_t axis : {0, 2, 3}) {
    expect_equals_reference(
        CallRunner(with_output(Concat{axis}, {dense(0, {2, 16, 4, 5}), dense(1, {2, 16, 4, 5})}, 2)));
  }
  expect_equals_reference(CallRunner(with_output(Concat{1}, {dense(0, {3, 5}), weight({3, 2})}, 1)));
}

TEST(OnednnConcat, OfShortPieces) {
  for (const std::int64_t rows : {3, 50, 300, 9000}) {
    const View a = dense(0, {2, rows, 2}), b = dense(1, {2, rows, 3});
    expect_equals_reference(CallRunner(with_output(Concat{2}, {a, b}, 2)));
    View apart = dense(0, {2, rows, 2});
    apart.strides = {rows * 7, 7, 3};
    expect_equals_reference(CallRunner(with_output(Concat{2}, {apart, b}, 2)));
  }
}

TEST(OnednnConcat, StridedViews) {
  const Shape x = {2, 16, 4, 5};
  const OpCall call =
      make_call(Concat{1}, {channel_slice(0, x, 48, 16), dense(1, x)}, channel_slice(2, {2, 32, 4, 5}, 64, 16));
  EXPECT_TRUE(onednn().accepts_strides(call));
  expect_equals_reference(CallRunner(call));
}

TEST(OnednnReshape, CopiesBetweenAnyStridesOfOneShape) {
  const Shape shape = {2, 16, 4, 5};
  View repeated = dense(0, {3, 2, 40});
  repeated.strides[0] = 0;
  for (const OpCall& call : {make_call(Reshape{}, {dense(0, shape)}, dense(1, shape)),
                             make_call(Reshape{}, {dense(0, shape)}, channel_slice(1, shape, 64, 32)),
                             make_call(Reshape{}, {channel_slice(0, shape, 64, 32)}, dense(1, shape)),
                             make_call(Reshape{}, {dense(0, shape, Layout::kNchw)}, channel_slice(1, shape, 64, 32)),
                             make_call(Reshape{}, {repeated}, dense(1, {3, 2, 40})),
                             make_call(Reshape{}, {dense(0, {1, 1, 1})}, dense(1, {1, 1, 1}))}) {
    EXPECT_TRUE(is_fast(call));
    EXPECT_TRUE(onednn().accepts_strides(call));
    expect_equals_reference(CallRunner(call));
  }
}

TEST(OnednnReshape, KeepsLogicalOrderBetweenShapes) {
  struct Case {
    Shape from, to;
  };
  for (const Case& each :
       {Case{{2, 16, 4, 5}, {2, 320}}, Case{{2, 320}, {2, 16, 4, 5}}, Case{{2, 16, 1, 1}, {2, 16}},
        Case{{2, 6, 4, 5}, {4, 3, 4, 5}}, Case{{6, 4}, {4, 6}}, Case{{1, 24}, {2, 3, 4}}, Case{{1}, {1, 1, 1, 1}}}) {
    SCOPED_TRACE(to_string(each.from) + " to " + to_string(each.to));
    expect_equals_reference(CallRunner(make_call(Reshape{}, {dense(0, each.from)}, dense(1, each.to))));
  }
}

TEST(OnednnBatchNormalization, EqualsTheReference) {
  for (const Shape& shape :
       {Shape{2, 16, 5, 7}, Shape{3, 20, 4, 4}, Shape{4, 12}, Shape{2, 9, 11}, Shape{1, 1, 8}, Shape{2, 3, 4, 5, 6}}) {
    const WeightView parameter = weight({shape[1]});
    for (const Layout layout : {Layout::kNhwc, Layout::kNchw}) {
      for (const std::vector<PostOp>& post_ops : {std::vector<PostOp>{}, std::vector<PostOp>{Activation{}}}) {
        SCOPED_TRACE(to_string(shape));
        OpCall call =
            make_call(BatchNormalization{1e-3F}, {dense(0, shape, layout), parameter, parameter, parameter, parameter},
                      dense(1, shape, layout));
        call.post_ops = post_ops;
        EXPECT_TRUE(is_fast(call));
        expect_equals_reference(CallRunner(call, 1, 0.1F, 1));  // variances are positive
      }
    }
  }
}

TEST(OnednnBatchNormalization, OfParametersThatAreComputed) {
  const auto parameter = [](std::uint32_t buffer) { return dense(buffer, {9}); };
  const OpCall call = with_output(BatchNormalization{1e-3F},
                                  {dense(0, {2, 9, 11}), parameter(1), parameter(2), parameter(3), parameter(4)}, 5);
  EXPECT_TRUE(is_fast(call));
  expect_equals_reference(CallRunner(call, 1, 0.1F, 1));
}

TEST(OnednnLocalResponseNormalization, EqualsTheReference) {
  for (const std::int64_t channels : {16, 20, 96}) {
    for (const std::int64_t size : {3, 4, 5}) {
      expect_equals_reference(CallRunner(
          with_output(LocalResponseNormalization{size, 0.1F, 0.75F, 2}, {dense(0, {2, channels, 5, 7})}, 1)));
    }
  }
}

TEST(OnednnSoftmax, EqualsTheReference) {
  struct Case {
    Shape shape;
    std::int64_t axis;
  };
  for (const Case& each : {Case{{3, 1000}, 1}, Case{{3, 10}, 1}, Case{{2, 20, 3, 4}, 1}, Case{{2, 20, 3, 4}, 3},
                           Case{{8, 3, 100}, 2}, Case{{5, 7}, 0}}) {
    expect_equals_reference(CallRunner(with_output(Softmax{each.axis}, {dense(0, each.shape)}, 1), 1, -20, 20));
  }
  for (const std::int64_t entries : {1, 2, 3, 8})
    expect_equals_reference(CallRunner(with_output(Softmax{2}, {dense(0, {2, 1500, entries})}, 1), 1, -20, 20));
  const OpCall strided = with_output(Softmax{1}, {View{BufferId{0}, 0, {3, 10}, {50, 1}}}, 1);
  expect_equals_reference(CallRunner(strided));
}

TEST(OnednnStacks, OfImagesByModel) {
  const Shape x = {4, 2, 16, 3, 5};
  for (const OpCall& call :
       {with_output(Activation{}, {dense(0, x)}, 1), with_output(Binary{}, {dense(0, x), dense(1, x)}, 2),
        with_output(Binary{}, {dense(0, x), weight({4, 1, 16, 1, 1})}, 2),
        with_output(Concat{2}, {dense(0, x), dense(1, x)}, 2), with_output(Softmax{2}, {dense(0, x)}, 1),
        make_call(Reshape{}, {dense(0, x)}, dense(1, {4, 2, 240}))}) {
    expect_equals_reference(CallRunner(call));
  }
}

TEST(OnednnPostOps, WorkOnOpsThatTheLibraryCannotFuseThemInto) {
  const Shape shape = {2, 16, 4, 5};
  const View added = dense(2, shape);
  expect_equals_reference(
      CallRunner(with_output(Softmax{1}, {dense(0, shape), added}, 1, {AddOperand{1}, Activation{}})));
  expect_equals_reference(CallRunner(
      with_output(LocalResponseNormalization{}, {dense(0, shape), added}, 1, {AddOperand{1}, Activation{}})));
  expect_equals_reference(CallRunner(make_call(Reshape{}, {dense(0, shape)}, dense(1, shape), {Activation{}})));
}

}  // namespace
}  // namespace cohort::testing
