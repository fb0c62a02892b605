// Convolutions and matrix products of a training step: computed weights, and the gradients of parameters.

#include <gtest/gtest.h>

#include <tuple>

#include "executor/reference/call.hpp"
#include "training.hpp"

namespace cohort::testing {
namespace {

struct Case {
  Shape x;
  std::int64_t outputs, kernel, stride, pad, groups = 1;
};
const Case kCases[] = {
    {{3, 1, 12, 11}, 6, 5, 1, 2},   {{2, 6, 14, 14}, 16, 5, 1, 0},    {{2, 32, 9, 9}, 32, 3, 1, 1},
    {{2, 16, 10, 10}, 32, 3, 2, 1}, {{2, 16, 8, 8}, 32, 1, 2, 0},     {{2, 16, 9, 9}, 32, 1, 1, 0},
    {{2, 3, 21, 21}, 16, 7, 2, 3},  {{2, 32, 8, 8}, 32, 3, 1, 1, 32}, {{2, 16, 8, 8}, 32, 3, 1, 1, 4},
    {{1, 16, 7, 7}, 16, 3, 2, 1},
};

Shape kernel_shape(const Case& c) { return {c.outputs, c.x[1] / c.groups, c.kernel, c.kernel}; }
Window window_of(const Case& c) { return square_window(c.kernel, c.stride, c.pad); }

class TrainingConvolution : public ::testing::TestWithParam<std::tuple<int, Layout>> {
 protected:
  [[nodiscard]] static const Case& the_case() { return kCases[std::get<0>(GetParam())]; }
  [[nodiscard]] static View image(std::uint32_t buffer, const Shape& shape) {
    return dense(buffer, shape, std::get<1>(GetParam()));
  }
  [[nodiscard]] static Shape result(const OpAttributes& op, const std::vector<Shape>& shapes) {
    return infer_shape(op, shapes).value_or(Shape{1});
  }
  static void check(const OpCall& call) {
    if (std::get<1>(GetParam()) == Layout::kNhwc) expect_fast(call);
    expect_equals_reference(CallRunner(call));
  }
};

TEST_P(TrainingConvolution, TakesWeightsFromAPack) {
  const Case& c = the_case();
  const Convolution op{window_of(c), c.groups};
  const Shape y = result(op, {c.x, kernel_shape(c)});
  check(make_call(op, {image(0, c.x), packed(1, 16, kernel_shape(c)), packed(1, 160000, {c.outputs})}, image(2, y)));
}

TEST_P(TrainingConvolution, GivesTheGradientOfItsInput) {
  const Case& c = the_case();
  const Shape y = result(Convolution{window_of(c), c.groups}, {c.x, kernel_shape(c)});
  ConvTranspose op{window_of(c), {}, c.groups};
  for (std::size_t d = 2; d < 4; ++d) {
    const std::int64_t whole = c.stride * (y[d] - 1) + c.kernel - 2 * c.pad;
    op.output_pad.push_back(c.x[d] - whole);
  }
  check(make_call(op, {image(0, y), packed(1, 16, kernel_shape(c))}, image(2, c.x)));
}

TEST_P(TrainingConvolution, GivesTheGradientOfItsParameters) {
  const Case& c = the_case();
  const Shape y = result(Convolution{window_of(c), c.groups}, {c.x, kernel_shape(c)});
  for (const bool bias : {false, true}) {
    const ConvolutionWeightGradient op{window_of(c), c.groups, bias, 1, false};
    check(with_packed_output(op, {image(0, c.x), image(1, y)}, 2, 32));
  }
}

TEST_P(TrainingConvolution, OfSeveralModelsTakesStackedWeights) {
  const Case& c = the_case();
  constexpr std::int64_t kModels = 3, kRow = 40000;
  Shape x = c.x;
  x[1] *= kModels;
  const Convolution op{window_of(c), c.groups * kModels};
  const View w = stacked(1, 16, kModels, kernel_shape(c), kRow);
  const Shape y = result(op, {x, w.shape});
  check(make_call(op, {image(0, x), w, stacked(1, 32000, kModels, {c.outputs}, kRow)}, image(2, y)));

  ConvTranspose back{window_of(c), {}, c.groups * kModels};
  for (std::size_t d = 2; d < 4; ++d) {
    const std::int64_t whole = c.stride * (y[d] - 1) + c.kernel - 2 * c.pad;
    back.output_pad.push_back(x[d] - whole);
  }
  check(make_call(back, {image(0, y), w}, image(2, x)));

  const ConvolutionWeightGradient gradient{window_of(c), c.groups, true, kModels, false};
  OpCall call = with_packed_output(gradient, {image(0, x), image(1, y)}, 2);
  call.outputs[0].strides[0] = kRow;
  check(call);
}

TEST_P(TrainingConvolution, OfSeveralModelsMayShareTheInput) {
  const Case& c = the_case();
  if (c.groups > 1) GTEST_SKIP() << "dense convolutions of several models have no groups";
  constexpr std::int64_t kModels = 2, kRow = 40000;
  const Convolution op{window_of(c), 1};
  const View w = stacked(1, 16, kModels, kernel_shape(c), kRow);
  const Shape y = result(op, {c.x, w.shape});
  check(make_call(op, {image(0, c.x), w, stacked(1, 32000, kModels, {c.outputs}, kRow)}, image(2, y)));

  const ConvolutionWeightGradient gradient{window_of(c), 1, true, kModels, true};
  OpCall call = with_packed_output(gradient, {image(0, c.x), image(1, y)}, 2);
  call.outputs[0].strides[0] = kRow;
  check(call);
}

INSTANTIATE_TEST_SUITE_P(Shapes, TrainingConvolution,
                         ::testing::Combine(::testing::Range(0, 10), ::testing::Values(Layout::kNhwc, Layout::kNchw)));

struct Product {
  std::int64_t samples, inputs, outputs;
};
class TrainingGemm : public ::testing::TestWithParam<Product> {};

TEST_P(TrainingGemm, TakesWeightsFromAPack) {
  const auto [samples, inputs, outputs] = GetParam();
  const OpCall call = with_output(
      Gemm{}, {dense(0, {samples, inputs}), packed(1, 16, {outputs, inputs}), packed(1, 65536, {outputs})}, 2);
  expect_fast(call);
  expect_equals_reference(CallRunner(call));
}

TEST_P(TrainingGemm, GivesTheGradientOfItsParameters) {
  const auto [samples, inputs, outputs] = GetParam();
  for (const bool bias : {false, true}) {
    const OpCall call = with_packed_output(GemmWeightGradient{bias, false},
                                           {dense(0, {samples, inputs}), dense(1, {samples, outputs})}, 2, 16);
    expect_fast(call);
    expect_equals_reference(CallRunner(call));
  }
}

TEST_P(TrainingGemm, OfSeveralModelsIsStacked) {
  const auto [samples, inputs, outputs] = GetParam();
  constexpr std::int64_t kModels = 3, kRow = 70000;
  for (const bool shared : {false, true}) {
    View x = dense(0, {kModels, samples, inputs});
    if (shared) x.strides[0] = 0;
    const OpCall call = with_output(
        Gemm{true}, {x, stacked(1, 16, kModels, {outputs, inputs}, kRow), stacked(1, 69008, kModels, {outputs}, kRow)},
        2);
    expect_fast(call);
    expect_equals_reference(CallRunner(call));
    OpCall gradient =
        with_packed_output(GemmWeightGradient{true, true}, {x, dense(1, {kModels, samples, outputs})}, 2, 16);
    gradient.outputs[0].strides[0] = kRow;
    expect_fast(gradient);
    expect_equals_reference(CallRunner(gradient));
  }
}

INSTANTIATE_TEST_SUITE_P(Shapes, TrainingGemm,
                         ::testing::Values(Product{1, 64, 64}, Product{2, 64, 10}, Product{16, 400, 120},
                                           Product{7, 33, 5}, Product{32, 84, 10}, Product{64, 1, 3}));

TEST(TrainingGemm, ReadsImagesInTheOrderInWhichTheyLie) {
  const Shape x{4, 16, 5, 5};
  const OpCall call = with_output(Gemm{}, {dense(0, x), packed(1, 16, {12, 400}), packed(1, 6400, {12})}, 2);
  expect_fast(call);
  expect_equals_reference(CallRunner(call));
  const OpCall gradient = with_packed_output(GemmWeightGradient{true, false}, {dense(0, x), dense(1, {4, 12})}, 2);
  expect_fast(gradient);
  expect_equals_reference(CallRunner(gradient));
}

}  // namespace
}  // namespace cohort::testing
