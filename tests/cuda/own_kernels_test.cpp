// The arithmetic of Cohort's own CUDA kernels: their bodies, run on the host, against the reference.

#include "own_kernels.hpp"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cmath>
#include <numeric>

#include "executor/reference/reference_kernels.hpp"
#include "tests/kernels/call_runner.hpp"

namespace cohort::testing {
namespace {

using ::testing::HasSubstr;

Window window(std::int64_t kernel, std::int64_t stride, std::int64_t pad, std::int64_t dilation = 1) {
  return {{kernel, kernel}, {stride, stride}, {pad, pad}, {pad, pad}, {dilation, dilation}};
}

TEST(OwnConvolution, EqualsTheReferenceInBothLayouts) {
  for (const Layout layout : {Layout::kNhwc, Layout::kNchw}) {
    for (const std::int64_t groups : {1, 2, 6}) {
      const Convolution op{window(3, 2, 1, 2), groups};
      const Shape w{12, 6 / groups, 3, 3};
      expect_equals_reference(call_of(op, {dense(0, {2, 6, 11, 9}, layout), weight(w), weight({12})},
                                      {Activation{ActivationKind::kRelu, 0, 0}}, layout));
      expect_equals_reference(call_of(op, {dense(0, {2, 6, 11, 9}, layout), weight(w)}, {}, layout));
    }
  }
}

TEST(OwnConvolution, EqualsTheReferenceOverOneDimension) {
  const Convolution op{{{3}, {2}, {1}, {2}, {2}}, 2};
  const Pool pool{PoolKind::kAverage, {{3}, {2}, {1}, {1}, {1}}, true, true};
  const std::vector<PostOp> post{AddOperand{3}, Activation{ActivationKind::kRelu, 0, 0}};
  for (const Layout layout : {Layout::kNhwc, Layout::kNchw}) {
    const View x = dense(0, {2, 6, 17}, layout);
    expect_equals_reference(call_of(op, {x, weight({4, 3, 3}), weight({4})}, {}, layout));
    expect_equals_reference(
        call_of(op, {x, weight({4, 3, 3}), weight({4}), dense(1, {2, 4, 8}, layout)}, post, layout, 3));
    expect_equals_reference(call_of(pool, {x}, {}, layout));
  }
}

TEST(OwnConvolution, TakesUnevenPaddingAndChannelSlices) {
  Convolution op{window(2, 1, 0), 1};
  op.window.pad_begin = {1, 0};
  op.window.pad_end = {0, 2};
  expect_equals_reference(call_of(op, {dense(0, {1, 3, 5, 6}), weight({4, 3, 2, 2}), weight({4})}));
  expect_equals_reference(call_of(op, {channel_slice(0, {2, 3, 5, 6}, 8, 4), weight({4, 3, 2, 2})}));
}

TEST(OwnConvolution, AddsAResidualAlsoWhereItLiesInTheOutput) {
  const Convolution op{window(3, 1, 1), 1};
  const std::vector<PostOp> post{AddOperand{3}, Activation{ActivationKind::kLeakyRelu, 0.1F, 0}};
  const Shape y{2, 4, 6, 5};
  const std::vector<Operand> inputs{dense(0, {2, 3, 6, 5}), weight({4, 3, 3, 3}), weight({4}), dense(1, y)};
  expect_equals_reference(call_of(op, inputs, post, Layout::kNhwc, 3));
  std::vector<Operand> in_place = inputs;
  in_place[3] = dense(9, y);
  expect_equals_reference(call_of(op, in_place, post, Layout::kNhwc, 3));
}

TEST(OwnPool, EqualsTheReference) {
  for (const Layout layout : {Layout::kNhwc, Layout::kNchw}) {
    for (const PoolKind kind : {PoolKind::kMax, PoolKind::kAverage}) {
      for (const bool include : {false, true}) {
        for (const bool ceil : {false, true}) {
          const Pool op{kind, window(3, 2, 1), ceil, include};
          expect_equals_reference(call_of(op, {dense(0, {2, 5, 8, 7}, layout)}, {}, layout));
        }
      }
    }
    const Pool global{PoolKind::kAverage, {{8, 7}, {1, 1}, {0, 0}, {0, 0}, {1, 1}}, false, false};
    expect_equals_reference(call_of(global, {dense(0, {2, 5, 8, 7}, layout)}, {}, layout));
  }
}

TEST(OwnGemm, EqualsTheReferenceWithItsPostOps) {
  const std::vector<PostOp> post{AddOperand{3}, Activation{ActivationKind::kTanh, 0, 0}};
  expect_equals_reference(call_of(Gemm{}, {dense(0, {5, 70}), weight({9, 70}), weight({9})}));
  expect_equals_reference(
      call_of(Gemm{}, {dense(0, {5, 70}), weight({9, 70}), weight({9}), dense(1, {5, 9})}, post, Layout::kNhwc, 3));
}

TEST(OwnGemm, ReadsImagesInEitherLayoutInLogicalOrder) {
  for (const Layout layout : {Layout::kNhwc, Layout::kNchw})
    expect_equals_reference(call_of(Gemm{}, {dense(0, {3, 4, 5, 2}, layout), weight({7, 40}), weight({7})}));
}

TEST(OwnGemm, StacksModelsAlsoOverASharedInput) {
  const std::vector<PostOp> post{Activation{ActivationKind::kRelu, 0, 0}};
  expect_equals_reference(call_of(Gemm{true}, {dense(0, {4, 3, 33}), weight({4, 6, 33}), weight({4, 6})}, post));
  View shared = dense(0, {4, 3, 33});
  shared.strides = {0, 33, 1};
  expect_equals_reference(call_of(Gemm{true}, {shared, weight({4, 6, 33}), weight({4, 6})}));
  View images{BufferId{0}, 0, {4, 3, 5, 2, 2}, {0, 20, 1, 10, 5}};  // NHWC, shared
  expect_equals_reference(call_of(Gemm{true}, {images, weight({4, 6, 20})}));
}

TEST(OwnGemm, WantsTheValuesOfASampleTogether) {
  const OpCall call = call_of(Gemm{}, {channel_slice(0, {3, 4, 5, 2}, 8, 0), weight({7, 40})});
  const auto own = make_own_kernels_on_host();
  EXPECT_FALSE(own->accepts_strides(call));
  const auto listed = own->alternatives(call, 1);
  ASSERT_FALSE(listed);
  EXPECT_THAT(listed.error().message, HasSubstr("do not lie together"));
}

TEST(OwnMap, EqualsTheReferenceForEveryActivation) {
  for (const auto kind : {ActivationKind::kRelu, ActivationKind::kLeakyRelu, ActivationKind::kElu,
                          ActivationKind::kSigmoid, ActivationKind::kTanh, ActivationKind::kClip}) {
    const Activation op{kind, kind == ActivationKind::kClip ? -0.4F : 0.3F, 0.5F};
    expect_equals_reference(call_of(op, {dense(0, {2, 3, 4, 5})}, {}, Layout::kNchw), -3, 3);
    expect_equals_reference(call_of(op, {channel_slice(0, {2, 3, 4, 5}, 7, 2)}), -3, 3);
  }
}

/// Where the reference's elements are NaN, and only there.
void expect_same_nans(CallRunner runner, std::size_t elements) {
  std::vector<float> values(elements, 0.25F);
  for (std::size_t i = 0; i < elements; i += 7) values[i] = NAN;
  runner.set_input(0, values);
  const std::vector<float> expected = runner.run(*make_reference_kernels());
  const std::vector<float> actual = runner.run(*make_own_kernels_on_host());
  for (std::size_t i = 0; i < expected.size(); ++i) {
    EXPECT_EQ(std::isnan(actual[i]), std::isnan(expected[i]))
        << canonical(runner.call().attributes, {}) << ": element " << i;
  }
}

TEST(OwnMap, KeepsWhatIsNoNumber) {
  for (int kind = 0; kind <= static_cast<int>(ActivationKind::kFakeQuantize); ++kind)
    expect_same_nans(
        CallRunner(call_of(Activation{static_cast<ActivationKind>(kind), 0.5F, 1.5F}, {dense(0, {4, 15})})), 60);
  for (const BinaryKind kind : {BinaryKind::kMin, BinaryKind::kMax})
    expect_same_nans(CallRunner(call_of(Binary{kind}, {dense(0, {4, 15}), dense(1, {4, 15})})), 60);
  expect_same_nans(CallRunner(call_of(Pool{PoolKind::kMax, window(3, 2, 1)}, {dense(0, {1, 2, 5, 6})})), 60);
}

TEST(OwnMap, EqualsTheReferenceForBinariesWithBroadcasting) {
  for (const auto kind : {BinaryKind::kAdd, BinaryKind::kSub, BinaryKind::kMul, BinaryKind::kDiv}) {
    expect_equals_reference(call_of(Binary{kind}, {dense(0, {2, 3, 4, 5}), dense(1, {2, 3, 4, 5})}), 0.5F, 2);
    expect_equals_reference(call_of(Binary{kind}, {dense(0, {2, 3, 4, 5}), weight({3, 1, 1})}), 0.5F, 2);
    expect_equals_reference(call_of(Binary{kind}, {weight({1}), dense(0, {4, 5})}), 0.5F, 2);
  }
}

TEST(OwnMap, EqualsTheReferenceForBatchNormalization) {
  const std::vector<Operand> inputs{dense(0, {2, 6, 4, 5}), weight({6}), weight({6}), weight({6}), weight({6})};
  expect_equals_reference(call_of(BatchNormalization{1e-3F}, inputs, {Activation{}}), 0.1F, 1);
}

TEST(OwnConcat, EqualsTheReferenceAlongEveryAxis) {
  for (const std::int64_t axis : {0, 1, 2, 3}) {
    Shape other{2, 3, 4, 5};
    other[static_cast<std::size_t>(axis)] += 2;
    expect_equals_reference(call_of(Concat{axis}, {dense(0, {2, 3, 4, 5}), dense(1, other), dense(2, {2, 3, 4, 5})},
                                    {Activation{ActivationKind::kRelu, 0, 0}}));
  }
}

TEST(OwnReshape, KeepsLogicalOrder) {
  expect_equals_reference(make_call(Reshape{}, {dense(0, {2, 3, 4, 5})}, dense(9, {2, 60})));
  expect_equals_reference(make_call(Reshape{}, {dense(0, {2, 12})}, dense(9, {2, 3, 2, 2})));
  expect_equals_reference(make_call(Reshape{}, {dense(0, {2, 3, 4, 5})}, channel_slice(9, {2, 3, 4, 5}, 9, 3)));
}

TEST(OwnReshape, OfNoElementsLaunchesNothing) {
  EXPECT_TRUE(
      CallRunner(make_call(Reshape{}, {dense(0, {2, 0})}, dense(9, {0}))).run(*make_own_kernels_on_host()).empty());
}

/// What is gathered by `indices`, by the reference and by own kernels.
std::pair<std::vector<float>, std::vector<float>> gathered(const OpCall& call,
                                                           const std::vector<std::int32_t>& indices) {
  CallRunner runner(call);
  runner.set_input(1, whole_numbers(indices));
  return {runner.run(*make_reference_kernels()), runner.run(*make_own_kernels_on_host())};
}

TEST(OwnGather, EqualsTheReferenceAlongEveryAxisAlsoCountingFromTheEnd) {
  for (const std::int64_t axis : {0, 1, 2}) {
    const auto [expected, own] =
        gathered(call_of(Gather{axis}, {dense(0, {4, 5, 6}), dense(1, {2, 3})}), {0, 3, -1, 2, 2, -4});
    EXPECT_EQ(own, expected) << "axis " << axis;
  }
  const auto [one, own] = gathered(call_of(Gather{1}, {dense(0, {4, 5}), dense(1, {})}), {-2});
  EXPECT_EQ(own, one);
}

TEST(OwnGather, ReadsRowsOfATableThatIsAWeight) {
  const OpCall call = call_of(Gather{0}, {weight({7, 8}), dense(1, {2, 3})}, {Activation{ActivationKind::kRelu, 0, 0}});
  const auto [expected, own] = gathered(call, {6, 0, 3, 3, 1, -7});
  EXPECT_EQ(own, expected);
}

TEST(OwnGather, ReadsWholeNumbersBesideNumbersOf16Bits) {
  CallRunner runner(call_of(Gather{0}, {dense(0, {4, 3}), dense(1, {5})}));
  std::vector<float> table(12);
  std::iota(table.begin(), table.end(), -4.0F);
  runner.set_input(0, table);
  runner.set_input(1, whole_numbers({3, -4, 1, 0, -1}));
  expect_same_bits(runner);
}

TEST(OwnGather, GivesNoNumberForAnIndexOutsideAndReadsNothingThere) {
  const OpCall call = call_of(Gather{0}, {dense(0, {3, 2}), dense(1, {2})});
  CallRunner runner(call);
  runner.set_input(1, whole_numbers({3, 1}));
  const std::vector<float> y = runner.run(*make_own_kernels_on_host());
  ASSERT_EQ(y.size(), 4U);
  EXPECT_TRUE(std::isnan(y[0]) && std::isnan(y[1]));
  EXPECT_FALSE(std::isnan(y[2]) || std::isnan(y[3]));
}

/// With indices that are computed, and with constant ones.
TEST(OwnScatter, EqualsTheReference) {
  for (const std::int64_t width : {1, 4}) {
    const Operand computed = dense(1, {2, 6, width}), constant = weight({2, 6, width});
    std::vector<std::int32_t> indices;
    for (std::int32_t i = 0; i < 2 * 6 * width; ++i) indices.push_back(i * i % 10 - 5);
    for (const Operand& where : {computed, constant}) {
      for (const Scatter& op : {Scatter{}, Scatter{BinaryKind::kAdd}, Scatter{BinaryKind::kMul},
                                Scatter{BinaryKind::kMin}, Scatter{BinaryKind::kMax}}) {
        SCOPED_TRACE(canonical(op, {}) + " by " + to_string(shape_of(where)));
        const auto [expected, own] = gathered(
            call_of(op, {dense(0, {2, 5, 4}), where, dense(2, {2, 6, 4})}, {Activation{ActivationKind::kRelu, 0, 0}}),
            indices);
        EXPECT_EQ(own, expected);
        CallRunner whole(
            call_of(Scatter{op.reduction, ElementType::kInt32}, {dense(0, {2, 5, 4}), where, dense(2, {2, 6, 4})}));
        whole.set_input(0, whole_numbers(std::vector<std::int32_t>(40, -3)));
        whole.set_input(1, whole_numbers(indices));
        std::vector<std::int32_t> updates(48);
        std::iota(updates.begin(), updates.end(), -20);
        whole.set_input(2, whole_numbers(updates));
        expect_same_bits(whole);
      }
    }
  }
}

TEST(OwnScatter, GivesNoNumbersForAnIndexOutside) {
  for (const Operand& where : {Operand(dense(1, {2, 2, 1})), Operand(weight({2, 2, 1}))}) {
    CallRunner runner(call_of(Scatter{}, {dense(0, {2, 3, 1}), where, dense(2, {2, 2, 1})}));
    runner.set_input(1, whole_numbers({3, 1, 0, -3}));
    const std::vector<float> y = runner.run(*make_own_kernels_on_host());
    ASSERT_EQ(y.size(), 6U);
    for (std::size_t i = 0; i < 3; ++i) EXPECT_TRUE(std::isnan(y[i]) && !std::isnan(y[3 + i])) << i;
  }
}

TEST(OwnScatter, RefusesToLookThroughTooMany) {
  const OpCall call =
      call_of(Scatter{}, {dense(0, {1, 1 << 20, 1}), dense(1, {1, 1 << 17, 1}), dense(2, {1, 1 << 17, 1})});
  const auto list = make_own_kernels_on_host()->alternatives(call, 1);
  ASSERT_FALSE(list);
  EXPECT_THAT(list.error().message, HasSubstr("looks for 1048576 elements among 131072 indices"));
}

TEST(OwnNormalization, EqualsTheReference) {
  expect_equals_reference(call_of(LocalResponseNormalization{5, 0.3F, 0.75F, 2}, {dense(0, {2, 9, 3, 2})}));
  expect_equals_reference(call_of(LocalResponseNormalization{4, 0.3F, 0.5F, 1}, {dense(0, {2, 9, 3, 1})}));
}

TEST(OwnSoftmax, EqualsTheReferenceAlongEveryAxis) {
  for (const std::int64_t axis : {0, 1, 2, 3})
    for (const bool logarithm : {false, true})
      expect_equals_reference(call_of(Softmax{axis, logarithm}, {dense(0, {3, 4, 5, 2})}), -5, 5);
  expect_equals_reference(call_of(Softmax{1}, {dense(0, {1, 70})}, {Activation{ActivationKind::kLeakyRelu, 0.5F, 0}}));
}

TEST(OwnLstm, EqualsTheReference) {
  const Lstm op{7};
  expect_equals_reference(call_of(op, {dense(0, {5, 3, 6}), weight({28, 6}), weight({28, 7}), weight({28})}));
}

TEST(OwnKernels, RefuseWhatTheyCannotRunAndSayWhy) {
  const auto own = make_own_kernels_on_host();
  const std::vector<PostOp> many(5, Activation{});
  const auto finished = own->alternatives(call_of(Softmax{1}, {dense(0, {2, 3})}, many), 1);
  ASSERT_FALSE(finished);
  EXPECT_THAT(finished.error().message, HasSubstr("post-ops"));
  View columns = dense(1, {4, 3});
  columns.strides = {1, 4};
  const auto computed = own->alternatives(call_of(Gemm{}, {dense(0, {2, 3}), columns}), 1);
  ASSERT_FALSE(computed);
  EXPECT_THAT(computed.error().message, HasSubstr("do not lie dense"));
  const Convolution volume{{{3, 3, 3}, {1, 1, 1}, {1, 1, 1}, {1, 1, 1}, {1, 1, 1}}, 1};
  const auto deep = own->alternatives(call_of(volume, {dense(0, {1, 2, 4, 4, 4}), weight({2, 2, 3, 3, 3})}), 1);
  ASSERT_FALSE(deep);
  EXPECT_THAT(deep.error().message, HasSubstr("three spatial dimensions"));
  const auto followed = own->alternatives(call_of(ArgMax{1}, {dense(0, {2, 3})}, {Activation{}}), 1);
  ASSERT_FALSE(followed);
  EXPECT_THAT(followed.error().message, HasSubstr("not whole ones"));
  const OpCall product = call_of(Gemm{}, {dense(0, {2, 3}), weight({4, 3})});
  EXPECT_FALSE(own->prepare(product, "own:direct", 1, std::vector<std::vector<float>>{std::vector<float>(12)}));
}

}  // namespace
}  // namespace cohort::testing
