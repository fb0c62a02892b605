#include <gtest/gtest.h>

#include <tuple>

#include "comparison.hpp"

namespace cohort::testing {
namespace {

struct Size {
  std::int64_t in, out;
};
constexpr Size kSizes[] = {{64, 64}, {100, 50}, {784, 128}, {128, 10}, {1, 1}, {33, 17}};

class OnednnGemm : public ::testing::TestWithParam<std::tuple<int, Size>> {};

TEST_P(OnednnGemm, EqualsTheReference) {
  const auto [minibatch, size] = GetParam();
  OpCall call = with_output(Gemm{}, {dense(0, {minibatch, size.in}), weight({size.out, size.in}), weight({size.out})},
                            1, {Activation{}});
  EXPECT_TRUE(is_fast(call));
  expect_equals_reference(CallRunner(call));
  call.inputs.pop_back();
  expect_equals_reference(CallRunner(call));
}
INSTANTIATE_TEST_SUITE_P(Grid, OnednnGemm,
                         ::testing::Combine(::testing::Values(1, 3, 16), ::testing::ValuesIn(kSizes)));

TEST(OnednnGemmForms, FlattenAnImageInLogicalOrderWhateverItsMemoryOrder) {
  for (const Layout layout : {Layout::kNhwc, Layout::kNchw}) {
    const OpCall call = with_output(Gemm{}, {dense(0, {3, 20, 4, 5}, layout), weight({30, 400}), weight({30})}, 1);
    EXPECT_TRUE(is_fast(call));
    expect_equals_reference(CallRunner(call));
  }
  // One pixel or one channel: the two orders are the same.
  expect_equals_reference(CallRunner(with_output(Gemm{}, {dense(0, {3, 20, 1, 1}), weight({30, 20})}, 1)));
  expect_equals_reference(CallRunner(with_output(Gemm{}, {dense(0, {3, 1, 4, 5}), weight({30, 20})}, 1)));
}

TEST(OnednnGemmForms, RowsApartInMemory) {
  OpCall call = with_output(Gemm{}, {View{BufferId{0}, 5, {4, 100}, {300, 1}}, weight({50, 100}), weight({50})}, 1);
  EXPECT_TRUE(onednn().accepts_strides(call));
  expect_equals_reference(CallRunner(call));
  call.outputs[0] = {BufferId{1}, 7, {4, 50}, {120, 1}};
  EXPECT_TRUE(onednn().accepts_strides(call));
  expect_equals_reference(CallRunner(call));
  call.inputs[0] = channel_slice(0, {4, 25, 2, 2}, 75, 25);
  EXPECT_FALSE(onednn().accepts_strides(call));
  expect_equals_reference(CallRunner(call));
}

TEST(OnednnGemmForms, AddedOperandsAndActivationsInAnyOrder) {
  for (const std::vector<PostOp>& post_ops :
       {std::vector<PostOp>{AddOperand{3}, Activation{}}, std::vector<PostOp>{Activation{}, AddOperand{3}}}) {
    OpCall call =
        with_output(Gemm{}, {dense(0, {3, 40}), weight({50, 40}), weight({50}), dense(2, {3, 50})}, 1, post_ops);
    EXPECT_TRUE(is_fast(call));
    expect_equals_reference(CallRunner(call));
    call.inputs.back() = call.outputs[0];
    expect_equals_reference(CallRunner(call));
  }
}

TEST(OnednnGemmForms, WeightsThatAreComputed) {
  expect_equals_reference(CallRunner(with_output(Gemm{}, {dense(0, {3, 40}), dense(1, {50, 40})}, 2)));
}

class OnednnStackedGemm : public ::testing::TestWithParam<std::tuple<int, int, Size, bool>> {};

TEST_P(OnednnStackedGemm, EqualsTheReference) {
  const auto [models, minibatch, size, shared] = GetParam();
  View x = dense(0, {models, minibatch, size.in});
  if (shared) x.strides[0] = 0;
  OpCall call =
      with_output(Gemm{true}, {x, weight({models, size.out, size.in}), weight({models, size.out})}, 1, {Activation{}});
  EXPECT_TRUE(is_fast(call));
  EXPECT_TRUE(onednn().accepts_strides(call));
  expect_equals_reference(CallRunner(call));
  call.inputs.pop_back();
  expect_equals_reference(CallRunner(call));
}
INSTANTIATE_TEST_SUITE_P(Grid, OnednnStackedGemm,
                         ::testing::Combine(::testing::Values(1, 4, 64), ::testing::Values(1, 3, 16),
                                            ::testing::Values(Size{64, 64}, Size{33, 17}, Size{128, 10}),
                                            ::testing::Bool()));

TEST(OnednnStackedGemmForms, StackedImages) {
  for (const bool shared : {false, true}) {
    View x = dense(0, {4, 3, 20, 4, 5});
    if (shared) x.strides[0] = 0;
    const OpCall call = with_output(Gemm{true}, {x, weight({4, 30, 400}), weight({4, 30})}, 1);
    EXPECT_TRUE(is_fast(call));
    expect_equals_reference(CallRunner(call));
  }
}

TEST(OnednnStackedGemmForms, AddedOperands) {
  for (const bool shared : {false, true}) {
    for (const std::int64_t minibatch : {1, 3}) {
      View x = dense(0, {4, minibatch, 40});
      if (shared) x.strides[0] = 0;
      OpCall call = with_output(Gemm{true}, {x, weight({4, 50, 40}), weight({4, 50}), dense(2, {4, minibatch, 50})}, 1,
                                {AddOperand{3}, Activation{}});
      EXPECT_TRUE(is_fast(call));
      expect_equals_reference(CallRunner(call));
      call.inputs.back() = call.outputs[0];
      expect_equals_reference(CallRunner(call));
    }
  }
}

TEST(OnednnStackedGemmForms, OutputsOfModelsSideBySide) {
  OpCall call = with_output(Gemm{true}, {dense(0, {4, 3, 40}), weight({4, 50, 40}), weight({4, 50})}, 1);
  call.outputs[0].strides = {50, 200, 1};
  expect_equals_reference(CallRunner(call));
  std::get<View>(call.inputs[0]).strides[0] = 0;
  EXPECT_TRUE(is_fast(call));
  expect_equals_reference(CallRunner(call));
}

TEST(OnednnStackedGemmForms, InputsOfModelsSideBySide) {
  OpCall call = with_output(Gemm{true}, {dense(0, {4, 3, 40}), weight({4, 50, 40}), weight({4, 50})}, 1);
  std::get<View>(call.inputs[0]).strides = {40, 160, 1};
  expect_equals_reference(CallRunner(call));
}

TEST(OnednnLstm, EqualsTheReference) {
  struct Case {
    std::int64_t steps, minibatch, in, hidden;
  };
  for (const Case& each : {Case{1, 1, 4, 4}, Case{10, 1, 32, 64}, Case{10, 16, 32, 64}, Case{5, 3, 7, 13},
                           Case{20, 2, 100, 128}, Case{50, 1, 128, 256}}) {
    SCOPED_TRACE(fmt::format("{} steps, minibatch {}, {} to {}", each.steps, each.minibatch, each.in, each.hidden));
    OpCall call = with_output(Lstm{each.hidden},
                              {dense(0, {each.steps, each.minibatch, each.in}), weight({4 * each.hidden, each.in}),
                               weight({4 * each.hidden, each.hidden}), weight({4 * each.hidden})},
                              1);
    EXPECT_TRUE(is_fast(call));
    // Larger recurrent weights would let rounding errors grow from step to step.
    expect_equals_reference(CallRunner(call, 1, -0.1F, 0.1F));
  }
}

TEST(OnednnLstm, StridedViews) {
  OpCall call = with_output(Lstm{8}, {dense(0, {4, 2, 6}), weight({32, 6}), weight({32, 8}), weight({32})}, 1);
  call.inputs[0] = View{BufferId{0}, 3, {4, 2, 6}, {100, 10, 1}};
  call.outputs[0] = {BufferId{1}, 3, {4, 2, 8}, {100, 10, 1}};
  expect_equals_reference(CallRunner(call));
}

}  // namespace
}  // namespace cohort::testing
